"""Gaussian process regression through M inducing points: the collapsed bound of Titsias (2009).

The information of N rows about a function f is summarised by u, its values at M points Z. For any
Z, this bounds the evidence from below, and the bound is tight where u determines f. Rows are read
in blocks, once for a posterior and twice for a gradient: memory O(M^2), time O(N M^2).

A jitter of 1.5e-8 (the root of the rounding unit) of the mean diagonal of K_uu is part of the
model: u is f(Z) under so much noise. That is a choice of inducing variables like any other, so the
bound stays a bound, and Z may hold a point twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity import kernels, linalg, page_forms
from posterity.arrays import Array, DeviceArray, namespace
from posterity.inference import observations as inducing_observed
from posterity.inference.observations import ObservedRows
from posterity.inference.posterior import LatentJoint, LatentMarginals
from posterity.page_forms import Form
from posterity.process.inducing import rows
from posterity.process.inducing.rows import InducingNoise
from posterity.process.prior import ProcessPrior, share_covariance, share_variance


def compute_bound(
    kernel: kernels.Kernel, noise_variance: float, observed: ObservedRows, Z: Any
) -> tuple[float, Array, DeviceArray | None]:
    """The lower bound of log p(Y), all constants and outputs included, and its gradients.

    Parameters
    ----------
    kernel : Kernel
    noise_variance : float
        Of a row this times its spread.
    observed : ObservedRows
        The rows, in memory or elsewhere, and what was observed there.
    Z : array (M, D), or a sequence of objects where the kernel takes those
        The inducing points.

    Returns
    -------
    value : float
    gradient : array (P + 1,)
        With respect to the log parameters of the kernel and the log noise variance.
    point_gradient : array (M, D), or None
        With respect to Z; None where the kernel takes objects.

    Examples
    --------
    >>> from posterity.inference.observations import Observations
    >>> X = np.linspace(0.0, 1.0, 50)[:, None]
    >>> rows = inducing_observed.HeldRows(X, Observations.from_targets(np.sin(6.0 * X)))
    >>> value, gradient, point_gradient = compute_bound(kernels.RBF(0.5), 0.1, rows, X[::10])
    >>> round(value, 2), gradient.shape, point_gradient.shape
    (-10.31, (2,), (5, 1))
    """
    with linalg.threads.limit_threads(len(Z)):
        summary = sum_terms(kernel, noise_variance, observed, Z)
        theta, points = summary.compute_gradients()
        return summary.log_bound(), np.append(theta, summary.noise_slope()), points


def sum_terms(
    kernel: kernels.Kernel, noise_variance: float, observed: ObservedRows, Z: Any
) -> rows.BoundTerms:
    """Sum the terms of the bound, at this noise and any other, in one pass over the rows.

    The arguments are those of :func:`compute_bound`.
    """
    with linalg.threads.limit_threads(len(Z)):
        return rows.BoundTerms.sum_rows(InducingNoise(kernel, noise_variance, Z), observed)


def condition_on_points(
    kernel: kernels.Kernel, noise_variance: float, observed: ObservedRows, Z: Any
) -> InducingPosterior:
    """The posterior of the function given the rows, as far as the inducing points carry it.

    The arguments are those of :func:`compute_bound`.

    Examples
    --------
    >>> from posterity.inference.observations import Observations
    >>> X = np.linspace(0.0, 1.0, 50)[:, None]
    >>> rows = inducing_observed.HeldRows(X, Observations.from_targets(np.sin(6.0 * X)))
    >>> posterior = condition_on_points(kernels.RBF(0.5), 0.1, rows, X[::10])
    >>> f = posterior.latent(np.array([[0.25]]))
    >>> round(float(f.mean[0, 0]), 2), round(float(f.variance[0, 0]), 3)
    (0.83, 0.005)
    """
    with linalg.threads.limit_threads(len(Z)):
        s = sum_terms(kernel, noise_variance, observed, Z)
        return InducingPosterior(kernel, Z, s.L, s.L_B, s.m, s.log_bound(), s.gap())


@dataclass(frozen=True)
class InducingPosterior:
    """A normal process: f given u, averaged over the posterior of u."""

    kernel: kernels.Kernel
    Z: Any  # (M, D), or a sequence of M objects
    L: DeviceArray  # (M, M)  lower factor of K_uu
    L_B: DeviceArray  # (M, M)  lower factor of the posterior precision of L^-1 u
    m: DeviceArray  # (M, K)  posterior mean of L^-1 u
    log_evidence: float  # its lower bound
    gap: float  # an upper bound of the log evidence is so much above the lower one

    @property
    def n_inducing(self) -> int:
        """Number of inducing points, M."""
        return int(self.L.shape[0])

    def latent(self, X: Any) -> LatentMarginals:
        """Return the distributions of the K noise-free functions."""
        places = inducing_observed.cut_rows(len(X), self.n_inducing, self.m)
        means, variances = zip(*(self._latent(X[i]) for i in places), strict=True)
        xp = namespace(self.m)
        return share_variance(xp.concat(means), xp.concat(variances))

    def mean(self, X: Any) -> DeviceArray:
        """Mean (n, K) of the noise-free function."""
        w = linalg.solve_lower_transposed(self.L, self.m)  # (M, K)
        places = inducing_observed.cut_rows(len(X), self.n_inducing, self.m)
        return namespace(w).concat([self.kernel(X[i], self.Z) @ w for i in places])

    def leave_one_out(self) -> LatentMarginals:
        """Refuse: no closed form exists, since the rows are kept only as sums."""
        raise TypeError(
            "Leave-one-out predictions need the exact process; fit with inducing_points=None."
        )

    def joint(self, X: Any) -> LatentJoint:
        """Return the distribution of each noise-free function over all rows of X."""
        a, b = self._projections(X)
        C = self.kernel(X)
        C -= rows.gram(a)
        C += rows.gram(b)
        return share_covariance(rows.product(a.T, self.m), C)

    def before_rows(self) -> ProcessPrior:
        """Return the process before it saw its rows."""
        return ProcessPrior(self.kernel, np.zeros(self.m.shape[1]), np.zeros(self.m.shape[1]))

    def page_form(self, noise_variance: float) -> Form:
        """Return the form from which a page computes mean and variance of the function."""
        del noise_variance
        return {
            **self.kernel.form_columns(self.Z),
            "kind": "process",
            "lower": page_forms.flatten_triangle(self.L),
            "mean": {"of": "projections", "weights": np.asarray(self.m[:, 0]), "shift": 0.0},
            "second": {"lower": page_forms.flatten_triangle(self.L_B), "ones": False},
        }

    def _latent(self, X: Any) -> tuple[DeviceArray, DeviceArray]:
        xp = namespace(self.m)
        a, b = self._projections(X)
        prior = self.kernel.diag(X)
        unseen = linalg.nonnegative(prior - xp.sum(a * a, axis=0), prior)
        return rows.product(a.T, self.m), unseen + xp.sum(b * b, axis=0)

    def _projections(self, X: Any) -> tuple[DeviceArray, DeviceArray]:
        """L^-1 K_uf and L_B^-1 L^-1 K_uf, (M, n) each."""
        a = linalg.solve_lower(self.L, self.kernel(X, self.Z).T)
        return a, linalg.solve_lower(self.L_B, a)
