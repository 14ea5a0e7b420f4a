"""Read a table from Parquet files on the workers of a Dask cluster and infer its schema."""

import contextlib
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import typer

from posterity import comparison, tables
from posterity.cli import amounts, cluster, table_input
from posterity.cli.voice import OutputPrinter

_TEXT = (".csv", ".tsv", ".txt", ".gz", ".json", ".jsonl", ".ndjson")


@dataclass(frozen=True, eq=False)
class DaskTable:
    """All rows on the workers, a sample of them here, and the inferred schema."""

    sample: tables.Sample
    rows: tables.SpreadRows
    sentences: tuple[str, ...]

    @property
    def frame(self) -> pl.DataFrame:
        """Rows of the sample."""
        return self.sample.frame

    @property
    def schema(self) -> tables.Schema:
        """Schema of the table, with the classes of all rows."""
        return self.rows.schema

    def candidates(
        self, names: Sequence[str] | None, seed: int
    ) -> tuple[comparison.Candidate, ...]:
        """Return the named models, or the default ones that workers can fit."""
        return table_input.choose_candidates(
            self.schema, self.rows.n_rows, names=names, seed=seed, on_dask=True
        )

    def baselines(self, seed: int) -> tuple[comparison.Candidate, ...]:
        """Return the baselines that workers can fit."""
        return comparison.baselines(self.schema.task, seed=seed, on_dask=True)

    def first_choice(self) -> str:
        """Return the name of the default model, which needs few passes over the rows."""
        return "linear"

    def fit_candidate(self, candidate: comparison.Candidate) -> tables.TableModel:
        """Fit a candidate to all rows on the workers."""
        return self.rows.fit_estimator(candidate.estimator)

    def compare_candidates(
        self,
        candidates: Sequence[comparison.Candidate],
        *,
        folds: int,
        seed: int,
        budget: float | None,
        report: Any,
        prefer: comparison.Preference = "simple",
        flagging: comparison.Flagging | None = None,
    ) -> comparison.Comparison:
        """Fit each candidate to all rows outside a fold and score it on the sample inside."""
        return comparison.compare_on_dask(
            self.rows,
            self.sample,
            candidates,
            budget=budget,
            report=report,
            prefer=prefer,
            flagging=flagging,
        )


@contextlib.contextmanager
def open_on_cluster(
    request: table_input.TableRequest, voice: OutputPrinter, *, folds: int = 1
) -> Iterator[DaskTable]:
    """Connect to the cluster, sample the table, infer its schema and print it."""
    address = check_parquet(request.dask, request.path, request.format, request.separator)
    if request.exposure is not None:
        raise typer.BadParameter(
            "--exposure needs the table in memory: leave out --dask, with fewer --rows if needed."
        )
    source = tables.open_partitions(request.path)
    with cluster.connect(address, voice) as client:
        sample = source.sample(request.rows, seed=request.seed)
        try:
            schema = table_input.infer_schema(sample.frame, request)
            rows = tables.SpreadRows.from_source(
                source, sample.frame, schema, folds=folds, seed=request.seed
            )
        except tables.CellError as error:
            raise source.locate_error(error, sample.positions) from None
        sentences = (
            *source.notes,
            _describe_size(source, sample, rows),
            *tables.describe_schema(schema, sample.frame, on_dask=True),
            *_list_unsampled_classes(schema, rows),
        )
        voice.say(*sentences)
        if cluster.has_room_for(client, rows.n_bytes):
            rows = rows.persist()
            voice.say(
                f"The encoded rows take {amounts.format_size(rows.n_bytes)} and are kept in the "
                "memory of "
                "the workers."
            )
        voice.say("")
        yield DaskTable(sample, rows, sentences)


def check_parquet(address: str | None, path: str, format: str | None, separator: str | None) -> str:
    """Return the address; refuse data that workers cannot read in parts."""
    assert address is not None
    named = format is None and pathlib.PurePath(path).suffix.lower() in _TEXT
    if path == "-" or named or format not in (None, "parquet") or separator is not None:
        raise typer.BadParameter(
            "--dask needs a Parquet file or a folder of Parquet files, which workers can read in "
            "parts; save the table as Parquet."
        )
    return address


def _describe_size(
    source: tables.PartitionedSource, sample: tables.Sample, rows: tables.SpreadRows
) -> str:
    n_files = len(source.files)
    where = f"The {n_files:,} files have" if n_files > 1 else "The file has"
    n = len(sample.frame)
    looked = (
        "column types were inferred from all of them"
        if n == sample.n_rows
        else f"column types were inferred from {n:,} of them, drawn at random (--rows)"
    )
    return (
        f"{where} {sample.n_rows:,} rows; {looked}. Models are fitted to all {rows.n_rows:,} rows "
        "with a target."
    )


def _list_unsampled_classes(schema: tables.Schema, rows: tables.SpreadRows) -> Iterator[str]:
    """Yield a sentence that names the classes missing from the sample."""
    if more := [label for label in rows.schema.classes if label not in schema.classes]:
        names = ", ".join(repr(label) for label in more[:5]) + (", ..." if len(more) > 5 else "")
        yield f"Classes that occur only outside the sample: {names}."
