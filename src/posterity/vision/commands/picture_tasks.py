"""Work on pictures one after the other: files to write, threads, progress, counts and exit code.

A command of pictures is a :class:`PictureTask`: it opens a model, works on what was read of a
picture, and says which columns and sentences describe the answers. The rest is done here.
"""

from __future__ import annotations

import concurrent.futures
import itertools
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import typer

from posterity import progress, vision
from posterity.cli import outcome, output
from posterity.cli.output import OutputPrinter
from posterity.vision.commands import results, sources
from posterity.vision.commands.results import Kind, PictureResult
from posterity.vision.commands.sources import Picture

T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 2  # items per thread that are under way


@dataclass(frozen=True)
class PictureFile:
    """An option for files that are made from pictures: one file, or a folder for several."""

    option: str
    written: str  # beginning of the sentence that names the file
    suffixes: tuple[str, ...] = sources.SUFFIXES
    why: str = "several images are drawn"

    def check(self, place: str, inputs: tuple[str, ...], *, is_single: bool, force: bool) -> None:
        """Refuse a file or a folder that cannot be written."""
        option = f"--{self.option}"
        if not is_single:
            output.check_output_folder(
                place, force=force, inputs=inputs, why=self.why, option=option
            )
            return
        if Path(place).suffix.lower() not in self.suffixes:
            ends = " or ".join(self.suffixes)
            raise typer.BadParameter(f"{option} {place!r} must end in {ends}.")
        output.check_output_file(place, force=force, inputs=inputs)


@dataclass
class Tally:
    """Number of pictures and of answers so far, and the first results."""

    n_pictures: int = 0
    n_failed: int = 0
    n_rows: int = 0
    totals: Counter[str] = field(default_factory=Counter)
    first: list[PictureResult] = field(default_factory=list)

    @property
    def n_read(self) -> int:
        """Number of pictures that could be read."""
        return self.n_pictures - self.n_failed


class PictureTask(ABC):
    """A command that works on pictures one after the other.

    Attributes
    ----------
    kind : Kind
        Columns of the answers in files.
    made : tuple of PictureFile
        Options for files that are made from each picture.
    description : str
        Word for the work, for the progress bar.
    nouns : (str, str)
        Words for one picture and for many.
    title, heads, n_words, shown
        Title of the table for people, its columns, how many of them are text, and number of rows.
    keeps_all : bool
        Whether the table is chosen from the rows of all pictures.
    further : str
        Words about rows that the table does not show.
    files, failing
        Words for the files, and what happens where they cannot be read.
    found_key : str
        Name of the answers in JSON.
    command, next_out, next_drawing
        The command to run next, and files that it writes and draws; empty if there is none.
    batch_size : int or None
        Number of pictures that are worked on together; None: all.
    """

    kind: ClassVar[Kind]
    made: ClassVar[tuple[PictureFile, ...]] = ()
    description: ClassVar[str]
    nouns: ClassVar[tuple[str, str]] = ("image", "images")
    title: ClassVar[str]
    heads: tuple[str, ...]
    n_words: ClassVar[int] = 1
    shown: ClassVar[int] = 20
    keeps_all: ClassVar[bool] = False
    further: ClassVar[str] = ""
    files: ClassVar[tuple[str, str]] = ("image", "images")
    failing: ClassVar[str] = ""
    found_key: ClassVar[str] = "found"
    command: ClassVar[str] = ""
    next_out: ClassVar[str] = ""
    next_drawing: ClassVar[str] = ""
    batch_size: int | None = 1

    def __init__(self, request: Any) -> None:
        self.request = request

    @classmethod
    def run(cls, request: Any, printer: OutputPrinter) -> None:
        """Do what is asked for."""
        run_task(cls(request), printer)

    @property
    def n_threads(self) -> int:
        """Number of pictures that are worked on at once."""
        return sources.count_jobs(getattr(self.request, "jobs", 1))

    @property
    def n_jobs(self) -> int:
        """Number of threads for a model: all for one picture, and one where pictures are many."""
        return self.n_threads if self.request.is_single else 1

    @property
    def out(self) -> str | None:
        """File to which answers are written."""
        path: str | None = self.request.out
        return path

    def check_request(self) -> None:
        """Refuse files and folders that cannot be written, before any work."""
        request = self.request
        inputs = tuple(name for name in request.inputs if name != sources.STREAM)
        results.check_out(self.out, force=request.force, inputs=inputs)
        for made in self.made:
            if (place := getattr(request, made.option)) is not None:
                made.check(place, inputs, is_single=request.is_single, force=request.force)

    @abstractmethod
    def prepare_model(self) -> None:
        """Load the model."""

    @abstractmethod
    def list_pictures(self) -> Iterator[Picture]:
        """Yield the pictures, each read when it is needed."""

    def read(self, picture: Picture) -> Any:
        """Read what the work needs, or raise ImageError."""
        return picture.load()

    def work(self, batch: Sequence[tuple[Picture, Any]]) -> Iterable[PictureResult]:
        """Return the results of pictures that were read together, in their order.

        A command overrides this, or ``work_on`` where pictures have nothing to do with each other.
        """
        return [self.work_on(*one) for one in batch]

    def work_on(self, picture: Picture, content: Any) -> PictureResult:
        """Return the result of a picture."""
        (result,) = self.work([(picture, content)])
        return result

    def find_all(self) -> Iterator[PictureResult]:
        """Yield the results of all pictures, in order."""
        work = self.list_pictures()
        batches = iter(lambda: list(itertools.islice(work, self.batch_size)), [])
        return itertools.chain.from_iterable(
            map_in_order(self._work_on_batch, batches, self.n_threads)
        )

    def find_place(self, option: str, picture: Picture, suffix: str | None = None) -> Path | None:
        """Return where to write what is made from a picture; None if it is not asked for."""
        place = getattr(self.request, option)
        if place is None:
            return None
        single = self.request.is_single
        return sources.find_place(place, picture, is_single=single, suffix=suffix)

    def count(self, result: PictureResult) -> dict[str, Any]:
        """Return what the result of a picture that was read adds to the totals."""
        return {}

    @abstractmethod
    def list_rows(self, result: PictureResult) -> list[tuple[str, ...]]:
        """Return the rows of a picture in the table for people."""

    def show(self, tally: Tally, printer: OutputPrinter) -> None:
        """Print the first answers, where they are not written to a file."""
        rows = [row for result in tally.first for row in self.list_rows(result)]
        if rows:
            printer.table(self.title, self.heads, rows[: self.shown], words=self.n_words)
        if tally.n_rows > self.shown and self.further:
            printer.say(f"{tally.n_rows - self.shown:,} further {self.further}")

    def describe(self, tally: Tally) -> Iterable[str]:
        """Return sentences about all pictures."""
        return ()

    def suggest(self) -> tuple[str, ...]:
        """Return the words of the command to run next: it draws, or else writes the answers."""
        if not self.next_out:
            return ()
        further = ("--out", self.next_out)
        if self.next_drawing and self.request.draw is None:
            suffix = ".png" if self.request.is_single else ""
            further = ("--draw", f"{self.next_drawing}{suffix}")
        return (self.command, *self.request.list_words(), *further)

    def give(self, tally: Tally) -> dict[str, Any]:
        """Return the totals under their names in JSON."""
        return dict(tally.totals)

    def _work_on_batch(self, batch: list[Picture]) -> list[PictureResult]:
        """Results of pictures of which some cannot be read, or are too large to be worked on."""
        read, failed = [], {}
        for k, picture in enumerate(batch):
            try:
                read.append((picture, self.read(picture)))
            except _FAULTS as error:
                failed[k] = _describe_fault(picture, error)
        try:
            found = iter(list(self.work(read)) if read else ())
        except _FAULTS as error:
            found = iter([_describe_fault(picture, error) for picture, _ in read])
        return [failed[k] if k in failed else next(found) for k in range(len(batch))]


