"""Exceptions and warnings about matrices."""

import numpy as np


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """A matrix that must be a covariance is not one, even after jitter.

    Examples
    --------
    >>> issubclass(NotPositiveDefiniteError, ValueError)
    True
    """


class NonFiniteError(ValueError):
    """A matrix holds NaN or infinity.

    Examples
    --------
    >>> issubclass(NonFiniteError, ValueError)
    True
    """


class JitterWarning(RuntimeWarning):
    """A small diagonal was added to a matrix that was not positive definite.

    Examples
    --------
    >>> issubclass(JitterWarning, RuntimeWarning)
    True
    """
