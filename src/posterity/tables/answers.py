"""Append predictions to the rows of a table as columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from posterity.arrays import Array
from posterity.tables.columns import TableError

if TYPE_CHECKING:
    from posterity.tables.table_model import TableModel

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
UNUSUAL = "_unusual"
"""Ending of the name of the column that marks rows far from all training rows."""

_ROWS = 4096  # rows predicted at once; kernel matrices have one entry a row and training row


def append_predictions(
    model: "TableModel",
    frame: pl.DataFrame,
    *,
    quantiles: Sequence[float] = QUANTILES,
    prefix: str | None = None,
) -> pl.DataFrame:
    """Append the predictive distribution of each row to a table, as columns.

    Parameters
    ----------
    model : TableModel
        The fitted model.
    frame : polars.DataFrame
        Rows with the model's input columns; other columns are kept.
    quantiles : sequence of float
        Quantiles to add for a numeric target.
    prefix : str, optional
        Prefix of the new column names; the target name by default.

    Returns
    -------
    polars.DataFrame
        For a numeric target the columns ``..._mean``, ``..._std``, ``..._q05`` and so on. For
        classes ``..._predicted``, and a column of probabilities ``..._p_...`` for each. The column
        ``..._unusual`` names the inputs whose values are far outside those of the training rows, or
        "combination" where only their combination is; it is empty for all other rows.

    Examples
    --------
    >>> import polars as pl
    >>> from posterity import linear, tables
    >>> frame = pl.DataFrame({"size": ["1", "2", "3", "4.5"], "price": ["10", "21", "29", "46"]})
    >>> schema = tables.infer(frame, "price")
    >>> model = tables.TableModel(linear.BayesianLinearRegression(), schema).fit(frame)
    >>> tables.append_predictions(model, pl.DataFrame({"size": ["2.5"]}), quantiles=[0.9]).columns
    ['size', 'price_mean', 'price_std', 'price_q90', 'price_unusual']
    """
    name = model.schema_.target if prefix is None else prefix
    X = model.encode_inputs(frame)
    pieces = [X[start : start + _ROWS] for start in range(0, len(X), _ROWS)]
    if model.schema_.task == "regression":
        answers = _predict_numbers(model, pieces, name, quantiles)
    else:
        answers = _predict_classes(model, pieces, name)
    if unusual := _mark_unusual_rows(model, X, name):
        answers = answers.with_columns(unusual)
    if taken := [column for column in answers.columns if column in frame.columns]:
        raise TableError(
            f"The table already has a column {taken[0]!r}, the name of a prediction column; "
            "choose other names with --prefix."
        )
    return pl.concat([frame, answers], how="horizontal")


def _mark_unusual_rows(model: "TableModel", X: Array, name: str) -> list[pl.Series]:
    """Return a column with the inputs that are far from all training rows, if the model can."""
    if not hasattr(model, "training_range_"):  # fitted on workers
        return []
    inputs = X[:, : model.encoder_.n_features_out_]  # without the group of each row
    reasons = model.training_range_.find_reasons(inputs, model.encoder_)
    return [pl.Series(f"{name}{UNUSUAL}", reasons, dtype=pl.String)]


def _predict_numbers(
    model: "TableModel", pieces: Sequence[Array], name: str, quantiles: Sequence[float]
) -> pl.DataFrame:
    """Return mean, standard deviation and quantiles of a numeric target."""
    labels = [f"{name}_mean", f"{name}_std", *(f"{name}_q{format_level(q)}" for q in quantiles)]
    answers = [np.empty((0, len(labels)))]
    for X in pieces:
        dist = model.estimator_.predict_dist(X)
        columns = [dist.mean(), dist.standard_deviation(), *(dist.icdf(q) for q in quantiles)]
        answers.append(np.column_stack(columns))
    return pl.DataFrame(np.concatenate(answers), schema=dict.fromkeys(labels, pl.Float64))


def _predict_classes(model: "TableModel", pieces: Sequence[Array], name: str) -> pl.DataFrame:
    """Return the most probable class and the probability of each class."""
    labels = [f"{name}_p_{label}" for label in model.labels_]
    none = np.empty((0, len(labels)))
    p = np.concatenate([none, *(model.predict_proba_encoded(X) for X in pieces)])
    best = pl.Series(model.labels_, dtype=pl.String).gather(np.argmax(p, axis=1))
    return pl.DataFrame(p, schema=dict.fromkeys(labels, pl.Float64)).insert_column(
        0, best.alias(f"{name}_predicted")
    )


def format_level(quantile: float) -> str:
    """Format a quantile level for a column name: 0.05 as 05, 0.975 as 97.5."""
    digits = f"{100.0 * quantile:.6g}"
    return digits.zfill(2) if "." not in digits else digits
