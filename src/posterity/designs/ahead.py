"""Reading one step ahead: the next piece is fetched while the caller works on this one."""

from collections.abc import Callable, Generator, Iterable
from concurrent import futures
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def read_ahead(read: Callable[[S], T], spans: Iterable[S]) -> Generator[T, None, None]:
    """``map(read, spans)``, in order, with one read under way in a thread of its own.

    An error of ``read`` is raised at its turn. When the caller stops early the read under way is
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
