"""Minimisers that return why they stopped: L-BFGS, damped Newton, and bisection of many at once."""

from posterity.optimize.bisection import bisect_derivative
from posterity.optimize.lbfgs import minimise_lbfgs
from posterity.optimize.newton import minimise_newton
from posterity.optimize.optimum import ConvergenceWarning, Optimum

__all__ = [
    "ConvergenceWarning",
    "Optimum",
    "bisect_derivative",
    "minimise_lbfgs",
    "minimise_newton",
]
