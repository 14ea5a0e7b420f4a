"""Progress bars on stderr, shown in interactive terminals only."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, TypeVar, overload

T = TypeVar("T")
S = TypeVar("S", bound=Sized)


def is_watched() -> bool:
    """Return whether stderr is an interactive terminal outside automated runs."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return terminal and os.environ.get("TERM") != "dumb" and "CI" not in os.environ


@overload
def track(
    iterable: Iterable[S], *, description: str, total: int | None = ..., unit: str = ...
) -> Iterator[S]: ...
@overload
def track(
    iterable: Iterable[T],
    *,
    description: str,
    total: int | None = ...,
    unit: str = ...,
    size: Callable[[T], int],
) -> Iterator[T]: ...
def track(
    iterable: Iterable[Any],
    *,
    description: str,
    total: int | None = None,
    unit: str = "rows",
    size: Callable[[Any], int] = len,
) -> Iterator[Any]:
    """Iterate and show a progress bar in interactive terminals.

    Parameters
    ----------
    iterable : iterable
        Items to iterate over.
    description : str
        Label of the bar.
    total : int, optional
        Total size of all items; None if unknown.
    unit : str
        Name of the counted unit, in the plural.
    size : callable
        Function that returns the size of an item; by default its length, which is the number of
        rows of a block. To count items, pass ``size=lambda item: 1``.

    Returns
    -------
    iterator
        Iterator over the items of ``iterable``.

    Examples
    --------
    >>> from posterity import progress
    >>> blocks = [range(3), range(2)]
    >>> sum(len(block) for block in progress.track(blocks, description="Reading", total=5))
    5
    """
    if not is_watched():
        return iter(iterable)
    return _draw_bar(iterable, description, total, unit, size)


def _draw_bar(
    iterable: Iterable[Any],
    description: str,
    total: int | None,
    unit: str,
    size: Callable[[Any], int],
) -> Iterator[Any]:
    """Yield the items and advance the bar after each."""
    with make_bar(description) as draw:
        start, done = time.monotonic(), 0
        draw(done, total, "")
        for item in iterable:
            yield item
            done += size(item)
            draw(done, total, _format_count(done, start, unit))


@contextlib.contextmanager
def make_bar(description: str) -> Iterator[Callable[[int, int | None, str], None]]:
    """Yield a function that draws progress on stderr.

    The bar is removed at the end.
    """
    # Imported here because only interactive runs need rich.
    from rich import console, progress

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn("{task.fields[count]}"),
        progress.TimeRemainingColumn(),
    )
    # Its own console, so that one tracked loop may run inside another.
    stderr = console.Console(stderr=True)
    with progress.Progress(*columns, console=stderr, transient=True) as drawn:
        task = drawn.add_task(description, total=None, count="")

        def draw(done: int, total: int | None, words: str) -> None:
            drawn.update(task, completed=done, total=total, count=words)

        yield draw


def _format_count(done: int, start: float, unit: str) -> str:
    """Format the count and the rate."""
    rate = done / max(time.monotonic() - start, 1e-9)
    return f"{done:,} {unit}, {rate:,.0f} {unit}/s"
