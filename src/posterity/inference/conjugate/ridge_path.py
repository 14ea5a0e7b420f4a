"""Choose the penalty of kernel ridge regression by its leave-one-out error.

One eigendecomposition serves every penalty: in the eigenvectors' axes the solution and its
leave-one-out residuals are sums, at the cost of one product of the matrix of eigenvectors with a
vector. The error is scanned over every penalty that can matter, and the best cell is searched on
the analytic derivative, so that the answer does not depend on the grid. Each output has its own.

Letters: d eigenvalues, V eigenvectors, g = lam / (d + lam) the part of each that stays a residual.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from posterity import linalg, optimize
from posterity.arrays import Array
from posterity.inference.conjugate.kernel_ridge import (
    KernelProblem,
    KernelRidgeFit,
    delete_one_residuals,
)
from posterity.linalg import symmetric

_EPS = float(np.finfo(float).eps)
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
    """By eigenvectors, which give the leverages too."""

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
