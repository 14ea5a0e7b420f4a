"""Damped Newton, every step of which descends."""

from collections.abc import Callable

import numpy as np

from posterity.arrays import Array
from posterity.optimize.optimum import EPS, Optimum, warn_unless_converged

_SUFFICIENT_DECREASE = 1e-4  # of what the slope promises (Armijo)
_HALVINGS = 50
_SHIFTS = (0.0, *(10.0**k for k in range(-8, 9)))


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
            reason = "no direction descends: curvatures are not finite, or beyond double precision"
            break
        slope = float(np.vdot(g, step))
        converged = 0.5 * slope <= tol * (1.0 + abs(f))
        fraction, f_next = _backtrack(value, x, step, f, slope)
        x, f = x - fraction * step, f_next
        if converged:
            reason = f"the gain of a Newton step fell below {tol:.0e} of the value"
            break
        if fraction == 0.0:
            reason = "no Newton step lowers the value, which is known to rounding only"
            break
    return warn_unless_converged(Optimum(x, f, gradient(x), n_iter, reason, converged))


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
    rounding = 10.0 * EPS * (1.0 + abs(f))
    for fraction in 0.5 ** np.arange(_HALVINGS):
        f_next = value(x - fraction * step)
        if f_next <= f - _SUFFICIENT_DECREASE * fraction * slope + rounding:
            return float(fraction), f_next
    return 0.0, f
