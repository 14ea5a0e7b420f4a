"""Outputs of a process at latent points: their density, and the process given them.

Columns that miss the same rows share a covariance, which is that of the rows they have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import kernels, linalg
from posterity.arrays import Array
from posterity.inference.posterior import LatentMarginals
from posterity.latent.gplvm import inducing_outputs
from posterity.process import exact, kernel_blocks
from posterity.process.exact import Observations, ProcessPosterior

_LOG_2PI = math.log(2.0 * math.pi)


@dataclass(frozen=True)
class ObservedGroup:
    """Columns that have values in the same rows, and these."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    Y: Array  # (len(rows), len(columns)), with nothing missing


def group_columns(Y: Array) -> tuple[ObservedGroup, ...]:
    """The columns of Y (N, D), those that miss the same rows together; NaN is missing.

    Raises
    ------
    ValueError
        Where a column has no value at all.

    Examples
    --------
    >>> found = group_columns(np.array([[1.0, 2.0, 3.0], [np.nan, 4.0, 5.0]]))
    >>> [(group.rows.tolist(), group.columns.tolist()) for group in found]
    [([0], [0]), ([0, 1], [1, 2])]
    """
    seen = ~np.isnan(Y)
    _refuse_empty(np.flatnonzero(~seen.any(axis=0)))
    patterns, which = np.unique(seen, axis=1, return_inverse=True)
    pairs = ((np.flatnonzero(p), np.flatnonzero(which == k)) for k, p in enumerate(patterns.T))
    return tuple(ObservedGroup(i, j, Y[np.ix_(i, j)]) for i, j in pairs)


def log_normal(Y: Array, mean: Array, s: Array) -> tuple[Array, Array, Array]:
    """sum_d log N(y_nd | mean_nd, s_n), (n,), over those not missing; its slopes in mean and s.

    Examples
    --------
    >>> Y, mean = np.array([[1.0, np.nan]]), np.zeros((1, 2))
    >>> value, d_mean, ds = log_normal(Y, mean, np.array([2.0]))
    >>> value.round(4), d_mean, ds
    (array([-1.5155]), array([[0.5, 0. ]]), array([-0.125]))
    """
    seen = ~np.isnan(Y)
    R = np.where(seen, Y - mean, 0.0)
    n_seen, squares = np.sum(seen, axis=1), np.sum(R * R, axis=1)
    value = -0.5 * (n_seen * (_LOG_2PI + np.log(s)) + squares / s)
    return value, R / s[:, None], 0.5 * (squares / s - n_seen) / s


def _refuse_empty(columns: NDArray[np.intp]) -> None:
    if not len(columns):
        return
    if len(columns) == 1:
        raise ValueError(f"column {columns[0]} of the outputs has no value at all; leave it out.")
    named = ", ".join(str(column) for column in columns[:5])
    more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
    raise ValueError(f"columns {named}{more} of the outputs have no value at all; leave them out.")


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


_QUERY_VALUES = 1 << 20  # covariances of queries with rows held at a time: 8 MiB, several times


