"""Compare models of a table in one call: read it, score the models, keep the best one.

The command ``posterity compare`` does the same for a file; this is its form for notebooks and
scripts.
"""

import contextlib
import html
import os
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import polars as pl

from posterity import comparison, persistence, report, tables
from posterity.comparison import durations
from posterity.comparison.race import Progress

__all__ = ["TableComparison", "compare"]

_MOST_ROWS = 100_000
_SHOWN = ("log_score", "standard_error", "rmse", "coverage", "accuracy", "calibration")
_TWO_CLASSES = (
    *("brier", "precision", "recall", "roc_area", "flagged", "expected_cost", "cost_error"),
)
_COSTS = ("log_evidence", "fit_seconds", "predict_seconds", "n_bytes")

_WIDTH = 100  # of a printed line
_PRINTED = ("log_score", "rmse", "accuracy", "coverage", "calibration", "fit_seconds")

Models: TypeAlias = Sequence[str] | Mapping[str, Any] | None


def compare(
    data: Any,
    target: Any,
    *,
    models: Models = None,
    task: tables.Task | None = None,
    time: str | None = None,
    groups: str | Sequence[str] = (),
    blocks: Sequence[str] = (),
    gap: int | str | None = None,
    exposure: str | None = None,
    folds: int = 5,
    seed: int = 0,
    budget: float | None = None,
    prefer: comparison.Preference = "simple",
    cost: tuple[float, float] | None = None,
    positive: str | None = None,
    rows: int | None = _MOST_ROWS,
    **columns: Sequence[str],
) -> "TableComparison":
    """Compare models of a table on held-out rows, and fit the chosen one to all rows.

    Parameters
    ----------
    data : path, polars or pandas DataFrame, Arrow table, array or dict of columns
        The table; a path is read as the command reads it (CSV, Parquet, JSON lines, gzip).
    target : str or array-like of shape (N,)
        Name of the column to predict, or its values where the table does not have it.
    models : sequence of str, or dict of estimators, optional
        Names listed by ``posterity models``, ("all",), or estimators by name: ours, or any of
        scikit-learn with ``predict_dist`` or ``predict_proba``. None: a set that suits the size.
    task : "regression" or "classification", optional
        None: inferred from the target.
    time : str, optional
        Column that orders the rows: models are fitted to earlier rows and scored on later ones.
    groups : str or sequence of str
        Column with the group of each row, such as a patient: whole groups are held out. A group
        of several columns is a combination of their values.
    blocks : sequence of two str
        Columns with the coordinates of the rows: whole regions are held out.
    gap : int or str, optional
        With ``time``: how many different times, or for dates which length of time, such as "7d",
        are left out before the held-out rows.
    exposure : str, optional
        Column with the exposure of each count, such as policy years: what is learned is the rate
        of events in a unit of it, and models that do not describe counts are left out.
    folds, seed : int
        Number of folds, and random seed.
    budget : float, optional
        Approximate time limit in seconds, which the fit of the chosen model to all rows may exceed.
        A comparison that will take more than ten seconds says on stderr how long, and how far it
        is.
    prefer : "simple" or "best", default="simple"
        Which model to choose among those that do not differ significantly from the best: the
        simplest, or the one with the highest log score.
    cost : (float, float), optional
        Of two classes: the costs of a false alarm and of a miss, such as (1, 20), for the threshold
        from which rows are flagged and the expected cost of each model.
    positive : str, optional
        Class whose rows should be flagged. None: the second one, such as 1 of 0 and 1.
    rows : int or None, default=100,000
        Use at most this many rows of a file, drawn at random. None: all.
    **columns : sequence of str
        ``number``, ``category``, ``date``, ``drop``, ``keep`` and ``missing`` of ``tables.infer``.

    Returns
    -------
    TableComparison

    Examples
    --------
    >>> import numpy as np
    >>> import posterity
    >>> rng = np.random.default_rng(0)
    >>> table = {"size": rng.uniform(1.0, 9.0, 60), "colour": rng.choice(["red", "blue"], 60)}
    >>> red = table["colour"] == "red"
    >>> table["price"] = 5.0 * table["size"] + 7.0 * red + rng.normal(size=60)
    >>> found = posterity.compare(table, "price", models=["linear", "tree"])
    >>> found.table["model"].to_list()[0], round(found.table["rmse"][0], 1)
    ('linear', 1.0)
    >>> lower, upper = found.best.predict_interval({"size": [4.0], "colour": ["red"]})
    >>> print(f"{lower[0]:.0f} to {upper[0]:.0f}")
    26 to 29
    """
    flagging = comparison.Flagging(None if positive is None else str(positive), cost)
    sample, notes, name = _read(data, target, rows, seed)
    schema = tables.infer(
        sample.frame,
        name,
        task=task,
        time=time,
        groups=groups,
        blocks=blocks,
        exposure=exposure,
        **columns,
    )
    chosen = (
        *comparison.baselines(schema.task, seed=seed, exposed=exposure is not None),
        *_choose_models(sample, schema, models, seed),
    )
    holdout = comparison.Holdout.from_schema(schema, folds=folds, seed=seed, gap=gap)
    expected = durations.estimate_duration(schema, chosen, len(sample.frame), folds=folds)
    with _tell_progress(expected.describe(budget, "budget")) as tell:
        found = comparison.compare(
            sample.frame,
            schema,
            chosen,
            folds=folds,
            seed=seed,
            budget=budget,
            report=tell,
            prefer=prefer,
            flagging=flagging,
            holdout=holdout,
        )
    sentences = (*notes, *tables.describe_schema(schema, sample.frame))
    source = os.fspath(data) if isinstance(data, str | os.PathLike) else ""
    return TableComparison(found, sample, sentences, str(source))


