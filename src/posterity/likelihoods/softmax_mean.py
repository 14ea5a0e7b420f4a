"""The softmax of normal latent values, averaged over them.

Points of an average are not the same for every class. Each row takes its classes by falling mean,
so that neither their names nor their order change a probability.
"""

import functools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp, ndtri
from scipy.stats import qmc

from posterity.arrays import Array
from posterity.likelihoods import sigmoid_mean
from posterity.linalg import eigen
from posterity.page_forms import Form

# The variance of the widest contrast up to which 2^points are taken for three classes. More would
# cost milliseconds a row.
_POINTS = ((0.0, 0), (1.0, 9), (6.0, 10), (np.inf, 11))
_EXPECTED_POINTS = 9
_BLOCK = 2**20  # numbers held at once: 8 MB
_TINY = 1e-280
_SEED = 0


def log_mean_softmax(mean: Array, covariance: Array) -> Array:
    """log of the integral of softmax(a) N(a | mean, covariance) da, (n, C).

    For two classes to rounding. For more, by points of a scrambled Sobol sequence and their mirror
    images, as many as the width of the normal asks for: the error of a probability is at most
    about 1e-3 for variances up to 5, 2e-3 up to 25 and 4e-3 beyond. Only differences between latent
    values matter, so that the points have C - 1 coordinates. Classes are ranked by their means.
    """
    if mean.shape[-1] == 2:
        return _log_of_two(mean, covariance)
    order, mean, covariance = _rank_classes(mean, covariance)
    F, widest = contrast_factors(covariance)
    log_p, below = np.empty(mean.shape), -np.inf
    C = mean.shape[-1]
    for limit, log2_points in sampling_tiers(C):
        rows = np.flatnonzero((widest > below) & (widest <= limit))
        z = normal_points(C - 1, log2_points)
        for block in _iterate_blocks(rows, C * z.shape[-1]):
            log_p[block] = _log_average(mean[block], F[block], z)
        below = limit
    return _unrank_classes(log_p - logsumexp(log_p, axis=-1, keepdims=True), order)


def approximate_log_mean_softmax(mean: Array, covariance: Array) -> Array:
    """As ``log_mean_softmax`` in closed form, from the variances of the pairwise differences."""
    s = np.diagonal(covariance, axis1=-2, axis2=-1)
    v = np.maximum(s[..., :, None] + s[..., None, :] - 2.0 * covariance, 0.0)
    d = mean[..., :, None] - mean[..., None, :]
    # [P9 9.19] is this for two classes
    return log_softmax(-logsumexp(-d / np.sqrt(1.0 + np.pi / 8.0 * v), axis=-1), axis=-1)


def expectations(mean: Array, covariance: Array) -> tuple[Array, Array, Array]:
    """Means, over normal latent values, of p and of p (1 - p), (n, C), and of log sum exp, (n,).

    By as many points for every width, so that they change smoothly with mean and covariance.
    """
    order, mean, covariance = _rank_classes(mean, covariance)
    n, C = mean.shape
    p_mean, pq_mean, log_sum = np.empty((n, C)), np.empty((n, C)), np.empty(n)
    for block, p, log_total in _evaluate_at_points(mean, covariance):
        p_mean[block] = np.mean(p, axis=-1)
        log_sum[block] = log_total
        p *= 1.0 - p
        pq_mean[block] = np.mean(p, axis=-1)
    return _unrank_classes(p_mean, order), _unrank_classes(pq_mean, order), log_sum


def second_moments(mean: Array, covariance: Array) -> tuple[Array, Array, Array]:
    """As ``expectations``, with the means of p p^T, (n, C, C), in the second place."""
    order, mean, covariance = _rank_classes(mean, covariance)
    n, C = mean.shape
    p_mean, pp_mean, log_sum = np.empty((n, C)), np.empty((n, C, C)), np.empty(n)
    for block, p, log_total in _evaluate_at_points(mean, covariance):
        p_mean[block] = np.mean(p, axis=-1)
        log_sum[block] = log_total
        pp_mean[block] = np.matmul(p, np.swapaxes(p, 1, 2)) / p.shape[-1]
    place = np.argsort(order, axis=1)
    pp_mean = np.take_along_axis(pp_mean, place[:, :, None], axis=1)
    return (
        _unrank_classes(p_mean, order),
        np.take_along_axis(pp_mean, place[:, None, :], axis=2),
        log_sum,
    )


def _rank_classes(mean: Array, covariance: Array) -> tuple[NDArray[np.intp], Array, Array]:
    """The classes of each row by falling mean, and means and covariances in that order."""
    order = np.argsort(-mean, axis=1, kind="stable")
    S = np.take_along_axis(covariance, order[:, :, None], axis=1)
    S = np.take_along_axis(S, order[:, None, :], axis=2)
    return order, np.take_along_axis(mean, order, axis=1), S


