"""Run a function on Dask pieces: one task a piece, merged in a tree.

The result is a plain Dask graph for any scheduler: threads, processes, or a cluster. Data that
every piece needs, such as M weights, is in the graph once. If a worker is lost, its pieces are
computed again. On a cluster that is watched, a progress bar shows the number of finished tasks. It
listens to the scheduler and never blocks the work: if it cannot be drawn or the scheduler is lost,
the work continues or raises its own error.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from posterity import progress
from posterity.designs import blocks
from posterity.distributions import dask_rows

T = TypeVar("T")

_PATIENCE = 0.25  # seconds before a bar is shown
_INTERVAL = 0.2  # seconds between two reports of the scheduler
_LAST_WORD = 1.0  # timeout of the scheduler in seconds

Draw = Callable[[int, int], None]

_FAN_IN = 8  # results merged at a time
_DIED = (
    "Workers died repeatedly while processing the same partition, most likely because they ran "
    "out of memory: use smaller partitions, or workers with more memory. ({})"
)


def map_and_merge(
    pieces: Sequence[Any],
    work: Callable[[Any, int], T],
    merge: Callable[[T, T], T],
    *,
    description: str,
    only: Sequence[int] | None = None,
) -> T:
    """Merge the results of ``work(piece, number)`` of all pieces, on the workers.

    A piece is delayed, a list of delayed parts, or any small object. With ``only``, the other
    pieces are not computed. Results that are None are left out; if all are, so is the answer.
    """
    import dask
    from dask._task_spec import TaskRef
    from dask.delayed import Delayed

    shared, join = (dask.delayed(f, traverse=False, pure=False) for f in (work, merge))
    numbers = range(len(pieces)) if only is None else only
    name = f"merged-{uuid.uuid4().hex}"
    layer = {
        (name, 0, i): dask_rows.make_task((name, 0, i), _run_task, shared, pieces[i], i)
        for i in numbers
    }
    level = list(layer)
    while len(level) > 1:
        folds = [level[i : i + _FAN_IN] for i in range(0, len(level), _FAN_IN)]
        level = [(name, level[0][1] + 1, i) for i in range(len(folds))]
        for key, those in zip(level, folds, strict=True):
            layer[key] = dask_rows.make_task(key, _merge_results, join, *map(TaskRef, those))
    # One layer for all pieces: thousands of layers would be slower than the work itself.
    delayed = [part for i in numbers for part in _list_delayed(pieces[i])]
    graph = dask_rows.add_layer(name, layer, (shared, join), delayed)
    answer: T = compute_task(Delayed(level[0], graph, layer=name), description=description)
    return answer


def _list_delayed(piece: Any) -> list[Any]:
    import dask

    parts = piece if isinstance(piece, list) else [piece]
    return [part for part in parts if dask.is_dask_collection(part)]


def compute_task(task: Any, *, description: str) -> Any:
    """Compute one task with the current Dask scheduler."""
    import dask

    with warnings.catch_warnings():
        # Large graphs are intended here: data for M columns is sent once.
        warnings.filterwarnings("ignore", message="Sending large graph")
        try:
            client = _find_client()
            if client is None or not progress.is_watched():
                return dask.compute(task)[0]
            return _compute_with_bar(client, task, description)
        except Exception as error:
            if type(error).__name__ == "KilledWorker":
                raise RuntimeError(_DIED.format(error)) from error
            raise


def _compute_with_bar(client: Any, task: Any, description: str) -> Any:
    """Compute a task on a cluster, with a progress bar."""
    future = client.compute(task)
    try:
        _wait_with_bar(future, description)
        return future.result()
    finally:
        future.cancel()  # cancel the task after an interruption


def _wait_with_bar(future: Any, description: str) -> None:
    """Wait until a future is done, with a bar if that takes a while."""
    # The bar must not fail if the scheduler is lost or the terminal closed.
    with contextlib.suppress(Exception, asyncio.CancelledError):
        if _wait_for(future, _PATIENCE):
            return
        with progress.make_bar(description) as draw:

            def report(done: int, total: int) -> None:
                draw(done, total, f"{done:,} of {total:,} tasks")

            with _draw_reports(future, report):
                _wait_for(future, None)


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


def _find_client() -> Any:
    """Return the client of the current cluster, if any."""
    import dask

    distributed = sys.modules.get("distributed")
    owner = getattr(dask.base.get_scheduler(), "__self__", None)
    return owner if distributed is not None and isinstance(owner, distributed.Client) else None


def _run_task(work: Callable[[Any, int], T], piece: Any, number: int) -> T:
    return work(piece, number)


def _merge_results(merge: Callable[[T, T], T], *results: T | None) -> T | None:
    return blocks.merge_answers(merge, results)
