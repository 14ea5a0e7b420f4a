"""Every factorisation and every numerical guard of the library; nothing else factorises.

Float64 throughout: NumPy input of another type is converted once, at the door. Arrays of PyTorch
and CuPy keep their type and their device in the functions that accept them (those that say
``DeviceArray``).
"""

from posterity.linalg.append import append_rows
from posterity.linalg.blocked import cholesky_in_place
from posterity.linalg.cholesky import cholesky
from posterity.linalg.errors import JitterWarning, NonFiniteError, NotPositiveDefiniteError
from posterity.linalg.guards import nonnegative, symmetrize
from posterity.linalg.householder import HouseholderQR
from posterity.linalg.inverse import inverse_in_place
from posterity.linalg.least_squares import LeastSquares, least_squares
from posterity.linalg.scaling import column_norms
from posterity.linalg.solves import (
    inverse_from_cholesky,
    log_determinant,
    quadratic_form,
    solve_cholesky,
    solve_lower,
    solve_lower_transposed,
)
from posterity.linalg.spectral import thin_svd
from posterity.linalg.threads import limit_threads
from posterity.linalg.triangular import factor_of_blocks, merge_factors, triangular_factor

__all__ = [
    "HouseholderQR",
    "JitterWarning",
    "LeastSquares",
    "NonFiniteError",
    "NotPositiveDefiniteError",
    "append_rows",
    "cholesky",
    "cholesky_in_place",
    "column_norms",
    "factor_of_blocks",
    "inverse_from_cholesky",
    "inverse_in_place",
    "least_squares",
    "limit_threads",
    "log_determinant",
    "merge_factors",
    "nonnegative",
    "quadratic_form",
    "solve_cholesky",
    "solve_lower",
    "solve_lower_transposed",
    "symmetrize",
    "thin_svd",
    "triangular_factor",
]
