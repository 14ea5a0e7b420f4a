"""Encode table columns as numbers, as a scikit-learn transformer."""

from itertools import accumulate
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from posterity.arrays import Array
from posterity.tables import fitting, frames
from posterity.tables.columns import Column, TableError
from posterity.tables.fitting import Profile
from posterity.tables.level_means import LevelMeansPart
from posterity.tables.parts import Part


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode the columns of a table as numbers.

    Numbers are standardised, categories one-hot encoded, and dates encoded as time and its position
    in the year, the week and the day. Text is encoded by the words that it shares with other rows.
    Indicator columns mark missing values where the fitted rows had some. Unknown categories are
    encoded as "other". With targets, a category of more than 50 levels is encoded by the mean of
    the target in each level, shrunken to the mean of all rows.

    Parameters
    ----------
    columns : tuple of Column
        Columns to encode, as in ``tables.infer(...).inputs``.
    keep_missing : bool, default=False
        Leave missing numbers as nan, for estimators that accept them, without an indicator.

    Attributes
    ----------
    parts_ : tuple of NumberPart, CategoryPart, LevelMeansPart, DatePart or TextPart
        Fitted encoder of each column.
    profile_ : tuple of Profile
        Summary of the values of each column.
    n_features_out_ : int
        Number of encoded columns.

    Examples
    --------
    >>> from posterity import tables
    >>> columns = (tables.Column("size", "number"), tables.Column("colour", "category"))
    >>> frame = tables.as_frame({"size": ["1", "3"], "colour": ["red", "blue"]})
    >>> encoder = tables.TableEncoder(columns).fit(frame)
    >>> encoder.transform(frame)
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.]])
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'colour = blue', 'colour = red']
    """

    parts_: tuple[Part, ...]
    profile_: tuple[Profile, ...]
    n_features_out_: int

    def __init__(self, columns: tuple[Column, ...], keep_missing: bool = False) -> None:
        self.columns = columns
        self.keep_missing = keep_missing

    def fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """Learn means, scales and levels from a table.

        ``y`` has a number for each row, or the index of its class if its type is an integer. It is
        used for categories of many levels only.
        """
        frame = self._require_frame(X)
        if not frame.height:
            raise TableError("The table has no rows to learn from.")
        targets = None if y is None else np.asarray(y)
        fitted = [
            fitting.fit_part(column, frame[column.name], targets, keep_missing=self.keep_missing)
            for column in self.columns
        ]
        self.parts_ = tuple(part for part, _ in fitted)
        self.profile_ = tuple(profile for _, profile in fitted)
        self.n_features_out_ = sum(part.width for part in self.parts_)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit, and encode the same rows.

        Where a row is encoded by targets, its own is left out, so that an estimator fitted to the
        encoded rows does not take it for an input.
        """
        encoded = self.fit(X, y).transform(X)
        frame = self._require_frame(X)
        for part, (name, columns) in zip(self.parts_, self.blocks(), strict=True):
            if isinstance(part, LevelMeansPart):
                encoded[:, columns] = part.encode_training_rows(frame[name], np.asarray(y))
        return encoded

    def transform(self, X: Any) -> Array:
        """Encode a table as an array of shape (N, ``n_features_out_``)."""
        check_is_fitted(self)
        frame = self._require_frame(X)
        encoded = np.empty((frame.height, self.n_features_out_))
        for part, (name, columns) in zip(self.parts_, self.blocks(), strict=True):
            encoded[:, columns] = part.encode(frame[name])
        return encoded

    def blocks(self) -> tuple[tuple[str, slice], ...]:
        """Return each table column with the slice of encoded columns that represents it."""
        check_is_fitted(self)
        ends = accumulate(part.width for part in self.parts_)
        return tuple(
            (part.name, slice(end - part.width, end))
            for part, end in zip(self.parts_, ends, strict=True)
        )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the encoded columns."""
        check_is_fitted(self)
        names = [name for part in self.parts_ for name in part.names()]
        return np.asarray(names, dtype=object)

    def _require_frame(self, X: Any) -> pl.DataFrame:
        frame = frames.as_frame(X)
        frames.require_columns(frame, (column.name for column in self.columns))
        return frame


def accepts_missing(estimator: Any) -> bool:
    """Return whether an estimator accepts missing values, nan, as such.

    Examples
    --------
    >>> from posterity import LinearRegression, RandomForestRegressor, tables
    >>> tables.accepts_missing(RandomForestRegressor()), tables.accepts_missing(LinearRegression())
    (True, False)
    """
    return bool(get_tags(estimator).input_tags.allow_nan)
