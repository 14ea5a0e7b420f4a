"""Latent points that move in time: each coordinate is a draw of a Gaussian process over time.

A thousandth of the variance belongs to each row alone and not to the motion. It is held, not
learned: with less and less of it the density of smooth motions has no upper limit, and their
covariance has no factor.  [LM]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity import kernels, linalg, optimize
from posterity.arrays import Array
from posterity.process import exact

_WHITE = 1e-3  # of the variance, each row's own
AT_ONCE = 3000  # coordinates of a group whose precision is factorised whole
ALL = slice(None)
_WHITE_AT_START = 0.1  # of points from which the noise of the outputs is not yet taken


@dataclass(frozen=True)
class _Schedule:
    """Times at which one or more groups were seen, and the rows of each group at those times."""

    times: Array  # (n, 1), increasing
    rows: NDArray[np.intp]  # (groups, n)

    def gather(self, X: Array) -> Array:
        """The coordinates of all groups side by side, (n, groups Q)."""
        return X[self.rows].transpose(1, 0, 2).reshape(len(self.times), -1)

    def scatter(self, columns: Array, X: Array) -> None:
        """Write columns such as were gathered to their places in X (N, Q)."""
        shape = (len(self.times), len(self.rows), X.shape[1])
        X[self.rows] = columns.reshape(shape).transpose(1, 0, 2)


# From a schedule with its L and C^-1: what it is worth, and dL/dC.
_Judge: TypeAlias = Callable[[_Schedule, Array, Array], tuple[float, Array]]


class TrajectoryPrior:
    """Columns of X are independent draws of a process over time, one for each group.

    log p(X) = sum_q sum_groups log N(x_q | 0, C), C = k(t, t) but for the white share: off its
    diagonal C is that much smaller, so that a kernel of variance one gives points of variance
    one.  [LM, DTL]

    Parameters
    ----------
    kernel : Kernel
        Over time, with every parameter set.
    kernel_bounds : array (P, 2)
        Of its ``theta``.
    times : array (N,)
    groups : array (N,) of int
        Rows of different groups move independently.
    white : float, default=1e-3
        The share of the variance that is each row's own. More where X is not yet smooth.

    Examples
    --------
    >>> kernel, bounds = kernels.RBF(2.0), np.log([[0.1, 10.0]])
    >>> prior = TrajectoryPrior(kernel, bounds, np.arange(3.0), np.zeros(3, int))
    >>> smooth, rough = np.array([[0.0], [0.4], [0.8]]), np.array([[0.0], [0.8], [0.0]])
    >>> bool(prior(smooth, prior.start)[0] > prior(rough, prior.start)[0])
    True
    """

    def __init__(
        self,
        kernel: kernels.Kernel,
        kernel_bounds: Array,
        times: Array,
        groups: NDArray[np.intp],
        *,
        white: float = _WHITE,
    ) -> None:
        self.kernel, self.limits, self.white = kernel, kernel_bounds, white
        self.start, self.names = kernel.theta, kernel.names
        self._times, self._groups = np.asarray(times, dtype=np.float64), np.asarray(groups)
        self._schedules = _share_schedules(self._times, self._groups)
        self._kept: tuple[Array, list[tuple[Array, Array]]] | None = None

    def kernel_at(self, own: Array) -> kernels.Kernel:
        """The kernel over time at its log parameters."""
        return self.kernel.with_theta(own)

    def variance(self, own: Array) -> float:
        """Variance of a coordinate at one time, averaged over the times of the rows."""
        diagonals = [self.kernel_at(own).diag(s.times) for s in self._schedules for _ in s.rows]
        return float(np.mean(np.concatenate(diagonals)))

    def fit_start_to(self, X: Array) -> TrajectoryPrior:
        """The same prior, to start from the kernel that suits points X best, noisy as they are.

        L-BFGS would begin with a leap to lengths at which points are unrelated, where it stays.
        """
        if not len(self.start):
            return self
        bounds, times, groups = self.limits, self._times, self._groups
        rough = TrajectoryPrior(self.kernel, bounds, times, groups, white=_WHITE_AT_START)

        def value_and_gradient(own: Array) -> tuple[float, Array]:
            value, _, slopes = rough(X, own)
            return -value, -slopes

        best = optimize.minimise_bfgs(
            value_and_gradient,
            self.start,
            bounds=[(low, high) for low, high in bounds],
            least_gain=1e-3,
            announce=False,
        )
        return TrajectoryPrior(self.kernel_at(best.x), bounds, times, groups, white=self.white)

    def __call__(self, X: Array, own: Array) -> tuple[float, Array, Array]:
        """log p(X) and its gradients in X and in the log parameters of the kernel."""
        dX = np.empty_like(X)

        def evaluate_schedule(schedule: _Schedule, L: Array, P: Array) -> tuple[float, Array]:
            columns = schedule.gather(X)
            U = linalg.solve_lower(L, columns)
            a = linalg.solve_lower_transposed(L, U)
            schedule.scatter(-a, dX)
            G = 0.5 * (a @ a.T - columns.shape[1] * P)  # [GPML 5.9]
            return exact.log_density(L, U), G

        value, slopes = self._sum_schedules(evaluate_schedule, own)
        return value, dX, slopes

    def precisions(self, own: Array) -> Iterator[tuple[NDArray[np.intp], Array]]:
        """The rows of each group in order of time, and C^-1 of each coordinate at them."""
        factors = self._factors(self.kernel_at(own), own)
        for schedule, (_, P) in zip(self._schedules, factors, strict=True):
            for rows in schedule.rows:
                yield rows, P

    def add_curvature(self, H: Array, X: Array, own: Array) -> None:
        """C^-1, of every coordinate."""
        for rows, P in self.precisions(own):
            for q in range(X.shape[1]):
                H[rows[:, None], q, rows, q] += P

    def divergence(self, m: Array, S: Array, own: Array) -> tuple[float, Array, Array, Array]:
        """KL of independent normals (means m, variances S, each (N, Q)) from this prior.  [DTL]

        1/2 sum_q [tr(C^-1 diag(s_q)) + m_q^T C^-1 m_q - N + log |C| - sum log s_q], and its
        gradients in m, in S and in the log parameters of the kernel.
        """
        dm, dS = np.empty_like(m), np.empty_like(S)

        def evaluate_schedule(schedule: _Schedule, L: Array, P: Array) -> tuple[float, Array]:
            means, s = schedule.gather(m), schedule.gather(S)
            a, p, total = P @ means, np.diagonal(P), np.sum(s, axis=1)
            schedule.scatter(a, dm)
            schedule.scatter(0.5 * (p[:, None] - 1.0 / s), dS)
            quadratic = float(np.sum(means * a)) + float(p @ total)
            value = 0.5 * (quadratic + means.shape[1] * linalg.log_determinant(L))
            return value, 0.5 * (means.shape[1] * P - a @ a.T - (P * total) @ P)

        value, slopes = self._sum_schedules(evaluate_schedule, own)
        return value - 0.5 * (float(np.sum(np.log(S))) + m.size), dm, dS, slopes

    def predict_at(
        self, X: Array, times: Array, times_new: Array, own: Array
    ) -> tuple[Array, Array]:
        """A trajectory at further times, given X (n, Q) at some of its times.  [GPML 2.24]

        Mean (n_new, Q) and the covariance (n_new, n_new) that every coordinate has.
        """
        kernel, t, t_new = self.kernel_at(own), _column(times), _column(times_new)
        L = linalg.cholesky(self._covariance(kernel, t))
        V = linalg.solve_lower(L, (1.0 - self.white) * kernel(t, t_new))
        return V.T @ linalg.solve_lower(L, X), self._covariance(kernel, t_new) - V.T @ V

    def _sum_schedules(self, evaluate_schedule: _Judge, own: Array) -> tuple[float, Array]:
        """The sum of what each schedule is worth, and dL/dtheta."""
        kernel, value, slopes = self.kernel_at(own), 0.0, np.zeros(len(own))
        for schedule, (L, P) in zip(self._schedules, self._factors(kernel, own), strict=True):
            worth, G = evaluate_schedule(schedule, L, P)
            value += worth
            slopes += kernel.pullback(schedule.times, None, _add_white_share(G, self.white))
        return value, slopes

    def _factors(self, kernel: kernels.Kernel, own: Array) -> list[tuple[Array, Array]]:
        """L L^T = C and C^-1 of every schedule; kept, for a search that moves points alone."""
        if self._kept is None or not np.array_equal(self._kept[0], own):
            covariances = (self._covariance(kernel, schedule.times) for schedule in self._schedules)
            factors = [linalg.cholesky_in_place(C) for C in covariances]
            self._kept = own.copy(), [(L, linalg.inverse_from_cholesky(L)) for L in factors]
        return self._kept[1]

    def _covariance(self, kernel: kernels.Kernel, t: Array) -> Array:
        """C = (1 - white) K + white diag(K)."""
        return _add_white_share(kernel(t), self.white)


def _add_white_share(K: Array, white: float) -> Array:
    """K with all but its diagonal a little smaller; its own adjoint, too."""
    shrunk = (1.0 - white) * K
    np.fill_diagonal(shrunk, np.diagonal(K))
    return shrunk


def _share_schedules(times: Array, groups: NDArray[np.intp]) -> list[_Schedule]:
    """One for each set of times: groups that were seen at the same times share it."""
    shared: dict[bytes, list[NDArray[np.intp]]] = {}
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        in_order = rows[np.argsort(times[rows], kind="stable")]
        shared.setdefault(times[in_order].tobytes(), []).append(in_order)
    return [_Schedule(_column(times[rows[0]]), np.stack(rows)) for rows in shared.values()]


def _column(times: Array) -> Array:
    return np.asarray(times, dtype=np.float64).reshape(-1, 1)


@dataclass(frozen=True)
class Path:
    """A kernel over time, and when each row was seen of which motion."""

    kernel: kernels.Kernel
    times: Array  # (N,)
    groups: NDArray[np.intp]  # (N,)

    def start_prior(self, X: Array) -> TrajectoryPrior:
        """The prior of latent points, started from the kernel that suits points X best."""
        kernel, bounds = self.kernel.search_start(self.times[:, None])
        return TrajectoryPrior(kernel, bounds, self.times, self.groups).fit_start_to(X)

    def fixed_prior(self) -> TrajectoryPrior:
        """The prior of latent points with the kernel kept as it is."""
        return TrajectoryPrior(self.kernel.fixed(), np.empty((0, 2)), self.times, self.groups)

    def select_rows(self, rows: NDArray[np.intp]) -> Path:
        """The path of some of the rows."""
        return Path(self.kernel, self.times[rows], self.groups[rows])


def factor_tied_precision(A: Array, P: Array, columns: slice = ALL) -> Array:
    """L L^T = blockdiag(A) + P (x) I, of rows with precisions A (n, Q, Q) of their own.

    P (n, n) ties the coordinates that are among ``columns``, each by itself.

    Examples
    --------
    >>> A = np.array([[[1.0]], [[2.0]]])
    >>> L = factor_tied_precision(A, np.array([[3.0, -1.0], [-1.0, 3.0]]))
    >>> (L @ L.T).round(6)
    array([[ 4., -1.],
           [-1.,  5.]])
    """
    n, Q, _ = A.shape
    H, rows = np.zeros((n, Q, n, Q)), np.arange(n)
    H[rows, :, rows, :] = A
    for q in range(Q)[columns]:
        H[:, q, :, q] += P
    return linalg.cholesky(H.reshape(n * Q, n * Q), overwrite=True)


def marginal_covariances(L: Array, n: int) -> Array:
    """The blocks (n, Q, Q) on the diagonal of (L L^T)^-1: covariances of each row by itself."""
    Q, rows = len(L) // n, np.arange(n)
    return linalg.inverse_from_cholesky(L).reshape(n, Q, n, Q)[rows, :, rows, :]


def split_into_stretches(
    rows: NDArray[np.intp], P: Array, longest: int
) -> Iterator[tuple[NDArray[np.intp], Array]]:
    """Split the rows of a group into stretches of limited length, with their prior precisions.

    Correlations between stretches are neglected.
    """
    if len(rows) <= longest:
        yield rows, P
        return
    C = _inverse(P)
    for i in range(0, len(rows), longest):
        at = slice(i, i + longest)
        yield rows[at], _inverse(C[at, at])


def _inverse(A: Array) -> Array:
    return linalg.inverse_from_cholesky(linalg.cholesky(A))
