"""Outputs of rows, averaged over all places where their latent points may be.

The log posterior of a latent point has several hills, the more the fewer outputs of the row are
seen, and is not quadratic about any of them. So points of a rule about every maximum are weighed by
the posterior: importance sampling from the mixture of Laplace's normals, with the points of a rule
in place of draws.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from posterity import kernels
from posterity.arrays import Array
from posterity.latent.gplvm import locating
from posterity.latent.gplvm.locating import approximate_about, weigh_by_normal
from posterity.latent.gplvm.search import CandidatePoints
from posterity.latent.gplvm.terms import Decoder
from posterity.linalg import eigen

_STARTS = 8  # of each row
_SAME = 0.01  # of the prior's deviation: maxima that are closer are one
_OF_PRIOR = 0.1  # weight of the prior among the normals
_TINY = np.finfo(np.float64).tiny
_FAINT = 10.0  # nats: hills that have less of the posterior are left out


@dataclass(frozen=True)
class RowHypotheses:
    """Hills of the posterior of the latent points of rows, one after the other.

    The weights of all hills of a row sum to one.
    """

    row: NDArray[np.intp]  # (h,), in increasing order; every row has one at least
    weight: Array  # (h,)
    point: Array  # (h, Q), maxima
    covariance: Array  # (h, Q, Q), by Laplace's approximation
    mean: Array  # (h, D), of the noise-free function
    variance: Array  # (h, D)

    def average(self) -> tuple[Array, Array]:
        """Mean and variance (n, D) of the mixture of all hills of each row."""
        n, weight = int(self.row[-1]) + 1, self.weight[:, None]
        mean = _sum_by_row(self.row, weight * self.mean, n)
        spread = self.variance + (self.mean - mean[self.row]) ** 2
        return mean, _sum_by_row(self.row, weight * spread, n)

    def list_best(self) -> NDArray[np.intp]:
        """Number of the hill of the largest weight of each row, (n,)."""
        order = np.lexsort((-self.weight, self.row))
        return order[np.searchsorted(self.row, np.arange(self.row[-1] + 1))]


def decode_rows(
    decoder: Decoder, Y: Array, *, candidates: Array, max_iter: int = 200
) -> tuple[Array, Array]:
    """Mean and variance (n, D) of the noise-free function at the unknown points of rows.

    Parameters
    ----------
    decoder : Decoder
    Y : array (n, D)
        Outputs; NaN where one is missing.
    candidates : array (C, Q)
        Latent points to start from, those of the training rows.
    max_iter : int, default=200
        Of the search for maxima.

    Examples
    --------
    >>> from posterity import kernels
    >>> from posterity.latent.gplvm.inducing_outputs import InducingOutputs
    >>> X = np.linspace(-2.0, 2.0, 30)[:, None]
    >>> Y = np.hstack([X**2, X])
    >>> term = InducingOutputs(Y, kernels.RBF(1.0), np.zeros((1, 2)), 0.01, None, X[::3])
    >>> row = np.array([[1.0, np.nan]])  # its point is -1 or 1
    >>> mean, variance = decode_rows(term.decoder(X, term.start), row, candidates=X)
    >>> mean.round(1) + 0.0, np.sqrt(variance).round(1)
    (array([[1., 0.]]), array([[0.1, 1. ]]))
    """
    rule = locating.standard_rule(candidates.shape[1])
    blocks = [
        _decode_hills(decoder, y, hills.add_prior(len(y)), rule).average()
        for y, hills in _find_in_blocks(decoder, Y, candidates, len(rule[0]), max_iter)
    ]
    means, variances = zip(*blocks, strict=True)
    return np.concatenate(means), np.concatenate(variances)


def find_hypotheses(
    decoder: Decoder, Y: Array, *, candidates: Array, max_iter: int = 200
) -> RowHypotheses:
    """The hills of the posterior of the latent point of each row, and the outputs on each.

    Outputs are averaged over a hill by two points for each latent dimension. For rows of which so
    much is seen that hills are narrow, this is as good as :func:`decode_rows`, and faster.

    Parameters
    ----------
    decoder, Y, candidates, max_iter
        As for :func:`decode_rows`.

    Examples
    --------
    >>> from posterity import kernels
    >>> from posterity.latent.gplvm.inducing_outputs import InducingOutputs
    >>> X = np.linspace(-2.0, 2.0, 30)[:, None]
    >>> Y = np.hstack([X**2, X])
    >>> term = InducingOutputs(Y, kernels.RBF(1.0), np.zeros((1, 2)), 0.01, None, X[::3])
    >>> row = np.array([[1.0, np.nan]])  # its point is -1 or 1
    >>> found = find_hypotheses(term.decoder(X, term.start), row, candidates=X)
    >>> found.weight.round(1) + 0.0, found.mean[:, 1].round(1)
    (array([0.5, 0.5]), array([ 1., -1.]))
    """
    rule = locating.axis_rule(candidates.shape[1])
    blocks, first = [], 0
    for y, hills in _find_in_blocks(decoder, Y, candidates, len(rule[0]), max_iter):
        found = _decode_hills(decoder, y, hills, rule)
        blocks.append(replace(found, row=found.row + first))
        first += len(y)
    names = [field.name for field in fields(RowHypotheses)]
    return RowHypotheses(
        *(np.concatenate([getattr(block, name) for block in blocks]) for name in names)
    )


def _find_in_blocks(
    decoder: Decoder, Y: Array, candidates: Array, n_points: int, max_iter: int
) -> Iterator[tuple[Array, _Hills]]:
    """Some rows at a time, and their hills."""
    places = CandidatePoints.from_decoder(decoder, candidates)
    width = max(2 * candidates.shape[1] * len(candidates), _STARTS * n_points * Y.shape[1])
    for y in locating.split_rows(Y, width):
        yield y, _find_hills(decoder, y, places.choose_peaks(y, _STARTS), max_iter)


def _decode_hills(decoder: Decoder, Y: Array, hills: _Hills, rule: locating.Rule) -> RowHypotheses:
    """Outputs on each hill: averages over the points of the rule, weighed by the posterior."""
    points, log_weights = hills.weigh_points(decoder, Y, rule)
    f = decoder.latent(points.reshape(-1, points.shape[-1]))
    each = logsumexp(log_weights, axis=1)
    shape = *log_weights.shape, f.n_latents
    shares = np.exp(log_weights - each[:, None])
    mean = np.einsum("hp,hpd->hd", shares, f.mean.reshape(shape))
    spread = f.variance.reshape(shape) + (f.mean.reshape(shape) - mean[:, None]) ** 2
    return RowHypotheses(
        hills.row,
        np.exp(each - _log_totals(each, hills.row, len(Y))[hills.row]),
        hills.mean,
        hills.factor @ np.swapaxes(hills.factor, 1, 2),
        mean,
        np.einsum("hp,hpd->hd", shares, spread),
    )


@dataclass(frozen=True)
class _Hills:
    """Laplace's normals about the maxima of all rows, one after the other."""

    row: NDArray[np.intp]  # (h,)
    mean: Array  # (h, Q)
    factor: Array  # (h, Q, Q), F F^T the covariance, columns of F orthogonal
    log_share: Array  # (h,), of the posterior of the row

    def add_prior(self, n: int) -> _Hills:
        """With the prior as one more hill of each of n rows, for what lies far from all maxima."""
        Q = self.mean.shape[1]
        row = np.concatenate([self.row, np.arange(n)])
        order = np.argsort(row, kind="stable")
        more = np.zeros((n, Q)), np.tile(np.eye(Q), (n, 1, 1)), np.full(n, np.log(_OF_PRIOR))
        both = zip((self.mean, self.factor, self.log_share), more, strict=True)
        return _Hills(row[order], *(np.concatenate(pair)[order] for pair in both))

    def weigh_points(self, decoder: Decoder, Y: Array, rule: locating.Rule) -> tuple[Array, Array]:
        """Points (h, P, Q) of a rule about each maximum, and their log weights (h, P)."""
        nodes, shares = rule
        points = self.mean[:, None] + np.einsum("pq,hdq->hpd", nodes, self.factor)
        flat = points.reshape(-1, points.shape[-1])
        seen = Y[np.repeat(self.row, len(nodes))]
        log_p = decoder.log_density(flat, seen)[0] - 0.5 * np.sum(flat * flat, axis=1)
        drawn = self.log_share[:, None] + np.log(shares)
        return points, drawn + log_p.reshape(drawn.shape) - self._log_density(points)

    def _log_density(self, points: Array) -> Array:
        """Log density (h, P) of the mixture of all hills of a row, up to a constant."""
        return logsumexp([self._density_of_hill(k, points) for k in range(_STARTS + 1)], axis=0)

    def _density_of_hill(self, k: int, points: Array) -> Array:
        """The part of the k-th hill of each row; minus infinity where there are fewer."""
        first = np.searchsorted(self.row, self.row)
        other = np.minimum(first + k, len(self.row) - 1)
        exists = (self.row[other] == self.row) & (first + k < len(self.row))
        F = self.factor[other]
        variances = np.maximum(np.sum(F * F, axis=1), _TINY)  # (h, Q)
        apart = np.einsum("hdq,hpd->hpq", F, points - self.mean[other, None])
        squares = np.sum((apart / variances[:, None]) ** 2, axis=2)
        size = self.log_share[other] - 0.5 * np.sum(np.log(variances), axis=1)
        return np.where(exists[:, None], size[:, None] - 0.5 * squares, -np.inf)


