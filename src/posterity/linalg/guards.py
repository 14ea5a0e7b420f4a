"""Guards that let round-off pass and stop everything larger."""

import math

from posterity.arrays import DeviceArray, namespace

_ROUND_OFF = 1e-8  # of the scale; half the digits of a double


def nonnegative(variance: DeviceArray, scale: DeviceArray | float) -> DeviceArray:
    """The variance with negative round-off set to zero; more than round-off is an error.

    Parameters
    ----------
    variance : array
        The result of a subtraction that is nonnegative in exact arithmetic.
    scale : array or float
        The size of what was subtracted from, typically the prior variance.

    Raises
    ------
    ArithmeticError
        Where a variance is NaN, or below ``-1e-8 * scale``: a mistake, not round-off.

    Examples
    --------
    >>> import numpy as np
    >>> nonnegative(np.array([0.5, -1e-14]), 1.0)
    array([0.5, 0. ])
    """
    xp = namespace(variance)
    bad = ~(variance >= -_ROUND_OFF * scale)
    if bool(xp.any(bad)):
        n_bad = int(xp.sum(xp.astype(bad, xp.int64)))
        raise ArithmeticError(
            f"{n_bad} of {math.prod(variance.shape)} variances are NaN, or negative by more than "
            f"round-off; the smallest is {float(xp.min(variance)):.2e}. The covariance they were "
            "computed from is not positive semi-definite, or not finite"
        )
    return xp.where(variance > 0, variance, xp.zeros_like(variance))


def symmetrize(A: DeviceArray) -> DeviceArray:
    """(A + A^T) / 2, for a matrix that is symmetric up to round-off; more asymmetry is an error.

    Examples
    --------
    >>> import numpy as np
    >>> A = symmetrize(np.array([[1.0, 0.3], [0.1 + 0.2, 1.0]]))
    >>> bool(A[0, 1] == A[1, 0])
    True
    """
    xp = namespace(A)
    if not A.shape[0]:
        return A
    asymmetry = float(xp.max(xp.abs(A - A.T)))
    scale = float(xp.max(xp.abs(A)))
    if not asymmetry <= _ROUND_OFF * scale:
        raise ArithmeticError(
            f"the matrix is not symmetric: entries across the diagonal differ by up to "
            f"{asymmetry:.2e}, its largest entry is {scale:.2e}"
        )
    return 0.5 * (A + A.T)
