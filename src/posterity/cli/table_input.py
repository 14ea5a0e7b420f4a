"""A file, read and understood, with what was understood said aloud."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import typer

from posterity import comparison, tables
from posterity.cli.voice import Voice

_LISTS = ("number", "category", "date", "drop", "keep")
_TEXTS = ("task", "format", "separator")


@dataclass(frozen=True)
class Request:
    """Which table, and what the user said of it."""

    path: str
    target: str
    task: tables.Task | None = None
    number: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    rows: int | None = None
    format: str | None = None
    separator: str | None = None
    seed: int = 0

    def words(self) -> Iterator[str]:
        """What to type to ask for the same, behind ``posterity compare``."""
        yield from (self.path, "--target", self.target)
        for name in _TEXTS:
            if value := getattr(self, name):
                yield from (f"--{name}", value)
        for name in _LISTS:
            for column in getattr(self, name):
                yield from (f"--{name}", column)
        yield from ("--rows", "all" if self.rows is None else str(self.rows))
        yield from ("--seed", str(self.seed))


def asked(words: Mapping[str, Any]) -> Request:
    """The request that the words of a command make."""
    return Request(
        path=words["data"],
        target=words["target"],
        rows=words["rows"],
        seed=words["seed"],
        **{name: words[name] for name in _TEXTS},
        **{name: tuple(words[name] or ()) for name in _LISTS},  # type: ignore[arg-type]
    )


@dataclass(frozen=True, eq=False)
class Input:
    """A table in memory: its rows, and what they were taken to be."""

    sample: tables.Sample
    schema: tables.Schema
    sentences: tuple[str, ...]

    @property
    def frame(self) -> pl.DataFrame:
        """The rows."""
        return self.sample.frame


def read(request: Request, voice: Voice) -> Input:
    """Read the file, infer what it holds and say so."""
    source = tables.open_source(request.path, format=request.format, separator=request.separator)
    sample = source.read(request.rows, seed=request.seed)
    schema = tables.infer(
        sample.frame,
        request.target,
        task=request.task,
        number=request.number,
        category=request.category,
        date=request.date,
        drop=request.drop,
        keep=request.keep,
    )
    sentences = (*source.notes, *_amount(sample), *tables.sentences(schema, sample.frame))
    voice.say(*sentences, "")
    return Input(sample, schema, sentences)


def candidates(
    table: Input, names: Sequence[str] | None, seed: int
) -> tuple[comparison.Candidate, ...]:
    """The models for a table: those that were named, or the usual ones for its size."""
    schema, frame = table.schema, table.frame
    classes = max(2, len(schema.classes))
    try:
        return comparison.candidates(
            schema.task, len(frame), len(schema.inputs), names=names, n_classes=classes, seed=seed
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _amount(sample: tables.Sample) -> Iterator[str]:
    """A sentence where not all rows are used."""
    if len(sample.frame) < sample.n_rows:
        yield (
            f"The file has {sample.n_rows:,} rows; {len(sample.frame):,} of them, drawn at random, "
            "are used (--rows all uses every one)."
        )
