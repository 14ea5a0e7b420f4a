"""Laplace's approximation for C latent functions that one observation couples, as a softmax does.

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
from posterity.process.latent.targets import LatentTargets
from posterity.process.prior import ProcessPrior
from posterity.process.softmax import modes
from posterity.process.softmax.factors import ClassFactors, ClassMatrices, check_room, fill_class
from posterity.process.softmax.gradient import fill_gram, gradient
from posterity.process.softmax.modes import LatentDensity, Mode
from posterity.process.softmax.products import ProductSteps

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
        check_room(targets)  # a search begins with few of the rows
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
        latents = make_latents(kernel, likelihood, self.X, self.targets, self._memory)
        mode, factors = find_mode(latents, self._memory, self._b)
        self._b = mode.point.b
        value = mode.point.value - 0.5 * factors.log_determinant  # [GPML 3.44]
        return value, gradient(latents, mode.point, factors, kernel, self.X)


@dataclass(frozen=True)
class SoftmaxPosterior:
    """The C functions at any rows, given observations at N rows.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> likelihood = likelihoods.Categorical(3)
    >>> targets = LatentTargets.with_offset_prior(y, np.ones(3), likelihood, offset=False)
    >>> posterior = SoftmaxPosterior.condition(2.0 * kernels.RBF(1.0), likelihood, X, targets)
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

    @classmethod
    def condition(
        cls, kernel: kernels.Kernel, likelihood: likelihoods.Coupled, X: Any, targets: LatentTargets
    ) -> SoftmaxPosterior:
        """Find the mode, and factorise there.  [GPML Alg3.3]

        Warns with ``optimize.ConvergenceWarning`` where the mode was not found, and raises
        ``linalg.NotPositiveDefiniteError`` where the kernel is not positive definite.
        """
        memory = ClassMatrices.allocate(targets)
        with linalg.limit_threads(targets.n_rows):
            latents = make_latents(kernel, likelihood, X, targets, memory)
            mode, factors = find_mode(latents, memory, None)
            for c, D_c in enumerate(factors.D):  # solves lose fewer digits than inverses
                fill_class(memory, c, D_c, float(targets.offset_variance[c]))
        _announce(mode)
        value = mode.point.value - 0.5 * factors.log_determinant  # [GPML 3.44]
        matrices = memory.classes, memory.total
        how = mode.n_iter, mode.stop_reason
        return cls(kernel, X, targets, mode.point.b, factors.D, *matrices, value, *how)

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
        fill_gram(covariance, parts)
        covariance[:, range(C), range(C)] += variances
        return LatentMarginals.from_covariance(self._mean(k), covariance)

    def _solve_class(self, c: int, k: Array) -> tuple[Array, Array]:
        """V with V^T V = k^T E_c k, and E_c k."""
        L_c, root = self.L_classes[c].T, np.sqrt(self.D[c])[:, None]
        V = linalg.solve_lower(L_c, root * k)
        return V, root * linalg.solve_lower_transposed(L_c, V)

    @functools.cached_property
    def _loss(self) -> float:
        """By what factor large covariances make the round-off of variances larger."""
        pivots = np.diagonal(self.L_classes, axis1=1, axis2=2)
        return max(1.0, _ROUND_OFF * self.targets.n_rows * float(np.max(pivots)) ** 2)

    def _pieces(self, X: Any) -> list[Any]:
        """The queries in parts whose covariances with the rows fit in a small memory."""
        n, rows, C = kernels.rows.count_rows(X), self.targets.n_rows, len(self.targets.shift)
        size = max(1, _QUERY_VALUES // ((C + 4) * rows)) if self.kernel.takes_vectors else n
        return [kernels.rows.slice_rows(X, i, i + size) for i in range(0, n, max(1, size))]


def make_latents(
    kernel: kernels.Kernel,
    likelihood: likelihoods.Coupled,
    X: Any,
    targets: LatentTargets,
    memory: ClassMatrices,
) -> LatentDensity:
    """The log posterior density of the functions, its kernel matrix in the memory given."""
    kernel_blocks.fill(memory.K, kernel, X, np.zeros(targets.n_rows), above_too=True)
    return LatentDensity(memory.K, likelihood, targets)


def find_mode(
    latents: LatentDensity, memory: ClassMatrices, b: Array | None
) -> tuple[Mode, ClassFactors]:
    """The mode, from a guess of it or from nothing, and the factors there."""
    return modes.find(
        latents,
        latents.start(b),
        ProductSteps.precondition(latents),
        lambda point: ClassFactors.factorise(latents, point, memory),
    )


def _announce(mode: Mode) -> None:
    if not mode.converged:
        message = f"stopped after {mode.n_iter} Newton steps: {mode.stop_reason}"
        callers.warn_caller(message, optimize.ConvergenceWarning)
