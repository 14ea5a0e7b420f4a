"""A model together with the encoder of raw tables."""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from posterity.arrays import Array
from posterity.tables import frames, texts
from posterity.tables.columns import CellError, Column, Kind, Schema, TableError
from posterity.tables.encoding import TableEncoder
from posterity.tables.fitting import Profile


class TableModel(BaseEstimator):
    """A model of raw tables with text, categories, dates and missing values.

    Parameters
    ----------
    estimator : estimator
        A regressor or classifier, according to the task of the schema.
    schema : Schema
        Schema returned by ``tables.infer``.

    Attributes
    ----------
    encoder_ : TableEncoder
        Fitted encoder of the inputs.
    estimator_ : estimator
        Fitted estimator of the encoded inputs.
    classes_ : tuple of str
        Class labels in the order of probabilities; empty for regression.
    profile_ : tuple of Profile
        Summary of each input.
    n_rows_, n_left_out_ : int
        Number of training rows, and of rows without a target.

    Examples
    --------
    >>> import polars as pl
    >>> from posterity import regression, tables
    >>> frame = pl.DataFrame({"size": ["1", "2", "3", "4.5"], "price": ["10", "21", "29", "46"]})
    >>> schema = tables.infer(frame, "price")
    >>> model = tables.TableModel(regression.BayesianLinearRegression(), schema).fit(frame)
    >>> model
    TableModel(BayesianLinearRegression(), 'price' from 1 input)
    >>> model.predict(pl.DataFrame({"size": ["2.5"]})).round(0)
    array([25.])
    """

    encoder_: TableEncoder
    estimator_: Any
    classes_: tuple[str, ...]
    profile_: tuple[Profile, ...]
    n_rows_: int
    n_left_out_: int

    def __init__(self, estimator: Any, schema: Schema) -> None:
        self.estimator = estimator
        self.schema = schema

    def fit(self, frame: Any, y: Any = None) -> "TableModel":
        """Fit to the rows of a table that have a target; ``y`` is ignored."""
        table = frames.as_frame(frame)
        self.classes_ = self.schema.classes or self._find_labels(table)
        y_all, has_target = self.encode_targets(table)
        if not has_target.any():
            raise TableError(
                f"No row of the table has a value for the target {self.schema.target!r}."
            )
        rows = table.filter(pl.Series(has_target, dtype=pl.Boolean))
        self.n_rows_, self.n_left_out_ = rows.height, table.height - rows.height
        self.encoder_ = TableEncoder(self.schema.inputs).fit(rows)
        self.profile_ = self.encoder_.profile_
        X = self.encoder_.transform(rows)
        self.estimator_ = clone(self.estimator).fit(X, y_all[has_target])
        return self

    def encode_inputs(self, frame: Any) -> Array:
        """Encode the inputs of a table as an array (N, D)."""
        check_is_fitted(self, "encoder_")
        return self.encoder_.transform(frame)

    def encode_targets(self, frame: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the targets of a table, and which rows have one.

        Returns
        -------
        y : ndarray of shape (N,)
            Numbers, nan where missing; or indices into ``classes_``, -1 where missing.
        has_target : ndarray of bool of shape (N,)
        """
        check_is_fitted(self, "classes_")
        table = frames.as_frame(frame)
        frames.require_columns(table, (self.schema.target,))
        cells = table[self.schema.target]
        if self.schema.task == "regression":
            y = texts.require_numbers(cells, self._outcome())
            return y, ~np.isnan(y)
        places = self._find_places(texts.convert_labels(cells, self._outcome()))
        return places, places >= 0

    def predict(self, frame: Any) -> NDArray[Any]:
        """Predict the mean of each row, or its most probable class."""
        answers = self._require_fitted().predict(self._encode_queries(frame))
        if self.schema.task == "regression":
            return np.asarray(answers)
        return np.asarray(self.classes_, dtype=object)[np.asarray(answers, dtype=np.int64)]

    def predict_dist(self, frame: Any) -> Any:
        """Return the predictive distribution of each row."""
        return self._require_fitted().predict_dist(self._encode_queries(frame))

    def predict_proba(self, frame: Any) -> Array:
        """Predict the probabilities of ``classes_``, (N, C)."""
        if self.schema.task == "regression":
            raise TypeError("This model predicts a number, not a class; use predict_dist.")
        return self.predict_proba_encoded(self._encode_queries(frame))

    def predict_proba_encoded(self, X: Array) -> Array:
        """Predict class probabilities for inputs encoded by ``inputs``."""
        given = np.asarray(self._require_fitted().predict_proba(X), dtype=np.float64)
        known = np.asarray(self.estimator_.classes_, dtype=np.int64)
        if given.shape[1] == len(self.classes_):
            return given
        probabilities = np.zeros((len(given), len(self.classes_)))
        probabilities[:, known] = given
        return probabilities

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        n = len(self.schema.inputs)
        inputs = f"{n} input" if n == 1 else f"{n} inputs"
        return f"TableModel({self.estimator!r}, {self.schema.target!r} from {inputs})"

    def _require_fitted(self) -> Any:
        check_is_fitted(self, "estimator_")
        return self.estimator_

    def _encode_queries(self, frame: Any) -> Array:
        X = self.encode_inputs(frame)
        if not len(X):
            raise TableError("The table has no rows, so there is nothing to predict.")
        return X

    def _outcome(self) -> Column:
        kind: Kind = "number" if self.schema.task == "regression" else "category"
        return self.schema.outcome or Column(self.schema.target, kind)

    def _find_labels(self, table: pl.DataFrame) -> tuple[str, ...]:
        """Return the labels of a table in order; none for regression."""
        frames.require_columns(table, (self.schema.target,))
        if self.schema.task == "regression":
            return ()
        return sort_labels(texts.convert_labels(table[self.schema.target], self._outcome()))

    def _find_places(self, labels: pl.Series) -> NDArray[np.int64]:
        known = pl.Series(self.classes_, dtype=pl.String)
        order = pl.Series(range(len(known)), dtype=pl.Int64)
        places = labels.replace_strict(known, order, default=None, return_dtype=pl.Int64)
        strange = (places.is_null() & labels.is_not_null()).to_numpy()
        if strange.any():
            row = int(strange.argmax())
            shown = ", ".join(self.classes_[:5]) + (", ..." if len(self.classes_) > 5 else "")
            raise CellError(
                row + 1,
                self.schema.target,
                f"{labels[row]!r} is not a class of this model ({shown}). Correct the cell, "
                "leave it empty, or fit the model to rows of this class.",
            )
        return places.fill_null(-1).to_numpy()


def sort_labels(labels: pl.Series) -> tuple[str, ...]:
    """Sort distinct labels, numbers by value and text alphabetically."""
    distinct = labels.drop_nulls().unique().sort()
    sizes = distinct.cast(pl.Float64, strict=False)
    by_size = not sizes.is_null().any() and not sizes.is_nan().any()
    ordered = distinct.gather(sizes.arg_sort()) if by_size else distinct
    return tuple(ordered.to_list())
