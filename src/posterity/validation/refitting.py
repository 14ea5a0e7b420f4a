"""A fit that is refused leaves what an earlier fit has learned."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

Fit = TypeVar("Fit", bound=Callable[..., Any])
_FITS = ("fit", "partial_fit")


def restore_on_error(fit: Fit) -> Fit:
    """Decorate a method that learns: where it raises, the object has the attributes it had before.

    Rows are validated in several steps, each of which stores what it has found, such as the number
    of columns and the classes. Half of them would be those of rows that were refused.

    Examples
    --------
    >>> class Model:
    ...     @restore_on_error
    ...     def fit(self, y):
    ...         self.n_rows_ = len(y)
    ...         self.total_ = sum(y)
    >>> model = Model()
    >>> model.fit([1.0, 2.0])
    >>> model.fit([1.0, 2.0, "three"])
    Traceback (most recent call last):
        ...
    TypeError: unsupported operand type(s) for +: 'float' and 'str'
    >>> model.n_rows_
    2
    """

    @functools.wraps(fit)
    def fit_or_restore(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:  # also where a person interrupts it
            vars(self).clear()
            vars(self).update(before)
            raise

    fit_or_restore.__dict__["restores"] = True
    return cast(Fit, fit_or_restore)


def protect_fits(cls: type) -> None:
    """Decorate the methods of a class that learn, its own and inherited ones, once each.

    Examples
    --------
    >>> class Model:
    ...     def fit(self, y):
    ...         self.n_rows_ = len(y)
    >>> protect_fits(Model)
    >>> Model().fit(3)
    Traceback (most recent call last):
        ...
    TypeError: object of type 'int' has no len()
    """
    for name in _FITS:
        method = inspect.getattr_static(cls, name, None)  # not what a descriptor makes of it
        if inspect.isfunction(method) and not getattr(method, "restores", False):
            setattr(cls, name, restore_on_error(method))
