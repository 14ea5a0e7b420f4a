"""Rows of two classes or of many, as boosting by steps sees them."""

from __future__ import annotations

import abc
import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, likelihoods, linalg
from posterity.arrays import Array

Sides: TypeAlias = NDArray[np.bool_]
"""Whether each row is on the left of a step, (N,)."""

TURNS = 100  # of Newton's method
SETTLED = 1e-9  # the last change of a side's value
LARGEST_STEP = 4.0  # of a side's value: rows far on the wrong side have hardly any curvature


class BoostedRows(abc.ABC):
    """Rows at their latent values; ``move`` changes these, and nothing else does.

    A side's value has a normal prior of mean zero. It keeps the value finite where all rows of the
    side are of one class, and is worth a fraction of a row.
    """

    latents: Array
    """(N, L)"""

    weights: Array
    """How often each row counts, (N,)."""

    prior_precision: float
    """Of the value of a side, for each latent value."""

    @classmethod
    def start_from_offset(cls, offset: Array, y: Array, weights: Array, prior_rows: float) -> Self:
        """All rows where no step has been added yet."""
        return cls.start_from_latents(np.tile(offset, (len(y), 1)), y, weights, prior_rows)

    @classmethod
    @abc.abstractmethod
    def start_from_latents(
        cls, latents: Array, y: Array, weights: Array, prior_rows: float
    ) -> Self:
        """Rows at latent values (N, L), which are written to."""

    @property
    def screening_precision(self) -> float:
        """The same, where latent values are looked at one by one."""
        return self.prior_precision

    def gain(self, left: Sides, values: Array) -> float:
        """Gain in log-likelihood and log prior by such a step."""
        moved = copy.deepcopy(self)
        moved.move(left, values)
        log_prior = -0.5 * self.prior_precision * float(np.sum(values**2))
        return moved.log_likelihood() - self.log_likelihood() + log_prior

    @abc.abstractmethod
    def log_likelihood(self) -> float:
        """Return the log-likelihood of all rows, weighted."""

    @abc.abstractmethod
    def derivatives(self) -> Iterator[tuple[Array, Array]]:
        """Slope and curvature (N,) of each row's log-probability, by latent value."""

    @abc.abstractmethod
    def optimum(self, left: Sides) -> Array:
        """The most probable value of the rows on the left and on the right, (2, L)."""

    @abc.abstractmethod
    def move(self, left: Sides, values: Array) -> None:
        """Add to each row the value of its side."""


_INFORMATION_OF_TWO = 0.25  # the most that a row can tell of its latent value
_LARGEST_LATENT = 700.0  # exp of more overflows


@dataclass(frozen=True, eq=False)
class TwoClasses(BoostedRows):
    """Rows of class 0 or 1 with p(1) = a sigmoid of the latent value."""

    y: Array  # (N,)
    weights: Array  # (N,)
    latents: Array  # (N, 1), written to by ``move``
    odds: Array  # (N,), exp(latents), likewise
    prior_precision: float

    @classmethod
    def start_from_latents(
        cls, latents: Array, y: Array, weights: Array, prior_rows: float
    ) -> Self:
        """Rows at latent values (N, 1), which are written to."""
        odds = _compute_odds(latents[:, 0])
        return cls(y, weights, latents, odds, prior_rows * _INFORMATION_OF_TWO)

    @staticmethod
    def offset(y: Array, weights: Array) -> Array:
        """The latent value of the class frequencies, (1,)."""
        return np.array([likelihoods.Bernoulli().fit_constant(y, weights)[0]])

    def log_likelihood(self) -> float:
        """Return the log-likelihood of all rows, weighted."""
        a = _clip_latents(self.latents[:, 0])
        return float(self.weights @ (self.y * a - np.log1p(self.odds)))

    def derivatives(self) -> Iterator[tuple[Array, Array]]:
        """First and minus second derivative of each row's log-probability."""
        p = self.odds / (1.0 + self.odds)
        yield self.y - p, p / (1.0 + self.odds)  # [P9 9.9]

    def optimum(self, left: Sides) -> Array:
        """The most probable value of either side, (2, 1)."""
        ones = self.weights * self.y
        total, on_left = float(np.sum(ones)), float(ones @ left)
        y_sums = np.array([on_left, total - on_left])
        return _optimum(left, self.odds, self.weights, y_sums, self.prior_precision)[:, None]

    def move(self, left: Sides, values: Array) -> None:
        """Add the value of its side to the latent value of each row."""
        self.latents[:, 0] += np.where(left, values[0, 0], values[1, 0])
        self.odds[:] = _compute_odds(self.latents[:, 0])


def _compute_odds(a: Array) -> Array:
    return np.exp(_clip_latents(a))


