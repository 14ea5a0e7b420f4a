"""Kernel ridge regression on a kernel matrix, its offset and its leave-one-out residuals.

Minimises sum_n w_n (y_n - f(x_n) - b)^2 + lam |f|^2 over functions f of the kernel and, where asked
for, a free offset b [J 23, J 33]. Scaled by the roots s of the weights, f = sum_n c_n k(x_n, .) has
c = s Q (s y) with Q the inverse of s K s + lam I on the space orthogonal to s [J 44]. A reflection
turns s into the first axis, so that this space is all axes but the first: the offset is split off
exactly, nothing cancels, and the rest is a problem without one.

Letters: s root weights, K the kernel matrix, Y targets (N, K), lam the penalty, Q as above.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from posterity import linalg, validation
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
        """From reflected axes to those of the rows."""
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
    """How each row is predicted by the others."""

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
    """By one factorisation; the leave-one-out residuals cost another, where they are asked for."""

    L: Array  # (N, N)  lower factor of A + lam I

    def _one_minus_leverage(self) -> Array:
        """By columns of L^-1 H, whose squares add up without cancelling."""
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
