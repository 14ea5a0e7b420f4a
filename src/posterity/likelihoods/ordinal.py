"""Ratings and grades: one of several numbers of which only the order has a meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit, log_ndtr, logit, ndtri

from posterity import distributions
from posterity.arrays import Array
from posterity.distributions.base import lookup
from posterity.likelihoods import sigmoid_mean
from posterity.likelihoods.base import Averaged

LINKS = ("logit", "probit")

_MOST_LEVELS = 30  # of those that are read from y
_WIDEST = 100.0  # times the gaps of rows that nothing explains
_LARGEST = 700.0  # exp(700) is a number
_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class Ordinal(Averaged):
    """y is the k-th of K numbers where a plus noise lies between cut points k - 1 and k.

    P(y <= k-th number) = F(cut_k - a), where F is the logistic sigmoid or the normal cdf. The cut
    points lie about zero, as a has an intercept of its own; the gaps between them are learned. The
    numbers say which rating is higher, not by how much, until predictions are averaged: these have
    a mean, an interval and a standard deviation in the units of the ratings. Ratings are therefore
    targets of regressors, as in ``GeneralizedLinearRegression(likelihoods.Ordinal())`` and
    ``GaussianProcessRegressor(likelihood=likelihoods.Ordinal())``; a classifier forgets the order.

    Parameters
    ----------
    levels : sequence of float, optional
        The K numbers, in increasing order. None: the whole numbers that occur in y, 30 at most.
        Give ``range(1, 6)`` where some ratings are too rare to occur in every sample.
    gaps : sequence of float, optional
        The K - 2 distances between neighbouring cut points, positive, in units of the noise.
        None: learned.
    link : {"logit", "probit"}, default="logit"
        Noise that is logistic, or normal.

    Examples
    --------
    >>> from posterity import likelihoods
    >>> stars = likelihoods.Ordinal(levels=[1, 2, 3, 4], gaps=[2.0, 1.0])
    >>> stars.cut_points
    array([-1.5,  0.5,  1.5])
    >>> prediction = stars.predict(mean=[-2.0, 1.0], variance=[0.0, 1.0])
    >>> prediction.probabilities().round(2)
    array([[0.62, 0.3 , 0.05, 0.03],
           [0.11, 0.29, 0.2 , 0.4 ]])
    >>> prediction.mean().round(2), prediction.median()
    (array([1.48, 2.89]), array([1., 3.]))
    """

    joins_predictions: ClassVar[bool] = False

    levels: Sequence[float] | None = None
    gaps: Sequence[Any] | None = None
    link: str = "logit"

    def __post_init__(self) -> None:
        if self.link not in LINKS:
            raise ValueError(f"link={self.link!r} must be one of {LINKS}.")
        if self.levels is not None:
            object.__setattr__(self, "levels", tuple(float(level) for level in self.levels))
            if len(self.levels) < 2 or np.any(np.diff(self.levels) <= 0.0):
                raise ValueError(f"levels={self.levels} must be two numbers or more that increase.")
        if self.gaps is None:
            return
        object.__setattr__(self, "gaps", tuple(self.gaps))
        for gap in self.gaps:
            if not np.all((np.asarray(gap) > 0.0) & np.isfinite(gap)):
                raise ValueError(f"gaps={self.gaps} must be positive and finite.")
        if self.levels is not None and len(self.gaps) != len(self.levels) - 2:
            raise ValueError(
                f"{len(self.levels)} levels have {len(self.levels) - 2} gaps between their cut "
                f"points, not {len(self.gaps)}."
            )

    @property
    def cut_points(self) -> Array:
        """The K - 1 values of a plus noise at which y changes; (N, K - 1) of N rows."""
        return self._cuts[..., 1:-1]

    @property
    def names(self) -> list[str]:
        """The first gap, and the ratios of the others to it."""
        n = 0 if self.levels is None else len(self.levels) - 2
        return [f"gaps[{i}] / gaps[0]" if i else "gaps[0]" for i in range(n)]

    @property
    def theta(self) -> Array:
        if not self.names:
            return np.zeros(0)
        log_gaps = np.log(np.broadcast_arrays(*self._require_value("gaps")))
        log_gaps[1:] -= log_gaps[0]
        return log_gaps

    def with_parameters(self, theta: Array) -> Self:
        values = np.exp(theta)
        gaps = np.concatenate([values[:1], values[:1] * values[1:]])
        return replace(self, gaps=[gap if np.ndim(gap) else float(gap) for gap in gaps])

    def without_parameters(self) -> Self:
        return replace(self, gaps=None)

    def with_first_parameter(self, values: Array) -> Self:
        """All gaps in proportion: smaller ones are larger noise."""
        first, *others = self._require_value("gaps")
        return replace(self, gaps=[values, *(values * (gap / first) for gap in others)])

    def search_start(self, y: Array, weights: Array) -> tuple[Self, Array]:
        """From the gaps of rows that nothing explains."""
        bound = self.bind(y)
        if self.gaps is not None:
            return bound, np.stack([bound.theta] * 2, axis=1)
        levels = bound._require_value("levels")
        counts = np.array([np.sum(weights[y == level]) for level in levels]) + 0.5
        below = np.cumsum(counts)[:-1] / np.sum(counts)
        cuts = logit(below) if self.link == "logit" else ndtri(below)
        started = replace(bound, gaps=np.diff(cuts).tolist())
        reach = np.log(_WIDEST)
        return started, started.theta[:, None] + np.array([-reach, reach])

    def bind(self, y: Array) -> Self:
        """The likelihood of the numbers that occur in y, where none are given."""
        return self if self.levels is not None else replace(self, levels=np.unique(y).tolist())

    def check(self, y: Array) -> None:
        found, levels = np.unique(y), self.levels
        bad = np.flatnonzero(y != np.floor(y) if levels is None else ~np.isin(y, levels))
        if bad.size:
            allowed = "whole numbers, or among levels= if given" if levels is None else str(levels)
            raise ValueError(
                f"y is {y[bad[0]]:g} in row {bad[0]}; ratings must be {allowed}. Give all numbers "
                "that are ratings as levels=, or leave such rows out."
            )
        if levels is None and len(found) > _MOST_LEVELS:
            raise ValueError(
                f"y has {len(found)} different values, and ratings at most {_MOST_LEVELS}: give "
                "levels= if these are ratings, or use a likelihood of counts or of numbers."
            )
        if len(found) < 2:
            raise ValueError(
                f"y is {found[0]:g} in every row; cut points need two different ratings or more."
            )

    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        return self._link.log_mass(*self._limits(y, a))

    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        return -np.add(*self._link.slopes(*self._limits(y, a)))

    def d2(self, y: ArrayLike, a: ArrayLike) -> Array:
        return -np.add(*self._link.slopes_of_d1(*self._limits(y, a)))

    def d3(self, y: ArrayLike, a: ArrayLike) -> Array:
        return -np.add(*self._link.slopes_of_d2(*self._limits(y, a)))

    def parameter_derivatives(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, Array, Array]:
        limits, link = self._limits(y, a), self._link
        moves = [self._around(y, move) for move in self._cut_moves]

        def combine(at_low: Array, at_high: Array) -> Array:
            slopes = [low * at_low + high * at_high for low, high in moves]
            return np.array(slopes).reshape(len(moves), *limits[0].shape)

        return (
            combine(*link.slopes(*limits)),
            combine(*link.slopes_of_d1(*limits)),
            combine(*link.slopes_of_d2(*limits)),
        )

    def information(self, a: ArrayLike) -> Array:
        y = np.reshape(self._require_value("levels"), (-1, *(1,) * np.ndim(a)))
        return np.sum(np.exp(self.log_prob(y, a)) * self.score(y, a) ** 2, axis=1)

    def predict(self, mean: ArrayLike, variance: ArrayLike) -> distributions.Ordinal:
        m, v = np.broadcast_arrays(
            np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        )
        log_above, log_below = self._link.mean_sides(self.cut_points - m[..., None], v[..., None])
        levels = self._require_value("levels")
        return distributions.Ordinal(_log_shares(log_below, log_above), levels)

    @property
    def _link(self) -> _Logistic | _Normal:
        return _Logistic() if self.link == "logit" else _Normal()

    @property
    def _cuts(self) -> Array:
        """All K + 1 cut points, with an infinite one at either end, (*batch, K + 1)."""
        gaps = np.stack(np.broadcast_arrays(0.0, *self._require_value("gaps")), axis=-1)
        inner = np.cumsum(gaps, axis=-1)
        return _with_ends(inner - 0.5 * inner[..., -1:], -np.inf, np.inf)

    @property
    def _cut_moves(self) -> list[Array]:
        """Slopes of all cut points in each learnable parameter, (*batch, K + 1)."""
        inner, gaps = self.cut_points, self._require_value("gaps")
        place = np.arange(inner.shape[-1])
        moves = [np.multiply.outer(gap, (place > i) - 0.5) for i, gap in enumerate(gaps)]
        return [_with_ends(move, 0.0, 0.0) for move in [inner, *moves[1:]][: len(gaps)]]

    def _limits(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, Array]:
        """How far the cut points below and above y lie above a."""
        low, high = self._around(y, self._cuts)
        return low - np.asarray(a, dtype=np.float64), high - np.asarray(a, dtype=np.float64)

    def _around(self, y: ArrayLike, table: Array) -> tuple[Array, Array]:
        """The entries of cut points, (*batch, K + 1), below and above each y."""
        levels = self._require_value("levels")
        k = np.searchsorted(levels, np.asarray(y, dtype=np.float64))
        k = np.minimum(k, len(levels) - 1)
        return lookup(table, k), lookup(table, k + 1)


class _Logistic:
    """The probability of logistic noise between two limits, and its derivatives in them."""

    def log_mass(self, low: Array, high: Array) -> Array:
        # F(high) - F(low) as a product, which is exact in both tails
        return log_expit(high) + log_expit(-low) + np.log(-np.expm1(low - high))

    def slopes(self, low: Array, high: Array) -> tuple[Array, Array]:
        inside = 1.0 / np.expm1(np.minimum(high - low, _LARGEST))
        inside = np.where(np.isfinite(high - low), inside, 0.0)
        return -expit(low) - inside, expit(-high) + inside

    def slopes_of_d1(self, low: Array, high: Array) -> tuple[Array, Array]:
        return _hill(low), _hill(high)

    def slopes_of_d2(self, low: Array, high: Array) -> tuple[Array, Array]:
        return _hill(low) * np.tanh(0.5 * low), _hill(high) * np.tanh(0.5 * high)

    def mean_sides(self, cut: Array, variance: Array) -> tuple[Array, Array]:
        """Logs of the chances of a normal value plus noise above a cut and below it."""
        return sigmoid_mean.log_mean_probabilities(cut, variance)


class _Normal:
    """The same of normal noise."""

    def log_mass(self, low: Array, high: Array) -> Array:
        far = low + high > 0.0
        near, beyond = np.where(far, -low, high), np.where(far, -high, low)
        return _log_difference(log_ndtr(near), log_ndtr(beyond))

    def slopes(self, low: Array, high: Array) -> tuple[Array, Array]:
        _, _, at_low, at_high = self._ratios(low, high)
        return -at_low, at_high

    def slopes_of_d1(self, low: Array, high: Array) -> tuple[Array, Array]:
        u, v, at_low, at_high = self._ratios(low, high)
        d1 = at_low - at_high
        return at_low * (d1 - u), at_high * (v - d1)

    def slopes_of_d2(self, low: Array, high: Array) -> tuple[Array, Array]:
        u, v, at_low, at_high = self._ratios(low, high)
        d1 = at_low - at_high
        in_low, in_high = at_low * (d1 - u), at_high * (v - d1)
        product = at_low * at_high
        of_low = product * (v - d1) - at_high * in_low + at_low * (at_low - u) * (d1 - u)
        of_high = product * (d1 - u) - at_low * in_high + at_high * (v + at_high) * (v - d1)
        return at_low * (1.0 - in_low) - of_low, of_high - at_high * (1.0 - in_high)

    def mean_sides(self, cut: Array, variance: Array) -> tuple[Array, Array]:
        """Logs of the chances of a normal value plus noise above a cut and below it."""
        z = cut / np.sqrt(1.0 + variance)
        return log_ndtr(-z), log_ndtr(z)

    def _ratios(self, low: Array, high: Array) -> tuple[Array, Array, Array, Array]:
        """Finite limits, and the density at each over the probability between them."""
        log_p = self.log_mass(low, high)
        at_low, at_high = (np.exp(-0.5 * limit**2 - _HALF_LOG_2PI - log_p) for limit in (low, high))
        u, v = (np.where(np.isfinite(limit), limit, 0.0) for limit in (low, high))
        return u, v, at_low, at_high


def _hill(u: Array) -> Array:
    """The logistic density."""
    return expit(u) * expit(-u)


def _log_shares(log_below: Array, log_above: Array) -> Array:
    """Logs of the chances between cuts (..., K - 1), from those on either side of each.

    They are differences on the side where these are small.
    """
    below, above = _with_ends(log_below, -np.inf, 0.0), _with_ends(log_above, 0.0, -np.inf)
    is_low = below[..., 1:] < above[..., :-1]
    larger = np.where(is_low, below[..., 1:], above[..., :-1])
    smaller = np.where(is_low, below[..., :-1], above[..., 1:])
    return _log_difference(larger, smaller)


def _log_difference(larger: Array, smaller: Array) -> Array:
    """log(exp(larger) - exp(smaller))."""
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = larger + np.log(-np.expm1(smaller - larger))
    return np.where(larger > smaller, difference, -np.inf)


def _with_ends(inner: Array, first: float, last: float) -> Array:
    """An entry more at either end of the last axis."""
    ends = [(0, 0)] * (inner.ndim - 1) + [(1, 1)]
    return np.pad(inner, ends, constant_values=((first, last),))
