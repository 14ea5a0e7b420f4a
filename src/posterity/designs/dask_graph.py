"""Work on pieces that lie elsewhere: one task a piece, merged in a tree, one answer back.

Everything here is a plain Dask graph, so that any scheduler runs it: threads, processes, or a
cluster with which a client is connected. What every piece needs, such as weights of M columns,
stands in the graph once. Where a worker is lost its pieces are made again from the graph.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from posterity import progress

T = TypeVar("T")

_FAN_IN = 8  # answers that are merged at a time: few enough to keep little, enough to be soon done
_DIED = (
    "Workers died again and again while they worked on the same piece of the rows, most often "
    "because they ran out of memory: use smaller partitions, or workers with more memory. ({})"
)


def is_collection(x: Any) -> bool:
    """Whether x is an array, a data frame or a bag of Dask; without importing Dask."""
    dask = sys.modules.get("dask")
    return dask is not None and bool(dask.is_dask_collection(x))


def merged(
    pieces: Sequence[Any],
    work: Callable[[Any, int], T],
    merge: Callable[[T, T], T],
    *,
    description: str,
) -> T:
    """``merge`` of ``work(piece, number)`` of all pieces, made where the pieces are."""
    import dask

    shared, join = (dask.delayed(f, traverse=False, pure=False) for f in (work, merge))
    run, fold = dask.delayed(_run, pure=False), dask.delayed(_fold, pure=False)
    level = [run(shared, piece, number) for number, piece in enumerate(pieces)]
    while len(level) > 1:
        level = [fold(join, level[i : i + _FAN_IN]) for i in range(0, len(level), _FAN_IN)]
    answer: T = computed(level[0], description=description)
    return answer


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


def _fold(merge: Callable[[T, T], T], answers: list[T]) -> T:
    total = answers[0]
    for answer in answers[1:]:
        total = merge(total, answer)
    return total
