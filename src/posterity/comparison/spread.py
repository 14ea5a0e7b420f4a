"""The comparison of models that workers fit to rows which never lie in one memory."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from posterity import tables
from posterity.comparison import budget as budgets
from posterity.comparison.candidates import Candidate
from posterity.comparison.comparing import Ground, Progress, ranked_on
from posterity.comparison.folds import Fold, Parts
from posterity.comparison.results import Comparison

_FEWEST = 2  # rows of a part on which models are measured


def compare_spread(
    rows: tables.SpreadRows,
    sample: tables.Sample,
    candidates: Sequence[Candidate],
    *,
    budget: float | None = None,
    report: Progress | None = None,
) -> Comparison:
    """Measure models that learn from all rows on the workers of a Dask cluster, and rank them.

    Rows are dealt into parts by chance. A model is fitted by the workers to all rows outside a
    part, and predicts here those rows of the sample that are inside, in turn; so every row of the
    sample is predicted by a model that has not seen it, and the standard errors tell how much a
    larger sample could change. What encodes the columns has seen the inputs of the sample.

    Parameters
    ----------
    rows : SpreadRows
        Dealt into two parts or more: ``SpreadRows.of(source, frame, schema, folds=5)``.
    sample : Sample
        Rows drawn from the same source, on which the models are measured.
    candidates : sequence of Candidate
        Made with ``on_dask=True``.
    budget, report
        As for ``compare``.

    Returns
    -------
    Comparison
        Its rows held out are positions in the sample.

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
    >>> rows = tables.SpreadRows.of(source, sample.frame, schema, folds=3)
    >>> models = comparison.candidates("regression", 200, 1, names=["linear"], on_dask=True)
    >>> found = comparison.compare_spread(rows, sample, models)
    >>> found.best.name, found.n_rows, len(found.best.held_out.y)
    ('linear', 200, 100)
    """
    clock = budgets.Clock(budget)
    ground = Ground(rows.schema, _parts(rows, sample), rows.fitted)
    return ranked_on(ground, candidates, clock, seed=rows.targets.seed, report=report)


def _parts(rows: tables.SpreadRows, sample: tables.Sample) -> Parts:
    """All rows to fit to, on the workers; those of the sample to predict, here."""
    y, has_target = rows.model.outcomes(sample.frame)
    present = np.flatnonzero(has_target)
    positions = np.arange(len(y)) if sample.positions is None else sample.positions
    n_folds = rows.targets.folds
    part_of = tables.dealt(positions[present], n_folds, rows.targets.seed)
    _refuse_too_few(np.bincount(part_of, minlength=n_folds))
    X = rows.model.inputs(sample.frame[present])
    blocks = rows.model.encoder_.blocks()
    tests = [part_of == k for k in range(n_folds)]
    folds = tuple(
        Fold(*rows.arrays(k), X[test], y[present][test], present[test], blocks)
        for k, test in enumerate(tests)
    )
    return Parts(folds, y[present], rows.model.classes_, rows.n_rows)


def _refuse_too_few(counts: NDArray[np.intp]) -> None:
    if len(counts) < 2:
        raise ValueError("The rows must be dealt into two parts or more: pass folds=5.")
    if min(counts) < _FEWEST:
        raise tables.TableError(
            f"Only {sum(counts)} rows of the sample have a target, too few to measure models on "
            f"in {len(counts)} parts; take a larger sample, or compare without Dask."
        )
