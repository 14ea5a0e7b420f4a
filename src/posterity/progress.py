"""How long work shows itself: a bar on stderr when a person is watching, nothing when not."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, TypeVar, overload

T = TypeVar("T")
S = TypeVar("S", bound=Sized)


def watched() -> bool:
    """Whether a person sees stderr: a terminal that can redraw a line, outside automated runs."""
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
    """Iterate, and show how far along the work is when a person is watching.

    Parameters
    ----------
    iterable : iterable
        What is iterated over; its items pass through untouched.
    description : str
        What is being done, in a word or two, shown before the bar.
    total : int, optional
        The sum of the sizes of all items; None where it is not known.
    unit : str
        What is counted, in the plural.
    size : callable
        How much one item adds to the count; by default its length, which is the number of rows of
        a block. For plain steps pass ``size=lambda item: 1``.

    Returns
    -------
    iterator
        Over the items of ``iterable``.

    Examples
    --------
    >>> from posterity import progress
    >>> blocks = [range(3), range(2)]
    >>> sum(len(block) for block in progress.track(blocks, description="Reading", total=5))
    5
    """
    if not watched():
        return iter(iterable)
    return _drawn(iterable, description, total, unit, size)


def _drawn(
    iterable: Iterable[Any],
    description: str,
    total: int | None,
    unit: str,
    size: Callable[[Any], int],
) -> Iterator[Any]:
    """The items, with a bar that counts an item once the caller has come back for the next."""
    with bar(description) as draw:
        start, done = time.monotonic(), 0
        draw(done, total, "")
        for item in iterable:
            yield item
            done += size(item)
            draw(done, total, _count(done, start, unit))


@contextlib.contextmanager
def bar(description: str) -> Iterator[Callable[[int, int | None, str], None]]:
    """A function that draws how much of how much is done, and words on it, on stderr.

    Nothing is left of the bar at the end.
    """
    # Imported here: only a watched run pays for rich.
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


def _count(done: int, start: float, unit: str) -> str:
    """How many and how fast, in words."""
    rate = done / max(time.monotonic() - start, 1e-9)
    return f"{done:,} {unit}, {rate:,.0f} {unit}/s"
