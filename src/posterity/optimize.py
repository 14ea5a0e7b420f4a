"""Minimisers that return why they stopped: L-BFGS, damped Newton, and bisection of many at once."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize as scipy_optimize
from sklearn import exceptions

from posterity.arrays import Array

_EPS = float(np.finfo(np.float64).eps)
_SUFFICIENT_DECREASE = 1e-4  # of what the slope promises (Armijo)
_HALVINGS = 50
_SHIFTS = (0.0, *(10.0**k for k in range(-8, 9)))
_BISECTIONS = 100  # narrows any bracket of doubles to one part in 1e30


class ConvergenceWarning(exceptions.ConvergenceWarning):
    """An iteration stopped before it met its tolerance.

    Examples
    --------
    >>> issubclass(ConvergenceWarning, exceptions.ConvergenceWarning)
    True
    """


@dataclass(frozen=True)
class Optimum:
    """Where a minimisation ended, and why.

    Examples
    --------
    >>> best = minimise_lbfgs(lambda x: (x @ x, 2 * x), np.array([3.0, 4.0]))
    >>> best.converged, best.stop_reason
    (True, 'the largest gradient entry fell below 1e-06')
    """

    x: Array  # (P,)
    value: float
    gradient: Array  # (P,)
    n_iter: int
    stop_reason: str
    converged: bool
    at_bounds: tuple[str, ...] = ()


def minimise_lbfgs(
    value_and_gradient: Callable[[Array], tuple[float, Array]],
    x0: Array,
    *,
    bounds: Sequence[tuple[float, float]] | None = None,
    names: Sequence[str] | None = None,
    max_iter: int = 200,
    tol: float = 1e-6,
) -> Optimum:
    """A local minimum by L-BFGS within bounds.

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
    max_iter : int
    tol : float
        Converged when no entry of the gradient, projected on the bounds, is larger.

    Warns
    -----
    ConvergenceWarning
        When it stopped for another reason.

    Examples
    --------
    >>> best = minimise_lbfgs(lambda x: (x @ x, 2 * x), np.array([3.0]), bounds=[(1.0, 5.0)])
    >>> best.x, best.at_bounds
    (array([1.]), ('parameter 0 (lower)',))
    """
    start = np.asarray(x0, dtype=np.float64)
    if bounds is not None:
        start = np.clip(start, *np.transpose(bounds))
    result = scipy_optimize.minimize(
        _within_domain(value_and_gradient, start),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": max_iter, "gtol": tol, "ftol": 10 * _EPS, "maxfun": 20 * max_iter},
    )
    reason, converged = _lbfgs_reason(result, tol, max_iter)
    held = _at_bounds(result.x, bounds, names)
    return _announced(
        Optimum(result.x, float(result.fun), result.jac, result.nit, reason, converged, held)
    )


def minimise_newton(
    value: Callable[[Array], float],
    gradient: Callable[[Array], Array],
    solve: Callable[[Array, Array, float], Array],
    x0: Array,
    *,
    max_iter: int = 100,
    tol: float = 1e-12,
) -> Optimum:
    """A local minimum by Newton's method, damped so that every step descends.

    Parameters
    ----------
    value, gradient : callable
        The function and its gradient at x.
    solve : callable
        ``solve(x, g, shift)`` returns ``(H + shift * s I)^-1 g`` with H the Hessian at x and s its
        scale (say the mean of its diagonal). It raises ``numpy.linalg.LinAlgError`` where that
        matrix is not positive definite; it is then asked again with a larger shift (Levenberg).
    x0 : array (P,)
    max_iter : int
    tol : float
        Converged when the quadratic model promises to gain less than ``tol * (1 + |value|)``.
        That last step is still taken, and squares what is left of the error.

    Warns
    -----
    ConvergenceWarning
        When it stopped for another reason.

    Examples
    --------
    >>> best = minimise_newton(
    ...     lambda x: float(np.cosh(x[0])), np.sinh, lambda x, g, shift: g / np.cosh(x), np.ones(1)
    ... )
    >>> best.converged, bool(abs(best.x[0]) < 1e-10)
    (True, True)
    """
    x, f = np.asarray(x0, dtype=np.float64), value(x0)
    n_iter, reason, converged = 0, f"{max_iter} Newton steps were not enough", False
    for n_iter in range(1, max_iter + 1):
        g = gradient(x)
        step = _descent_step(solve, x, g)
        if step is None:
            reason = "no shift of the Hessian gave a direction of descent"
            break
        slope = float(np.vdot(g, step))
        converged = 0.5 * slope <= tol * (1.0 + abs(f))
        fraction, f_next = _backtrack(value, x, step, f, slope)
        x, f = x - fraction * step, f_next
        if converged:
            reason = f"the gain of a Newton step fell below {tol:.0e} of the value"
            break
        if fraction == 0.0:
            reason = "no step along the Newton direction lowered the value"
            break
    return _announced(Optimum(x, f, gradient(x), n_iter, reason, converged))


def bisect_derivative(
    derivative: Callable[[Array], Array], lower: Array | float, upper: Array | float
) -> Array:
    """The maxima of K concave (or unimodal) functions on intervals, each to full precision.

    Parameters
    ----------
    derivative : callable
        K points to the K derivatives there, each positive before its maximum and negative after.
    lower, upper : array (K,) or float
        The ends. Where the derivative does not change sign between them, the better end is the
        maximum and is returned.

    Examples
    --------
    >>> bisect_derivative(lambda u: np.array([2.0, 50.0]) - u, np.zeros(2), 10.0)
    array([ 2., 10.])
    """
    ends = (np.asarray(end, dtype=np.float64) for end in (lower, upper))
    left, right = np.broadcast_arrays(*ends)
    low = np.where(_checked(derivative, right) >= 0, right, left)
    high = np.where(_checked(derivative, left) <= 0, left, right)
    for _ in range(_BISECTIONS):
        middle = low + 0.5 * (high - low)
        if np.all((middle == low) | (middle == high)):
            break
        rising = _checked(derivative, middle) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return low + 0.5 * (high - low)


def _within_domain(
    value_and_gradient: Callable[[Array], tuple[float, Array]], start: Array
) -> Callable[[Array], tuple[float, Array]]:
    """The function with its domain's outside made high instead of infinite.

    The line search interpolates values, and cannot interpolate infinity.
    """
    first = value_and_gradient(start)
    if not (np.isfinite(first[0]) and np.all(np.isfinite(first[1]))):
        raise ValueError(
            f"the objective is {first[0]} at the start {start}, or its gradient is not finite: "
            "start elsewhere"
        )
    outside = first[0] + 1e3 * (1.0 + abs(first[0]))

    def guarded(x: Array) -> tuple[float, Array]:
        value, gradient = first if np.array_equal(x, start) else value_and_gradient(x)
        if np.isfinite(value) and np.all(np.isfinite(gradient)):
            return value, gradient
        return outside, np.zeros_like(x)

    return guarded


def _lbfgs_reason(
    result: scipy_optimize.OptimizeResult, tol: float, max_iter: int
) -> tuple[str, bool]:
    """Why SciPy's routine stopped, in words, and whether that is convergence."""
    if result.status == 1:
        return f"{max_iter} L-BFGS iterations were not enough", False
    if result.status == 0 and "GRADIENT" in result.message.upper():
        return f"the largest gradient entry fell below {tol:.0e}", True
    if result.status == 0:
        return "the value no longer changes in double precision", True
    return "no step along the search direction lowered the value; is the gradient right?", False