def _find_hills(decoder: Decoder, Y: Array, starts: Array, max_iter: int) -> _Hills:
    """Every maximum that a search from the starts (n, k, Q) of a row ends at."""
    n, k, _ = starts.shape
    is_unseen = np.all(np.isnan(Y), axis=1)
    starts = np.where(is_unseen[:, None, None], 0.0, starts)
    ends = locating.climb(weigh_by_normal(decoder, Y), starts, max_iter)
    kept = ~_is_repeated(ends.x.reshape(starts.shape)).ravel()
    row, X = np.repeat(np.arange(n), k)[kept], ends.x[kept]
    found = approximate_about(decoder, Y[row], X, -X, np.ones_like(X), ends.converged[kept])
    log_share = found.log_density - _log_totals(found.log_density, row, n)[row]
    high = log_share > -_FAINT
    factor = eigen.semidefinite_factors(found.covariance[high])
    return _Hills(row[high], X[high], factor, log_share[high])


def _is_repeated(X: Array) -> NDArray[np.bool_]:
    """Whether a point of a row (n, k, Q) lies at an earlier one of the row, (n, k)."""
    distance = np.max(np.abs(X[:, :, None] - X[:, None]), axis=3)
    return np.any(np.tril(distance < _SAME, -1), axis=2)


