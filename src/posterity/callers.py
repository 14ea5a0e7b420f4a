"""Warnings that name the line of a user's code, however many calls of ours lie between."""

from __future__ import annotations

import sys
import types
import warnings


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, on behalf of the first line up the calls that is not of this package.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("Columns differ by six orders of magnitude.")
    >>> str(caught[0].message), "posterity" in caught[0].filename
    ('Columns differ by six orders of magnitude.', False)
    """
    package, frame, calls = __name__.partition(".")[0], sys._getframe(), 0
    while frame.f_back is not None and _find_package(frame) == package:
        frame, calls = frame.f_back, calls + 1
    warnings.warn(message, category, stacklevel=calls + 1)


def _find_package(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
