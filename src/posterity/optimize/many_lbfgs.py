"""L-BFGS on many problems of many variables at once, which do not know of each other.

All rows are asked for their values together, so that the work is a few products of matrices an
iteration and no loop over rows. A row that has converged is asked no more, and what becomes of a
row does not depend on the others.

Letters: S and Y (m, n, D) the last m steps and changes of gradient, r (m, n) one over their inner
products, zero where a pair is not used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.optimize.many import Functions, ManyOptima, evaluated
from posterity.optimize.optimum import EPS

_MEMORY = 8
_SUFFICIENT_DECREASE = 1e-4  # of what the slope promises (Armijo)
_SHORTENINGS = 30
_FIRST_STEP = 0.1
_CURVATURE = 1e-10  # of |s| |y|: below, a pair says nothing of the Hessian


def minimise_many_lbfgs(
    value_and_gradient: Functions, X0: Array, *, max_iter: int = 200, tol: float = 1e-6
) -> ManyOptima:
    """Local minima of n functions of D variables each, by L-BFGS.  [NW 7.4]

    Parameters
    ----------
    value_and_gradient : callable
        ``value_and_gradient(X, which)`` returns values (m,) and gradients (m, D) of the functions
        number ``which`` (m,) at the rows of X (m, D). A value that is not finite says that the row
        is outside the domain; the search then takes a shorter step.
    X0 : array (n, D)
        The starts. A function that is not finite at its start stays there, not converged.
        Variables and values should be of order one.
    max_iter : int, default=200
        For each function.
    tol : float, default=1e-6
        Converged when the gradient is no longer, or when no step lowers the value by more than
        rounding.

    Examples
    --------
    >>> targets = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> def paraboloids(X, which):
    ...     R = X - targets[which]
    ...     return np.sum(R * R, axis=1), 2.0 * R
    >>> minimise_many_lbfgs(paraboloids, np.zeros((2, 2))).x.round(6)
    array([[1., 2.],
           [3., 4.]])
    """
    x = np.array(X0, dtype=np.float64)
    f, g, inside = evaluated(value_and_gradient, x, np.arange(len(x)))
    past = _Past.empty(x.shape)
    converged, n_iter = inside & (_lengths(g) <= tol), np.zeros(len(x), dtype=np.intp)
    active = np.flatnonzero(inside & ~converged)
    for k in range(max_iter):
        if not len(active):
            break
        step = past.direction(g[active], active)
        slope = np.einsum("nd,nd->n", step, g[active])
        t, f_new, g_new = _search(value_and_gradient, x[active], f[active], step, slope, active)
        moved = t > 0.0
        s = t[:, None] * step
        past.remember(k % _MEMORY, active, s, g_new - g[active])
        x[active] += s
        f[active], g[active] = f_new, np.where(moved[:, None], g_new, g[active])
        n_iter[active] += 1
        flat = ~moved & (-slope <= 1e2 * EPS * (1.0 + np.abs(f[active])))
        converged[active] = flat | (_lengths(g[active]) <= tol)
        active = active[moved & ~converged[active]]
    return ManyOptima(x, np.where(inside, f, np.inf), converged, n_iter)


@dataclass(frozen=True)
class _Past:
    """The last steps of every row, overwritten in turn."""

    S: Array  # (m, n, D)
    Y: Array  # (m, n, D)
    r: Array  # (m, n)
    scale: Array  # (n,)  of the inverse Hessian; zero while nothing is known of it
    order: list[int]  # places in S and Y, oldest first

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> _Past:
        n, D = shape
        zeros = np.zeros((2, _MEMORY, n, D))
        return cls(zeros[0], zeros[1], np.zeros((_MEMORY, n)), np.zeros(n), [])

    def remember(self, place: int, rows: NDArray[np.intp], s: Array, y: Array) -> None:
        sy, yy, ss = (np.einsum("nd,nd->n", a, b) for a, b in ((s, y), (y, y), (s, s)))
        useful = sy > _CURVATURE * np.sqrt(ss * yy)
        self.S[place, rows], self.Y[place, rows] = s, y
        self.r[place, rows] = np.divide(1.0, sy, out=np.zeros_like(sy), where=useful)
        self.scale[rows] = np.divide(sy, yy, out=self.scale[rows], where=useful)
        if place in self.order:
            self.order.remove(place)
        self.order.append(place)

    def direction(self, g: Array, rows: NDArray[np.intp]) -> Array:
        """Minus the inverse Hessian, as far as it is known, times g.  [NW Alg 7.4]"""
        q, a = g.copy(), np.zeros((_MEMORY, len(rows)))
        for i in reversed(self.order):
            a[i] = self.r[i, rows] * np.einsum("nd,nd->n", self.S[i, rows], q)
            q -= a[i][:, None] * self.Y[i, rows]
        first = np.minimum(1.0, _FIRST_STEP / np.maximum(_lengths(g), EPS))
        q *= np.where(self.scale[rows] > 0.0, self.scale[rows], first)[:, None]
        for i in self.order:
            b = self.r[i, rows] * np.einsum("nd,nd->n", self.Y[i, rows], q)
            q += (a[i] - b)[:, None] * self.S[i, rows]
        return -q


def _search(
    ask: Functions, x: Array, f: Array, step: Array, slope: Array, which: NDArray[np.intp]
) -> tuple[Array, Array, Array]:
    """How far each row goes along its step, zero where nothing is gained; value and slope there."""
    t, f_best, g_best = np.zeros(len(f)), f.copy(), np.zeros_like(x)
    trial, left = np.ones(len(f)), np.flatnonzero(slope < 0.0)
    for _ in range(_SHORTENINGS):
        if not len(left):
            break
        h = trial[left]
        f_h, g_h, inside = evaluated(ask, x[left] + h[:, None] * step[left], which[left])
        rise = np.where(inside, f_h - f[left], np.inf)
        good = rise <= _SUFFICIENT_DECREASE * h * slope[left]
        done = left[good]
        t[done], f_best[done], g_best[done] = h[good], f_h[good], g_h[good]
        trial[left] = h * _shortened(h * slope[left], rise)
        left = left[~good]
    return t, f_best, g_best


def _shortened(promised: Array, risen: Array) -> Array:
    """By how much to shorten: to the bottom of a parabola, between a tenth and a half."""
    bend = 2.0 * (risen - promised)
    usable = np.isfinite(bend) & (bend > 0.0)
    bottom = np.divide(-promised, bend, out=np.full_like(bend, 0.1), where=usable)
    return np.clip(bottom, 0.1, 0.5)


def _lengths(g: Array) -> Array:
    return np.sqrt(np.einsum("nd,nd->n", g, g))
