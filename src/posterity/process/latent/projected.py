"""A latent Gaussian process carried by M points, for more rows than their covariances have room.

The function is a weighted sum of the kernel about the points, so that inference is that of weights
in M columns, for any likelihood; where the points do not reach, the variance of the
process itself is added to predictions. [GPML 8.3.4]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posterity import designs, kernels, likelihoods, linalg, page_forms
from posterity.arrays import Array
from posterity.inference.posterior import LatentJoint, LatentMarginals
from posterity.inference.weights import variational
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.normal import ScaleMixtureFit
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets
from posterity.inference.weights.variational import NearestNormal
from posterity.page_forms import Form
from posterity.process import kernel_blocks
from posterity.process.inducing import selection
from posterity.process.latent.density import LatentTargets

_BLOCK_ROWS = 4096


@dataclass(frozen=True)
class ProjectedPosterior:
    """The latent values at any rows, given N observations, through M points."""

    kernel: kernels.Kernel
    points: Any  # M rows
    L: Array  # (M, M), the factor of their covariance
    fit: LaplaceFit | NearestNormal | ScaleMixtureFit

    @classmethod
    def condition(
        cls,
        kernel: kernels.Kernel,
        likelihood: likelihoods.Likelihood | likelihoods.Coupled,
        X: Any,
        targets: LatentTargets,
        points: Any,
        *,
        approximation: str | None = None,
    ) -> ProjectedPosterior:
        """Condition on all rows; N M doubles are held.

        ``approximation`` is "laplace", "factors" of a scale mixture, or "nearest", the normal
        nearest to the posterior, which knows that rows vary beyond what the points carry. None:
        factors where the likelihood is a scale mixture, else Laplace's.
        """
        L = linalg.cholesky(kernel(points))
        Z = _columns(kernel, X, points, L)
        counts = None if np.all(targets.weights == 1.0) else targets.weights
        offset = bool(np.any(targets.offset_variance > 0.0))
        # The prior of the offset is that of the targets, whatever the likelihood has learned since.
        rows = replace(
            RowTargets.from_observations(targets.y, counts, likelihood, offset=offset),
            shift=targets.shift,
            offset_variance=targets.offset_variance,
        )
        M = len(L)
        design = designs.Standardized(designs.Dense(Z), np.zeros(M), np.ones(M), offset)
        # The columns are those of independent weights of unit variance.
        prior = WeightPrior(1.0, design.n_columns, rows.offset_precision if offset else None)
        problem = WeightProblem(design, rows, prior)
        if approximation is None:
            approximation = "factors" if likelihood.is_scale_mixture else "laplace"
        if approximation == "factors":
            return cls(kernel, points, L, ScaleMixtureFit.from_problem(problem))
        fit = LaplaceFit.from_problem(problem)
        if approximation == "laplace":
            return cls(kernel, points, L, fit)
        left = _residual_variances(kernel, X, Z)
        return cls(kernel, points, L, variational.find_nearest_normal(fit, remainder=left))

    @property
    def log_evidence(self) -> float:
        """log p(y) of the function that the points carry, to Laplace's approximation."""
        return self.fit.log_evidence

    @property
    def n_iter(self) -> int:
        """Steps to the mode, or from there to the nearest normal."""
        return self.fit.weights.n_iter

    @property
    def stop_reason(self) -> str:
        """Why there were no more."""
        return self.fit.weights.stop_reason

    def latent(self, X: Any) -> LatentMarginals:
        """Return the distributions of the C latent values at each row of X.

        What points carry in common for all of several classes, which no row tells of, is left out.
        """
        Z = _columns(self.kernel, X, self.points, self.L)
        left = _residual_variances(self.kernel, X, Z)
        carried = self.fit.latent(self._with_offset(Z))
        covariance = carried.covariance + left[:, None, None] * np.eye(carried.n_latents)
        return LatentMarginals.from_covariance(carried.mean, covariance)

    def joint(self, X: Any) -> LatentJoint:
        """Return the distribution of each latent function over all rows of X."""
        Z = _columns(self.kernel, X, self.points, self.L)
        carried = self.fit.joint(self._with_offset(Z))
        return LatentJoint(carried.mean, self.kernel(X) - Z @ Z.T + carried.covariance)

    def before_rows(self) -> ProjectedPosterior:
        """Return the process before it saw its rows, through the same points."""
        return replace(self, fit=self.fit.before_rows())

    def page_form(self, noise_variance: float) -> Form:
        """Return the form from which a page computes mean and variance of the function."""
        del noise_variance
        fit, n = self.fit, len(self.L)
        if len(fit.problem.targets.shift) > 1:
            raise page_forms.NoFormError(
                "Several classes with inducing points cannot run in a page."
            )
        W = fit.weights.W[:, 0]
        shift = float(fit.problem.targets.shift[0]) + float(np.sum(W[n:]))
        return {
            **self.kernel.form_columns(self.points),
            "kind": "process",
            "lower": page_forms.flatten_triangle(self.L),
            "mean": {"of": "projections", "weights": W[:n], "shift": shift},
            "second": {"lower": page_forms.flatten_triangle(fit.L), "ones": len(W) > n},
        }

    def _with_offset(self, Z: Array) -> Array:
        """And a column of ones, where there is an offset."""
        ones = self.fit.problem.design.n_columns - Z.shape[1]
        return np.hstack([Z, np.ones((len(Z), ones))])


def choose_points(kernel: kernels.Kernel, X: Any, n_points: int, rng: np.random.Generator) -> Any:
    """Rows whose values the others say least about; fewer where these say it all."""
    places = selection.select_greedily(kernel, X, n_points, rng=rng)
    return kernels.rows.select_rows(X, np.sort(places))


def _residual_variances(kernel: kernels.Kernel, X: Any, Z: Array) -> Array:
    """The variance of the process at rows where the points do not reach, (n,)."""
    prior = kernel.diag(X)
    return linalg.nonnegative(prior - np.einsum("nm,nm->n", Z, Z), prior)


def _columns(kernel: kernels.Kernel, X: Any, points: Any, L: Array) -> Array:
    """k(X, points) L^-T, (n, M), a few thousand rows at a time."""
    n = kernels.rows.count_rows(X)
    Z = np.empty((n, len(L)))
    for start in range(0, n, _BLOCK_ROWS):
        rows = slice(start, min(start + _BLOCK_ROWS, n))
        k = kernel_blocks.fill_between(
            kernel, points, kernels.rows.slice_rows(X, rows.start, rows.stop)
        )
        Z[rows] = linalg.solve_lower(L, k).T
    return Z
