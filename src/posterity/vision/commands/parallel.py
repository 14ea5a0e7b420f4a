"""Work on many pictures in threads, in order, with bounded memory."""

import concurrent.futures
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 2  # items per thread that are under way


def map_in_order(function: Callable[[T], R], items: Iterable[T], n_jobs: int) -> Iterator[R]:
    """Yield the results in the order of the items.

    Items are taken only as threads can work on them, so that there may be any number of them.

    Examples
    --------
    >>> from posterity.vision.commands import parallel
    >>> list(parallel.map_in_order(abs, [-3, 2, -1], 2))
    [3, 2, 1]
    """
    with concurrent.futures.ThreadPoolExecutor(n_jobs) as pool:
        pending: deque[concurrent.futures.Future[R]] = deque()
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                while pending and (len(pending) >= _AHEAD * n_jobs or pending[0].done()):
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
