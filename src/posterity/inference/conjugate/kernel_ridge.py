"""Kernel ridge regression at one penalty, and along a path of penalties.

Minimises sum_n w_n (y_n - f(x_n) - b)^2 + lam |f|^2 over functions f of the kernel and, where asked
for, a free offset b [J 23, J 33]. Scaled by the roots s of the weights, f = sum_n c_n k(x_n, .) has
c = s Q (s y) with Q the inverse of s K s + lam I on the space orthogonal to s [J 44]. A reflection
turns s into the first axis, so that this space is all axes but the first: the offset is split off
exactly, nothing cancels, and the rest is a problem without one.

Letters: s root weights, K the kernel matrix, Y targets (N, K), lam the penalty, Q as above.

One eigendecomposition serves every penalty: in the eigenvectors' axes the solution and its
leave-one-out residuals are sums, at the cost of one product of the matrix of eigenvectors with a
vector. The error is scanned over every penalty that can matter, and the best cell is searched on
the analytic derivative, so that the answer does not depend on the grid. Each output has its own.

Letters: d eigenvalues, V eigenvectors, g = lam / (d + lam) the part of each that stays a residual.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from posterity import linalg, optimize, validation
from posterity.arrays import Array
from posterity.linalg import symmetric

_EPS = float(np.finfo(float).eps)
_SMALLEST_VARIANCE = 1e-300
_ASYMMETRY = 1e-8  # of the largest entry: half the digits of a double


@dataclass(frozen=True)
class KernelProblem:
    """Rows seen through a kernel, with the offset split off."""

    A: Array  # (N, N)  weighted kernel, reflected; where offset, axis 0 is cut off from the others
    T: Array  # (N, K)  weighted targets, reflected; zero along the offset's axis
    coupling: Array  # (N,)  weighted kernel between the offset's axis and each row
    weight: Array  # (N,)
    left_out: Array  # (N, 1)  share of each row that is left out to predict it
    scale: float  # trace of the weighted kernel matrix, before the offset was split off
    center: Array  # (K,)  weighted mean of the targets; zero without an offset
    floor: Array  # (K,)  a mean square below the rounding of the targets means nothing
    reflection: symmetric.Reflection | None  # None: no offset

    @property
    def free(self) -> slice:
        """The axes that have weights: all but the offset's."""
        return slice(0 if self.reflection is None else 1, None)

    def reflect_to_rows(self, B: Array) -> Array:
        """Turn reflected axes back to those of the rows."""
        return B if self.reflection is None else self.reflection.apply(B)


def reduce_kernel(
    K: Array, Y: Array, weight: Array, *, fit_intercept: bool, whole: bool = False
) -> KernelProblem:
    """Weight the rows and split off the offset, in the memory of K.

    Parameters
    ----------
    K : array (N, N)
        Kernel matrix of the rows, symmetric in full; overwritten.
    Y : array (N, K)
        Targets.
    weight : array (N,)
        How often each row counts, > 0.
    fit_intercept : bool
        Whether there is a free offset.
    whole : bool, default=False
        Whether a row that counts several times is left out whole, as copies must be, not once.
    """
    if fit_intercept and len(K) == 1 and weight[0] <= 1.0:
        raise ValueError(
            "Only one row counts, and with an offset nothing is left to predict it by. Use more "
            "rows, or fit_intercept=False."
        )
    _check_symmetric(K)
    s = np.sqrt(weight)
    if np.any(weight != 1.0):
        K *= s[:, None]
        K *= s
    scale = float(np.trace(K))
    center = weight @ Y / weight.sum() if fit_intercept else np.zeros(Y.shape[1])
    T = s[:, None] * (Y - center)
    validation.check_spread(np.abs(T).max(axis=0), "targets")
    left_out = np.ones((len(K), 1)) if whole else compute_left_out_share(weight)
    floor = np.maximum((_EPS * np.abs(Y).max(axis=0)) ** 2, _SMALLEST_VARIANCE)
    if not fit_intercept:
        return KernelProblem(K, T, np.zeros(len(K)), weight, left_out, scale, center, floor, None)
    H = symmetric.Reflection.to_first_axis(s)
    H.apply_to_both_sides(K)
    coupling = H.apply(K[0])
    K[0], K[:, 0] = 0.0, 0.0
    T_reflected = H.apply(T)
    T_reflected[0] = 0.0
    return KernelProblem(K, T_reflected, coupling, weight, left_out, scale, center, floor, H)


def _check_symmetric(K: Array) -> None:
    """Refuse what no kernel gives: only one triangle is read. By two products, without a copy."""
    v = np.cos(np.arange(len(K)))
    gap, size = np.abs(K @ v - v @ K).max(), max(K.max(), -K.min())
    if gap > _ASYMMETRY * size:
        raise ValueError(
            "The kernel matrix is not symmetric: k(x, z) and k(z, x) differ. Use a kernel that "
            "treats its two arguments alike."
        )


