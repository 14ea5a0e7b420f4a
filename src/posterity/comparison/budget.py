"""Time limits: measure the remaining time and stop a fit that exceeds it."""

import contextlib
import functools
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

_AGAIN = 0.5  # seconds; repeated because an exception raised in a destructor is lost


class OutOfTime(BaseException):
    """Raised in a fit whose time is over; not caught by ``except Exception`` on the way."""


def read_clock() -> float:
    """Return the seconds since an arbitrary moment; the only clock of a comparison."""
    return time.perf_counter()


class Clock:
    """Measures the remaining seconds of a time budget, infinite without one."""

    def __init__(self, budget: float | None) -> None:
        if budget is not None and not budget > 0.0:
            raise ValueError(f"budget={budget!r} must be a positive number of seconds, or None.")
        self._start, self.budget = read_clock(), math.inf if budget is None else budget

    def read_elapsed(self) -> float:
        """Return the seconds since the start."""
        return read_clock() - self._start

    def read_remaining(self) -> float:
        """Return the remaining seconds, negative after the end."""
        return self.budget - self.read_elapsed()


@contextlib.contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Raise ``OutOfTime`` in the block after this many seconds.

    This works only in the main thread of a system with alarm signals, if no other alarm is set;
    otherwise the block has no limit.
    """
    if seconds == math.inf or not _has_alarm():
        yield
        return
    before, hook = signal.signal(signal.SIGALRM, _raise_out_of_time), sys.unraisablehook
    sys.unraisablehook = functools.partial(_report_unless_out_of_time, hook)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), _AGAIN)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before or signal.SIG_DFL)
        sys.unraisablehook = hook


def _has_alarm() -> bool:
    """Return whether this thread can set an alarm and none is set already."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        return False
    return signal.getitimer(signal.ITIMER_REAL)[0] == 0.0


def _report_unless_out_of_time(hook: Callable[[Any], Any], lost: Any) -> None:
    """Print nothing of a time limit that is reached in a destructor; it is raised again."""
    if lost.exc_type is not OutOfTime:
        hook(lost)


def _raise_out_of_time(number: int, frame: FrameType | None) -> None:
    raise OutOfTime