@dataclass(frozen=True, eq=False, repr=False)
class TableComparison:
    """Result of comparing models of a table: their scores, a verdict and the best model.

    Attributes
    ----------
    comparison : comparison.Comparison
        Everything that was measured, row by row.
    sample : tables.Sample
        The rows that were used.
    sentences : tuple of str
        What was inferred about the columns.
    source : str
        Path of the file; empty for a table in memory.

    Examples
    --------
    >>> import numpy as np
    >>> import posterity
    >>> x = np.linspace(0.0, 9.0, 40)
    >>> y = 2.0 * x + np.random.default_rng(0).normal(size=40)
    >>> found = posterity.compare({"x": x}, y, models=["linear", "tree"])
    >>> found.best
    TableModel(BayesianLinearRegression(), 'target' from 1 input)
    """

    comparison: comparison.Comparison
    sample: tables.Sample = field(repr=False)
    sentences: tuple[str, ...] = ()
    source: str = ""

    @property
    def best(self) -> tables.TableModel:
        """The chosen model, fitted to all rows."""
        return self.comparison.winner

    @property
    def verdict(self) -> str:
        """Recommended model, and how far to trust it."""
        return self.comparison.verdict

    @property
    def table(self) -> pl.DataFrame:
        """Scores of the models, the best first, one row each."""
        results = self.comparison.results
        first = {
            "model": [one.name for one in results],
            "baseline": [one.baseline for one in results],
        }
        scores = {name: [getattr(one, name) for one in results] for name in _SHOWN}
        scores |= {
            name: [getattr(one.two_classes, name, None) for one in results] for name in _TWO_CLASSES
        }
        scores |= {name: [getattr(one, name) for one in results] for name in _COSTS}
        known = {
            name: values for name, values in scores.items() if values.count(None) < len(values)
        }
        return pl.DataFrame({**first, **known})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the chosen model to a file that ``posterity.load`` reads."""
        persistence.save(self.best, path)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a report that any browser opens without a network; a file there is replaced.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import posterity
        >>> table = {"x": [0.3 * n for n in range(30)], "y": [0.6 * n for n in range(30)]}
        >>> place = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> posterity.compare(table, "y", models=["linear"]).report(place)
        >>> place.read_text("utf-8").splitlines()[1]
        '<!-- posterity report -->'
        """
        found, target = self.comparison, self.comparison.schema.target
        call = f"posterity.compare({self.source or 'table'!r}, {target!r})"
        report.write(
            path,
            report.ReportContents(
                title=f"Predicting {target}",
                command=f"{call}.report({os.fspath(path)!r})",
                model=self.best,
                frame=self.sample.frame,
                held_out=found.best.held_out,
                comparison=found,
                source=self.source or "data.csv",
                n_rows_in_file=self.sample.n_rows,
                row_numbers=self.sample.positions,
                inferred=self.sentences,
                seed=found.seed,
            ),
        )

    def __repr__(self) -> str:
        said = [textwrap.fill(one, _WIDTH) for one in (self.verdict, *self.comparison.cautions)]
        return "\n".join([*said, self._format_scores()])

    def _format_scores(self) -> str:
        """Format the scores that say most as a table without frames."""
        table = self.table
        kept = [name for name in _PRINTED if name in table.columns]
        with pl.Config(
            tbl_formatting="NOTHING",
            tbl_hide_dataframe_shape=True,
            tbl_hide_column_data_types=True,
            tbl_rows=-1,
            tbl_width_chars=_WIDTH,
            fmt_str_lengths=50,
            float_precision=3,
        ):
            lines = str(table.select("model", *kept)).splitlines()
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        """Show the verdict and the scores in a notebook."""
        notes = "".join(f"<p>{html.escape(one)}</p>" for one in self.comparison.cautions)
        return f"<p>{html.escape(self.verdict)}</p>{notes}{self.table._repr_html_()}"


def _read(
    data: Any, target: Any, rows: int | None, seed: int
) -> tuple[tables.Sample, tuple[str, ...], str]:
    """Return the rows to use, remarks on the format of a file, and the name of the target."""
    if isinstance(data, str | os.PathLike):
        source = tables.open_source(data)
        sample, notes = source.read(rows, seed=seed), source.notes
    else:
        frame = tables.as_frame(data)
        sample, notes = tables.Sample(frame, frame.height), ()
    if isinstance(target, str):
        return sample, notes, target
    frame, name = tables.append_targets(sample.frame, target)
    return replace(sample, frame=frame), notes, name


@contextlib.contextmanager
def _tell_progress(expected: str) -> Iterator[Progress | None]:
    """Say on stderr how long a comparison takes and show its progress, if that is worth a word."""
    if not expected:
        yield None
        return
    print(expected, file=sys.stderr, flush=True)
    with durations.show_fits() as tell:
        yield tell


def _choose_models(
    sample: tables.Sample, schema: tables.Schema, models: Models, seed: int
) -> tuple[comparison.Candidate, ...]:
    """Return the named models, those that were given, or the usual ones."""
    if isinstance(models, Mapping):
        return tuple(comparison.Candidate(name, model) for name, model in models.items())
    return comparison.candidates(
        schema.task,
        sample.frame.height,
        len(schema.inputs),
        names=models,
        n_classes=max(2, len(schema.classes)),
        seed=seed,
        role=comparison.Holdout.from_schema(schema).kind,
        exposed=schema.exposure is not None,
    )
