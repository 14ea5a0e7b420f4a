"""A table in Parquet files that the workers of a Dask cluster read, and what it was taken for."""

import contextlib
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import typer

from posterity import comparison, tables
from posterity.cli import amounts, cluster, table_input
from posterity.cli.voice import Voice

_TEXT = (".csv", ".tsv", ".txt", ".gz", ".json", ".jsonl", ".ndjson")


@dataclass(frozen=True, eq=False)
class SpreadInput:
    """All rows on the workers, a sample of them here, and what they were taken to be."""

    sample: tables.Sample
    rows: tables.SpreadRows
    sentences: tuple[str, ...]

    @property
    def frame(self) -> pl.DataFrame:
        """The sample."""
        return self.sample.frame

    @property
    def schema(self) -> tables.Schema:
        """With the classes of all rows."""
        return self.rows.schema

    def candidates(
        self, names: Sequence[str] | None, seed: int
    ) -> tuple[comparison.Candidate, ...]:
        """The models that were named, or the usual ones of those that workers can fit."""
        return table_input.chosen(
            self.schema, self.rows.n_rows, names=names, seed=seed, on_dask=True
        )

    def baselines(self, seed: int) -> tuple[comparison.Candidate, ...]:
        """What the family is held against."""
        return comparison.baselines(self.schema.task, seed=seed, on_dask=True)

    def first_choice(self) -> str:
        """The model to begin with: one pass over the rows, or a few."""
        return "linear"

    def fitted(self, estimator: Any) -> tables.TableModel:
        """Fitted by the workers to all rows."""
        return self.rows.fitted(estimator)

    def compared(
        self,
        candidates: Sequence[comparison.Candidate],
        *,
        folds: int,
        seed: int,
        budget: float | None,
        report: Any,
    ) -> comparison.Comparison:
        """Each fitted to all rows outside a part; measured on the sample within."""
        return comparison.compare_spread(
            self.rows, self.sample, candidates, budget=budget, report=report
        )


@contextlib.contextmanager
def opened(request: table_input.Request, voice: Voice, *, folds: int = 1) -> Iterator[SpreadInput]:
    """Connect with the cluster, sample the table, infer what it holds and say so."""
    address = refuse_text(request.dask, request.path, request.format, request.separator)
    source = tables.open_partitions(request.path)
    with cluster.connected(address, voice) as client:
        sample = source.sample(request.rows, seed=request.seed)
        try:
            schema = table_input.inferred(sample.frame, request)
            rows = tables.SpreadRows.of(
                source, sample.frame, schema, folds=folds, seed=request.seed
            )
        except tables.CellError as error:
            raise source.located(error, sample.positions) from None
        sentences = (
            *source.notes,
            _amount(source, sample, rows),
            *tables.sentences(schema, sample.frame),
            *_more_classes(schema, rows),
        )
        voice.say(*sentences)
        if cluster.room_for(client, rows.n_bytes):
            rows = rows.kept()
            voice.say(
                f"Encoded, the rows take {amounts.size(rows.n_bytes)}: workers keep them in memory."
            )
        voice.say("")
        yield SpreadInput(sample, rows, sentences)


def refuse_text(address: str | None, path: str, format: str | None, separator: str | None) -> str:
    """The address, where what is to be read there can be cut without reading it."""
    assert address is not None
    named = format is None and pathlib.PurePath(path).suffix.lower() in _TEXT
    if path == "-" or named or format not in (None, "parquet") or separator is not None:
        raise typer.BadParameter(
            "with --dask the data are a Parquet file, or a folder of them, which workers can read "
            "in parts: save the table as Parquet."
        )
    return address


def _amount(
    source: tables.PartitionedSource, sample: tables.Sample, rows: tables.SpreadRows
) -> str:
    n_files = len(source.files)
    where = f"{n_files:,} files have" if n_files > 1 else "The file has"
    n = len(sample.frame)
    looked = (
        "all of them were looked at"
        if n == sample.n_rows
        else f"what the columns hold, and how they are encoded, is taken from {n:,} of them, "
        "drawn at random (--rows)"
    )
    return f"{where} {sample.n_rows:,} rows; {looked}. Models learn from all {rows.n_rows:,} rows."


def _more_classes(schema: tables.Schema, rows: tables.SpreadRows) -> Iterator[str]:
    """Classes too rare for the sample."""
    if more := [label for label in rows.schema.classes if label not in schema.classes]:
        names = ", ".join(repr(label) for label in more[:5]) + (", ..." if len(more) > 5 else "")
        yield f"Only outside the sample there {'is' if len(more) == 1 else 'are'}: {names}."
