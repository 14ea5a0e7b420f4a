"""Write the predictions for held-out rows to a file."""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity import comparison, tables
from posterity.tables.answers import format_level


def write_predictions(
    path: str, found: comparison.Comparison, positions: NDArray[Any] | None
) -> None:
    """Write one row per held-out row: number, fold, observed value and prediction of the winner."""
    tables.write_batches(path, iter([_build_frame(found, positions)]))


def _build_frame(found: comparison.Comparison, positions: NDArray[Any] | None) -> pl.DataFrame:
    """Return the predictions as a table; rows and folds are counted from 1."""
    said, target = found.best.held_out, found.schema.target
    rows = said.rows if positions is None else np.asarray(positions)[said.rows]
    folds = np.zeros(len(rows), dtype=int) if said.folds is None else said.folds
    columns: dict[str, Any] = {"row": rows + 1, "fold": folds + 1}
    if said.probabilities is None:
        columns |= {target: said.y, f"{target}_mean": said.mean}
        quantiles: Any = said.quantiles
        for level, values in zip(comparison.LEVELS, quantiles.T, strict=True):
            columns[f"{target}_q{format_level(level)}"] = values
    else:
        labels = np.asarray(said.classes, dtype=object)
        columns[target] = labels[said.y.astype(np.intp)]
        for label, values in zip(said.classes, said.probabilities.T, strict=True):
            columns[f"{target}_p_{label}"] = values
    columns[f"{target}_log_prob"] = said.log_prob
    return pl.DataFrame(columns)