class ExactOutputs:
    """sum_d log N(y_d | 0, K_X + noise), of the outputs that are there.  [LAW]

    Its own numbers are the log parameters of the kernel, and the log noise variance where that is
    learned. The memory it works in is kept, so that two threads need two of these.

    Parameters
    ----------
    Y : array (N, D)
        About zero; NaN where an output is missing.
    kernel : Kernel
        Where to start.
    kernel_bounds : array (P, 2)
        Of its log parameters.
    noise_variance : float
        Where to start, or given.
    noise_bounds : (float, float), or None
        None: given, not learned.

    Examples
    --------
    >>> X = np.linspace(-2.0, 2.0, 20)[:, None]
    >>> kernel, bounds = kernels.RBF(1.0).search_start(X)
    >>> term = ExactOutputs(np.sin(X), kernel, bounds, 0.1, (1e-6, 1e2))
    >>> value, dX, own = term(X, term.start)
    >>> round(value, 2), dX.shape, own.shape
    (-4.38, (20, 1), (2,))
    """

    def __init__(
        self,
        Y: Array,
        kernel: kernels.Kernel,
        kernel_bounds: Array,
        noise_variance: float,
        noise_bounds: tuple[float, float] | None,
    ) -> None:
        self.Y, self.kernel, self.kernel_bounds = Y, kernel, kernel_bounds
        self.noise_variance, self.noise_bounds = noise_variance, noise_bounds
        self._groups = group_columns(Y)
        # The density depends on Y Y^T alone: of many columns, a factor with N of them does.
        self._factors = [linalg.triangular_factor(group.Y.T).T for group in self._groups]
        self._density = ProcessDensity(len(Y))

    @property
    def start(self) -> Array:
        """Its own numbers to start from, (P,)."""
        return np.concatenate(
            [self.kernel.theta, np.log(self._only_if_learned([self.noise_variance]))]
        )

    @property
    def limits(self) -> Array:
        """Between which its numbers stay, (P, 2)."""
        noise = np.log(self._only_if_learned([self.noise_bounds])).reshape(-1, 2)
        return np.vstack([self.kernel_bounds, noise])

    @property
    def names(self) -> list[str]:
        """Names of its parameters."""
        return self.kernel.names + self._only_if_learned(["noise_variance"])

    def read_parameters(self, own: Array) -> tuple[kernels.Kernel, float]:
        """Kernel and noise variance at its own numbers."""
        P = len(self.kernel.theta)
        noise = self.noise_variance if self.noise_bounds is None else float(np.exp(own[P]))
        return self.kernel.with_theta(own[:P]), noise

    def __call__(self, X: Array, own: Array) -> tuple[float, Array, Array]:
        """The log density, all constants included, and its gradients in X and in ``own``.

        Raises ``linalg.NotPositiveDefiniteError`` where a covariance is not, to rounding.
        """
        kernel, noise = self.read_parameters(own)
        value, dX, d_theta, d_noise = 0.0, np.zeros_like(X), np.zeros(len(kernel.theta)), 0.0
        for group, factor in zip(self._groups, self._factors, strict=True):
            n_outputs = len(group.columns)
            part = self._density(X[group.rows], factor, kernel, noise, n_outputs=n_outputs)
            value += part.value
            dX[group.rows] += part.X
            d_theta += part.theta
            d_noise += part.log_noise
        return value, dX, np.concatenate([d_theta, self._only_if_learned([d_noise])])

    def add_curvature(self, H: Array, X: Array, own: Array) -> None:
        """As Gauss and Newton take it."""
        kernel, noise = self.read_parameters(own)
        for group, factor in zip(self._groups, self._factors, strict=True):
            Y = inducing_outputs.principal_outputs(factor)
            inducing_outputs.PointCurvature.from_outputs(X[group.rows], Y, kernel, noise).add_to(
                H, group.rows
            )

    def decoder(self, X: Array, own: Array) -> ExactDecoder:
        """The process given the outputs at latent points X."""
        kernel, noise = self.read_parameters(own)
        parts = tuple(
            (
                g.columns,
                ProcessPosterior.condition(
                    kernel, noise, X[g.rows], Observations.from_targets(g.Y)
                ),
            )
            for g in self._groups
        )
        return ExactDecoder(kernel, noise, parts, self.Y.shape[1])

    def _only_if_learned(self, of_noise: list[Any]) -> list[Any]:
        """The entries of the noise variance where that is learned; none where it is given."""
        return of_noise if self.noise_bounds is not None else []


@dataclass(frozen=True)
class ExactDecoder:
    """A process given its values at latent points; outputs that missed other rows know less."""

    kernel: kernels.Kernel
    noise_variance: float
    parts: tuple[tuple[NDArray[np.intp], ProcessPosterior], ...]  # columns, and what they share
    n_outputs: int

    def latent(self, X: Array) -> LatentMarginals:
        """Return the distributions of the D noise-free functions at points X (n, Q)."""
        mean, variance = np.empty((2, len(X), self.n_outputs))
        for columns, posterior in self.parts:
            with linalg.limit_threads(len(posterior.L)):
                f = posterior.latent(X)
            mean[:, columns], variance[:, columns] = f.mean, f.variance
        return LatentMarginals(mean, variance)

    def log_density(self, X: Array, Y: Array) -> tuple[Array, Array]:
        """Log density (n,) of the outputs of each row that are not NaN, and its gradient."""
        value, gradient = np.zeros(len(X)), np.zeros_like(X)
        for columns, posterior in self.parts:
            size = max(1, _QUERY_VALUES // len(posterior.L))
            with linalg.limit_threads(len(posterior.L)):
                for start in range(0, len(X), size):
                    i = slice(start, start + size)
                    density, slope = _log_density(posterior, X[i], Y[i][:, columns])
                    value[i] += density
                    gradient[i] += slope
        return value, gradient


def _log_density(posterior: ProcessPosterior, X: Array, Y: Array) -> tuple[Array, Array]:
    """Log density of each row under one posterior, and its gradient by mean and variance."""
    kernel, L, a = posterior.kernel, posterior.L, posterior.a
    tangent = kernel.tangent(X, posterior.X)
    k = tangent.value  # (n, N)
    V = linalg.solve_lower(L, k.T)
    s = posterior.variance_given(X, V) + posterior.noise_variance
    value, d_mean, ds = log_normal(Y, k @ a, s)
    G = d_mean @ a.T
    G -= (2.0 * ds)[:, None] * linalg.solve_lower_transposed(L, V).T
    return value, tangent.inputs(G) + kernel.diag_pullback_inputs(X, ds)
