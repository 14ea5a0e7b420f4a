"""What can be wrong with a matrix, as exceptions and warnings with names."""

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
    """The model was changed: a diagonal was added that nobody asked for.

    Examples
    --------
    >>> issubclass(JitterWarning, RuntimeWarning)
    True
    """
