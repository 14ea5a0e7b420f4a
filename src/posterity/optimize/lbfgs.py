"""L-BFGS within bounds, on functions whose domain may end."""

from collections.abc import Callable, Sequence

import numpy as np
from scipy import optimize as scipy_optimize

from posterity.arrays import Array
from posterity.optimize.bounds import find_reached_bounds, is_held_by_bound
from posterity.optimize.optimum import EPS, NO_DESCENT, Optimum, check_start, warn_unless_converged

_NEXT_TO_FLAT = 100.0  # times the least gain, for one unit of a parameter
_STOPPED = 99  # SciPy's status where a callback ends the search


class _Progress:
    """A callback that ends the search when it no longer gains, and sees whether it moved."""

    def __init__(self, start: Array, least_gain: float) -> None:
        self._x, self._least = start, least_gain
        self._last, self._poor = np.inf, 0
        self.moved = True  # in the last iteration, by more than rounding

    def __call__(self, intermediate_result: scipy_optimize.OptimizeResult) -> None:
        x, value = intermediate_result.x, float(intermediate_result.fun)
        self.moved = bool(np.any(np.abs(x - self._x) > 10 * EPS * np.abs(self._x)))
        self._poor = self._poor + 1 if self._last - value < self._least else 0
        self._x, self._last = np.array(x), value
        if self._poor == 2:
            raise StopIteration


def minimise_lbfgs(
    value_and_gradient: Callable[[Array], tuple[float, Array]],
    x0: Array,
    *,
    bounds: Sequence[tuple[float, float]] | None = None,
    names: Sequence[str] | None = None,
    max_iter: int = 200,
    tol: float = 1e-6,
    least_gain: float = 0.0,
    announce: bool = True,
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
    >>> best = minimise_lbfgs(lambda x: (x @ x, 2 * x), np.array([3.0]), bounds=[(1.0, 5.0)])
    >>> best.x, best.at_bounds
    (array([1.]), ('parameter 0 (lower)',))
    """
    start = np.asarray(x0, dtype=np.float64)
    if bounds is not None:
        start = np.clip(start, *np.transpose(bounds))
    progress = _Progress(start, least_gain)
    result = scipy_optimize.minimize(
        _guard_domain(value_and_gradient, start),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=progress,
        options={"maxiter": max_iter, "gtol": tol, "ftol": 10 * EPS, "maxfun": 20 * max_iter},
    )
    slope = _largest_slope(result.x, result.jac, bounds)
    reason, converged = _explain_status(result, slope, tol, max_iter, least_gain, progress.moved)
    held = find_reached_bounds(result.x, result.jac, bounds, names)
    labels = tuple(bound.label for bound in held)
    optimum = Optimum(
        result.x, float(result.fun), result.jac, result.nit, reason, converged, labels, None, held
    )
    return warn_unless_converged(optimum) if announce else optimum


def _guard_domain(
    value_and_gradient: Callable[[Array], tuple[float, Array]], start: Array
) -> Callable[[Array], tuple[float, Array]]:
    """The function with its domain's outside made high instead of infinite.

    The line search interpolates values, and cannot interpolate infinity.
    """
    first = value_and_gradient(start)
    check_start(start, *first)
    outside = first[0] + 1e3 * (1.0 + abs(first[0]))

    def evaluate_guarded(x: Array) -> tuple[float, Array]:
        value, gradient = first if np.array_equal(x, start) else value_and_gradient(x)
        if np.isfinite(value) and np.all(np.isfinite(gradient)):
            return value, gradient
        return outside, np.zeros_like(x)

    return evaluate_guarded


def _explain_status(
    result: scipy_optimize.OptimizeResult,
    slope: float,
    tol: float,
    max_iter: int,
    least_gain: float,
    moved: bool,
) -> tuple[str, bool]:
    """Why SciPy's routine stopped, in words, and whether that is convergence."""
    if result.status == _STOPPED:
        return f"two iterations in a row gained less than {least_gain:.0e}", True
    if result.status == 1:
        return f"{max_iter} L-BFGS iterations were not enough", False
    if result.status == 0 and "GRADIENT" in result.message.upper():
        return f"the largest gradient entry fell below {tol:.0e}", True
    if result.status == 0 and moved:  # a step of no length does not change any value
        return "the value no longer changes in double precision", True
    if slope <= _NEXT_TO_FLAT * least_gain:
        return f"no step gains more than rounding, and the slope is {slope:.0e}", True
    return NO_DESCENT, False


def _largest_slope(
    x: Array, gradient: Array, bounds: Sequence[tuple[float, float]] | None
) -> float:
    """The largest entry of the gradient, projected on the bounds."""
    if bounds is None or not len(x):
        return float(np.max(np.abs(gradient), initial=0.0))
    held = is_held_by_bound(x, gradient, *np.transpose(bounds))
    return float(np.max(np.abs(gradient[~held]), initial=0.0))
