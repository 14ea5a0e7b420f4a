"""A file, read and understood, with what was understood said aloud."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
import typer

from posterity import comparison, tables
from posterity.cli.voice import Voice

if TYPE_CHECKING:
    from posterity.cli import spread_input

_MOST_ROWS = 2_000  # for which a Gaussian process is the first choice; a forest beyond
_LISTS = ("number", "category", "date", "drop", "keep")
_TEXTS = ("task", "format", "separator", "dask")


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
    dask: str | None = None
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

    def answers(self) -> tuple[str, ...]:
        """What to type for predictions of such a table, behind its name."""
        if self.dask is None:
            return ("--out", "predictions.csv")
        return ("--dask", self.dask, "--out", "predictions")


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

    def candidates(
        self, names: Sequence[str] | None, seed: int
    ) -> tuple[comparison.Candidate, ...]:
        """The models that were named, or the usual ones for the size of the table."""
        return chosen(self.schema, len(self.frame), names=names, seed=seed)

    def baselines(self, seed: int) -> tuple[comparison.Candidate, ...]:
        """What the family is held against."""
        return comparison.baselines(self.schema.task, seed=seed)

    def first_choice(self) -> str:
        """The model to begin with."""
        return "process" if len(self.frame) <= _MOST_ROWS else "forest"

    def fitted(self, estimator: Any) -> tables.TableModel:
        """Fitted to all rows."""
        return tables.TableModel(estimator, self.schema).fit(self.frame)

    def compared(
        self,
        candidates: Sequence[comparison.Candidate],
        *,
        folds: int,
        seed: int,
        budget: float | None,
        report: Any,
    ) -> comparison.Comparison:
        """Each fitted to all parts of the table but one, and measured on that one."""
        return comparison.compare(
            self.frame,
            self.schema,
            candidates,
            folds=folds,
            seed=seed,
            budget=budget,
            report=report,
        )


@contextlib.contextmanager
def opened(
    request: Request, voice: Voice, *, folds: int = 1
) -> Iterator["Input | spread_input.SpreadInput"]:
    """The table, in memory or on the workers of a cluster, which is there as long as the block."""
    if request.dask is None:
        yield read(request, voice)
        return
    from posterity.cli import spread_input

    with spread_input.opened(request, voice, folds=folds) as table:
        yield table


def read(request: Request, voice: Voice) -> Input:
    """Read the file, infer what it holds and say so."""
    source = tables.open_source(request.path, format=request.format, separator=request.separator)
    sample = source.read(request.rows, seed=request.seed)
    schema = inferred(sample.frame, request)
    sentences = (*source.notes, *_amount(sample), *tables.sentences(schema, sample.frame))
    voice.say(*sentences, "")
    return Input(sample, schema, sentences)


def inferred(frame: pl.DataFrame, request: Request) -> tables.Schema:
    """What the table is taken to be, with what the user said of it."""
    return tables.infer(
        frame,
        request.target,
        task=request.task,
        number=request.number,
        category=request.category,
        date=request.date,
        drop=request.drop,
        keep=request.keep,
    )


def chosen(
    schema: tables.Schema,
    n_rows: int,
    *,
    names: Sequence[str] | None,
    seed: int,
    on_dask: bool = False,
) -> tuple[comparison.Candidate, ...]:
    """The models for a table: those that were named, or the usual ones for its size."""
    try:
        return comparison.candidates(
            schema.task,
            n_rows,
            len(schema.inputs),
            names=names,
            n_classes=max(2, len(schema.classes)),
            seed=seed,
            on_dask=on_dask,
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
