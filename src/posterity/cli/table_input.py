"""Read a table, infer its schema and print what was inferred."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
import typer

from posterity import comparison, tables
from posterity.cli.voice import OutputPrinter

if TYPE_CHECKING:
    from posterity.cli import spread_input

_FEW_ROWS = 200  # below which a Gaussian process is the first choice; boosted trees from there
_LISTS = ("number", "category", "date", "drop", "keep", "exact", "missing")
_TEXTS = (
    *("task", "format", "separator", "sheet", "dask", "time", "group", "blocks", "gap"),
    "exposure",
)


@dataclass(frozen=True)
class TableRequest:
    """The table, and the options that say how to read it."""

    path: str
    target: str
    task: tables.Task | None = None
    number: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    time: str | None = None
    group: str | None = None
    blocks: str | None = None
    gap: int | str | None = None
    exposure: str | None = None
    rows: int | None = None
    format: str | None = None
    separator: str | None = None
    sheet: str | None = None
    dask: str | None = None
    seed: int = 0

    def words(self) -> Iterator[str]:
        """Yield the arguments of ``posterity compare`` that repeat this request."""
        yield from (self.path, "--target", self.target)
        for name in _TEXTS:
            if value := getattr(self, name):
                yield from (f"--{name}", str(value))
        for name in _LISTS:
            for column in getattr(self, name):
                yield from (f"--{name}", column)
        yield from ("--rows", "all" if self.rows is None else str(self.rows))
        yield from ("--seed", str(self.seed))

    def answers(self) -> tuple[str, ...]:
        """Return the options of ``posterity predict`` for such a table."""
        if self.dask is None:
            return ("--out", "predictions.csv")
        return ("--dask", self.dask, "--out", "predictions")


def request_from_parameters(words: Mapping[str, Any]) -> TableRequest:
    """Build a request from the parameters of a command."""
    return TableRequest(
        path=words["data"],
        target=words["target"],
        rows=words["rows"],
        seed=words["seed"],
        **{name: words.get(name) for name in _TEXTS},  # type: ignore[arg-type]
        **{name: tuple(words[name] or ()) for name in _LISTS},  # type: ignore[arg-type]
    )


@dataclass(frozen=True, eq=False)
class TableInMemory:
    """A table in memory with its inferred schema."""

    sample: tables.Sample
    schema: tables.Schema
    sentences: tuple[str, ...]
    gap: int | str | None = None  # between training and held-out times

    @property
    def frame(self) -> pl.DataFrame:
        """Rows that are used."""
        return self.sample.frame

    def candidates(
        self, names: Sequence[str] | None, seed: int
    ) -> tuple[comparison.Candidate, ...]:
        """Return the named models, or the default ones for the size of the table."""
        return choose_candidates(self.schema, len(self.frame), names=names, seed=seed)

    def baselines(self, seed: int) -> tuple[comparison.Candidate, ...]:
        """Return the baselines of the task."""
        exposed = self.schema.exposure is not None
        return comparison.baselines(self.schema.task, seed=seed, exposed=exposed)

    def first_choice(self) -> str:
        """Return the name of the default model for the size of the table, or for rates."""
        if self.schema.exposure is not None:
            return "poisson"
        return "process" if len(self.frame) < _FEW_ROWS else "boosted-trees"

    def fit_candidate(self, candidate: comparison.Candidate) -> tables.TableModel:
        """Fit a candidate to all rows."""
        model = tables.TableModel(candidate.estimator, self.schema, candidate.view)
        return model.fit(self.frame)

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
        """Compare candidates by cross-validation."""
        return comparison.compare(
            self.frame,
            self.schema,
            candidates,
            folds=folds,
            seed=seed,
            budget=budget,
            report=report,
            prefer=prefer,
            flagging=flagging,
            holdout=comparison.Holdout.from_schema(
                self.schema, folds=folds, seed=seed, gap=self.gap
            ),
        )


@contextlib.contextmanager
def open_table(
    request: TableRequest, voice: OutputPrinter, *, folds: int = 1
) -> Iterator["TableInMemory | spread_input.DaskTable"]:
    """Yield the table, in memory or on the workers of a cluster that lasts for the block."""
    if request.dask is None:
        yield read_into_memory(request, voice)
        return
    from posterity.cli import spread_input

    with spread_input.open_on_cluster(request, voice, folds=folds) as table:
        yield table


def read_into_memory(request: TableRequest, voice: OutputPrinter) -> TableInMemory:
    """Read the file into memory, infer its schema and print it."""
    source = tables.open_source(
        request.path, format=request.format, separator=request.separator, sheet=request.sheet
    )
    sample = source.read(request.rows, seed=request.seed)
    schema = infer_schema(sample.frame, request)
    sentences = (
        *source.notes,
        *_describe_sample(sample),
        *tables.describe_schema(schema, sample.frame),
    )
    voice.say(*sentences, "")
    return TableInMemory(sample, schema, sentences, request.gap)


def infer_schema(frame: pl.DataFrame, request: TableRequest) -> tables.Schema:
    """Infer the schema of a table, with the options of the user."""
    return tables.infer(
        frame,
        request.target,
        task=request.task,
        number=request.number,
        category=request.category,
        date=request.date,
        drop=request.drop,
        keep=request.keep,
        time=request.time,
        groups=_split_columns(frame, request.group),
        blocks=tuple(request.blocks.split(",")) if request.blocks else (),
        exact=request.exact,
        missing=request.missing,
        exposure=request.exposure,
    )


def _split_columns(frame: pl.DataFrame, names: str | None) -> tuple[str, ...]:
    """Return columns that are separated by commas, or the one whose name contains commas."""
    if not names:
        return ()
    return (names,) if names in frame.columns else tuple(names.split(","))


def choose_candidates(
    schema: tables.Schema,
    n_rows: int,
    *,
    names: Sequence[str] | None,
    seed: int,
    on_dask: bool = False,
) -> tuple[comparison.Candidate, ...]:
    """Return the candidates for a table: the named models, or the default ones for its size."""
    try:
        return comparison.candidates(
            schema.task,
            n_rows,
            len(schema.inputs),
            names=names,
            n_classes=max(2, len(schema.classes)),
            seed=seed,
            on_dask=on_dask,
            role=comparison.Holdout.from_schema(schema).kind,
            exposed=schema.exposure is not None,
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _describe_sample(sample: tables.Sample) -> Iterator[str]:
    """Yield a sentence if not all rows are used."""
    if len(sample.frame) < sample.n_rows:
        yield (
            f"Using {len(sample.frame):,} of the {sample.n_rows:,} rows of the file, drawn at "
            "random; use all with --rows all."
        )
