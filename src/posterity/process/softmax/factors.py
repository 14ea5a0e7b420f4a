"""The factorisations behind C coupled latent functions: their mode, and how the evidence moves.

W = D - D 1 (1^T D 1)^-1 1^T D for each row, D = w diag(u) and u of sum one, so that
(K + W^-1)^-1 has blocks E_c - E_c M^-1 E_c on its diagonal and -E_c M^-1 E_d off it, with
E_c = (K_c + D_c^-1)^-1 and M = sum_c E_c.  [GPML Sec3.5]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import blas

from posterity import arrays, kernels, likelihoods, linalg
from posterity.arrays import Array
from posterity.linalg import blocked, products
from posterity.process import kernel_blocks
from posterity.process.latent.density import LatentDensity, LatentTargets, Point, Step
from posterity.process.softmax import modes

_LEAST = 1e-200  # of a class probability: its square root is still divided by
_COLUMNS = 64  # of N x N matrices that are worked on at a time


@dataclass(frozen=True)
class ClassMatrices:
    """Room for the kernel matrix, a matrix for each class, and their sum; used over and over."""

    K: Array  # (N, N), Fortran order
    classes: Array  # (C, N, N)
    total: Array  # (N, N), Fortran order

    @classmethod
    def allocate(cls, targets: LatentTargets) -> ClassMatrices:
        """A sentence where there is not enough; nothing is computed before."""
        check_room(targets)
        n, C = targets.n_rows, len(targets.shift)
        K, total = np.empty((n, n), order="F"), np.empty((n, n), order="F")
        return cls(K, np.empty((C, n, n)), total)

    def of_class(self, c: int) -> Array:
        """The matrix of class c, in Fortran order, where LAPACK's inverse loses fewest digits."""
        return self.classes[c].T


def check_room(targets: LatentTargets) -> None:
    """Refuse rows whose matrices do not fit, before anything is computed."""
    n, C = targets.n_rows, len(targets.shift)
    needed, free = 8 * n * n * (C + 2), arrays.free_memory(targets.y)
    if free is not None and needed > free:
        raise MemoryError(
            f"{C + 2} covariances of {n:,} rows, one for each of {C} classes and two more, take "
            f"{needed / 2**30:.1f} GiB and {free / 2**30:.1f} GiB are free; use fewer rows"
        )


def fill_class(memory: ClassMatrices, c: int, D_c: Array, offset_variance: float) -> Array:
    """B_c = I + D_c^1/2 K_c D_c^1/2, factorised: L_c below the diagonal.  [GPML Alg3.3]"""
    B, root = memory.of_class(c), np.sqrt(D_c)
    for j in cut_columns(len(root)):
        np.add(memory.K[:, j], offset_variance, out=B[:, j])
        B[:, j] *= root[:, None]
        B[:, j] *= root[j]
    blocked.write_diagonal(B, 1.0 + np.diagonal(B))
    return linalg.cholesky_in_place(B)


@dataclass(frozen=True)
class ClassFactors:
    """E_c of each class and the Cholesky factor of their sum, at one point."""

    memory: ClassMatrices  # E_c in ``classes``; in ``total`` L below, and what it factorises above
    D: Array  # (C, N)
    diagonal: Array  # (N,), of the sum
    log_determinant: float  # of I + K W, all classes together

    @classmethod
    def factorise(
        cls, latents: LatentDensity, weights: Array, u: Array, memory: ClassMatrices
    ) -> ClassFactors:
        """Factorise where W = weights (diag(u) - u u^T), u (N, C), in the memory given."""
        t = latents.targets
        D = np.maximum(u.T, _LEAST) * weights
        log_determinant = -float(np.sum(np.log(weights)))
        memory.total[...] = 0.0
        for c, D_c in enumerate(D):
            L_c = fill_class(memory, c, D_c, float(t.offset_variance[c]))
            log_determinant += linalg.log_determinant(L_c)
            memory.total[...] += _scaled_inverse(L_c, np.sqrt(D_c))
        diagonal = np.diagonal(memory.total).copy()
        L = linalg.cholesky_in_place(memory.total)  # [GPML Alg3.3]
        return cls(memory, D, diagonal, log_determinant + linalg.log_determinant(L))  # [GPML 3.44]

    @property
    def L(self) -> Array:
        """The Cholesky factor of the sum; only its lower triangle is one."""
        return self.memory.total

    def times(self, X: Array) -> Array:
        """(K + W^-1)^-1 X for one column of X a class.  [GPML Alg3.3]"""
        E = self.memory.classes
        EX = each_times(E, X)
        common = linalg.solve_cholesky(self.L, np.sum(EX, axis=1))
        return EX - each_times(E, np.broadcast_to(common[:, None], X.shape))

    def newton_step(self, latents: LatentDensity, point: Point) -> Step:
        """(K^-1 + W)^-1 slope."""
        return modes.step_of(self.times, latents, latents.slope(point.f) - point.b)


def each_times(matrices: Array, X: Array) -> Array:
    """Matrix c of (C, N, N) times column c of X (N, C)."""
    pairs = zip(matrices, X.T, strict=True)
    return np.hstack([products.product(A, x[:, None]) for A, x in pairs])


