"""The warning of an iteration that did not end where it should."""

from sklearn import exceptions


class ConvergenceWarning(exceptions.ConvergenceWarning):
    """An iteration stopped before it met its tolerance, or at a bound that cut it off.

    Examples
    --------
    >>> issubclass(ConvergenceWarning, exceptions.ConvergenceWarning)
    True
    """
