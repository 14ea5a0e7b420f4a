"""Append predictions to the rows of a table as columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity import linalg
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
    >>> from posterity import BayesianLinearRegression, tables
    >>> frame = pl.DataFrame({"size": ["1", "2", "3", "4.5"], "price": ["10", "21", "29", "46"]})
    >>> schema = tables.infer(frame, "price")
    >>> model = tables.TableModel(BayesianLinearRegression(), schema).fit(frame)
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


COMBINATION = "combination"
"""The reason for a row whose single values are common, but not together."""

_BEYOND = 0.25  # of the range of a column, or of the largest distance, that is still usual
_FEW_ROWS = 25.0  # rows that double this share: their range is not yet that of many
_RIDGE = 0.1  # added to the variances of standardised columns
_MOST_COLUMNS = 200  # whose covariance is stored
_EPS = 1e-9
_KINDS = ("number", "category", "date")


@dataclass(frozen=True, eq=False)
class TrainingRange:
    """The range of the encoded training rows: of each input, and of their Mahalanobis distance.

    Attributes
    ----------
    names : tuple of str
        The inputs that are checked.
    low, high : ndarray of shape (D,)
        Smallest and largest usual value of each encoded column.
    low_sum, high_sum : ndarray of shape (B,)
        The same for the sum of the columns of each input; indicators of categories sum to 1.
    columns : ndarray of int of shape (d,)
        Encoded columns of numbers and dates, whose combinations are checked.
    mean, factor : ndarray of shape (d,) and (d, d)
        Their mean, and the Cholesky factor of their covariance plus 0.1.
    limit : float
        Largest usual distance.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import tables
    >>> x = np.linspace(-1.0, 1.0, 50)
    >>> encoder = tables.TableEncoder((tables.Column("a", "number"), tables.Column("b", "number")))
    >>> X = encoder.fit({"a": x, "b": -x}).transform({"a": x, "b": -x})
    >>> rows = encoder.transform({"a": [0.0, 3.0, 1.0], "b": [0.1, -1.0, 1.0]})
    >>> tables.TrainingRange.from_rows(X, encoder).find_reasons(rows, encoder)
    [None, 'a', 'combination']
    """

    names: tuple[str, ...]
    low: Array
    high: Array
    low_sum: Array
    high_sum: Array
    columns: NDArray[Any]
    mean: Array
    factor: Array
    limit: float

    @classmethod
    def from_rows(cls, X: Array, encoder: Any) -> Self:
        """Summarise encoded training rows."""
        kinds = {column.name: column.kind for column in encoder.columns}
        checked = [(name, part) for name, part in encoder.blocks() if kinds.get(name) in _KINDS]
        low, high = _compute_usual_range(X)
        low_sum, high_sum = _compute_usual_range(_sum_inputs(X, [part for _, part in checked]))
        places = [
            np.arange(X.shape[1])[part] for name, part in checked if kinds[name] != "category"
        ]
        columns = np.concatenate([np.empty(0, dtype=np.intp), *places])
        if len(columns) > _MOST_COLUMNS:
            columns = columns[:0]
        rows = np.nan_to_num(X[:, columns])
        mean = rows.mean(axis=0)
        covariance = (rows - mean).T @ (rows - mean) / len(rows)
        factor = linalg.cholesky(covariance + _RIDGE * np.eye(len(columns)))
        distances = _leave_out(_square_distances(rows, mean, factor), len(rows))
        limit = (1.0 + _usual_excess(len(X))) * float(np.sqrt(distances.max()))
        names = tuple(name for name, _ in checked)
        return cls(names, low, high, low_sum, high_sum, columns, mean, factor, limit)

    def find_reasons(self, X: Array, encoder: Any) -> list[str | None]:
        """Return for each encoded row the inputs with unusual values, or None."""
        parts = [part for name, part in encoder.blocks() if name in self.names]
        sums = _sum_inputs(X, parts)
        beyond = np.less(X, self.low) | np.greater(X, self.high)
        odd = (sums < self.low_sum) | (sums > self.high_sum)
        for k, part in enumerate(parts):
            odd[:, k] |= beyond[:, part].any(axis=1)
        rows = np.nan_to_num(X[:, self.columns])
        far = np.sqrt(_square_distances(rows, self.mean, self.factor)) > self.limit
        return [
            ", ".join(name for name, is_odd in zip(self.names, row, strict=True) if is_odd)
            or (COMBINATION if is_far else None)
            for row, is_far in zip(odd, far, strict=True)
        ]


def _usual_excess(n: int) -> float:
    return _BEYOND * (1.0 + float(np.sqrt(_FEW_ROWS / n)))


def _compute_usual_range(X: Array) -> tuple[Array, Array]:
    """Return the range of each column, wider by a quarter or more on either side."""
    with np.errstate(invalid="ignore"):
        low, high = np.nanmin(X, axis=0, initial=np.inf), np.nanmax(X, axis=0, initial=-np.inf)
    empty = low > high  # no value at all: nothing is known of the column
    margin = np.where(
        empty, 0.0, _usual_excess(len(X)) * (high - low) + _EPS * (1.0 + np.abs(high))
    )
    return np.where(empty, -np.inf, low - margin), np.where(empty, np.inf, high + margin)


def _sum_inputs(X: Array, parts: Sequence[slice]) -> Array:
    """Sum the encoded columns of each input, (n, B)."""
    sums = [np.nansum(X[:, part], axis=1) for part in parts]
    return np.array(sums).reshape(len(parts), len(X)).T


def _square_distances(rows: Array, mean: Array, factor: Array) -> Array:
    if not rows.shape[1]:
        return np.zeros(len(rows))
    return linalg.quadratic_form(factor, (rows - mean).T)


def _leave_out(squares: Array, n: int) -> Array:
    """Estimate the distances that training rows would have if each had been left out."""
    leverage = np.minimum((squares + 1.0) / n, 0.9)
    return squares / (1.0 - leverage) ** 2