_FAULTS = (vision.ImageError, MemoryError)


def _describe_fault(picture: Picture, error: Exception) -> PictureResult:
    is_large = isinstance(error, MemoryError)
    said = f"{picture.name} is too large for the memory." if is_large else str(error)
    return PictureResult(picture.name, None, said)


def run_task(task: PictureTask, printer: OutputPrinter) -> None:
    """Work on all pictures, write and print what is found, and end with exit code 3 on failures."""
    task.check_request()
    sources.require_pillow()
    task.prepare_model()
    tally = Tally()
    keeps_all = task.keeps_all or printer.machine
    with results.open_writer(task.out, task.kind) as write, outcome.collect_warnings() as warned:
        for result in progress.track(
            task.find_all(), description=task.description, unit=task.nouns[1], size=lambda _: 1
        ):
            write(result)
            if task.out is None and (keeps_all or tally.n_rows < task.shown):
                tally.first.append(result)
            _count(task, tally, result)
    printer.say(*(f"Note: {sentence}" for sentence in warned))
    _conclude(task, tally, printer)


def _count(task: PictureTask, tally: Tally, result: PictureResult) -> None:
    """Count a picture, and say why it could not be read."""
    tally.n_pictures += 1
    if result.error:
        tally.n_failed += 1
        outcome.print_error(results.make_printable(result.error))
    if result.found is not None:
        tally.n_rows += len(task.list_rows(result))
        tally.totals.update(task.count(result))


def _conclude(task: PictureTask, tally: Tally, printer: OutputPrinter) -> None:
    """Print the first answers and what was counted, and exit with code 3 if a picture failed."""
    request = task.request
    if task.out is None:
        task.show(tally, printer)
    files = {made.option: (made.written, getattr(request, made.option)) for made in task.made}
    if task.out not in (None, results.STDOUT):
        files = {
            "out": (f"{(task.kind.key or task.found_key).capitalize()} written", task.out),
            **files,
        }
    printer.say(*(f"{written} to {place}." for written, place in files.values() if place))
    printer.say(*task.describe(tally))
    if task.out is None and (words := task.suggest()):
        printer.next("vision", *words)
    found = [one.as_record(task.kind) for one in tally.first] if task.out is None else None
    printer.give(
        {
            task.nouns[1]: tally.n_read,
            "failed": tally.n_failed,
            **task.give(tally),
            "out": request.out,
            **{option: place for option, (_, place) in files.items()},
            task.found_key: found,
        }
    )
    if tally.n_failed:
        every = count_things(tally.n_pictures, *task.files)
        outcome.print_error(f"{tally.n_failed:,} of {every} could not be read{task.failing}.")
        raise typer.Exit(outcome.DATA)


def map_in_order(function: Callable[[T], R], items: Iterable[T], n_jobs: int) -> Iterator[R]:
    """Yield the results in the order of the items, from threads.

    Items are taken only as threads can work on them, so that there may be any number of them.

    Examples
    --------
    >>> from posterity.vision.commands import picture_tasks
    >>> list(picture_tasks.map_in_order(abs, [-3, 2, -1], 2))
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


def count_things(n: int, one: str, many: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> from posterity.vision.commands import picture_tasks
    >>> picture_tasks.count_things(1200, "box", "boxes")
    '1,200 boxes'
    """
    return f"{n:,} {one if n == 1 else many}"
