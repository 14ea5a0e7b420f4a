"""The column with the exposure of each count, such as policy years, hours or square metres."""

from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from posterity import distributions, models
from posterity.arrays import Array
from posterity.tables import looking, texts
from posterity.tables.columns import CellError, Column, TableError
from posterity.tables.looking import ParsedColumn

EXPOSURE = "it is the exposure of the counts"
NEEDS_EXPOSURE = "takes no exposure: it does not describe the rate of counts."


class RateRegressor(models.Regressor):
    """A regressor of counts whose last column is the exposure of each count.

    Parameters
    ----------
    estimator : regressor
        One that takes ``exposure`` in ``fit`` and ``predict_dist``, with a likelihood of counts.

    Attributes
    ----------
    estimator_ : regressor
        Fitted to the other columns.

    Examples
    --------
    Ten hours with twenty events and twenty hours with forty, and the count of five hours:

    >>> import numpy as np
    >>> from posterity import likelihoods, regression, tables
    >>> rates = regression.GeneralizedLinearRegression(likelihoods.Poisson())
    >>> X = np.array([[0.0, 10.0], [0.0, 20.0]])
    >>> model = tables.RateRegressor(rates).fit(X, np.array([20.0, 40.0]))
    >>> model.predict(np.array([[0.0, 5.0]])).round()
    array([10.])
    """

    estimator_: Any

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, groups: ArrayLike | None = None) -> Self:
        """Fit to the other columns, with the exposures and where it asks for them the groups."""
        given = {} if groups is None else {"groups": groups}
        self.estimator_ = clone(self.estimator).fit(X[:, :-1], y, exposure=X[:, -1], **given)
        self.n_features_in_ = X.shape[1]
        return self

    def predict_dist(self, X: Any) -> distributions.Univariate:
        """Return the distribution of the count of each row over its exposure."""
        return self.estimator_.predict_dist(X[:, :-1], exposure=X[:, -1])


def takes_exposure(estimator: Any) -> bool:
    """Return whether an estimator learns rates from counts and their exposures.

    Examples
    --------
    >>> from posterity import BoostedTreesRegressor, likelihoods, tables
    >>> tables.takes_exposure(BoostedTreesRegressor(likelihood=likelihoods.Poisson()))
    True
    >>> tables.takes_exposure(BoostedTreesRegressor())
    False
    """
    likelihood = getattr(estimator, "likelihood", None)
    of_counts = bool(getattr(likelihood, "takes_exposure", False))
    return of_counts and has_fit_parameter(estimator, "exposure")


def strip_exposure(estimator: Any) -> Any:
    """Return the fitted estimator of the inputs alone, where the last column is the exposure.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import GeneralizedLinearRegression, likelihoods, tables
    >>> poisson = GeneralizedLinearRegression(likelihoods.Poisson())
    >>> x, years, y = np.arange(4.0), np.array([1.0, 2.0, 1.0, 2.0]), np.array([1, 2, 3, 8])
    >>> X = np.column_stack([x, years])
    >>> fitted = tables.fit_with_groups(poisson, X, y, None, exposed=True)
    >>> tables.strip_exposure(fitted).coef_.shape
    (1,)
    """
    return estimator.estimator_ if isinstance(estimator, RateRegressor) else estimator


def infer_exposure(cells: pl.Series, target: ParsedColumn, missing: tuple[str, ...]) -> Column:
    """Return how the exposures are read; refuse targets and exposures that cannot be used."""
    counts = target.numbers
    assert counts is not None  # the task is regression
    wrong = (counts < 0.0) | (counts != np.floor(counts))
    wrong &= ~np.isnan(counts)
    if wrong.any():
        row = int(wrong.argmax())
        raise CellError(
            row + 1,
            target.column.name,
            f"{counts[row]:g} is not a count, and an exposure belongs to counts, which are "
            "whole numbers from 0 on. Correct the cell, choose another target, or leave out "
            "the exposure (--exposure).",
        )
    column = looking.parse_column(cells, "number", missing=missing).column
    read_exposures(pl.DataFrame([cells]), column, needed=~np.isnan(counts))
    return column


def read_exposures(
    frame: pl.DataFrame, column: Column, *, needed: NDArray[np.bool_] | None = None
) -> Array:
    """Return the exposure of each row; refuse rows that need one and have none above zero."""
    name = column.name
    if name not in frame.columns:
        raise TableError(
            f"The table has no column {name!r} with the exposure of each count, over which this "
            "model predicts. Add it, or name the column that has it (--exposure)."
        )
    values = texts.require_numbers(frame[name], column)
    wrong = ~(values > 0.0)
    if needed is not None:
        wrong &= needed
    if wrong.any():
        row = int(wrong.argmax())
        shown = frame[name][row]
        what = (
            "the exposure is missing or cannot be read"
            if np.isnan(values[row])
            else f"the exposure {texts.format_cell(shown)} is not greater than zero"
        )
        raise CellError(row + 1, name, f"{what}. Correct the cell or remove the row.")
    return values
