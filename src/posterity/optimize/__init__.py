"""Minimisers that say why they stopped: BFGS, L-BFGS, damped Newton, and many problems at once."""

from posterity.optimize.bfgs import minimise_bfgs
from posterity.optimize.bisection import bisect_derivative
from posterity.optimize.bounds import Bounded, ReachedBound, bounds_reached, report_bounds
from posterity.optimize.lbfgs import minimise_lbfgs
from posterity.optimize.many import ManyOptima
from posterity.optimize.many_bfgs import minimise_many_bfgs
from posterity.optimize.many_lbfgs import minimise_many_lbfgs
from posterity.optimize.newton import minimise_newton
from posterity.optimize.optimum import Optimum
from posterity.optimize.warning import ConvergenceWarning

__all__ = [
    "Bounded",
    "ConvergenceWarning",
    "ManyOptima",
    "Optimum",
    "ReachedBound",
    "bisect_derivative",
    "bounds_reached",
    "minimise_bfgs",
    "minimise_lbfgs",
    "minimise_many_bfgs",
    "minimise_many_lbfgs",
    "minimise_newton",
    "report_bounds",
]