def delete_one_residuals(problem: KernelProblem, R: Array, h: Array) -> tuple[Array, Array]:
    """Residuals with the row left out, and the parts of them that remain when it is not.

    R = lam Q s y are the weighted residuals and h = lam diag(Q), (N, K) each. A row that counts
    w times is left out once, as if it had been repeated; one that counts less, whole, as is one of
    copies. That is a share f of the row's leverage 1 - h, and the residual left out is
    r / (1 - f (1 - h)): exact, with the offset estimated anew.
    """
    f = problem.left_out
    rest = (1.0 - f) + f * h
    return R / (np.sqrt(problem.weight)[:, None] * rest), rest


def compute_left_out_share(weight: Array) -> Array:
    """Return the share of each row that is left out, (N, 1)."""
    return np.minimum(1.0, 1.0 / weight)[:, None]


class LeaveOneOut(NamedTuple):
    """Predictions of each row by the others."""

    residuals: Array  # (N, K)
    mean_squares: Array  # (K,)


@dataclass(frozen=True)
class KernelRidgeFit(abc.ABC):
    """The solution at one penalty an output."""

    problem: KernelProblem
    penalty: Array  # (K,)
    B: Array  # (N, K)  Q times the weighted targets

    @abc.abstractmethod
    def _one_minus_leverage(self) -> Array:
        """lam diag(Q): one minus the leverage of each row, (N, K) or (N, 1)."""

    @property
    def dual_coef(self) -> Array:
        """Weights of the kernel at the rows, (N, K); with an offset they sum to zero.  [J 32]"""
        return np.sqrt(self.problem.weight)[:, None] * self.B

    @property
    def intercept(self) -> Array:
        """The offset that leaves residuals of weighted mean zero, (K,).  [J 37]"""
        p = self.problem
        return p.center + p.coupling @ self.B / np.sqrt(p.weight.sum())

    @cached_property
    def leave_one_out(self) -> LeaveOneOut:
        """The residual of each row predicted by the others, and their weighted mean square."""
        p, w = self.problem, self.problem.weight
        e, _ = delete_one_residuals(p, self.penalty * self.B, self._one_minus_leverage())
        return LeaveOneOut(e, np.maximum(w @ e**2 / w.sum(), p.floor))


@dataclass(frozen=True)
class CholeskyFit(KernelRidgeFit):
    """A solution by one factorisation; leave-one-out residuals cost another, where asked for."""

    L: Array  # (N, N)  lower factor of A + lam I

    def _one_minus_leverage(self) -> Array:
        """Sum the squares of columns of L^-1 H, which do not cancel."""
        G, H = symmetric.inverse_factor(self.L), self.problem.reflection
        if H is not None:
            G[0] = 0.0  # the offset's axis
            H.apply_from_right(G)
        return self.penalty[0] * np.einsum("ij,ij->j", G, G)[:, None]


def solve_kernel_ridge(problem: KernelProblem, penalty: float) -> CholeskyFit:
    """The solution at a given penalty, in the memory of ``problem.A``."""
    A, (N, K) = problem.A, problem.T.shape
    A[np.arange(N), np.arange(N)] += penalty  # [J 31]
    L = linalg.cholesky(A, overwrite=True)
    B = problem.reflect_to_rows(linalg.solve_cholesky(L, problem.T))
    return CholeskyFit(problem, np.full(K, penalty), B, L)


_STEP = np.log(10.0) / 8.0  # eight grid points a decade
_LARGEST_PENALTY = 1e6  # of the largest eigenvalue: the function is constant to six digits
_INDEFINITE = 1e-8  # of the largest eigenvalue: more below zero than rounding puts there
_TIE = 1e-10  # errors this close, relatively, are the same


class LeaveOneOutPath(NamedTuple):
    """The mean squared leave-one-out error at each penalty tried.

    Examples
    --------
    >>> LeaveOneOutPath(np.array([0.1, 1.0]), np.array([0.4, 0.3])).errors.min()
    np.float64(0.3)
    """

    penalties: Array  # (G,)  increasing
    errors: Array  # (G, K), or (G,) of a single output


@dataclass(frozen=True)
class SpectralFit(KernelRidgeFit):
    """A solution by eigenvectors, which give the leverages too."""

    kept: Array  # (N, K)

    def _one_minus_leverage(self) -> Array:
        return self.kept


@dataclass(frozen=True)
class ChosenPenalty:
    """The solution of the least leave-one-out error, each output at its own penalty."""

    fit: SpectralFit
    path: LeaveOneOutPath
    stop_reason: str
    bounds_reached: tuple[optimize.ReachedBound, ...]