def _clip_latents(a: Array) -> Array:
    return np.clip(a, -_LARGEST_LATENT, _LARGEST_LATENT)


@compilation.compile_at_first_call
def _optimum(left: Sides, odds: Array, weights: Array, y_sums: Array, precision: float) -> Array:
    """Newton's method of each side, held between values known to be too low and too high."""
    v, low, high = np.zeros(2), np.full(2, -np.inf), np.full(2, np.inf)
    for _ in range(TURNS):
        p_sums, curvatures = _sum_by_side(left, odds, weights, np.exp(v[0]), np.exp(v[1]))
        slopes = y_sums - p_sums - precision * v
        last = v.copy()
        for side in range(2):
            if slopes[side] > 0.0:
                low[side] = v[side]
            else:
                high[side] = v[side]
            step = slopes[side] / (curvatures[side] + precision)
            v[side] += min(max(step, -LARGEST_STEP), LARGEST_STEP)
            if not low[side] <= v[side] <= high[side]:
                v[side] = 0.5 * (low[side] + high[side])
        if np.max(np.abs(v - last)) <= SETTLED:
            break
    return v


@compilation.compile_at_first_call(fastmath={"reassoc", "contract"})
def _sum_by_side(
    left: NDArray[np.bool_], odds: Array, weights: Array, factor_l: float, factor_r: float
) -> tuple[Array, Array]:
    """Probabilities of class 1, and their variances, summed by side."""
    P, P_l, H, H_l = 0.0, 0.0, 0.0, 0.0
    for i in range(len(odds)):
        on_left = 1.0 if left[i] else 0.0
        r = odds[i] * (factor_l if left[i] else factor_r)
        q = 1.0 / (1.0 + r)
        p = weights[i] * (r * q)
        P += p
        P_l += on_left * p
        H += p * q
        H_l += on_left * p * q
    return np.array([P_l, P - P_l]), np.array([H_l, H - H_l])


_INFORMATION = 0.5  # the most that a row can tell of a contrast of unit length
_MANY_CLASSES = 50
_CLASSES_AT_ONCE = 8
_ROUGHLY = 1e-3  # the last change of the values, where curvatures are diagonal
_ROUNDING = 1e-13  # of the sum of a log-probability a row


@dataclass(frozen=True, eq=False)
class SoftmaxRows(BoostedRows):
    """Rows of class 0 to C - 1 with probabilities that are a softmax of C latent values.

    A value that is added to all classes alike changes nothing, and costs under the prior: the
    values of a side sum to zero.
    """

    y: NDArray[np.intp]  # (N,)
    weights: Array  # (N,)
    latents: Array  # (N, C), written to by ``move``
    p: Array  # (N, C), likewise
    log_p: Array  # (N,), of the class of each row, likewise
    prior_precision: float  # of the value of one class

    @classmethod
    def start_from_latents(
        cls, latents: Array, y: Array, weights: Array, prior_rows: float
    ) -> Self:
        """Rows at latent values (N, C), which are written to."""
        N, C = latents.shape
        p, log_p = np.empty((N, C)), np.empty(N)
        rows = cls(y.astype(np.intp), weights, latents, p, log_p, prior_rows * _INFORMATION)
        rows.move(np.zeros(N, dtype=np.bool_), np.zeros((2, C)))
        return rows

    @staticmethod
    def offset(y: Array, weights: Array) -> Array:
        """The latent values of the class frequencies, (C,)."""
        return likelihoods.Categorical(int(y.max()) + 1).fit_constant(y, weights)[0]

    @property
    def screening_precision(self) -> float:
        return self._own_share() * self.prior_precision

    def log_likelihood(self) -> float:
        """Return the log-likelihood of all rows, weighted."""
        return float(self.weights @ self.log_p)

    def derivatives(self) -> Iterator[tuple[Array, Array]]:
        """As if classes did not share rows; two of them then screen as one latent value does."""
        root = np.sqrt(self._own_share())
        for first in range(0, self.p.shape[1], _CLASSES_AT_ONCE):
            block = self.p[:, first : first + _CLASSES_AT_ONCE].T.copy()  # classes in a row
            for c, p in enumerate(block, start=first):
                yield root * ((self.y == c) - p), p * (1.0 - p)  # [P9 9.61]

    def optimum(self, left: Sides) -> Array:
        """The most probable values of either side, (2, C)."""
        return np.stack(
            [_SidePosterior.from_rows(self, left, side).optimum() for side in (True, False)]
        )

    def move(self, left: Sides, values: Array) -> None:
        """Add the values of its side to the latent values of each row."""
        _move_rows(self.y, left, values, self.latents, self.p, self.log_p)

    def _own_share(self) -> float:
        """Return the share of one class in its contrast with all others."""
        return 1.0 - 1.0 / self.p.shape[1]


