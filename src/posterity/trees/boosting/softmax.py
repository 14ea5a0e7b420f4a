"""Several classes while steps are added that all of them share, each class with its own values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, likelihoods, linalg
from posterity.arrays import Array
from posterity.trees.boosting.rows import LARGEST_STEP, SETTLED, TURNS, BoostedRows, Sides

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
    def start_from_offset(
        cls, offset: Array, y: Array, weights: Array, prior_rows: float
    ) -> SoftmaxRows:
        """All rows where no step has been added yet."""
        return cls.start_from_latents(np.tile(offset, (len(y), 1)), y, weights, prior_rows)

    @classmethod
    def start_from_latents(
        cls, latents: Array, y: Array, weights: Array, prior_rows: float
    ) -> SoftmaxRows:
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