def _unrank_classes(values: Array, order: NDArray[np.intp]) -> Array:
    """Values of ranked classes, back in the order of the classes."""
    result = np.empty_like(values)
    np.put_along_axis(result, order, values, axis=1)
    return result


def _evaluate_at_points(
    mean: Array, covariance: Array
) -> Iterator[tuple[NDArray[np.intp], Array, Array]]:
    """Yield some rows, their softmax at all points (n, C, points), and mean log sum exp."""
    n, C = mean.shape
    B, z = contrast_basis(C), normal_points(C - 1, _EXPECTED_POINTS)
    F = np.matmul(B, eigen.lower_factors(B.T @ covariance @ B))
    for block in _iterate_blocks(np.arange(n), C * z.shape[-1]):
        a = np.matmul(F[block], z)
        a += mean[block, :, None]
        largest = np.max(a, axis=1, keepdims=True)
        a -= largest
        p = np.exp(a, out=a)
        total = np.sum(p, axis=1, keepdims=True)
        p /= total
        yield block, p, np.mean(largest + np.log(total), axis=(1, 2))


def contrast_factors(covariance: Array) -> tuple[Array, Array]:
    """F (n, C, C - 1) with F F^T the covariance of the values less their mean, and its norm (n,).

    The factors are triangular in the contrasts: there is one such, and it follows the covariance
    smoothly. Where eigenvalues meet, eigenvectors are what a LAPACK makes of rounding.
    """
    B = contrast_basis(covariance.shape[-1])
    F = eigen.semidefinite_factors(B.T @ covariance @ B)
    definite = np.matmul(F, np.swapaxes(F, -2, -1))  # differences of large numbers need not be
    return np.matmul(B, eigen.lower_factors(definite)), np.sum(F[..., 0] ** 2, axis=-1)


def sampling_tiers(C: int) -> tuple[tuple[float, int], ...]:
    """The variance of the widest contrast up to which 2^points are taken, and points, ascending.

    Twice as many for more than three classes, and eight times for more than five; 0 for one point.
    """
    more = (C > 3) + 2 * (C > 5)
    return tuple((limit, points and points + more) for limit, points in _POINTS)


def _log_of_two(mean: Array, covariance: Array) -> Array:
    """Log of the mean softmax of two classes, from the difference of their latent values."""
    v = covariance[:, 0, 0] + covariance[:, 1, 1] - covariance[:, 0, 1] - covariance[:, 1, 0]
    d = mean[:, 1] - mean[:, 0]
    return np.stack(sigmoid_mean.log_mean_probabilities(d, np.maximum(v, 0.0)), axis=-1)


def _log_average(mean: Array, F: Array, z: Array) -> Array:
    """log of the mean of softmax(mean + F z) over the points z, in logs where it underflows."""
    a = np.matmul(F, z)
    a += mean[..., None]
    a -= np.max(a, axis=1, keepdims=True)
    p = np.exp(a)
    p /= np.sum(p, axis=1, keepdims=True)
    average = np.mean(p, axis=-1)
    small = np.any(average < _TINY, axis=-1)
    log_p = np.log(np.maximum(average, _TINY))
    log_p[small] = logsumexp(log_softmax(a[small], axis=1), axis=-1) - np.log(z.shape[-1])
    return log_p


def _iterate_blocks(rows: NDArray[np.intp], each: int) -> list[NDArray[np.intp]]:
    """The rows in parts that hold a bounded amount of numbers, of each so many."""
    size = max(_BLOCK // each, 1)
    return [rows[start : start + size] for start in range(0, rows.size, size)]


@functools.cache
def contrast_basis(C: int) -> Array:
    """An orthonormal basis (C, C - 1) of the vectors that sum to zero."""
    steps = np.tril(np.ones((C, C)), -1)[1:] - np.diag(np.arange(1.0, C), 1)[:-1]
    return (steps / np.linalg.norm(steps, axis=1, keepdims=True)).T


@functools.cache
def normal_points(dimension: int, log2_points: int) -> Array:
    """Standard normal points (dimension, 2^log2_points), evenly spread; for one, the origin.

    The second half mirrors the first; the halves of fewer points are the first of those of more.
    """
    if log2_points == 0:
        return np.zeros((dimension, 1))
    u = qmc.Sobol(dimension, scramble=True, rng=_SEED).random_base2(log2_points - 1)
    half = ndtri(np.clip(u, 2.0**-40, 1.0 - 2.0**-40)).T
    return np.concatenate([half, -half], axis=1)


def form_points(C: int) -> Form:
    """Return half of the points of the largest tier; smaller tiers use the first of them."""
    tiers = sampling_tiers(C)
    _, most = tiers[-1]
    half = normal_points(C - 1, most)[:, : 2 ** (most - 1)]
    return {
        "basis": contrast_basis(C).tolist(),
        "tiers": [[None if np.isinf(limit) else limit, log2] for limit, log2 in tiers],
        "points": half.astype(np.float32),
    }
