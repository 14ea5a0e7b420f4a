"""Work on pieces that lie elsewhere: one task a piece, merged in a tree, one answer back.

Everything here is a plain Dask graph, so that any scheduler runs it: threads, processes, or a
cluster with which a client is connected. What every piece needs, such as weights of M columns,
stands in the graph once. Where a worker is lost its pieces are made again from the graph.
"""

from __future__ import annotations

import functools
import sys
import uuid
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from posterity import progress
from posterity.distributions import dask_rows

T = TypeVar("T")

_FAN_IN = 8  # answers that are merged at a time: few enough to keep little, enough to be soon done
_DIED = (
    "Workers died again and again while they worked on the same piece of the rows, most often "
    "because they ran out of memory: use smaller partitions, or workers with more memory. ({})"
)


def merged(
    pieces: Sequence[Any],
    work: Callable[[Any, int], T],
    merge: Callable[[T, T], T],
    *,
    description: str,
    only: Sequence[int] | None = None,
) -> T:
    """``merge`` of ``work(piece, number)`` of all pieces, made where the pieces are.

    A piece is delayed, a list of delayed parts, or anything small. Where only some of them, by
    number, have anything to say, no other is made.
    """
    import dask
    from dask._task_spec import TaskRef
    from dask.delayed import Delayed

    shared, join = (dask.delayed(f, traverse=False, pure=False) for f in (work, merge))
    numbers = range(len(pieces)) if only is None else only
    name = f"merged-{uuid.uuid4().hex}"
    layer = {
        (name, 0, i): dask_rows.task((name, 0, i), _run, shared, pieces[i], i) for i in numbers
    }
    level = list(layer)
    while len(level) > 1:
        folds = [level[i : i + _FAN_IN] for i in range(0, len(level), _FAN_IN)]
        level = [(name, level[0][1] + 1, i) for i in range(len(folds))]
        for key, those in zip(level, folds, strict=True):
            layer[key] = dask_rows.task(key, _fold, join, *map(TaskRef, those))
    # One layer for all pieces: thousands would take longer to go through than the work itself.
    delayed = [part for i in numbers for part in _delayed_in(pieces[i])]
    graph = dask_rows.layered(name, layer, (shared, join), delayed)
    answer: T = computed(Delayed(level[0], graph, layer=name), description=description)
    return answer


def _delayed_in(piece: Any) -> list[Any]:
    import dask

    parts = piece if isinstance(piece, list) else [piece]
    return [part for part in parts if dask.is_dask_collection(part)]


def computed(task: Any, *, description: str) -> Any:
    """The answer of one task, by the scheduler that Dask has now."""
    import dask

    with warnings.catch_warnings():
        # What M columns need is large where M is; it is sent once, and must be.
        warnings.filterwarnings("ignore", message="Sending large graph")
        try:
            client = _client()
            if client is None or not progress.watched():
                return dask.compute(task)[0]
            return _watched(client, task, description)
        except Exception as error:
            if type(error).__name__ == "KilledWorker":
                raise RuntimeError(_DIED.format(error)) from error
            raise


def _watched(client: Any, task: Any, description: str) -> Any:
    """The answer, with a bar that shows what the scheduler says."""
    from posterity.designs import dask_progress

    future = client.compute(task)
    try:
        dask_progress.show(future, description)
        return future.result()
    finally:
        future.cancel()  # where it was interrupted, nothing goes on


def _client() -> Any:
    """Of the cluster that Dask would use, if it would use one."""
    import dask

    distributed = sys.modules.get("distributed")
    owner = getattr(dask.base.get_scheduler(), "__self__", None)
    return owner if distributed is not None and isinstance(owner, distributed.Client) else None


def _run(work: Callable[[Any, int], T], piece: Any, number: int) -> T:
    return work(piece, number)


def _fold(merge: Callable[[T, T], T], *answers: T) -> T:
    return functools.reduce(merge, answers)
