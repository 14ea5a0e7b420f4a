"""Tables to numbers, as a scikit-learn transformer."""

from itertools import accumulate
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from posterity.arrays import Array
from posterity.tables import fitting, frames
from posterity.tables.columns import Column, TableError
from posterity.tables.fitting import Profile
from posterity.tables.parts import Part


class TableEncoder(TransformerMixin, BaseEstimator):
    """The columns of a table as numbers that every model takes.

    Numbers are standardised, categories become one column for each level, dates become time and its
    place in the year, the week and the day. Missing values are marked where the fitted rows had
    some. What was never seen is no error: it counts as "other".

    Parameters
    ----------
    columns : tuple of Column
        What to read, and how; ``tables.infer(...).inputs``.

    Attributes
    ----------
    parts_ : tuple of NumberPart, CategoryPart or DatePart
        What was fitted, one for each column.
    profile_ : tuple of Profile
        A summary of the values of each column.
    n_features_out_ : int
        Columns of the result.

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

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self.columns = columns

    def fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """Learn means, scales and levels from a table; ``y`` is not used."""
        frame = self._frame(X)
        if not frame.height:
            raise TableError("The table has no rows, so nothing can be learned from it.")
        fitted = [fitting.fit_part(column, frame[column.name]) for column in self.columns]
        self.parts_ = tuple(part for part, _ in fitted)
        self.profile_ = tuple(profile for _, profile in fitted)
        self.n_features_out_ = sum(part.width for part in self.parts_)
        return self

    def transform(self, X: Any) -> Array:
        """The table as numbers, ``(N, n_features_out_)``."""
        check_is_fitted(self)
        frame = self._frame(X)
        encoded = np.empty((frame.height, self.n_features_out_))
        for part, (name, columns) in zip(self.parts_, self.blocks(), strict=True):
            encoded[:, columns] = part.encode(frame[name])
        return encoded

    def blocks(self) -> tuple[tuple[str, slice], ...]:
        """Each column of the table, and the columns of the result that encode it."""
        check_is_fitted(self)
        ends = accumulate(part.width for part in self.parts_)
        return tuple(
            (part.name, slice(end - part.width, end))
            for part, end in zip(self.parts_, ends, strict=True)
        )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of the result."""
        check_is_fitted(self)
        names = [name for part in self.parts_ for name in part.names()]
        return np.asarray(names, dtype=object)

    def _frame(self, X: Any) -> pl.DataFrame:
        frame = frames.as_frame(X)
        frames.require(frame, (column.name for column in self.columns))
        return frame
