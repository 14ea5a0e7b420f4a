"""A progress bar for work on a Dask cluster: the number of finished tasks.

The bar listens to the scheduler and never blocks the work. If it cannot be drawn or the scheduler
is lost, the work continues or raises its own error.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from posterity import progress

_PATIENCE = 0.25  # seconds before a bar is shown
_INTERVAL = 0.2  # seconds between two reports of the scheduler
_LAST_WORD = 1.0  # timeout of the scheduler in seconds

Draw = Callable[[int, int], None]


def wait_with_bar(future: Any, description: str) -> None:
    """Wait until a future is done, with a bar if that takes a while.

    Parameters
    ----------
    future : distributed.Future
        Future of running work.
    description : str
        Label of the bar.
    """
    # The bar must not fail if the scheduler is lost or the terminal closed.
    with contextlib.suppress(Exception, asyncio.CancelledError):
        if _wait_for(future, _PATIENCE):
            return
        with progress.make_bar(description) as draw, _draw_reports(future, _make_callback(draw)):
            _wait_for(future, None)


def _make_callback(draw: Callable[[int, int | None, str], None]) -> Draw:
    return lambda done, total: draw(done, total, f"{done:,} of {total:,} tasks")


def _wait_for(future: Any, timeout: float | None) -> bool:
    """Wait for the work; return whether it is finished."""
    import distributed

    try:
        distributed.wait(future, timeout)
    except TimeoutError:
        return False
    return True


@contextlib.contextmanager
def _draw_reports(future: Any, draw: Draw) -> Iterator[None]:
    """Draw the reports of the scheduler while the context is open."""
    answered = threading.Event()
    reports = _make_reports(future, draw, answered)
    loop = future.client.loop.asyncio_loop
    listening = asyncio.run_coroutine_threadsafe(reports.listen(), loop)
    listening.add_done_callback(lambda _: answered.set())
    try:
        yield
    finally:
        # Only a scheduler that knows the future starts counting, and so stops.
        answered.wait(_LAST_WORD)
        listening.cancel()


def _make_reports(future: Any, draw: Draw, answered: threading.Event) -> Any:
    """Return a progress listener for the tasks of a future."""
    from distributed.diagnostics import progressbar

    class Reports(progressbar.ProgressBar):
        def _draw_bar(self, *, remaining: int, all: int, **status: Any) -> None:
            answered.set()
            draw(all - remaining, all)

    return Reports([future], scheduler=future.client.scheduler.address, interval=_INTERVAL)
