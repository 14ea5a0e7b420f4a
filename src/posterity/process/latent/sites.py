"""A Gaussian process under N normal sites: what Laplace and expectation propagation come down to.

The precision of the latent values is K^-1 + diag(W). It is never inverted, nor is K: everything
follows from a factor of I + sqrt(W) K sqrt(W), which is well conditioned however singular K is
[GPML 3.26]. Where the likelihood is not log-concave a few entries of W are negative; they are
taken out, and put back by a second factor of as many rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from posterity import arrays, kernels, linalg
from posterity.arrays import Array
from posterity.process import kernel_blocks
from posterity.process.latent.density import LatentTargets

Memory = tuple[Array, Array]
"""The covariance of the rows, and room for a factor."""

_PANEL = 64  # columns scaled at a time, which stay in cache
# Only lower triangles are computed; above the diagonal is whatever the memory held before.
_ABOVE_DIAGONAL = np.errstate(over="ignore", invalid="ignore")


class NotAMaximumError(linalg.NotPositiveDefiniteError):
    """The precision K^-1 + diag(W) is not positive definite.

    ``positive`` are the sites that have a posterior, those of the positive precisions.
    """

    def __init__(self, positive: Sites, M: Array, Q: Array) -> None:
        super().__init__(
            "the precision of the latent values is not positive definite: rows that bend the log "
            "density upwards outweigh the prior and all others, so this is not a maximum of it"
        )
        self.positive, self._M, self._Q = positive, M, Q

    def direction(self) -> Array:
        """K times this is a direction in which the log density curves upwards."""
        return self._Q @ linalg.symmetric.eigh(self._M)[1][:, 0]


@dataclass(frozen=True)
class Sites:
    """R = (I + W K)^-1 W and the posterior covariance K - K R K, through their factors.

    R = s B^-1 s - T T^T with B = I + s K s = L L^T, where s^2 is W but for a few rows in which W is
    negative, and T makes good for the difference.
    """

    s: Array  # (N,)
    L: Array  # (N, N); only its lower triangle is meant
    T: Array  # (N, m)
    log_determinant: float  # of I + K W
    few: NDArray[np.intp]  # (m,), rows whose variance is computed without a division by W
    few_variances: Array  # (m,), under s^2

    @classmethod
    def factorise(
        cls,
        K: Array,
        W: Array,
        memory: Array,
        few: NDArray[np.intp] | None = None,
        positive: Array | None = None,
    ) -> Sites:
        """In ``memory``, (N, N) in Fortran order, for a symmetric K that stays as it is.

        ``few`` holds every row of negative W, and rows whose W is too small to divide by;
        ``positive`` is W with the negative rows replaced, by zeros if it is not given.

        Raises ``NotAMaximumError`` where K^-1 + diag(W) is not positive definite.
        """
        P = np.maximum(W, 0.0) if positive is None else positive
        s = np.sqrt(P)
        _fill_scaled(memory, K, s)
        L = linalg.cholesky_in_place(memory)
        none = np.zeros(0, dtype=np.intp)
        alone = cls(s, L, np.zeros((len(s), 0)), linalg.log_determinant(L), none, np.zeros(0))
        return alone if few is None or not few.size else alone._with_few(K, P[few] - W[few], few)

    def _with_few(self, K: Array, excess: Array, few: NDArray[np.intp]) -> Sites:
        """Take precision from a few rows, by a factor of I - t S t.  [GVL 2.1.4]"""
        t = np.sqrt(excess)
        V = linalg.solve_lower(self.L, self.s[:, None] * K[:, few])
        S = K[np.ix_(few, few)] - V.T @ V  # covariance of the few under s^2
        Q = -self.s[:, None] * linalg.solve_lower_transposed(self.L, V)
        Q[few, np.arange(few.size)] += 1.0  # K Q: their covariance with all rows
        M = np.eye(few.size) - S * t * t[:, None]
        L = M.copy()
        try:
            linalg.cholesky_in_place(L)
        except linalg.NotPositiveDefiniteError as error:
            raise NotAMaximumError(self, M, Q * t) from error
        T = linalg.solve_lower(L, (Q * t).T).T
        log_det = self.log_determinant + linalg.log_determinant(L)
        return replace(self, T=T, log_determinant=log_det, few=few, few_variances=np.diagonal(S))

    def apply(self, v: Array) -> Array:
        """Return the product R v, for v (N,) or (N, C)."""
        through = (self.s * linalg.solve_cholesky(self.L, (self.s * v.T).T).T).T
        return through - self.T @ (self.T.T @ v) if self.few.size else through

    def reduction(self, k: Array) -> Array:
        """k^T R k for every column of k (N, n): by how much the rows lower a prior variance."""
        V = linalg.solve_lower(self.L, self.s[:, None] * k)
        return np.sum(V * V, axis=0) - np.sum((self.T.T @ k) ** 2, axis=0)

    def reduction_matrix(self, k: Array) -> Array:
        """k^T R k, (n, n)."""
        V, U = linalg.solve_lower(self.L, self.s[:, None] * k), self.T.T @ k
        return V.T @ V - U.T @ U

    def invert(self, K: Array) -> InvertedSites:
        """R itself and the posterior variances; L is overwritten and these sites are spent."""
        P = linalg.inverse_in_place(self.L)
        W = self.s**2
        variances = np.divide(1.0 - np.diagonal(P), W, out=np.zeros_like(W), where=W > 0.0)
        variances[self.few] = self.few_variances
        if self.few.size:
            variances += np.sum((K @ self.T) ** 2, axis=1)
        return InvertedSites(self.s, P, self.T, variances)


@dataclass(frozen=True)
class InvertedSites:
    """R entry by entry, and the posterior variances; zero where W is zero and not among the few."""

    s: Array  # (N,)
    P: Array  # (N, N), lower triangle of (I + s K s)^-1
    T: Array  # (N, m)
    variances: Array  # (N,)

    @_ABOVE_DIAGONAL
    def block(self, i: slice, j: slice) -> Array:
        """R at rows i and columns j <= i; right below the diagonal only where i is j."""
        R = self.P[i, j] * self.s[i, None]
        R *= self.s[j]
        return R - self.T[i] @ self.T[j].T if self.T.shape[1] else R

    def apply(self, v: Array) -> Array:
        """Return the product R v."""
        through = self.s * blas.dsymv(1.0, self.P, self.s * v, lower=1)
        return through - self.T @ (self.T.T @ v)

    def pullback(self, kernel: kernels.Kernel, X: Any, left: Array, right: Array) -> Array:
        """dL/dtheta for dL/dK = (left right^T - R) / 2, both parts symmetric; left is (N, r)."""

        @_ABOVE_DIAGONAL
        def weights(i: slice, j: slice) -> Array:
            G = left[i] @ right[j].T
            G -= self.block(i, j)
            return kernel_blocks.symmetric(G) if i == j else G

        return 0.5 * kernel_blocks.pullback(self.P, kernel, X, weights)


def with_offset(kernel: kernels.Kernel, targets: LatentTargets) -> kernels.Kernel:
    """The kernel of process and offset together; the offset has nothing to learn."""
    v = float(targets.offset_variance[0])
    return kernel + kernels.Constant(v).fixed() if v > 0.0 else kernel


def fill_covariance(
    memory: Memory, kernel: kernels.Kernel, X: Any, targets: LatentTargets
) -> kernels.Kernel:
    """Fill the first matrix with the covariance of the rows, offset included; return its kernel."""
    total = with_offset(kernel, targets)
    kernel_blocks.fill(memory[0], total, X, np.zeros(targets.n_rows), above_too=True)
    return total


def check_room(n: int) -> None:
    """Refuse rows whose covariances and their factor do not fit, before anything is computed."""
    needed, free = 2 * 8 * n * n, arrays.free_memory(np.empty(0))
    if free is not None and needed > free:
        raise MemoryError(
            f"the covariance of {n:,} rows and a factor take {needed / 2**30:.1f} GiB, and "
            f"{free / 2**30:.1f} GiB are free; use fewer rows"
        )


def allocate(n: int) -> Memory:
    """Memory for K and for a factor; a sentence where there is not enough."""
    check_room(n)
    # Blocks on the diagonal of a factor are read whole: what is above it must be numbers.
    return np.empty((n, n), order="F"), np.zeros((n, n), order="F")


def _fill_scaled(B: Array, K: Array, s: Array) -> None:
    """Overwrite the lower triangle of B with that of I + s K s."""
    n = len(s)
    for start in range(0, n, _PANEL):
        j = slice(start, min(start + _PANEL, n))
        np.multiply(K[start:, j], s[start:, None], out=B[start:, j])
        B[start:, j] *= s[j]
    linalg.blocked.write_diagonal(B, np.diagonal(B) + 1.0)