def choose_penalty(problem: KernelProblem) -> ChosenPenalty:
    """Scan, search, and solve at the best penalty of each output.

    Where several penalties are as good to rounding, as for constant targets or two rows with an
    offset, the largest of them is taken: the smoothest function.
    """
    spectrum = KernelSpectrum.decompose(problem)
    grid = spectrum.penalty_grid()
    errors = spectrum.leave_one_out_errors(grid)
    as_good = errors <= errors.min(axis=0) * (1.0 + _TIE) + 100.0 * problem.floor
    best = len(grid) - 1 - np.argmax(as_good[::-1], axis=0)
    last = len(grid) - 1
    inside = (best > 0) & (best < last)
    lower = np.where(inside, grid[np.maximum(best - 1, 0)], grid[best])
    upper = np.where(inside, grid[np.minimum(best + 1, last)], grid[best])
    log_lam = optimize.maximise_between(lambda x: -spectrum.error_slope(x), lower, upper)
    reason = "least leave-one-out error"
    if np.any(best == 0):
        reason = "the rows are fitted exactly: penalty at its lower bound"
    elif np.any(best == last):
        reason = "the kernel predicts no better than a constant: penalty at its upper bound"
    path = LeaveOneOutPath(np.exp(grid), errors)
    ends = {"lower": best == 0, "upper": best == last}  # of all penalties that can matter
    reached = tuple(
        optimize.ReachedBound("alpha", end, float(np.exp(log_lam[at][0])), rise=0.0)
        for end, at in ends.items()
        if np.any(at)
    )
    return ChosenPenalty(spectrum.fit_penalties(np.exp(log_lam)), path, reason, reached)


@dataclass(frozen=True)
class KernelSpectrum:
    """A problem in the axes of its eigenvectors."""

    problem: KernelProblem
    d: Array  # (r,)  eigenvalues, increasing, >= 0
    V: Array  # (N, r)  eigenvectors, in the axes of the rows
    T: Array  # (r, K)  targets along them
    squares: Array  # (N, r)  of the entries of V

    @classmethod
    def decompose(cls, problem: KernelProblem) -> KernelSpectrum:
        """Decompose the part of the problem that is free of the offset."""
        free = problem.free
        d, U = symmetric.eigh(problem.A[free, free], overwrite=free.start == 0)
        _check_semi_definite(d, problem.scale)
        padded = np.zeros((len(problem.A), len(d)))
        padded[free] = U
        V = problem.reflect_to_rows(padded)
        if d.max(initial=0.0) <= _rounding_share(problem) * problem.scale:
            d = np.zeros_like(d)  # the rounding of a constant, which must not be learned from
        return cls(problem, np.maximum(d, 0.0), V, U.T @ problem.T[free], V**2)

    def penalty_grid(self) -> Array:
        """Logs of every penalty that can matter: from rounding to a constant function."""
        largest = self.d.max(initial=0.0) or self.problem.scale or 1.0
        low = np.log(_rounding_share(self.problem) * largest)
        high = np.log(_LARGEST_PENALTY * largest)
        return np.linspace(low, high, int(np.ceil((high - low) / _STEP)) + 1)

    def leave_one_out_errors(self, log_lam: Array) -> Array:
        """Mean squared leave-one-out error at each of G penalties, (G, K)."""
        g = self._shrinkage(log_lam)
        h, p, w = self.squares @ g, self.problem, self.problem.weight
        of_output = (delete_one_residuals(p, self.V @ (g * t[:, None]), h)[0] for t in self.T.T)
        return np.stack([w @ e**2 / w.sum() for e in of_output], axis=1)

    def error_slope(self, log_lam: Array) -> Array:
        """Derivative of the error of each output at its own log penalty, (K,)."""
        g, w = self._shrinkage(log_lam), self.problem.weight
        dg = g * (1.0 - g)
        R, dR = np.hsplit(self.V @ np.hstack([g * self.T, dg * self.T]), 2)
        h, dh = np.hsplit(self.squares @ np.hstack([g, dg]), 2)
        e, rest = delete_one_residuals(self.problem, R, h)
        de = (dR / np.sqrt(w)[:, None] - self.problem.left_out * dh * e) / rest
        return 2.0 * (w @ (e * de)) / w.sum()

    def fit_penalties(self, lam: Array) -> SpectralFit:
        """The solution at one penalty for each output."""
        g = self._shrinkage(np.log(lam))
        B = self.V @ (g * self.T) / lam
        return SpectralFit(self.problem, lam, B, self.squares @ g)

    def _shrinkage(self, log_lam: Array) -> Array:
        """g, (r, G)."""
        lam = np.exp(log_lam)
        return lam / (self.d[:, None] + lam)


def _rounding_share(problem: KernelProblem) -> float:
    """Return the share of the largest eigenvalue that may be rounding."""
    return min(_EPS * float(problem.weight.sum()), 1.0)


def _check_semi_definite(d: Array, scale: float) -> None:
    """Refuse a matrix that no kernel has."""
    if d.size and d[0] < -_INDEFINITE * max(d[-1], scale / len(d)):
        raise linalg.NotPositiveDefiniteError(
            f"the kernel matrix has the eigenvalue {d[0]:.2e} beside a largest of {d[-1]:.2e}, so "
            "the kernel is not positive semi-definite and has no leave-one-out error to choose a "
            "penalty by. Use a valid kernel, or give an alpha well above "
            f"{-d[0]:.1e}"
        )
