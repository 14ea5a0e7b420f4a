"""Where a minimisation ended, and why."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn import exceptions

from posterity.arrays import Array

EPS = float(np.finfo(np.float64).eps)


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
    at_bounds: tuple[str, ...] = ()
    inverse_hessian: Array | None = None  # (P, P), where the method keeps one


def announced(optimum: Optimum) -> Optimum:
    """The optimum, after a warning where it is none."""
    if not optimum.converged:
        message = f"stopped after {optimum.n_iter} iterations: {optimum.stop_reason}"
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
    return optimum
