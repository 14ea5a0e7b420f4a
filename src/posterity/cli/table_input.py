"""Read a table, infer its schema and print what was inferred."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import typer

from posterity import comparison, tables
from posterity.cli.app import CompareRequest, TableRequest
from posterity.cli.options import Cluster, TableColumns, TableFile
from posterity.cli.output import OutputPrinter

_FEW_ROWS = 200  # below which a Gaussian process is the first choice; boosted trees from there
_LISTS = ("number", "category", "date", "drop", "keep", "exact", "missing")


@dataclass(frozen=True, eq=False)
class Table:
    """A table with its inferred schema.

    Attributes
    ----------
    sample : Sample
        Rows that are in memory: all that are used, or those from which the schema was inferred.
    schema : Schema
        Its inferred schema.
    sentences : tuple of str
        Sentences that describe the schema.
    rows : SpreadRows, optional
        All rows, if they are on the workers of a cluster.
    """

    sample: tables.Sample
    schema: tables.Schema
    sentences: tuple[str, ...]
    rows: tables.SpreadRows | None = None

    @property
    def frame(self) -> pl.DataFrame:
        """Rows that are in memory."""
        return self.sample.frame

    @property
    def place(self) -> dict[str, Any]:
        """Arguments that say which models can be fitted to such rows."""
        return {"on_dask": self.rows is not None, "exposed": self.schema.exposure is not None}

    def candidates(
        self, names: Sequence[str] | None, seed: int
    ) -> tuple[comparison.Candidate, ...]:
        """Return the named models, or the default ones for the size of the table."""
        schema, how = self.schema, {"names": names, "seed": seed, **self.place}
        how["n_classes"] = max(2, len(schema.classes))
        how["role"] = comparison.Holdout.from_schema(schema).kind
        n_rows = len(self.frame) if self.rows is None else self.rows.n_rows
        try:
            return comparison.candidates(schema.task, n_rows, len(schema.inputs), **how)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    def baselines(self, seed: int) -> tuple[comparison.Candidate, ...]:
        """Return the baselines of the task."""
        return comparison.baselines(self.schema.task, seed=seed, **self.place)

    def first_choice(self) -> str:
        """Return the name of the default model for the size of the table, or for rates."""
        if self.rows is not None:
            return "linear"  # which needs few passes over the rows
        if self.schema.exposure is not None:
            return "poisson"
        return "process" if len(self.frame) < _FEW_ROWS else "boosted-trees"

    def fit_candidate(self, candidate: comparison.Candidate) -> tables.TableModel:
        """Fit a candidate to all rows."""
        if self.rows is not None:
            return self.rows.fit_estimator(candidate.estimator)
        model = tables.TableModel(candidate.estimator, self.schema, candidate.view)
        return model.fit(self.frame)

    def compare_candidates(
        self, candidates: Sequence[comparison.Candidate], request: CompareRequest, **how: Any
    ) -> comparison.Comparison:
        """Compare candidates by cross-validation; rows on workers are scored on the sample."""
        if self.rows is not None:
            return comparison.compare_on_dask(self.rows, self.sample, candidates, **how)
        how |= {"folds": request.folds, "seed": request.seed}
        how["holdout"] = comparison.Holdout.from_schema(
            self.schema, folds=request.folds, seed=request.seed, gap=request.gap
        )
        return comparison.compare(self.frame, self.schema, candidates, **how)


def suggest_prediction(request: TableRequest, printer: OutputPrinter) -> None:
    """Print the command that predicts such a table with the saved model."""
    table = (*request.list_words(TableFile), *request.list_words(Cluster))
    out = "predictions.csv" if request.dask is None else "predictions"
    printer.next("predict", request.save, *table, "--out", out)


@contextlib.contextmanager
def open_table(request: TableRequest, printer: OutputPrinter, *, folds: int = 1) -> Iterator[Table]:
    """Yield the table, in memory or on the workers of a cluster that lasts for the block.

    What was inferred about its columns is printed.
    """
    if request.dask is None:
        source = open_source(request)
        sample = source.read(request.rows, seed=request.seed)
        schema = infer_schema(sample.frame, request)
        inferred = tables.describe_schema(schema, sample.frame)
        sentences = (*source.notes, *_describe_sample(sample), *inferred)
        printer.say(*sentences, "")
        yield Table(sample, schema, sentences)
        return
    from posterity.cli import cluster

    with cluster.open_on_cluster(request, printer, folds=folds) as table:
        yield table


def open_source(request: TableFile) -> tables.Source:
    """Open the file of a table."""
    return tables.open_source(
        request.data, format=request.format, separator=request.separator, sheet=request.sheet
    )


def infer_schema(frame: pl.DataFrame, request: TableColumns) -> tables.Schema:
    """Infer the schema of a table, with the options of the user."""
    return tables.infer(
        frame,
        request.target,
        task=request.task,
        time=request.time,
        groups=_split_columns(frame, request.group),
        blocks=tuple(request.blocks.split(",")) if request.blocks else (),
        exposure=request.exposure,
        **{name: tuple(getattr(request, name) or ()) for name in _LISTS},
    )


def _split_columns(frame: pl.DataFrame, names: str | None) -> tuple[str, ...]:
    """Return columns that are separated by commas, or the one whose name contains commas."""
    if not names:
        return ()
    return (names,) if names in frame.columns else tuple(names.split(","))


def _describe_sample(sample: tables.Sample) -> Iterator[str]:
    """Yield a sentence if not all rows are used."""
    if len(sample.frame) < sample.n_rows:
        yield (
            f"Using {len(sample.frame):,} of the {sample.n_rows:,} rows of the file, drawn at "
            "random; use all with --rows all."
        )
