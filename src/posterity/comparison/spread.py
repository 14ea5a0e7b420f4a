"""Compare models that Dask workers fit to tables larger than memory."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from posterity import tables
from posterity.comparison import budget as budgets
from posterity.comparison.candidate import Candidate
from posterity.comparison.flags import Flagging
from posterity.comparison.folds import Fold, TableFolds
from posterity.comparison.race import Progress
from posterity.comparison.ranking import ComparisonTask, rank_candidates
from posterity.comparison.results import Comparison, Preference

_FEWEST = 2  # rows of the sample in every fold


def compare_on_dask(
    rows: tables.SpreadRows,
    sample: tables.Sample,
    candidates: Sequence[Candidate],
    *,
    budget: float | None = None,
    report: Progress | None = None,
    prefer: Preference = "simple",
    flagging: Flagging | None = None,
) -> Comparison:
    """Rank models that the workers of a Dask cluster fit to all rows.

    Rows are assigned to folds at random. The workers fit a model to all rows outside a fold, and
    the client predicts the rows of the sample inside it, so every row of the sample is predicted
    by a model that was not fitted to it. The standard errors say how much a larger sample could
    change the scores. The encoder of the columns is fitted to the inputs of the whole sample.

    Parameters
    ----------
    rows : SpreadRows
        Assigned to two folds or more: ``SpreadRows.of(source, frame, schema, folds=5)``.
    sample : Sample
        Rows drawn from the same source, on which the models are scored.
    candidates : sequence of Candidate
        Made with ``on_dask=True``.
    budget, report, prefer, flagging
        As for ``compare``.

    Returns
    -------
    Comparison
        The rows of its ``held_out`` are positions in the sample.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import polars as pl
    >>> from posterity import comparison, tables
    >>> x = np.random.default_rng(0).normal(size=(2, 200))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.parquet"
    >>> pl.DataFrame({"x": x[0], "y": x[0] + 0.1 * x[1]}).write_parquet(path)
    >>> source = tables.open_partitions(path)
    >>> sample = source.sample(100)
    >>> schema = tables.infer(sample.frame, "y")
    >>> rows = tables.SpreadRows.from_source(source, sample.frame, schema, folds=3)
    >>> models = comparison.candidates("regression", 200, 1, names=["linear"], on_dask=True)
    >>> found = comparison.compare_on_dask(rows, sample, models)
    >>> found.best.name, found.n_rows, len(found.best.held_out.y)
    ('linear', 200, 100)
    """
    clock = budgets.Clock(budget)
    asked = flagging or Flagging()
    asked.check_classes(rows.schema.classes, rows.schema.target)
    ground = ComparisonTask(
        rows.schema,
        _split_sample(_refuse_roles(rows), sample),
        lambda one: rows.fit_estimator(one.estimator),
        flagging=asked,
    )
    seed = rows.targets.seed
    return rank_candidates(ground, candidates, clock, seed=seed, report=report, prefer=prefer)


def _refuse_roles(rows: tables.SpreadRows) -> tables.SpreadRows:
    """Refuse rows that depend on each other, since rows are assigned to folds at random."""
    schema = rows.schema
    if schema.time or schema.groups or schema.blocks:
        raise tables.TableError(
            "On Dask, rows are held out at random, so --time, --group and --blocks need the table "
            "in memory: compare without --dask, with fewer --rows if necessary."
        )
    return rows


def _split_sample(rows: tables.SpreadRows, sample: tables.Sample) -> TableFolds:
    """Return the folds: rows on the workers to fit to, rows of the sample to predict."""
    y, has_target = rows.model.encode_targets(sample.frame)
    present = np.flatnonzero(has_target)
    positions = np.arange(len(y)) if sample.positions is None else sample.positions
    n_folds = rows.targets.folds
    part_of = tables.assign_folds(positions[present], n_folds, rows.targets.seed)
    _refuse_too_few(np.bincount(part_of, minlength=n_folds))
    X = rows.model.encode_inputs(sample.frame[present])
    blocks = rows.model.encoder_.blocks()
    tests = [part_of == k for k in range(n_folds)]
    folds = tuple(
        Fold(*rows.make_arrays(k), X[test], y[present][test], present[test], blocks)
        for k, test in enumerate(tests)
    )
    return TableFolds(folds, y[present], rows.model.labels_, rows.n_rows)


def _refuse_too_few(counts: NDArray[np.intp]) -> None:
    if len(counts) < 2:
        raise ValueError("The rows must be assigned to at least two folds: pass folds=5.")
    if min(counts) < _FEWEST:
        raise tables.TableError(
            f"Only {sum(counts)} rows of the sample have a target, too few to score models in "
            f"{len(counts)} folds; use a larger sample, or compare without Dask."
        )
