"""Run a function on Dask pieces: one task a piece, merged in a tree.

The result is a plain Dask graph for any scheduler: threads, processes, or a cluster. Data that
every piece needs, such as M weights, is in the graph once. If a worker is lost, its pieces are
computed again.
"""

from __future__ import annotations

import sys
import uuid
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from posterity import progress
from posterity.designs import blocks
from posterity.distributions import dask_rows

T = TypeVar("T")

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
    from posterity.designs import dask_progress

    future = client.compute(task)
    try:
        dask_progress.wait_with_bar(future, description)
        return future.result()
    finally:
        future.cancel()  # cancel the task after an interruption


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
