"""Minimisers that report why they stopped: BFGS, L-BFGS, damped Newton, many problems at once."""

from posterity.optimize.bfgs import minimise_bfgs
from posterity.optimize.bounds import (
    BoundedResult,
    ConvergenceWarning,
    ReachedBound,
    find_reached_bounds,
    report_bounds,
)
from posterity.optimize.lbfgs import minimise_lbfgs
from posterity.optimize.many import ManyOptima, minimise_many
from posterity.optimize.newton import minimise_newton
from posterity.optimize.optimum import Optimum
from posterity.optimize.unimodal import maximise_between

__all__ = [
    "BoundedResult",
    "ConvergenceWarning",
    "ManyOptima",
    "Optimum",
    "ReachedBound",
    "find_reached_bounds",
    "maximise_between",
    "minimise_bfgs",
    "minimise_lbfgs",
    "minimise_many",
    "minimise_newton",
    "report_bounds",
]
