"""A bar on stderr for work that a Dask cluster does: how many of its tasks are done.

The bar hears from the scheduler and is never waited for: it is there while the work lasts, and
where it cannot be drawn or the scheduler is gone, the work goes on or says itself what is wrong.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from posterity import progress

_PATIENCE = 0.25  # seconds that work may take without showing itself
_INTERVAL = 0.2  # seconds between two reports of the scheduler
_LAST_WORD = 1.0  # seconds in which a scheduler that was asked answers

Draw = Callable[[int, int], None]


def show(future: Any, description: str) -> None:
    """Wait until a future is done or has failed, with a bar where that takes a while.

    Parameters
    ----------
    future : distributed.Future
        Of work under way. What became of it, its ``result()`` says.
    description : str
        What is being done, in a word or two, shown before the bar.
    """
    # A lost scheduler or a closed terminal is no reason of the bar's to fail.
    with contextlib.suppress(Exception, asyncio.CancelledError):
        if _ended(future, _PATIENCE):
            return
        with progress.bar(description) as draw, _heard(future, _drawn_by(draw)):
            _ended(future, None)


def _drawn_by(draw: Callable[[int, int | None, str], None]) -> Draw:
    return lambda done, total: draw(done, total, f"{done:,} of {total:,} tasks")


def _ended(future: Any, timeout: float | None) -> bool:
    """Whether the work is over, after waiting for it that long."""
    import distributed

    try:
        distributed.wait(future, timeout)
    except TimeoutError:
        return False
    return True


@contextlib.contextmanager
def _heard(future: Any, draw: Draw) -> Iterator[None]:
    """While this lasts, the scheduler's reports are drawn as they come."""
    answered = threading.Event()
    reports = _reports(future, draw, answered)
    loop = future.client.loop.asyncio_loop
    listening = asyncio.run_coroutine_threadsafe(reports.listen(), loop)
    listening.add_done_callback(lambda _: answered.set())
    try:
        yield
    finally:
        # Only a scheduler that still knows the future begins to count, and so stops counting.
        answered.wait(_LAST_WORD)
        listening.cancel()


def _reports(future: Any, draw: Draw, answered: threading.Event) -> Any:
    """Of the tasks that a future needs, from its scheduler."""
    from distributed.diagnostics import progressbar

    class Reports(progressbar.ProgressBar):
        def _draw_bar(self, *, remaining: int, all: int, **status: Any) -> None:
            answered.set()
            draw(all - remaining, all)

    return Reports([future], scheduler=future.client.scheduler.address, interval=_INTERVAL)
