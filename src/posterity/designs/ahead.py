"""Read ahead: fetch the next piece while the caller processes this one."""

from collections.abc import Callable, Generator, Iterable
from concurrent import futures
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def read_ahead(read: Callable[[S], T], spans: Iterable[S]) -> Generator[T, None, None]:
    """``map(read, spans)``, in order, with one read ahead in a separate thread.

    An error of ``read`` is raised at its position. If the caller stops early, the current read is
    awaited and its result dropped: no thread outlives the generator.

    Examples
    --------
    >>> from posterity.designs import ahead
    >>> list(ahead.read_ahead(abs, [-1, -2, -3]))
    [1, 2, 3]
    """
    with futures.ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as thread:
        pending: futures.Future[T] | None = None
        for span in spans:
            upcoming = thread.submit(read, span)
            if pending is not None:
                yield pending.result()
            pending = upcoming
        if pending is not None:
            yield pending.result()