@dataclass(eq=False)
class _SidePosterior:
    """The log posterior of the values of one side, with its derivatives."""

    rows: SoftmaxRows
    left: Sides
    side: bool
    y_sums: Array  # (C,)
    diagonal: bool  # curvatures of many classes as if there were one at a time
    at: Array = field(default_factory=lambda: np.empty(0))  # where the following were computed
    log_sum: float = 0.0
    p_sums: Array = field(default_factory=lambda: np.empty(0))
    products: Array = field(default_factory=lambda: np.empty((0, 0)))

    @classmethod
    def from_rows(cls, rows: SoftmaxRows, left: Sides, side: bool) -> _SidePosterior:
        own = left == side
        C = rows.p.shape[1]
        y_sums = np.bincount(rows.y[own], rows.weights[own], minlength=C).astype(np.float64)
        return cls(rows, left, side, y_sums, C > _MANY_CLASSES)

    def optimum(self) -> Array:
        """Newton's method; a step that lowers the log posterior is halved until it does not."""
        v = np.zeros(len(self.y_sums))
        settled = _ROUGHLY if self.diagonal else SETTLED
        rounding = _ROUNDING * float(np.sum(self.rows.weights))
        for _ in range(TURNS):
            value, step = self._value(v), self._step(v)
            if np.max(np.abs(step)) <= settled:
                return v + step
            while self._value(v + step) > value + rounding:
                step = 0.5 * step
            v = v + step
        return v

    def _value(self, v: Array) -> float:
        """Minus the log posterior, apart from a constant."""
        self._visit(v)
        penalty = 0.5 * self.rows.prior_precision * float(v @ v)
        return self.log_sum + penalty - float(self.y_sums @ v)

    def _step(self, v: Array) -> Array:
        """Uphill, by Newton."""
        self._visit(v)
        slopes = self.y_sums - self.p_sums - self.rows.prior_precision * v
        curvatures = self.p_sums + self.rows.prior_precision
        if self.diagonal:
            step = slopes / curvatures
            step -= np.mean(step)  # what all classes share changes nothing but the prior
        else:
            # Slopes have no part along the common direction, which may be given any curvature.
            H = np.diag(curvatures) - self.products + np.mean(curvatures) / len(v)  # [P9 9.61]
            step = linalg.solve_cholesky(linalg.cholesky(H), slopes)
        return step * min(1.0, LARGEST_STEP / max(float(np.max(np.abs(step))), LARGEST_STEP))

    def _visit(self, v: Array) -> None:
        if np.array_equal(v, self.at):
            return
        C, rows = len(v), self.rows
        self.p_sums = np.zeros(C)
        self.products = np.zeros((0, 0) if self.diagonal else (C, C))
        self.log_sum = _sum_side(
            rows.p, self.left, self.side, rows.weights, np.exp(v), self.p_sums, self.products
        )
        self.at = v


@compilation.compile_at_first_call
def _sum_side(
    p: Array,
    left: Sides,
    side: bool,
    weights: Array,
    factors: Array,
    p_sums: Array,
    products: Array,
) -> float:
    """Fill in sums of p and of p p^T over the rows of one side; return that of the log of 1^T p."""
    log_sum, q = 0.0, np.empty(len(factors))
    for i in range(len(left)):
        if left[i] != side:
            continue
        total = 0.0
        for c in range(len(q)):
            q[c] = p[i, c] * factors[c]
            total += q[c]
        log_sum += weights[i] * np.log(total)
        scale = 1.0 / total
        for c in range(len(q)):
            q[c] *= scale
            p_sums[c] += weights[i] * q[c]
        for c in range(len(products)):
            w = weights[i] * q[c]
            for d in range(c + 1):
                products[c, d] += w * q[d]
    for c in range(len(products)):
        products[:c, c] = products[c, :c]
    return log_sum


@compilation.compile_at_first_call
def _move_rows(
    y: NDArray[np.intp], left: Sides, values: Array, A: Array, p: Array, log_p: Array
) -> None:
    """New latent values, and the probabilities that go with them."""
    for i in range(len(y)):
        v = values[0] if left[i] else values[1]
        top, total = -np.inf, 0.0
        for c in range(len(v)):
            A[i, c] += v[c]
            top = max(top, A[i, c])
        for c in range(len(v)):
            p[i, c] = np.exp(A[i, c] - top)
            total += p[i, c]
        scale = 1.0 / total
        for c in range(len(v)):
            p[i, c] *= scale
        log_p[i] = A[i, y[i]] - top - np.log(total)
