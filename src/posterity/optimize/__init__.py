"""Minimisers that say why they stopped: BFGS, L-BFGS, damped Newton, and many problems at once."""

from posterity.optimize.bfgs import minimise_bfgs
from posterity.optimize.bisection import bisect_derivative
from posterity.optimize.lbfgs import minimise_lbfgs
from posterity.optimize.many import ManyOptima
from posterity.optimize.many_bfgs import minimise_many_bfgs
from posterity.optimize.many_lbfgs import minimise_many_lbfgs
from posterity.optimize.newton import minimise_newton
from posterity.optimize.optimum import ConvergenceWarning, Optimum

__all__ = [
    "ConvergenceWarning",
    "ManyOptima",
    "Optimum",
    "bisect_derivative",
    "minimise_bfgs",
    "minimise_lbfgs",
    "minimise_many_bfgs",
    "minimise_many_lbfgs",
    "minimise_newton",
]
