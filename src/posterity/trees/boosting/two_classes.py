"""Two classes while steps are added to their one latent value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, likelihoods
from posterity.arrays import Array
from posterity.trees.boosting.rows import LARGEST_STEP, SETTLED, TURNS, BoostedRows, Sides

_INFORMATION = 0.25  # the most that a row can tell of its latent value
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
    def start_from_offset(
        cls, offset: Array, y: Array, weights: Array, prior_rows: float
    ) -> TwoClasses:
        """All rows where no step has been added yet."""
        return cls.start_from_latents(np.full((len(y), 1), offset[0]), y, weights, prior_rows)

    @classmethod
    def start_from_latents(
        cls, latents: Array, y: Array, weights: Array, prior_rows: float
    ) -> TwoClasses:
        """Rows at latent values (N, 1), which are written to."""
        odds = _compute_odds(latents[:, 0])
        return cls(y, weights, latents, odds, prior_rows * _INFORMATION)

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