def _at_bounds(
    x: Array, bounds: Sequence[tuple[float, float]] | None, names: Sequence[str] | None
) -> tuple[str, ...]:
    """The names of the parameters that ended on a bound, and which."""
    if bounds is None:
        return ()
    called = names if names is not None else [f"parameter {i}" for i in range(len(x))]
    ends = [(("lower", low), ("upper", high)) for low, high in bounds]
    return tuple(
        f"{name} ({which})"
        for name, value, pair in zip(called, x, ends, strict=True)
        for which, end in pair
        if value == end
    )


def _descent_step(
    solve: Callable[[Array, Array, float], Array], x: Array, g: Array
) -> Array | None:
    """The Newton step with the least shift that makes it descend; None where none does."""
    for shift in _SHIFTS:
        try:
            step = solve(x, g, shift)
        except np.linalg.LinAlgError:
            continue
        if np.vdot(g, step) >= 0 and np.all(np.isfinite(step)):
            return step
    return None


def _backtrack(
    value: Callable[[Array], float], x: Array, step: Array, f: float, slope: float
) -> tuple[float, float]:
    """The largest of 1, 1/2, 1/4, ... that descends enough, and the value there; else 0."""
    rounding = 10.0 * _EPS * (1.0 + abs(f))
    for fraction in 0.5 ** np.arange(_HALVINGS):
        f_next = value(x - fraction * step)
        if f_next <= f - _SUFFICIENT_DECREASE * fraction * slope + rounding:
            return float(fraction), f_next
    return 0.0, f


def _checked(derivative: Callable[[Array], Array], points: Array) -> Array:
    """The derivatives, or a sentence where one is NaN."""
    slopes = derivative(points)
    bad = np.flatnonzero(np.isnan(slopes))
    if bad.size:
        raise ValueError(
            f"{bad.size} of {slopes.size} derivatives are NaN, the first is function {bad[0]} at "
            f"{points.flat[bad[0]]}: check its range"
        )
    return slopes


def _announced(optimum: Optimum) -> Optimum:
    """The optimum, after a warning where it is none."""
    if not optimum.converged:
        message = f"stopped after {optimum.n_iter} iterations: {optimum.stop_reason}"
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
    return optimum
