"""The log density of outputs at latent points, with the slope in everything that may move.

A covariance of up to a thousand rows and the kernel's own answer fit a processor's cache, or nearly
so: the kernel is then asked once for both. Of more rows, it is asked again, block by block.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity import kernels, linalg
from posterity.arrays import Array
from posterity.process import exact, kernel_blocks

_LOG_2PI = math.log(2.0 * math.pi)
_AT_ONCE = 1024  # rows


@dataclass(frozen=True)
class SlopedDensity:
    """A log density, and its gradient in all that it depends on."""

    value: float
    X: Array  # (N, Q)
    theta: Array  # (P,), of the kernel
    log_noise: float
    Y: Array  # (N, D)


class ProcessDensity:
    """log p(Y | X) = sum_d log N(y_d | 0, K + noise), K = k(X, X), as a function.  [LAW]

    The memory of the matrix is kept from one call to the next, so that two threads need two of
    these.

    Parameters
    ----------
    n_rows : int
        The most rows it will be asked about.

    Examples
    --------
    >>> from posterity.kernels import RBF
    >>> X, Y = np.array([[0.0], [1.0]]), np.array([[1.0, 0.5], [-1.0, 0.5]])
    >>> answer = ProcessDensity(2)(X, Y, RBF(1.0), 0.1)
    >>> round(answer.value, 4), answer.X.round(4).tolist()
    (-5.6769, [[-1.565], [1.565]])
    """

    def __init__(self, n_rows: int) -> None:
        self._n_rows = n_rows
        self._memory: Array | None = None
        self._kept: kernels.Tangent | None = None

    def __call__(
        self,
        X: Array,
        Y: Array,
        kernel: kernels.Kernel,
        noise_variance: float,
        *,
        n_outputs: int | None = None,
    ) -> SlopedDensity:
        """At latent points X (N, Q), for outputs Y (N, D).

        All but the gradient in Y depends on Y Y^T alone. So Y may be any matrix that has the same,
        with ``n_outputs`` to say what D is; the gradient in Y is then that in this matrix.

        Raises ``linalg.NotPositiveDefiniteError`` where the covariance is not, to rounding.
        """
        n, D = len(X), Y.shape[1] if n_outputs is None else n_outputs
        K = self._matrix(n)
        tangent = kernel.tangent(X) if n <= _AT_ONCE else None
        _fill_matrix(K, kernel, X, tangent)
        L = linalg.cholesky_in_place(kernel_blocks.with_diagonal(K, noise_variance))
        U = linalg.solve_lower(L, Y)
        a = linalg.solve_lower_transposed(L, U)
        value = -0.5 * (float(np.vdot(U, U)) + D * (linalg.log_determinant(L) + n * _LOG_2PI))
        G = _kernel_gradient(linalg.inverse_in_place(L), a, D)
        theta, first = (
            tangent.both(G)
            if tangent is not None
            else kernel_blocks.pullback_with_inputs(G, kernel, X)
        )
        # Its memory is not given back to the system, which would be asked for it again at once.
        self._kept = tangent
        return SlopedDensity(value, 2.0 * first, theta, noise_variance * float(np.trace(G)), -a)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has memory of its own."""
        return type(self), (self._n_rows,)

    def _matrix(self, n: int) -> Array:
        """Memory for n x n numbers in Fortran order, in which LAPACK loses the fewest digits."""
        if self._memory is None:
            rows = exact.Observations.from_targets(np.empty((self._n_rows, 1)))
            self._memory = exact.allocate(rows).reshape(-1, order="F")
        return self._memory[: n * n].reshape((n, n), order="F")


def _fill_matrix(
    K: Array, kernel: kernels.Kernel, X: Array, tangent: kernels.Tangent | None
) -> None:
    """k(X, X) below the diagonal of K at least, and on it."""
    if tangent is None:
        kernel_blocks.fill(K, kernel, X, np.zeros(len(X)))
    else:
        tangent.write(K.T)  # symmetric, and so written as it lies in memory


def _kernel_gradient(P: Array, a: Array, n_outputs: int) -> Array:
    """dL/dK = (a a^T - D K^-1) / 2 in full, where P has K^-1 below its diagonal.  [GPML 5.9]"""
    linalg.products.update_lower_triangle(P, a, keep=-0.5 * n_outputs, scale=0.5)
    G = P.T  # in which it stands above, and rows lie in a row
    linalg.blocked.restore_lower_triangle(G, np.diagonal(G).copy())
    return G
