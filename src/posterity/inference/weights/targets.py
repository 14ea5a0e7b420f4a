"""Rows of any likelihood as weight-space inference sees them, one latent value or several.

The latent values of a row are a = shift + Q p, with p = z W of J columns. One latent value has
J = 1 and Q = 1. The softmax of C sees differences only, so that J = C - 1 contrasts carry all that
the rows can tell; under a prior that treats the classes alike the common part stays where the prior
has it, and adds nothing to the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from posterity import designs, likelihoods
from posterity.arrays import Array
from posterity.likelihoods import softmax_mean

_SURE = 1e-3  # of a class, or of another

PartTerms: TypeAlias = Callable[..., Sequence[Array | float | designs.Minimum]]
"""Function from a part of a design, its targets and what goes along to terms of a total."""


@dataclass(frozen=True)
class TalliedTargets(designs.RowValues):
    """Targets that lie with their rows, wherever that is, and how often each value counts."""

    values: NDArray[Any]
    counts: Array


@dataclass(frozen=True)
class RowTargets:
    """N observations, how often each counts, and how z W becomes the latent values of a row.

    What is asked of rows is asked of targets in memory; :meth:`sum_over_parts` brings each part of
    a design together with those of its rows, wherever they are.
    """

    y: Any  # (N,), or Tallied
    weights: Any  # (N,), or Along; None: one each
    likelihood: likelihoods.Likelihood | likelihoods.Coupled
    shift: Array  # (C,)
    Q: Array  # (C, J)
    offset_variance: Array  # (C,), one row's worth of information

    @classmethod
    def from_observations(
        cls,
        y: NDArray[Any] | TalliedTargets,
        weights: designs.Values,
        likelihood: likelihoods.Likelihood | likelihoods.Coupled,
        *,
        offset: bool,
    ) -> RowTargets:
        """About the latent values that fit all rows best, or about zero without an offset."""
        value, variance = likelihood.fit_constant(*count_targets(y, weights))
        shift, spread = np.atleast_1d(value), np.atleast_1d(variance)
        C = len(shift)
        Q = softmax_mean.contrast_basis(C) if C > 1 else np.ones((1, 1))
        return cls(y, weights, likelihood, shift if offset else np.zeros(C), Q, spread)

    @property
    def n_rows(self) -> int:
        """Number N of rows."""
        return len(self.y)

    @property
    def n_outputs(self) -> int:
        """Number J of columns of weights."""
        return self.Q.shape[1]

    @property
    def is_concave(self) -> bool:
        """Whether minus the Hessian is never negative."""
        return self.likelihood.log_concave

    @property
    def are_classes(self) -> bool:
        """Whether weights can grow without limit because they separate all rows."""
        return self.likelihood.describes_classes

    @property
    def total_weight(self) -> float:
        """The number of rows when each is repeated by its weight."""
        return float(np.sum(count_targets(self.y, self.weights)[1]))

    @property
    def offset_precision(self) -> Array:
        """Precision of the J offsets, (J, J): one row's worth of information."""
        p = 1.0 / self.offset_variance
        if len(p) == self.n_outputs:
            return np.diag(p)
        # What is left of independent offsets when their common part is left out.
        return self.Q.T @ ((np.diag(p) - np.outer(p, p) / np.sum(p)) @ self.Q)

    def with_separate_weights(self) -> RowTargets:
        """The same of C latent values with weights of their own, not of their contrasts."""
        return replace(self, Q=np.eye(len(self.shift)))

    @property
    def typical_variance(self) -> float:
        """Typical variance of latent values, the scale on which a prior variance is searched."""
        return float(np.mean(self.offset_variance))

    def sum_over_parts(
        self, design: designs.Design, function: PartTerms, *along: designs.Values
    ) -> list[Any]:
        """The sums over all parts of ``function(part, targets, *values)``: one pass.

        ``targets`` are those of the rows of the part, about the same shift.
        """
        of_all = replace(self, y=None, weights=None)  # what a function takes with it

        def terms(part: designs.Design, y: Any, weights: Any, *values: Any) -> Any:
            return function(part, replace(of_all, y=y, weights=weights), *values)

        return design.sum_over_parts(terms, self.y, self.weights, *along)

    def select_rows(self, rows: NDArray[np.intp]) -> RowTargets:
        """These rows alone, of targets in memory, about the same shift."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, y=self.y[rows], weights=weights)

    def without_rows(self) -> RowTargets:
        """The shift and the likelihood alone."""
        return replace(self, y=np.empty(0), weights=None if self.weights is None else np.empty(0))

    def take_rows(
        self, design: designs.Design, rows: NDArray[np.intp]
    ) -> tuple[designs.Design, RowTargets]:
        """These rows alone, in increasing order and in memory, about the same shift."""
        few, (y, weights) = design.take_rows(rows, self.y, self.weights)
        return few, replace(self, y=y, weights=weights)

    @property
    def observed_targets(self) -> Any:
        """The targets as the likelihood sees them beside ``latents``."""
        return self.y - self.shift[0] if self._sees_differences else self.y

    def latents(self, P: Array) -> Array:
        """a = shift + Q p of each row, (n, C), or (n,); from the shift on where y is seen so."""
        A = self.steps(P)
        if self._sees_differences:
            return A
        return A + (self.shift if self._is_coupled else self.shift[0])

    def latents_at(self, part: designs.Design, W: Array) -> Array:
        """The latent values of the rows of a part at weights W (M, J)."""
        if not self._is_coupled:
            return self.latents(part @ W)
        A = part @ (W @ self.Q.T)
        A += self.shift
        return A

    def value_and_gradient(self, part: designs.Design, A: Array) -> tuple[Array, Array]:
        """log p(y | a) of each row, (n,), and the gradient of their weighted sum in W, (M, J)."""
        log_p, d1 = self.likelihood.value_and_slope(self.observed_targets, A)
        g = part.rmatvec(self._apply_weights(d1 if self._is_coupled else d1[:, None]))
        return log_p, g @ self.Q if self._is_coupled else g

    def steps(self, P: Array) -> Array:
        """Q p: by how much latent values change, (n, C) or (n,)."""
        return P @ self.Q.T if self._is_coupled else P[:, 0]

    def value_and_slope(self, A: Array) -> tuple[Array, Array]:
        """log p(y | a) of each row, (n,), and the gradient in p of their weighted sum, (n, J)."""
        log_p, d1 = self.likelihood.value_and_slope(self.observed_targets, A)
        g = self._apply_weights(d1)
        return log_p, g @ self.Q if self._is_coupled else g[:, None]

    def sum_over_rows(self, log_p: Array) -> float:
        """The sum over rows, each as often as it counts."""
        return float(np.sum(log_p) if self.weights is None else self.weights @ log_p)

    def slope(self, A: Array) -> Array:
        """The gradient in p, (n, J)."""
        return self.value_and_slope(A)[1]

    def curvature(self, A: Array, *, surely_positive: bool = False) -> Array:
        """Minus the Hessian in p, (n, J, J); with weights that are positive in any case."""
        y, likelihood = self.observed_targets, self.likelihood
        h = likelihood.curvature_along(y, A, self.Q, surely_positive=surely_positive)
        return self._apply_weights(h)

    def average_over_latents(self, mean: Array, S: Array) -> tuple[Array, Array, Array]:
        """Value (n,), slope (n, J) and curvature (n, J, J), averaged over latent values.

        These are normal, of mean (n, C), or (n,) for one, and covariance S (n, J, J) of z W.
        """
        log_p, g, h = self.likelihood.average_along(self.observed_targets, mean, S, self.Q)
        return log_p, self._apply_weights(g), self._apply_weights(h)

    def average_drift(self, mean: Array, S: Array, change: Array) -> Array:
        """Change of the average slope (n, 1) with S, to first order, for one latent value."""
        likelihood: Any = self.likelihood  # one with averages
        d3 = likelihood.expected_d3(self.y, mean, S[:, 0, 0])
        return self._apply_weights(0.5 * d3 * change[:, 0, 0])[:, None]

    def curvature_pullback(self, A: Array, S: Array) -> Array:
        """The gradient in p, (n, J), of the sum of tr(S h), for S (n, J, J)."""
        y, likelihood = self.observed_targets, self.likelihood
        return self._apply_weights(likelihood.curvature_pullback_along(y, A, S, self.Q))

    def parameter_slopes(self, A: Array) -> tuple[Array, Array, Array]:
        """Derivatives in the likelihood's theta of value, slope and curvature, each (P, n)."""
        value, d1, d2 = self.likelihood.parameter_derivatives(self.observed_targets, A)
        w = 1.0 if self.weights is None else self.weights
        return w * value, w * d1, -w * d2

    def mark_undecided(self, P: Array) -> Array:
        """1 where a class is neither probable nor improbable in a row, else 0: (n, C)."""
        A = self.latents(P)
        p = softmax(A, axis=1) if self._is_coupled else expit(A)[:, None]
        return (p * (1.0 - p) > _SURE).astype(np.float64)

    def are_told_apart(self, A: Array, log_p: Array) -> bool:
        """Whether every row finds its own class more probable than any other."""
        counted = log_p if self.weights is None else log_p[self.weights > 0.0]
        if np.min(counted, initial=0.0) <= -np.log(max(2, len(self.shift))):
            return False  # an even chance, or less
        return self.margin(A) > 0.0

    def margin(self, A: Array) -> float:
        """The least by which latent values of a row favour its observation over others."""
        y = self.y
        if self.weights is not None:
            A, y = A[self.weights > 0.0], y[self.weights > 0.0]
        if not self._is_coupled:
            return float(np.min(np.where(y > 0, A, -A), initial=np.inf))
        own = y.astype(np.intp)[:, None]
        a, others = np.take_along_axis(A, own, axis=1)[:, 0], A.copy()
        np.put_along_axis(others, own, -np.inf, axis=1)
        return float(np.min(a - others.max(axis=1), initial=np.inf))

    @property
    def _is_coupled(self) -> bool:
        """Whether an observation depends on C latent values (n, C) at once, not on one (n,)."""
        return self.likelihood.is_coupled

    @property
    def _sees_differences(self) -> bool:
        """Whether y and a are measured from the shift: far from it, differences are rounding."""
        return self.likelihood.depends_on_difference

    def _apply_weights(self, g: Array) -> Array:
        if self.weights is None:
            return g
        w = self.weights
        return g * w.reshape(-1, *(1,) * (g.ndim - 1))


def count_targets(
    y: NDArray[Any] | TalliedTargets, weights: designs.Values
) -> tuple[NDArray[Any], Array]:
    """Targets, and how often each counts: row by row, or value by value where they are tallied."""
    if isinstance(y, TalliedTargets):
        return y.values, y.counts
    return y, np.ones(len(y)) if weights is None else np.asarray(weights)
