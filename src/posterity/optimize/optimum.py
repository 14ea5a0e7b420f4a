"""The end of a minimisation, and the reason for it."""

from dataclasses import dataclass, field

import numpy as np

from posterity import callers
from posterity.arrays import Array
from posterity.optimize.bounds import ConvergenceWarning, ReachedBound

EPS = float(np.finfo(np.float64).eps)
NO_DESCENT = (
    "no step improves on the best values found, which are kept but are not a maximum: the function "
    "is not continuous there, or its slope is smaller than rounding. Standardise the data, try "
    "other starts (random_state, n_restarts), or give a parameter a value"
)


def check_start(x: Array, value: float, gradient: Array) -> None:
    """Raise where a search cannot start, since the value or the gradient is not finite."""
    if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
        raise ValueError(
            f"The search cannot start: at {x} the function is {value}, or its gradient is not "
            "finite. Data of an extreme scale are the usual cause: standardise them."
        )


@dataclass(frozen=True)
class Optimum:
    """The end of a minimisation, and the reason for it.

    Examples
    --------
    >>> from posterity import optimize
    >>> best = optimize.minimise_lbfgs(lambda x: (x @ x, 2 * x), np.array([3.0, 4.0]))
    >>> best.converged, best.stop_reason
    (True, 'the largest gradient entry fell below 1e-06')
    """

    x: Array  # (P,)
    value: float
    gradient: Array  # (P,)
    n_iter: int
    stop_reason: str
    converged: bool
    at_bounds: tuple[str, ...] = ()  # the labels of the bounds reached: "length_scale (lower)"
    inverse_hessian: Array | None = None  # (P, P), where the method keeps one
    # Read as a fit ends, and no part of model files.
    bounds_reached: tuple[ReachedBound, ...] = field(default=(), metadata={"transient": True})


def warn_unless_converged(optimum: Optimum) -> Optimum:
    """The optimum, after a warning where the search did not converge."""
    if not optimum.converged:
        message = f"stopped after {optimum.n_iter} iterations: {optimum.stop_reason}"
        callers.warn_caller(message, ConvergenceWarning)
    return optimum
