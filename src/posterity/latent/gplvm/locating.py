"""Latent points of rows of outputs: the most probable ones, and their covariances.

A row's log posterior has several hills, so each search starts at the latent points of training
rows that explain the row best. About the maximum it is taken for normal (Laplace).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity import optimize
from posterity.arrays import Array
from posterity.latent.gplvm import trajectories
from posterity.latent.gplvm.search import CandidatePoints
from posterity.latent.gplvm.terms import Decoder, LatentPrior
from posterity.latent.gplvm.trajectories import TrajectoryPrior
from posterity.linalg import eigen

Rule: TypeAlias = tuple[Array, Array]
"""Points (n, Q), and weights (n,)."""

_POINTS = 256  # at most, of a product rule
_ALONG = 9  # at most, along one dimension
_FEWEST = 4  # along one: with fewer a product rule is no better than two points for each


@functools.lru_cache(maxsize=32)
def standard_rule(n_dimensions: int) -> Rule:
    """Points (n, Q) and weights (n,) of a rule for averages over N(0, I); not to be changed.

    In up to four dimensions Gauss's rule along each, exact for polynomials of degree 17 in one or
    two and 11 and 7 in three and four. In more, two points on each axis, exact to degree 3.  [AH]

    Examples
    --------
    >>> points, weights = standard_rule(2)
    >>> points.shape, round(float(weights @ points[:, 0] ** 4), 9)
    ((81, 2), 3.0)
    """
    along = min(_ALONG, int(_POINTS ** (1.0 / n_dimensions) + 1e-9))
    if along < _FEWEST:
        return axis_rule(n_dimensions)
    nodes, shares = np.polynomial.hermite_e.hermegauss(along)
    points = np.array(list(itertools.product(nodes, repeat=n_dimensions)))
    weights = np.prod(list(itertools.product(shares / shares.sum(), repeat=n_dimensions)), axis=1)
    return points, weights


@functools.lru_cache(maxsize=32)
def axis_rule(n_dimensions: int) -> Rule:
    """Two points on each axis for averages over N(0, I), exact to degree 3; not to be changed. [AH]

    Examples
    --------
    >>> axis_rule(1)
    (array([[ 1.],
           [-1.]]), array([0.5, 0.5]))
    """
    arms = np.sqrt(n_dimensions) * np.eye(n_dimensions)
    points = np.concatenate([arms, -arms])
    return points, np.full(len(points), 1.0 / len(points))


_VALUES = 1 << 21  # of one array at a time: 16 MiB
_LEAST_GAIN = 1e-6  # nats: the point is then found to a thousandth of its deviation
_FIRST_STEP = 1e-3  # and the longest, of the prior's deviation: not out of a narrow valley
_LONGEST_STEP = 0.5
_STEP = 1e-4  # for curvature by differences; of the prior's deviation, in which functions bend

# From points (m, Q) and the row of each: values (m,) and their gradients (m, Q).
RowsAndSlopes: TypeAlias = Callable[[Array, NDArray[np.intp]], tuple[Array, Array]]


def find_highest(
    log_posterior: RowsAndSlopes, starts: Array, max_iter: int
) -> tuple[Array, NDArray[np.bool_]]:
    """The highest point (n, Q) found for each row from its own starts (n, k, Q).

    And whether the search for it ended by itself.
    """
    n, k, _ = starts.shape
    ends = climb(log_posterior, starts, max_iter)
    best = np.arange(n) * k + np.argmin(ends.value.reshape(n, k), axis=1)
    return ends.x[best], ends.converged[best]


def climb(log_posterior: RowsAndSlopes, starts: Array, max_iter: int) -> optimize.ManyOptima:
    """The maximum next to each start (n, k, Q), n k of them, and minus the function there.

    The function takes points (m, Q) and the row of each; it returns values (m,) and their
    gradients (m, Q).
    """
    n, k, Q = starts.shape

    def value_and_gradient(X: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
        value, slope = log_posterior(X, which // k)
        return -value, -slope

    return optimize.minimise_many(
        value_and_gradient,
        starts.reshape(n * k, Q),
        first_step=_FIRST_STEP,
        longest_step=_LONGEST_STEP,
        max_iter=max_iter,
        least_gain=_LEAST_GAIN,
    )


def difference_curvature(slopes: Callable[[Array], Array], X: Array) -> Array:
    """Minus the second derivatives (n, Q, Q) at X of functions of each row, by differences.

    Examples
    --------
    >>> difference_curvature(lambda X: -2.0 * X, np.zeros((1, 2))).round(6) + 0.0
    array([[[2., 0.],
            [0., 2.]]])
    """
    columns = []
    for step in _STEP * np.eye(X.shape[1]):
        columns.append((slopes(X - step) - slopes(X + step)) / (2.0 * _STEP))
    A = np.stack(columns, axis=2)
    return 0.5 * (A + np.swapaxes(A, 1, 2))


def split_rows(Y: Array, n_values: int) -> Iterator[Array]:
    """Rows of which each asks for so many values, some at a time; one piece at least."""
    size = max(1, _VALUES // n_values)
    return (Y[i : i + size] for i in range(0, max(1, len(Y)), size))


_ROWS = 64  # decoded at a time, up to 256 points each


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
    >>> from posterity.latent.gplvm.inducing_outputs import InducingOutputs
    >>> X = np.linspace(-2.0, 2.0, 30)[:, None]
    >>> Y = np.hstack([np.sin(X), np.cos(X)])
    >>> term = InducingOutputs(Y, kernels.RBF(1.0), np.zeros((1, 2)), 0.01, None, X[::3])
    >>> decoder = term.decoder(X, term.start)
    >>> found = locate(decoder, np.array([[np.sin(0.5), np.nan]]), candidates=X)
    >>> found.mean.round(2), np.sqrt(found.covariance).round(2)
    (array([[0.49]]), array([[[0.12]]]))
    """
    k = min(n_starts, len(candidates))
    places = CandidatePoints.from_decoder(decoder, candidates)
    few = split_rows(Y, max(len(candidates), k * Y.shape[1]))
    parts = [_locate_some(decoder, y, places.choose_starts(y, k), max_iter) for y in few]
    columns = zip(*((p.mean, p.covariance, p.log_density, p.converged) for p in parts), strict=True)
    return Located(*(np.concatenate(column) for column in columns))


