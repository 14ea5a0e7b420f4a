"""The factorisations behind C coupled latent functions: N x N for each class, and one for all.

W = D - D 1 (1^T D 1)^-1 1^T D for each row, D = w diag(u) and u of sum one, so that
(K + W^-1)^-1 has blocks E_c - E_c M^-1 E_c on its diagonal and -E_c M^-1 E_d off it, with
E_c = (K_c + D_c^-1)^-1 and M = sum_c E_c.  [GPML Sec3.5]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posterity import arrays, linalg
from posterity.arrays import Array
from posterity.linalg import blocked, products
from posterity.process.latent.targets import LatentTargets
from posterity.process.softmax.modes import LatentDensity, Point, Step, step_of

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
    def factorise(cls, latents: LatentDensity, point: Point, memory: ClassMatrices) -> ClassFactors:
        """Factorise, in the memory given."""
        t = latents.targets
        D = np.maximum(point.u.T, _LEAST) * t.weights
        log_determinant = -float(np.sum(np.log(t.weights)))
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
        return step_of(self.times, latents, point)


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
