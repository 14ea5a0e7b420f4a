"""BFGS within bounds, for few variables and functions that are expensive to evaluate.

It keeps the whole inverse Hessian, takes one from a similar problem to begin with, and gives its
own back: a search that goes on where another ended need not learn the shape of the valley again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.optimize.bounds import find_reached_bounds, is_held_by_bound
from posterity.optimize.optimum import EPS, NO_DESCENT, Optimum, check_start, warn_unless_converged

_SUFFICIENT_DECREASE = 1e-4  # of what the slope promises (Armijo)
_SHORTENINGS = 30
_LEAST_CURVATURE = 1e-10
_FLATTER = 0.25  # of the curvature assumed, along a step on which the function curves down


def minimise_bfgs(
    value_and_gradient: Callable[[Array], tuple[float, Array]],
    x0: Array,
    *,
    bounds: Sequence[tuple[float, float]] | None = None,
    names: Sequence[str] | None = None,
    inverse_hessian: Array | None = None,
    longest_step: float = np.inf,
    max_iter: int = 200,
    tol: float = 1e-6,
    least_gain: float = 0.0,
    announce: bool = True,
) -> Optimum:
    """A local minimum by projected BFGS.  [NW 6.1]

    Parameters
    ----------
    value_and_gradient : callable
        The function and its gradient at x. A value that is not finite says that x is outside the
        domain; the search then takes a shorter step.
    x0 : array (P,)
        The start, where the value must be finite.
    bounds : sequence of (lower, upper), optional
    names : sequence of str, optional
        What to call the parameters in ``at_bounds``.
    inverse_hessian : array (P, P), optional
        What is known of it, symmetric and positive definite. None: nothing.
    longest_step : float
        The most that one variable may change in one step.
    max_iter : int
    tol : float
        Converged when no entry of the gradient, projected on the bounds, is larger.
    least_gain : float, default=0
        Converged, too, when two iterations in a row lower the value by less than this, or when no
        step lowers a value that is not exact, where the gradient is below a hundred times this.
    announce : bool, default=True
        Whether to warn where it did not converge.

    Warns
    -----
    ConvergenceWarning
        When it stopped for another reason.

    Examples
    --------
    >>> best = minimise_bfgs(lambda x: (x @ x, 2 * x), np.array([3.0, 4.0]))
    >>> best.converged, best.stop_reason
    (True, 'the largest gradient entry fell below 1e-06')
    """
    limits = np.tile([-np.inf, np.inf], (len(x0), 1)) if bounds is None else np.asarray(bounds)
    low, high = limits.T
    state = _SearchPoint.from_start(
        value_and_gradient, np.clip(np.asarray(x0, float), low, high), low, high
    )
    H, gains, n_iter = inverse_hessian, [np.inf, np.inf], 0
    ending = state.check_convergence(H, gains, tol, least_gain)
    while ending is None and n_iter < max_iter:
        found = state.step(value_and_gradient, H, longest_step)
        if found is not None:
            n_iter += 1
            moved = found.x - state.x
            H = _update_inverse_hessian(
                H, moved, np.where(moved != 0.0, found.g - state.g, 0.0), state.g
            )
            gains = [gains[-1], state.f - found.f]
            state = found
            ending = state.check_convergence(H, gains, tol, least_gain)
        elif H is not None and not 0.0 <= state.promise(H) < least_gain:
            H = None  # it misleads: begin again from the gradient alone
        else:
            ending = state.stuck(H, least_gain)
    reason, converged = ending or (f"{max_iter} BFGS iterations were not enough", False)
    held = find_reached_bounds(state.x, state.g, bounds, names)
    labels = tuple(bound.label for bound in held)
    optimum = Optimum(state.x, state.f, state.g, n_iter, reason, converged, labels, H, held)
    return warn_unless_converged(optimum) if announce else optimum


@dataclass(frozen=True)
class _SearchPoint:
    """A point, the value and the gradient there, and the bounds of the variables."""

    x: Array
    f: float
    g: Array
    low: Array
    high: Array

    @classmethod
    def from_start(
        cls,
        value_and_gradient: Callable[[Array], tuple[float, Array]],
        x: Array,
        low: Array,
        high: Array,
    ) -> _SearchPoint:
        f, g = value_and_gradient(x)
        check_start(x, f, g)
        return cls(x, float(f), g, low, high)

    @property
    def free(self) -> NDArray[np.bool_]:
        """Variables that no bound holds back."""
        return ~is_held_by_bound(self.x, self.g, self.low, self.high)

    @property
    def slope(self) -> float:
        """The largest entry of the gradient along which the value can fall."""
        return float(np.max(np.abs(self.g[self.free]), initial=0.0))

    def check_convergence(
        self, H: Array | None, gains: list[float], tol: float, least_gain: float
    ) -> tuple[str, bool] | None:
        """The reason to stop here, and whether that is convergence; None to continue."""
        if self.slope <= tol:
            return f"the largest gradient entry fell below {tol:.0e}", True
        least = max(least_gain, 10.0 * EPS * abs(self.f))
        if max(gains) < least:
            return f"two iterations in a row gained less than {least:.0e}", True
        if H is not None and gains[-1] < 10.0 * least and self.promise(H) < 0.1 * least:
            return f"a further step promises to gain less than {least:.0e}", True
        return None

    def stuck(self, H: Array | None, least_gain: float) -> tuple[str, bool]:
        """Why no step lowers the value, and whether that is convergence."""
        if H is not None or self.slope <= 100.0 * least_gain:
            return "no step lowers the value any more in double precision", True
        return NO_DESCENT, False

    def promise(self, H: Array) -> float:
        """The gain of a full step if the inverse Hessian were right."""
        free = self.free
        g = self.g[free]
        return 0.5 * float(g @ _condition_on_free(H, free) @ g)

    def direction(self, H: Array | None, longest: float) -> Array:
        """The direction of a step: by the inverse Hessian where known, or down the gradient."""
        free, d = self.free, np.zeros_like(self.x)
        g = self.g[free]
        d[free] = -g / np.linalg.norm(g) if H is None else -_condition_on_free(H, free) @ g
        size = float(np.max(np.abs(d)))
        return d * min(1.0, longest / size) if size > 0.0 else d

    def step(
        self,
        value_and_gradient: Callable[[Array], tuple[float, Array]],
        H: Array | None,
        longest: float,
    ) -> _SearchPoint | None:
        """The first of ever shorter steps that lowers the value enough; None where none does."""
        d, t = self.direction(H, longest), 1.0
        for _ in range(_SHORTENINGS):
            x = np.clip(self.x + t * d, self.low, self.high)
            promised = float(self.g @ (x - self.x))
            if not promised < 0.0:
                return None
            f, g = value_and_gradient(x)
            if np.isfinite(f) and np.all(np.isfinite(g)):
                if f <= self.f + _SUFFICIENT_DECREASE * promised:
                    return _SearchPoint(x, float(f), g, self.low, self.high)
                t *= _shorten(f - self.f, promised)
            else:
                t *= 0.25
        return None


def _condition_on_free(H: Array, free: NDArray[np.bool_]) -> Array:
    """The inverse Hessian of the free variables while the others stay where they are."""
    if np.all(free):
        return H
    for i in np.flatnonzero(~free):
        H = H - np.outer(H[:, i], H[i]) / H[i, i]
    return H[np.ix_(free, free)]


def _shorten(rise: float, promised: float) -> float:
    """The minimum of the parabola through what is known, between a tenth and a half."""
    return float(np.clip(-0.5 * promised / (rise - promised), 0.1, 0.5))


def _update_inverse_hessian(H: Array | None, s: Array, y: Array, g: Array) -> Array | None:
    """The inverse Hessian that agrees with the last step s, from gradient g to g + y.

    Where the function curves down along the step, the curvature that was assumed is too large, and
    steps so short could go on for ever: along this direction it is then a quarter.
    """
    sy = float(s @ y)
    if sy <= _LEAST_CURVATURE * float(np.linalg.norm(s) * np.linalg.norm(y)):
        return None if H is None else _flatten_along(H, s, g)
    before = sy / float(y @ y) * np.eye(len(s)) if H is None else H
    Hy = before @ y
    along = 0.5 * (1.0 + float(y @ Hy) / sy) * s - Hy
    change = np.outer(s / sy, along)
    change = change + change.T
    change += before
    return change  # [NW 6.17], multiplied out


def _flatten_along(H: Array, s: Array, g: Array) -> Array:
    """The inverse Hessian with a quarter of the curvature that it assumed along s."""
    share = float(np.linalg.norm(s) / np.linalg.norm(H @ g))  # of the full step, -H g
    return H + (1.0 / _FLATTER - 1.0) * np.outer(s, s) / (-share * float(g @ s))
