"""One weight for each row in the columns of a kernel, whose parameters the evidence chooses.

The columns are the kernel about the centre of the rows, in both arguments [P9 9.30], so that the
origin does not matter; the prior of their weights is normal. The evidence is Laplace's, and its
gradient in the kernel's parameters goes through the columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from posterity import arrays, designs, kernels, likelihoods, linalg, optimize, page_forms
from posterity.arrays import Array
from posterity.inference.averaging import Hyperprior, PosteriorMixture, average_posteriors
from posterity.inference.posterior import LatentJoint, LatentMarginals, concatenate_rows
from posterity.inference.search import climb_evidence
from posterity.inference.weights import variational
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import PriorRange, WeightPrior
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets
from posterity.inference.weights.variational import NearestNormal
from posterity.page_forms import Form

_BLOCK_VALUES = 1 << 20  # queries meet the training rows 8 MiB at a time
_OCTAVES = np.log(2.0) * np.array([1.0, -1.0, -2.0])  # from a kernel's start
_FEW_ROWS = 400  # whose columns are all taken
_UNSEEN = 1e-8  # prior variance of the latent value of a row along directions that are left out
_UNSEEN_IN_SCAN = 1e-4  # likewise: evidences are compared to a hundredth of a nat


@dataclass(frozen=True)
class KernelWeights:
    """A kernel, the prior variance of its columns' weights, and their posterior."""

    kernel: kernels.Kernel
    X: Any  # N rows
    weights: Array  # (N,)
    center: Array  # (N,), of each column of the kernel less its mean over the rows
    prior_variance: float
    fit: LaplaceFit | NearestNormal

    def design_rows(self, X: Any) -> Array:
        """Return the design at any rows, (n, N + 1) with the offset's ones."""
        K = arrays.to_numpy(self.kernel(X, self.X))
        offset = self.fit.problem.prior.offset_precision is not None
        return _build_columns(K, self.weights, self.center, offset=offset)

    def latent(self, X: Any) -> LatentMarginals:
        """Return the distributions of the C latent values at any rows, a block at a time."""
        n, size = kernels.rows.count_rows(X), max(1, _BLOCK_VALUES // len(self.weights))
        blocks = (kernels.rows.slice_rows(X, i, i + size) for i in range(0, n, size))
        return concatenate_rows([self.fit.latent(self.design_rows(x)) for x in blocks])

    def joint(self, X: Any) -> LatentJoint:
        """Return the distribution of each latent value over all rows of X."""
        return self.fit.joint(self.design_rows(X))

    def before_rows(self) -> KernelWeights:
        """Return the prior of the weights, with the kernel and the variance of the fit."""
        return replace(self, fit=self.fit.before_rows())

    def page_form(self) -> Form:
        """Return the form from which a page computes covariances of latent values."""
        n = len(self.weights)
        has_offset = self.fit.problem.design.n_columns > n
        return {
            "center": (has_offset * self.center * np.sqrt(self.weights)).tolist(),
            "scale": [1.0] * n,
            "directions": None,
            "ones": has_offset,
            **page_forms.find_form(self.fit),
            "outside": 0.0,
        }


@dataclass(frozen=True)
class KernelWeightSearch:
    """A search over the log of the prior variance and of the kernel's parameters."""

    X: Any
    y: Array
    weights: Array
    likelihood: likelihoods.Likelihood | likelihoods.Coupled
    kernel: kernels.Kernel  # at its start
    bounds: Array  # (P, 2), log
    prior_variance: float | None
    offset: bool
    nearest: bool = False  # end with the nearest normal; for classes

    @property
    def targets(self) -> RowTargets:
        """The rows' targets about their offset."""
        weights = None if np.all(self.weights == 1.0) else self.weights
        return RowTargets.from_observations(self.y, weights, self.likelihood, offset=self.offset)

    def maximise(
        self, *, max_iter: int = 100, average: bool = False
    ) -> tuple[KernelWeights | PosteriorMixture, optimize.Optimum]:
        """Scan the prior variance and a few widths, then climb in all parameters.

        With ``average`` the posterior is a mixture over these, where rows are few.
        """
        objective, limits, names = _KernelWeightObjective(self), self.limits, self.names
        evaluate, start = objective.value_and_gradient, self._choose_start(objective)
        best = climb_evidence(evaluate, start, limits=limits, names=names, max_iter=max_iter)
        found = objective.solution(best.x)
        if average:
            return average_posteriors(self, evaluate, best, found, objective.solution), best
        return found, best

    @property
    def n_rows(self) -> int:
        """The number of rows, each as often as it counts."""
        return int(np.ceil(np.sum(self.weights)))

    @property
    def n_unknown(self) -> int:
        """The number of weights, one for each row, and of parameters that are searched."""
        return len(self.y) + len(self.names)

    @property
    def limits(self) -> Array:
        """Log bounds of all that is searched, (P, 2)."""
        return np.vstack([*(r.limits for r in self._prior_ranges), self.bounds])

    @property
    def names(self) -> list[str]:
        """Names of the parameters that are searched."""
        return ["prior_variance"] * (self.prior_variance is None) + self.kernel.names

    @property
    def hyperprior(self) -> Hyperprior:
        """Weak priors of all that is searched, about where a search starts."""
        return Hyperprior.weak(np.append([r.start for r in self._prior_ranges], self.kernel.theta))

    @property
    def _prior_ranges(self) -> list[PriorRange]:
        """The range of a prior variance that is learned."""
        if self.prior_variance is not None:
            return []
        return [_KernelWeightObjective(self).prior_range(self.kernel.theta)]

    def _choose_start(self, objective: _KernelWeightObjective) -> Array:
        """Choose the best decade of the prior variance, and then the best of a few widths."""
        theta = self.kernel.theta
        widths = [theta + octave * self._is_length for octave in _OCTAVES]
        widths = [np.clip(width, *self.bounds.T) for width in widths if np.any(width != theta)]
        if self.prior_variance is not None:
            return objective.best([theta, *widths])
        among = objective.prior_range(theta)
        best = objective.best([np.append(variance, theta) for variance in among.scan])
        decade = best[0] - among.start
        others = [np.append(objective.prior_range(w).start + decade, w) for w in widths]
        return objective.best([best, *others])

    @property
    def _is_length(self) -> NDArray[np.bool_]:
        return np.array(["length_scale" in name for name in self.kernel.names], dtype=bool)


class _KernelWeightObjective:
    """Minus the log evidence in log parameters; each mode is searched from the one before."""

    def __init__(self, search: KernelWeightSearch) -> None:
        self._search, self._targets = search, search.targets
        self._mode: Array | None = None

    def best(self, points: list[Array]) -> Array:
        """Return the point of the largest evidence; a single point needs no fit."""
        if len(points) == 1:
            return points[0]
        fits = (self._fit_directions(x, _UNSEEN_IN_SCAN)[0] for x in points)
        return points[int(np.argmax([fit.log_evidence for fit in fits]))]

    def prior_range(self, theta: Array) -> PriorRange:
        """Return the range of the prior variance at log parameters of the kernel."""
        s = self._search
        Z = self._build_design(s.kernel.with_theta(theta))[:, : len(s.y)]
        length2 = float(s.weights @ np.sum(Z**2, axis=1) / s.weights.sum())
        return PriorRange.from_scales(self._targets.typical_variance, length2)

    def _split_parameters(self, x: Array) -> tuple[float, kernels.Kernel]:
        given = self._search.prior_variance
        if given is not None:
            return given, self._search.kernel.with_theta(x)
        return float(np.exp(x[0])), self._search.kernel.with_theta(x[1:])

    def fit(self, x: Array) -> LaplaceFit:
        """Return the normal at the mode, for log parameters x."""
        variance, kernel = self._split_parameters(x)
        found = self._fit_columns(self._build_design(kernel), variance, self._mode)
        self._mode = found.weights.W
        return found

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Return minus the log evidence, and its gradient in x."""
        s = self._search
        fit, directions = self._fit_directions(x, _UNSEEN)
        _, kernel = self._split_parameters(x)
        N = len(s.y)
        G = (fit.design_gradient(fit.problem.design.rows(0, N)) @ directions)[:, :N]
        in_kernel = kernel.pullback(s.X, None, _pull_back_columns(G, s.weights, offset=s.offset))
        in_variance = [fit.gradient()[0]] * (s.prior_variance is None)
        return -fit.log_evidence, -np.append(in_variance, in_kernel)

    def _build_design(self, kernel: kernels.Kernel) -> Array:
        """Return the columns about the rows, (N, N), and ones where there is an offset."""
        s = self._search
        K = arrays.to_numpy(kernel(s.X))
        center = _center_columns(K, s.weights, offset=s.offset)
        return _build_columns(K, s.weights, center, offset=s.offset)

    def _fit_columns(self, Z: Array, variance: float, start: Array | None) -> LaplaceFit:
        precision = self._targets.offset_precision if self._search.offset else None
        prior = WeightPrior(1.0 / variance, Z.shape[1], precision)
        return LaplaceFit.from_problem(WeightProblem(designs.Dense(Z), self._targets, prior), start)

    def _fit_directions(self, x: Array, least: float) -> tuple[LaplaceFit, Array]:
        """Return the normal of the weights along the directions that move a row, and these.

        A fit costs the third power of their number, commonly a fraction of the number of rows.
        """
        s = self._search
        variance, kernel = self._split_parameters(x)
        Z = self._build_design(kernel)
        unit = np.sqrt(variance * s.weights / least)
        A, directions = _rotate_columns(Z, unit, offset=s.offset)
        start = None if self._mode is None else directions @ self._mode
        found = self._fit_columns(A, variance, start)
        self._mode = directions.T @ found.weights.W
        return found, directions

    def solution(self, x: Array) -> KernelWeights:
        """Return the posterior at log parameters x."""
        s = self._search
        variance, kernel = self._split_parameters(x)
        center = _center_columns(arrays.to_numpy(kernel(s.X)), s.weights, offset=s.offset)
        laplace = self.fit(x)
        fit = variational.find_nearest_normal(laplace) if s.nearest else laplace
        return KernelWeights(kernel, s.X, s.weights, center, variance, fit)


def _center_columns(K: Array, weights: Array, *, offset: bool) -> Array:
    """Return the mean of each column of K (N, N) less its row's mean; zero without an offset."""
    if not offset:
        return np.zeros(len(K))
    p = weights / weights.sum()
    return p @ K - p @ K @ p


def _build_columns(K: Array, weights: Array, center: Array, *, offset: bool) -> Array:
    """Return the kernel about the centre of the rows, one column per row, and ones for the offset.

    A row that counts w times has w weights on one column: one weight of w times the variance.
    """
    root = np.sqrt(weights)
    if not offset:
        return K * root
    centred = (K - (K @ weights / weights.sum())[:, None] - center) * root
    return np.hstack([centred, np.ones((len(K), 1))])


def _rotate_columns(Z: Array, unit: Array, *, offset: bool) -> tuple[Array, Array]:
    """Return columns A (N, r) and orthonormal directions B (r, M) with A B = Z.

    Weights of one prior variance are seen through Z Z^T alone, so that a factor A of it says as
    much. Directions along which no row moves by more than one, in units (N,) of its own, are left
    out.
    """
    N = len(Z)
    if N <= _FEW_ROWS:
        return Z, np.eye(Z.shape[1])
    scaled = Z[:, :N] * unit[:, None]
    factor, pivots, r, _ = lapack.dpstrf(scaled @ scaled.T, tol=1.0, lower=1)
    order, L = pivots - 1, np.tril(factor[:, :r])
    A, B = np.empty((N, r)), linalg.solve_lower(L[:r], scaled[order[:r]])
    A[order] = L / unit[order, None]
    if offset:
        A, B = np.hstack([A, np.ones((N, 1))]), np.pad(B, ((0, 1), (0, 1)))
        B[-1, -1] = 1.0
    return A, B


def _pull_back_columns(G: Array, weights: Array, *, offset: bool) -> Array:
    """Return dL/dK from dL/dZ."""
    scaled = G * np.sqrt(weights)
    if not offset:
        return scaled
    p = weights / weights.sum()
    about = scaled - np.outer(scaled.sum(axis=1), p)
    return about - np.outer(p, about.sum(axis=0))