def _locate_some(decoder: Decoder, Y: Array, candidates: Array, max_iter: int) -> Located:
    """The same of some rows, each from its own candidates (n, k, Q)."""
    unseen = np.all(np.isnan(Y), axis=1)
    starts = np.where(unseen[:, None, None], 0.0, candidates)

    X, converged = find_highest(weigh_by_normal(decoder, Y), starts, max_iter)
    return approximate_about(decoder, Y, X, -X, np.ones_like(X), converged)


def weigh_by_normal(decoder: Decoder, Y: Array) -> RowsAndSlopes:
    """The log posterior of latent points of rows, up to a constant, under a standard normal."""

    def log_posterior(X: Array, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        value, slope = decoder.log_density(X, Y[rows])
        return value - 0.5 * np.sum(X * X, axis=1), slope - X

    return log_posterior


def locate_along(
    decoder: Decoder,
    Y: Array,
    prior: TrajectoryPrior,
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
    prior : TrajectoryPrior
        Normal, its coordinates independent of each other.
    own : array (P,)
        Its numbers.

    Returns
    -------
    Located
        Covariances are those of Laplace's approximation to all rows of a group together; in groups
        of more than 3,000 coordinates, those of each row given the points of all others, which are
        smaller. Log densities are of each row given the points of all others.
    """
    alone = locate(decoder, Y, candidates=candidates, max_iter=max_iter)
    shape = alone.mean.shape

    def value_and_gradient(x: Array) -> tuple[float, Array]:
        X = x.reshape(shape)
        value, slope = decoder.log_density(X, Y)
        before, pull, _ = prior(X, own)
        return -before - float(np.sum(value)), -(pull + slope).ravel()

    starts = (alone.mean.ravel(), _smooth_by_prior(decoder, Y, alone.mean, prior, own, max_iter))
    best = optimize.minimise_lbfgs(
        value_and_gradient,
        min(starts, key=lambda x: value_and_gradient(x)[0]),
        max_iter=max_iter,
        least_gain=_LEAST_GAIN * len(Y),
        announce=False,
    )
    found = locate_along_at(decoder, Y, best.x.reshape(shape), prior, own)
    return replace(found, converged=np.full(len(Y), best.converged))


def locate_along_at(
    decoder: Decoder, Y: Array, X: Array, prior: TrajectoryPrior, own: Array
) -> Located:
    """Rows that a prior ties together at latent points X (n, Q) that are known.

    Covariances are those of Laplace's approximation of each group as a whole.
    """
    precision, known = _own_precision(prior, X, own), np.ones(len(X), dtype=bool)
    given_others = approximate_about(decoder, Y, X, prior(X, own)[1], precision, known)
    covariance = given_others.covariance.copy()
    F = eigen.semidefinite_factors(_curvature(decoder, Y, X))  # what curves up counts as flat
    for rows, P in prior.precisions(own):
        if len(rows) * X.shape[1] <= trajectories.AT_ONCE:
            L = trajectories.factor_tied_precision(F[rows] @ np.swapaxes(F[rows], 1, 2), P)
            covariance[rows] = trajectories.marginal_covariances(L, len(rows))
    return replace(given_others, covariance=covariance)


def locate_at(decoder: Decoder, Y: Array, X: Array) -> Located:
    """Rows at latent points X (n, Q) that are known: Laplace's approximation there.

    The prior is standard normal.
    """
    return approximate_about(decoder, Y, X, -X, np.ones_like(X), np.ones(len(X), dtype=bool))


def decode_normal_points(decoder: Decoder, mean: Array, covariance: Array) -> tuple[Array, Array]:
    """Mean and variance (n, D) of the noise-free function at points that are normal themselves.

    By a rule of points about each, exact where the mean is linear and the variance quadratic.

    Parameters
    ----------
    decoder : Decoder
    mean : array (n, Q)
    covariance : array (n, Q, Q)
    """
    starts = range(0, max(1, len(mean)), _ROWS)
    few = ((mean[i : i + _ROWS], covariance[i : i + _ROWS]) for i in starts)
    blocks = [_decode_block(decoder, m, S) for m, S in few]
    means, variances = zip(*blocks, strict=True)
    return np.concatenate(means), np.concatenate(variances)


def _decode_block(decoder: Decoder, mean: Array, covariance: Array) -> tuple[Array, Array]:
    """The same of one block of rows."""
    n, Q = mean.shape
    points, weights = standard_rule(Q)
    F = eigen.semidefinite_factors(covariance)
    places = mean + np.einsum("pq,ndq->pnd", points, F)  # (points, n, Q)
    answer = decoder.latent(places.reshape(-1, Q))
    shape = len(points), n, answer.n_latents
    f, variance = answer.mean.reshape(shape), answer.variance.reshape(shape)
    average = np.tensordot(weights, f, axes=1)
    f -= average
    return average, np.tensordot(weights, variance + f * f, axes=1)


def approximate_about(
    decoder: Decoder,
    Y: Array,
    X: Array,
    pull: Array,
    precision: Array,
    converged: NDArray[np.bool_],
) -> Located:
    """Laplace's approximation at maxima X.

    Of each row the prior is normal, with ``precision`` and with the slope ``pull`` at X, (n, Q).
    """
    value, _ = decoder.log_density(X, Y)
    A = _curvature(decoder, Y, X) + precision[:, :, None] * np.eye(X.shape[1])
    covariance, log_determinant = eigen.invert_precisions(A, np.min(precision, axis=1))
    before = np.sum(np.log(precision) - pull * pull / precision, axis=1)
    return Located(X, covariance, value + 0.5 * (before - log_determinant), converged)


def _curvature(decoder: Decoder, Y: Array, X: Array) -> Array:
    """That of each row's log density."""
    return difference_curvature(lambda points: decoder.log_density(points, Y)[1], X)


def _own_precision(prior: LatentPrior, X: Array, own: Array) -> Array:
    """Return the diagonal of the prior's precision, (n, Q), from the slope of its divergence."""
    _, _, slope, _ = prior.divergence(X, np.ones_like(X), own)
    return 2.0 * slope + 1.0


def _smooth_by_prior(
    decoder: Decoder, Y: Array, X: Array, prior: LatentPrior, own: Array, max_iter: int
) -> Array:
    """The maximum of the prior times a normal likelihood of each row, with its curvature at X."""
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
