"""Where rows of outputs come from: their latent points, most probable first, and how sure.

A row's log posterior has several hills, so each search starts at the latent points of training
rows that explain the row best. About the summit it is taken for normal (Laplace).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import optimize
from posterity.arrays import Array
from posterity.inference.latents.candidates import Candidates
from posterity.inference.latents.terms import Decoder, LatentPrior
from posterity.linalg import eigen

_VALUES = 1 << 21  # of one array at a time: 16 MiB
_ROWS = 256  # decoded at a time, 2 Q points each
_LEAST_GAIN = 1e-6  # nats: the point is then found to a thousandth of its deviation
_FIRST_STEP = 1e-3  # and the longest, of the prior's deviation: not out of a narrow valley
_LONGEST_STEP = 0.5
_STEP = 1e-4  # for curvature by differences; of the prior's deviation, in which functions bend


@dataclass(frozen=True)
class Located:
    """Latent points of n rows, and what is not known of them."""

    mean: Array  # (n, Q)
    covariance: Array  # (n, Q, Q)
    log_density: Array  # (n,), of the outputs of each row
    converged: NDArray[np.bool_]  # (n,)


def locate(
    decoder: Decoder, Y: Array, *, candidates: Array, n_starts: int = 3, max_iter: int = 200
) -> Located:
    """The most probable latent point of each row, under a standard normal prior.

    Parameters
    ----------
    decoder : Decoder
    Y : array (n, D)
        Outputs; NaN where one is missing. A row without any is where the prior is.
    candidates : array (C, Q)
        Latent points to start from, those of the training rows.
    n_starts : int, default=3
        How many of them to search from, for each row.
    max_iter : int, default=200

    Returns
    -------
    Located
        Covariances and log densities are those of Laplace's approximation; nowhere is a variance
        above the prior's.

    Examples
    --------
    >>> from posterity import kernels
    >>> from posterity.inference.latents.inducing_outputs import InducingOutputs
    >>> X = np.linspace(-2.0, 2.0, 30)[:, None]
    >>> Y = np.hstack([np.sin(X), np.cos(X)])
    >>> term = InducingOutputs(Y, kernels.RBF(1.0), np.zeros((1, 2)), 0.01, None, X[::3])
    >>> decoder = term.decoder(X, term.start)
    >>> found = locate(decoder, np.array([[np.sin(0.5), np.nan]]), candidates=X)
    >>> found.mean.round(2), np.sqrt(found.covariance).round(2)
    (array([[0.49]]), array([[[0.12]]]))
    """
    k = min(n_starts, len(candidates))
    places = Candidates.of(decoder, candidates)
    size = max(1, _VALUES // max(len(candidates), k * Y.shape[1]))
    few = (Y[i : i + size] for i in range(0, max(1, len(Y)), size))
    parts = [_located(decoder, y, places.starts(y, k), max_iter) for y in few]
    columns = zip(*((p.mean, p.covariance, p.log_density, p.converged) for p in parts), strict=True)
    return Located(*(np.concatenate(column) for column in columns))


def _located(decoder: Decoder, Y: Array, candidates: Array, max_iter: int) -> Located:
    """The same of some rows, each from its own candidates (n, k, Q)."""
    n, k, Q = candidates.shape
    unseen = np.all(np.isnan(Y), axis=1)
    starts = np.where(unseen[:, None, None], 0.0, candidates).reshape(n * k, Q)

    def value_and_gradient(X: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
        value, slope = decoder.log_density(X, Y[which // k])
        return 0.5 * np.sum(X * X, axis=1) - value, X - slope

    ends = optimize.minimise_many_bfgs(
        value_and_gradient,
        starts,
        first_step=_FIRST_STEP,
        longest_step=_LONGEST_STEP,
        max_iter=max_iter,
        least_gain=_LEAST_GAIN,
    )
    best = np.arange(n) * k + np.argmin(ends.value.reshape(n, k), axis=1)
    X = ends.x[best]
    return _about(decoder, Y, X, -X, np.ones_like(X), ends.converged[best])


def locate_along(
    decoder: Decoder,
    Y: Array,
    prior: LatentPrior,
    own: Array,
    *,
    candidates: Array,
    max_iter: int = 200,
) -> Located:
    """The most probable latent points of rows that a prior ties together, all at once.

    The search starts where each row would be by itself, smoothed by the prior: with the curvature
    of each row's log density for its likelihood that is one normal problem.

    Parameters
    ----------
    decoder, Y, candidates, max_iter
        As for :func:`locate`.
    prior : LatentPrior
        Normal, its coordinates independent of each other.
    own : array (P,)
        Its numbers.

    Returns
    -------
    Located
        Covariances and log densities are those of each row given the points of all others. What
        is not known of those is not in them: they are too small by that.
    """
    alone = locate(decoder, Y, candidates=candidates, max_iter=max_iter)
    shape = alone.mean.shape

    def value_and_gradient(x: Array) -> tuple[float, Array]:
        X = x.reshape(shape)
        value, slope = decoder.log_density(X, Y)
        before, pull, _ = prior(X, own)
        return -before - float(np.sum(value)), -(pull + slope).ravel()

    starts = (alone.mean.ravel(), _smoothed(decoder, Y, alone.mean, prior, own, max_iter))
    best = optimize.minimise_lbfgs(
        value_and_gradient,
        min(starts, key=lambda x: value_and_gradient(x)[0]),
        max_iter=max_iter,
        least_gain=_LEAST_GAIN * len(Y),
        announce=False,
    )
    X = best.x.reshape(shape)
    precision = _own_precision(prior, X, own)
    return _about(decoder, Y, X, prior(X, own)[1], precision, np.full(len(Y), best.converged))


def located_at(decoder: Decoder, Y: Array, X: Array) -> Located:
    """Rows at latent points X (n, Q) that are known: Laplace's approximation there.

    The prior is standard normal.
    """
    return _about(decoder, Y, X, -X, np.ones_like(X), np.ones(len(X), dtype=bool))


def decoded(decoder: Decoder, mean: Array, covariance: Array) -> tuple[Array, Array]:
    """Mean and variance (n, D) of the noise-free function at points that are normal themselves.

    By 2 Q points of each, exact where the mean is linear and the variance quadratic.  [AH]

    Parameters
    ----------
    decoder : Decoder
    mean : array (n, Q)
    covariance : array (n, Q, Q)
    """
    starts = range(0, max(1, len(mean)), _ROWS)
    few = ((mean[i : i + _ROWS], covariance[i : i + _ROWS]) for i in starts)
    blocks = [_decoded(decoder, m, S) for m, S in few]
    means, variances = zip(*blocks, strict=True)
    return np.concatenate(means), np.concatenate(variances)


def _decoded(decoder: Decoder, mean: Array, covariance: Array) -> tuple[Array, Array]:
    """The same of one block of rows."""
    n, Q = mean.shape
    arms = np.moveaxis(math.sqrt(Q) * eigen.semidefinite_factors(covariance), -1, 0)  # (Q, n, Q)
    points = mean + np.concatenate([arms, -arms])
    f, variance = (a.reshape(2 * Q, n, a.shape[1]) for a in decoder.predict(points.reshape(-1, Q)))
    return np.mean(f, axis=0), np.mean(variance, axis=0) + np.var(f, axis=0)


def _about(
    decoder: Decoder,
    Y: Array,
    X: Array,
    pull: Array,
    precision: Array,
    converged: NDArray[np.bool_],
) -> Located:
    """Laplace's approximation at summits X.

    Of each row the prior is normal, with ``precision`` and with the slope ``pull`` at X, (n, Q).
    """
    value, _ = decoder.log_density(X, Y)
    A = _curvature(decoder, Y, X) + precision[:, :, None] * np.eye(X.shape[1])
    covariance, log_determinant = eigen.covariances_of(A, np.min(precision, axis=1))
    before = np.sum(np.log(precision) - pull * pull / precision, axis=1)
    return Located(X, covariance, value + 0.5 * (before - log_determinant), converged)


def _curvature(decoder: Decoder, Y: Array, X: Array) -> Array:
    """Minus the second derivatives of each row's log density, (n, Q, Q), by differences."""
    columns = []
    for step in _STEP * np.eye(X.shape[1]):
        above, below = (decoder.log_density(X + h, Y)[1] for h in (step, -step))
        columns.append((below - above) / (2.0 * _STEP))
    A = np.stack(columns, axis=2)
    return 0.5 * (A + np.swapaxes(A, 1, 2))


def _own_precision(prior: LatentPrior, X: Array, own: Array) -> Array:
    """The diagonal of the prior's precision, (n, Q): what its divergence says of variances."""
    _, _, slope, _ = prior.divergence(X, np.ones_like(X), own)
    return 2.0 * slope + 1.0


def _smoothed(
    decoder: Decoder, Y: Array, X: Array, prior: LatentPrior, own: Array, max_iter: int
) -> Array:
    """The summit of the prior times a normal likelihood of each row, with its curvature at X."""
    _, slope = decoder.log_density(X, Y)
    A = _curvature(decoder, Y, X)
    F = eigen.semidefinite_factors(A)  # where the density curves up, it counts as flat

    def value_and_gradient(x: Array) -> tuple[float, Array]:
        R = x.reshape(X.shape) - X
        up = np.einsum("nij,nkj,nk->ni", F, F, R)
        before, pull, _ = prior(R + X, own)
        value = before + float(np.sum(R * (slope - 0.5 * up)))
        return -value, -(pull + slope - up).ravel()

    return optimize.minimise_lbfgs(
        value_and_gradient,
        X.ravel(),
        max_iter=max_iter,
        least_gain=_LEAST_GAIN * len(Y),
        announce=False,
    ).x