def cut_columns(n: int) -> Iterator[slice]:
    """Few columns at a time, so that what is done to them stays in cache."""
    return (slice(i, min(i + _COLUMNS, n)) for i in range(0, n, _COLUMNS))


def _scaled_inverse(L_c: Array, root: Array) -> Array:
    """E_c = D_c^1/2 B_c^-1 D_c^1/2 in place of the factor of B_c, symmetric in full."""
    E = linalg.inverse_in_place(L_c)
    for j in cut_columns(len(root)):
        E[:, j] *= root[:, None]
        E[:, j] *= root[j]
    blocked.restore_lower_triangle(E.T, np.diagonal(E).copy())
    return E


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
) -> tuple[modes.Mode, ClassFactors]:
    """The mode, from a guess of it or from nothing, and the factors there."""

    def factorise(point: Point) -> ClassFactors:
        u, weights = latents.shares(point.f), latents.targets.weights
        return ClassFactors.factorise(latents, weights, u, memory)

    begin, first = modes.start(latents, b), modes.ProductSteps.precondition(latents)
    return modes.find(latents, begin, first, factorise)


def differentiate_evidence(
    latents: LatentDensity, point: Point, factors: ClassFactors, kernel: kernels.Kernel, X: Any
) -> Array:
    """Return the slope of the log evidence in ``kernel.theta``; the factors are overwritten.

    The mode moves too: z is what a change of it does to the evidence, pulled back to the kernel
    matrix.  [GPML Sec5.5.1]
    """
    t = latents.targets
    variances = compute_variances(factors, np.diagonal(latents.K)[:, None] + t.offset_variance)
    whitened = WhitenedFactors.solve_in_place(factors)
    S = whitened.row_covariances(variances)
    pulled = latents.likelihood.curvature_pullback(t.y, t.shift + point.f, S)
    s = -0.5 * t.weights[:, None] * pulled
    z = s - whitened.times(latents.times(s))
    R = whitened.sum_residuals()
    bz = point.b + z

    def weights(i: slice, j: slice) -> Array:
        """Twice dL/dK, the sum over classes of b b^T + b z^T + z b^T - (K + W^-1)^-1."""
        G = bz[i] @ bz[j].T - z[i] @ z[j].T - R[j, i].T
        return kernel_blocks.symmetric(G) if i == j else G

    return 0.5 * kernel_blocks.pullback(R, kernel, X, weights)


@dataclass(frozen=True)
class WhitenedFactors:
    """F_c = L^-1 E_c, so that E_c M^-1 E_d is F_c^T F_d, in the memory of E_c."""

    factors: ClassFactors

    @classmethod
    def solve_in_place(cls, factors: ClassFactors) -> WhitenedFactors:
        """Solve in place."""
        for c in range(len(factors.D)):
            E = factors.memory.of_class(c)  # becomes E L^-T, the transpose of F
            blas.dtrsm(1.0, factors.L, E, side=1, lower=1, trans_a=1, overwrite_b=1)
        return cls(factors)

    @property
    def F(self) -> Array:
        """(C, N, N)."""
        return self.factors.memory.classes

    def row_covariances(self, variances: Array) -> Array:
        """Posterior covariance of the latent values of each row, (N, C, C), as curvature sees it.

        It is diag_c(K_c - K_c E_c K_c) + (F_c K_c)^T (F_d K_d) with F_c K_c = L^-1 - F_c D_c^-1.
        What is added to all classes alike, such as L^-1, moves no probability and is left out.
        ``variances`` (N, C) is the first diagonal.
        """
        n, C = variances.shape
        S = np.empty((n, C, C))
        for j in cut_columns(n):
            fill_gram(S[j], [F[:, j] / D[j] for F, D in zip(self.F, self.factors.D, strict=True)])
        S[:, range(C), range(C)] += variances
        return S

    def times(self, X: Array) -> Array:
        """(K + W^-1)^-1 X, as that of the factors."""
        FX = each_times(self.F, X)
        EX = blas.dtrmm(1.0, self.factors.L, FX, lower=1)
        common = np.broadcast_to(np.sum(FX, axis=1, keepdims=True), X.shape)
        return EX - each_times(np.swapaxes(self.F, 1, 2), common)

    def sum_residuals(self) -> Array:
        """The sum over classes of E_c - E_c M^-1 E_c, above the diagonal, in place of L."""
        R, n = self.factors.memory.total, len(self.factors.diagonal)
        blocked.write_diagonal(R, self.factors.diagonal)
        blas.dsyrk(-1.0, self.F.reshape(-1, n).T, beta=1.0, c=R, overwrite_c=1)
        return R


def fill_gram(S: Array, parts: list[Array]) -> None:
    """S (n, C, C) of the inner products of columns of the C parts (N, n)."""
    for c, A in enumerate(parts):
        for d, B in enumerate(parts[: c + 1]):
            S[:, c, d] = S[:, d, c] = np.einsum("kj,kj->j", A, B)


def compute_variances(factors: ClassFactors, prior: Array) -> Array:
    """Diagonals of (K_c^-1 + D_c)^-1, (N, C): exact where D is large, at most the prior's."""
    E = np.stack([np.diagonal(E_c) for E_c in factors.memory.classes])
    D = factors.D
    return np.clip((1.0 - E / D) / D, 0.0, prior.T).T
