"""C latent functions that one observation couples, as a softmax does: evidence and posterior.

The functions are independent a priori and share a kernel; a constant offset of its own may be
added to each. Memory is C + 2 matrices of N x N, time about 3 C N^3 for the evidence and its
gradient.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity import callers, kernels, likelihoods, linalg, optimize, page_forms
from posterity.arrays import Array
from posterity.inference.posterior import LatentJoint, LatentMarginals, concatenate_rows
from posterity.page_forms import Form
from posterity.process import kernel_blocks
from posterity.process.latent.density import LatentTargets
from posterity.process.prior import ProcessPrior
from posterity.process.softmax import factors, variational
from posterity.process.softmax.factors import ClassMatrices

_QUERY_VALUES = 1 << 22  # held at a time while predicting: 32 MiB
_ROUND_OFF = 1e10 * float(np.finfo(np.float64).eps)  # of a variance, in units of its tolerance


class SoftmaxEvidence:
    """The log evidence of Laplace's approximation, with its gradient, as a function.

    The mode is kept from one call to the next, which starts from it, and so is the memory.

    Parameters
    ----------
    X : array (N, D), or a sequence of N objects
        The rows.
    targets : LatentTargets

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> likelihood = likelihoods.Categorical(3)
    >>> targets = LatentTargets.with_offset_prior(y, np.ones(3), likelihood, offset=False)
    >>> value, gradient = SoftmaxEvidence(X, targets)(2.0 * kernels.RBF(1.0), likelihood)
    >>> round(value, 3), gradient.shape
    (-3.868, (2,))
    """

    def __init__(self, X: Any, targets: LatentTargets) -> None:
        factors.check_room(targets)  # a search begins with few of the rows
        self.X, self.targets = X, targets
        self._memory: ClassMatrices | None = None
        self._b: Array | None = None

    def __call__(
        self, kernel: kernels.Kernel, likelihood: likelihoods.Coupled
    ) -> tuple[float, Array]:
        """The log evidence and its gradient in ``kernel.theta``.

        Raises ``linalg.NotPositiveDefiniteError`` where the kernel is not, to rounding.
        """
        if self._memory is None:
            self._memory = ClassMatrices.allocate(self.targets)
        latents = factors.make_latents(kernel, likelihood, self.X, self.targets, self._memory)
        mode, at = factors.find_mode(latents, self._memory, self._b)
        self._b = mode.point.b
        value = mode.point.value - 0.5 * at.log_determinant  # [GPML 3.44]
        slope = factors.differentiate_evidence(latents, mode.point, at, kernel, self.X)
        return value, slope


@dataclass(frozen=True)
class SoftmaxPosterior:
    """The C functions at any rows, given observations at N rows.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> likelihood = likelihoods.Categorical(3)
    >>> targets = LatentTargets.with_offset_prior(y, np.ones(3), likelihood, offset=False)
    >>> posterior = SoftmaxPosterior.condition(
    ...     "laplace", 2.0 * kernels.RBF(1.0), likelihood, X, targets
    ... )
    >>> f = posterior.latent(X)
    >>> f.mean.argmax(axis=1), f.covariance.shape
    (array([0, 1, 2]), (3, 3, 3))
    """

    kernel: kernels.Kernel
    X: Any  # (N, D) rows, or N objects
    targets: LatentTargets
    b: Array  # (N, C), the mode is K b
    D: Array  # (C, N)
    L_classes: Array  # (C, N, N), transposed: L_c L_c^T = I + D_c^1/2 K_c D_c^1/2
    L: Array  # (N, N), L L^T = sum_c (K_c + D_c^-1)^-1
    log_evidence: float
    n_iter: int
    stop_reason: str

    inference: str  # that found the normal

    @classmethod
    def condition(
        cls,
        inference: str,
        kernel: kernels.Kernel,
        likelihood: likelihoods.Coupled,
        X: Any,
        targets: LatentTargets,
    ) -> SoftmaxPosterior:
        """Find the mode, or the nearest normal, and factorise there.  [GPML Alg3.3]

        ``inference`` is "laplace" or "variational", for which ``log_evidence`` is a lower bound.
        Warns with ``optimize.ConvergenceWarning`` where neither was found, and raises
        ``linalg.NotPositiveDefiniteError`` where the kernel is not positive definite.
        """
        memory = ClassMatrices.allocate(targets)
        with linalg.limit_threads(targets.n_rows):
            latents = factors.make_latents(kernel, likelihood, X, targets, memory)
            if inference == "variational":
                found: Any = variational.find_nearest(latents, memory)
                b, D, value = found.b, found.factors.D, found.log_evidence
            else:
                found, at = factors.find_mode(latents, memory, None)
                value = found.point.value - 0.5 * at.log_determinant  # [GPML 3.44]
                b, D = found.point.b, at.D
            for c, D_c in enumerate(D):  # solves lose fewer digits than inverses
                factors.fill_class(memory, c, D_c, float(targets.offset_variance[c]))
        if not found.converged:
            callers.warn_caller(found.stop_reason, optimize.ConvergenceWarning)
        matrices, how = (memory.classes, memory.total), (found.n_iter, found.stop_reason)
        return cls(kernel, X, targets, b, D, *matrices, value, *how, inference)

    def latent(self, X: Any) -> LatentMarginals:
        """Return the distributions of the C functions at each row of X."""
        return concatenate_rows([self._latent_of_few(x) for x in self._pieces(X)])

    def joint(self, X: Any) -> LatentJoint:
        """Return the distribution of each function over all rows of X."""
        k, K = kernel_blocks.fill_between(self.kernel, self.X, X), self.kernel(X)
        covariances = []
        for c, v in enumerate(self.targets.offset_variance):
            V, Ek = self._solve_class(c, k + v)
            part = linalg.solve_lower(self.L, Ek)
            covariances.append(K + v - V.T @ V + part.T @ part)
        return LatentJoint(self._mean(k), np.stack(covariances))

    def before_rows(self) -> ProcessPrior:
        """Return the functions before they saw their rows."""
        return ProcessPrior(self.kernel, self.targets.shift, self.targets.offset_variance)

    def page_form(self, noise_variance: float) -> Form:
        """Return the form from which a page computes mean and variance of the function."""
        del noise_variance
        t, C = self.targets, len(self.D)
        page_forms.check_size(
            (C + 1) * t.n_rows**2 // 2, f"The covariances of {t.n_rows:,} rows, {C} classes"
        )
        return {
            **self.kernel.form_columns(self.X),
            "kind": "softmax_process",
            "shift": t.shift.tolist(),
            "offsets": t.offset_variance.tolist(),
            "duals": list(self.b.T),
            "roots": list(np.sqrt(self.D)),
            "lowers": [page_forms.flatten_triangle(L.T) for L in self.L_classes],
            "lower": page_forms.flatten_triangle(self.L),
        }

    def _mean(self, k: Array) -> Array:
        """Mean (n, C) where the covariances with the rows are k (N, n)."""
        t = self.targets
        return t.shift + k.T @ self.b + t.offset_variance * np.sum(self.b, axis=0)

    def _latent_of_few(self, X: Any) -> LatentMarginals:
        """Return the same for so few rows that memory does not matter.  [GPML Alg3.4]"""
        k, prior = kernel_blocks.fill_between(self.kernel, self.X, X), self.kernel.diag(X)
        n, C = k.shape[1], len(self.targets.shift)
        variances, parts = np.empty((n, C)), []
        for c, v in enumerate(self.targets.offset_variance):
            V, Ek = self._solve_class(c, k + v)
            scale = (prior + v) * self._loss
            variances[:, c] = linalg.nonnegative(prior + v - np.sum(V * V, axis=0), scale)
            parts.append(linalg.solve_lower(self.L, Ek))
        covariance = np.empty((n, C, C))
        factors.fill_gram(covariance, parts)
        covariance[:, range(C), range(C)] += variances
        return LatentMarginals.from_covariance(self._mean(k), covariance)

    def _solve_class(self, c: int, k: Array) -> tuple[Array, Array]:
        """V with V^T V = k^T E_c k, and E_c k."""
        L_c, root = self.L_classes[c].T, np.sqrt(self.D[c])[:, None]
        V = linalg.solve_lower(L_c, root * k)
        return V, root * linalg.solve_lower_transposed(L_c, V)

    @functools.cached_property
    def _loss(self) -> float:
        """The factor by which large covariances make the round-off of variances larger."""
        pivots = np.diagonal(self.L_classes, axis1=1, axis2=2)
        return max(1.0, _ROUND_OFF * self.targets.n_rows * float(np.max(pivots)) ** 2)

    def _pieces(self, X: Any) -> list[Any]:
        """The queries in parts whose covariances with the rows fit in a small memory."""
        n, rows, C = kernels.rows.count_rows(X), self.targets.n_rows, len(self.targets.shift)
        size = max(1, _QUERY_VALUES // ((C + 4) * rows)) if self.kernel.takes_vectors else n
        return [kernels.rows.slice_rows(X, i, i + size) for i in range(0, n, max(1, size))]