def _log_totals(log_values: Array, row: NDArray[np.intp], n: int) -> Array:
    """Log of the sum over all that a row has, (n,)."""
    largest = np.full(n, -np.inf)
    np.maximum.at(largest, row, log_values)
    return largest + np.log(np.bincount(row, np.exp(log_values - largest[row]), minlength=n))


def _sum_by_row(row: NDArray[np.intp], values: Array, n: int) -> Array:
    """Sums (n, D) of the values (m, D) of each row."""
    starts = np.searchsorted(row, np.arange(n))
    return np.add.reduceat(values, starts, axis=0)


def weigh_by_motion(
    found: RowHypotheses, kernel: kernels.Kernel, times: Array, groups: NDArray[np.intp]
) -> RowHypotheses:
    """Hypotheses with their weights given all frames of a motion, by forward and backward sums.

    Each frame is weighed by itself first, under a standard normal prior of its latent point. From
    one frame to the next, points change as in the process over time of these two frames: r x is
    expected after x, with the variance 1 - r^2, where r is the correlation. Both points are taken
    for normal, with the covariances of their hills.

    Parameters
    ----------
    found : RowHypotheses
        Of n frames.
    kernel : Kernel
        Over time; one at equal times.
    times : array (n,)
    groups : array (n,)
        Frames of a group make one motion.

    Examples
    --------
    >>> row, point = np.array([0, 0, 1]), np.array([[-1.0], [1.0], [0.9]])
    >>> narrow, nothing = np.full((3, 1, 1), 0.01), np.zeros((3, 1))
    >>> found = RowHypotheses(row, np.array([0.5, 0.5, 1.0]), point, narrow, nothing, nothing)
    >>> times, together = np.array([0.0, 0.1]), np.zeros(2, dtype=int)
    >>> weigh_by_motion(found, kernels.RBF(0.3), times, together).weight.round(3)
    array([0., 1., 1.])
    """
    weight = found.weight.copy()
    hills = np.split(np.arange(len(found.row)), np.flatnonzero(np.diff(found.row)) + 1)
    for group in np.unique(groups):
        frames = np.flatnonzero(groups == group)
        order = frames[np.argsort(times[frames], kind="stable")]
        chain = [hills[frame] for frame in order]
        r = [
            float(kernel(times[[a], None], times[[b], None])[0, 0])
            for a, b in itertools.pairwise(order)
        ]
        for own, shares in zip(chain, _sum_both_ways(found, chain, r), strict=True):
            weight[own] = shares
    return replace(found, weight=weight)


def _sum_both_ways(
    found: RowHypotheses, chain: list[NDArray[np.intp]], correlations: list[float]
) -> list[Array]:
    """Weights of the hypotheses of each frame given all frames."""
    with np.errstate(divide="ignore"):
        own = [np.log(found.weight[hills]) for hills in chain]
    pairs = zip(chain, chain[1:], correlations, strict=False)
    moves = [_weigh_moves(found, before, after, r) for before, after, r in pairs]
    forward = [own[0]]
    for move, log_weight in zip(moves, own[1:], strict=True):
        forward.append(log_weight + logsumexp(forward[-1][:, None] + move, axis=0))
    backward = [np.zeros_like(own[-1])]
    for move, log_weight in zip(moves[::-1], own[:0:-1], strict=True):
        backward.append(logsumexp(move + log_weight + backward[-1], axis=1))
    both = [a + b for a, b in zip(forward, backward[::-1], strict=True)]
    return [np.exp(total - logsumexp(total)) for total in both]


def _weigh_moves(
    found: RowHypotheses, before: NDArray[np.intp], after: NDArray[np.intp], r: float
) -> Array:
    """Log density of each later point given each earlier one, over that by itself, (a, b)."""
    start, end = found.point[before][:, None], found.point[after][None]
    spread = np.diagonal(found.covariance, axis1=1, axis2=2)
    unsure = spread[after][None]
    moved = 1.0 - r * r + r * r * spread[before][:, None] + unsure
    alone = 1.0 + unsure
    given = (end - r * start) ** 2 / moved + np.log(moved)
    return -0.5 * np.sum(given - end**2 / alone - np.log(alone), axis=2)
