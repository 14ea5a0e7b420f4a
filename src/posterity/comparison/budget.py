"""Time that may be spent, and how a fit that takes more is stopped."""

import contextlib
import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

_AGAIN = 0.5  # seconds: an exception raised while an object is being destroyed is lost


class OutOfTime(BaseException):
    """Raised within a fit when its time is over; no ``except Exception`` on the way keeps it."""


class Clock:
    """Seconds that are left of a budget; without one, as many as one likes."""

    def __init__(self, budget: float | None) -> None:
        if budget is not None and not budget > 0.0:
            raise ValueError(f"budget={budget!r} must be a positive number of seconds, or None.")
        self._start, self._budget = time.perf_counter(), math.inf if budget is None else budget

    def spent(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    def left(self) -> float:
        """Seconds to the end; below zero after it."""
        return self._budget - self.spent()


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise ``OutOfTime`` within the block once it has taken this long.

    In the main thread of a system with alarms, where nobody else has set one; elsewhere the block
    takes as long as it takes.
    """
    if seconds == math.inf or not _has_alarm():
        yield
        return
    before = signal.signal(signal.SIGALRM, _stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), _AGAIN)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before or signal.SIG_DFL)


def _has_alarm() -> bool:
    """Whether an alarm can be set that is heard in this thread and is nobody else's."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        return False
    return signal.getitimer(signal.ITIMER_REAL)[0] == 0.0


def _stop(number: int, frame: FrameType | None) -> None:
    raise OutOfTime
