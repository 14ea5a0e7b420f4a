"""A model together with the encoder of raw tables."""

from typing import Any, Literal, Self, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.validation import check_is_fitted

from posterity import models, validation
from posterity.arrays import Array
from posterity.tables import frames, roles, schema_inference, texts
from posterity.tables.answers import TrainingRange
from posterity.tables.columns import Column, Kind, Schema, TableError, Task, refuse_cells
from posterity.tables.encoding import Profile, TableEncoder, accepts_missing
from posterity.tables.roles import (
    GroupPart,
    find_groups_parameter,
    fit_with_groups,
    number_groups,
    number_regions,
)
from posterity.tables.spelling import sort_labels
from posterity.trees.estimators import split_model

LabelKind: TypeAlias = Literal["text", "bool", "int", "float"]


class TableModel(BaseEstimator):
    """A model of raw tables with text, categories, dates and missing values.

    It is a scikit-learn estimator of data frames: ``cross_val_score``, grid search and pipelines
    take it. The target is a column of the table, or ``y``.

    Parameters
    ----------
    estimator : estimator
        A regressor or classifier, according to the task of the schema.
    schema : Schema, optional
        Schema returned by ``tables.infer``. None: inferred in ``fit`` from the table and ``y``.
    view : "plain" or "groups", default="plain"
        Columns that the estimator sees: the encoded inputs, or these and one last column with the
        number of the group of each row (``schema.groups``), -1 for a group without training rows.

    Attributes
    ----------
    schema_ : Schema
        The schema that was given, or inferred.
    encoder_ : TableEncoder
        Fitted encoder of the inputs.
    groups_ : GroupPart or None
        Fitted encoder of the group, for the view "groups".
    estimator_ : estimator
        Fitted estimator of the encoded inputs, and of the exposure as last column if there is one.
    labels_ : tuple of str
        Class labels as text, in the order of probabilities; empty for regression.
    classes_ : ndarray of shape (C,)
        Class labels in the type of ``y``; only for classification.
    profile_ : tuple of Profile
        Summary of each input.
    n_rows_, n_left_out_ : int
        Number of training rows, and of rows without a target.
    label_kind_ : "text", "bool", "int" or "float"
        Type of the predicted classes: that of ``y`` in ``fit``, text for a column of the table.
    training_range_ : TrainingRange
        Range of the encoded training rows, by which ``append_predictions`` marks rows far from
        all of them; models that were fitted on workers have none.

    Examples
    --------
    >>> import polars as pl
    >>> from posterity import BayesianLinearRegression, tables
    >>> frame = pl.DataFrame({"size": ["1", "2", "3", "4.5"], "price": ["10", "21", "29", "46"]})
    >>> schema = tables.infer(frame, "price")
    >>> model = tables.TableModel(BayesianLinearRegression(), schema).fit(frame)
    >>> model
    TableModel(BayesianLinearRegression(), 'price' from 1 input)
    >>> model.predict(pl.DataFrame({"size": ["2.5"]})).round(0)
    array([25.])

    Without a schema, as scikit-learn has it:

    >>> rows, y = frame.select("size"), [10.0, 21.0, 29.0, 46.0]
    >>> model = tables.TableModel(BayesianLinearRegression()).fit(rows, y)
    >>> round(model.score(rows, y), 3)
    0.995
    """

    schema_: Schema
    encoder_: TableEncoder
    estimator_: Any
    labels_: tuple[str, ...]
    profile_: tuple[Profile, ...]
    n_rows_: int
    n_left_out_: int
    label_kind_: LabelKind
    training_range_: TrainingRange
    groups_: GroupPart | None = None

    def __init__(self, estimator: Any, schema: Schema | None = None, view: str = "plain") -> None:
        self.estimator = estimator
        self.schema = schema
        self.view = view

    @validation.restore_on_error
    def fit(self, X: Any, y: Any = None, groups: ArrayLike | None = None) -> Self:
        """Fit to the rows of a table that have a target.

        Parameters
        ----------
        X : polars or pandas DataFrame, Arrow table, array or dict of columns
            The table, with the target where ``y`` is not given.
        y : array-like of shape (N,), optional
            The targets; they replace a target column of X.
        groups : array-like of shape (N,), optional
            Group of each row, for estimators that judge themselves by rows which they leave out.
            Default: the groups, or the regions of the coordinates, that the schema names.
        """
        table, target = _join_targets(X, y, self.schema)
        self.schema_ = self.schema or self._infer_schema(table, target)
        self.labels_ = self.schema_.classes or self._find_labels(table)
        self.label_kind_ = _find_label_kind(y)
        rows, y_train, has_target = self._select_rows(table)
        self.n_rows_, self.n_left_out_ = rows.height, table.height - rows.height
        self.encoder_ = TableEncoder(self.schema_.inputs, accepts_missing(self.estimator))
        X = self.encoder_.fit_transform(rows, y_train)
        self.profile_ = self.encoder_.profile_
        self.training_range_ = TrainingRange.from_rows(X, self.encoder_)
        self.groups_ = self._fit_groups(rows)
        self.estimator_ = fit_with_groups(
            self.estimator,
            self._append_roles(X, rows),
            y_train,
            self._find_groups(table, groups, has_target),
            exposed=self.schema_.exposure is not None,
        )
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels in the type of ``y``, in the order of probabilities."""
        if not self.__dict__.get("labels_"):
            raise AttributeError("Only a fitted classifier has classes_.")
        return _restore_labels(self.labels_, self.label_kind_)

    def _fit_groups(self, rows: pl.DataFrame) -> GroupPart | None:
        """Learn the groups, if the estimator sees them."""
        if self.view == "plain":
            return None
        if not self.schema_.groups:
            raise TableError("This model needs the group of each row; name its column (--group).")
        return GroupPart.from_rows(rows, self.schema_.groups)

    def _find_groups(
        self, table: pl.DataFrame, groups: ArrayLike | None, kept: NDArray[np.bool_]
    ) -> NDArray[Any] | None:
        """Return the group of each row that is kept, if the estimator asks for groups."""
        if groups is not None:
            numbers = split_model.check_groups(groups, len(kept))
            return None if numbers is None else numbers[kept]
        if find_groups_parameter(self.estimator) is None:
            return None
        if self.schema_.groups:
            return number_groups(table, self.schema_.groups)[kept]
        if self.schema_.blocks:
            return number_regions(table.filter(kept), self.schema_, self.schema_.blocks)
        return None

    def encode_inputs(self, frame: Any) -> Array:
        """Encode the inputs of a table as an array (N, D)."""
        check_is_fitted(self, "encoder_")
        return self._append_roles(self.encoder_.transform(frame), frame)

    def _append_roles(self, X: Array, frame: Any) -> Array:
        """Append the number of the group of each row, or its exposure, if the estimator sees it."""
        columns = [X]
        if self.groups_ is not None:
            columns.append(self.groups_.encode(frames.as_frame(frame)))
        if self.schema_.exposure is not None:
            columns.append(roles.read_exposures(frames.as_frame(frame), self.schema_.exposure))
        return X if len(columns) == 1 else np.column_stack(columns)

    def encode_targets(self, frame: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the targets of a table, and which rows have one.

        Returns
        -------
        y : ndarray of shape (N,)
            Numbers, nan where missing; or indices into ``labels_``, -1 where missing.
        has_target : ndarray of bool of shape (N,)
        """
        check_is_fitted(self, "labels_")
        table = frames.as_frame(frame)
        frames.require_columns(table, (self.schema_.target,))
        cells = table[self.schema_.target]
        if self.schema_.task == "regression":
            y = texts.require_numbers(cells, self._outcome())
            return y, ~np.isnan(y)
        places = self._find_places(texts.convert_labels(cells, self._outcome()))
        return places, places >= 0

    def _select_rows(
        self, table: pl.DataFrame
    ) -> tuple[pl.DataFrame, NDArray[Any], NDArray[np.bool_]]:
        """Return the rows that have a target, their targets, and which rows these are."""
        y, has_target = self.encode_targets(table)
        if not has_target.any():
            raise TableError(
                f"No row of the table has a value for the target {self.schema_.target!r}."
            )
        return table.filter(pl.Series(has_target, dtype=pl.Boolean)), y[has_target], has_target

    def predict(self, frame: Any) -> NDArray[Any]:
        """Predict the mean of each row, or its most probable class."""
        answers = self._require_fitted().predict(self._encode_queries(frame))
        if self.schema_.task == "regression":
            return np.asarray(answers)
        return self.classes_[np.asarray(answers, dtype=np.int64)]

    def predict_dist(self, frame: Any) -> Any:
        """Return the predictive distribution of each row."""
        return models.predict_dist(self._require_fitted(), self._encode_queries(frame))

    def predict_interval(self, frame: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return the ends of the central interval that contains the target with this probability.

        Examples
        --------
        >>> from posterity import BayesianLinearRegression, tables
        >>> rows, y = {"size": [1.0, 2.0, 3.0, 4.0, 5.0]}, [10.0, 21.0, 29.0, 41.0, 50.0]
        >>> model = tables.TableModel(BayesianLinearRegression()).fit(rows, y)
        >>> lower, upper = model.predict_interval({"size": [2.5]}, coverage=0.8)
        >>> print(f"{lower[0]:.0f} to {upper[0]:.0f}")
        23 to 27
        """
        if self.schema_.task == "classification":
            raise TypeError("This model predicts a class, which has no interval.")
        return self.predict_dist(frame).interval(coverage)

    def score(self, X: Any, y: Any = None) -> float:
        """Return R^2 of the predicted means, or the share of rows whose class is predicted."""
        check_is_fitted(self, "schema_")
        table, _ = _join_targets(X, y, self.schema_)
        rows, observed, _ = self._select_rows(table)
        answers = self._require_fitted().predict(self._encode_queries(rows))
        compute = r2_score if self.schema_.task == "regression" else accuracy_score
        return float(compute(observed, answers))

    def __sklearn_tags__(self) -> Tags:
        """Say that tables are taken as they are, and which task this is."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = self.schema is None
        if self._is_classifier():
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags

    def predict_proba(self, frame: Any) -> Array:
        """Predict the probabilities of ``classes_``, (N, C)."""
        if self.schema_.task == "regression":
            raise TypeError("This model predicts a number, not a class; use predict_dist.")
        return self.predict_proba_encoded(self._encode_queries(frame))

    def predict_proba_encoded(self, X: Array) -> Array:
        """Predict class probabilities for inputs encoded by ``inputs``."""
        given = np.asarray(self._require_fitted().predict_proba(X), dtype=np.float64)
        known = np.asarray(self.estimator_.classes_, dtype=np.int64)
        if given.shape[1] == len(self.labels_):
            return given
        probabilities = np.zeros((len(given), len(self.labels_)))
        probabilities[:, known] = given
        return probabilities

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        schema = getattr(self, "schema_", self.schema)
        if schema is None:
            return f"TableModel({self.estimator!r})"
        n = len(schema.inputs)
        inputs = f"{n} input" if n == 1 else f"{n} inputs"
        return f"TableModel({self.estimator!r}, {schema.target!r} from {inputs})"

    def _is_classifier(self) -> bool:
        return (
            is_classifier(self.estimator) if self.schema is None else self._task() != "regression"
        )

    def _task(self) -> Task:
        return self.schema_.task if self.schema is None else self.schema.task

    def _infer_schema(self, table: pl.DataFrame, target: str) -> Schema:
        """Infer the schema; every column is an input, since the caller chose them."""
        task: Task = "classification" if is_classifier(self.estimator) else "regression"
        inputs = [column for column in table.columns if column != target]
        return schema_inference.infer(table, target, task=task, keep=inputs)

    def _require_fitted(self) -> Any:
        check_is_fitted(self, "estimator_")
        return self.estimator_

    def _encode_queries(self, frame: Any) -> Array:
        X = self.encode_inputs(frame)
        if not len(X):
            raise TableError("The table has no rows, so there is nothing to predict.")
        return X

    def _outcome(self) -> Column:
        kind: Kind = "number" if self.schema_.task == "regression" else "category"
        return self.schema_.outcome or Column(self.schema_.target, kind)

    def _find_labels(self, table: pl.DataFrame) -> tuple[str, ...]:
        """Return the labels of a table in order; none for regression."""
        frames.require_columns(table, (self.schema_.target,))
        if self.schema_.task == "regression":
            return ()
        return sort_labels(texts.convert_labels(table[self.schema_.target], self._outcome()))

    def _find_places(self, labels: pl.Series) -> NDArray[np.int64]:
        places = texts.find_places(labels, self.labels_, unknown=-2)
        shown = ", ".join(self.labels_[:5]) + (", ..." if len(self.labels_) > 5 else "")
        refuse_cells(
            places == -2,
            self.schema_.target,
            lambda row: (
                f"{labels[row]!r} is not a class of this model ({shown}). Correct the cell, "
                "leave it empty, or fit the model to rows of this class."
            ),
        )
        return places


def _join_targets(X: Any, y: Any, schema: Schema | None) -> tuple[pl.DataFrame, str]:
    """Return the table with the targets as a column, and the name of the column."""
    name = None if schema is None else schema.target
    if y is not None:
        return frames.append_targets(frames.as_frame(X), y, name)
    if name is None:
        raise TableError("Say what to predict: pass y, or a schema from tables.infer.")
    return frames.as_frame(X), name


def _find_label_kind(y: Any) -> LabelKind:
    """Return the type in which predicted classes are returned: that of y, else text."""
    kind = "O" if y is None else np.asarray(y).dtype.kind
    kinds: dict[str, LabelKind] = {"b": "bool", "i": "int", "u": "int", "f": "float"}
    return kinds.get(kind, "text")


def _restore_labels(labels: tuple[str, ...], kind: LabelKind) -> NDArray[Any]:
    """Convert labels back to the type that the targets had."""
    if kind == "text":
        return np.asarray(labels, dtype=object)
    if kind == "bool":
        return np.asarray([label.lower() in ("true", "1", "1.0") for label in labels])
    numbers = np.asarray(labels, dtype=np.float64)
    return numbers.astype(np.int64) if kind == "int" else numbers
