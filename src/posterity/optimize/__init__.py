"""Minimisers that say why they stopped: BFGS, L-BFGS, damped Newton, bisection of many."""

from posterity.optimize.bfgs import minimise_bfgs
from posterity.optimize.bisection import bisect_derivative
from posterity.optimize.lbfgs import minimise_lbfgs
from posterity.optimize.newton import minimise_newton
from posterity.optimize.optimum import ConvergenceWarning, Optimum

__all__ = [
    "ConvergenceWarning",
    "Optimum",
    "bisect_derivative",
    "minimise_bfgs",
    "minimise_lbfgs",
    "minimise_newton",
]
