"""Forecasts from the last targets that were observed, for tables whose first column is the time."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from posterity import distributions, linear, models
from posterity.arrays import Array
from posterity.models import Member, ModelCard

_AVERAGED = 4  # targets of the slower lag
_LEAST = 5  # effective rows more than columns, to fit a horizon


class LaggedRegressor(models.Regressor):
    """Predict a row from its columns and the last targets before it, with a model a horizon.

    Column 0 is the time. Horizons are 1, 2, 4, 8, ... steps, where a step is the median distance of
    the times; a row is predicted by the model of the next longer horizon. The targets at a horizon
    of h steps overlap, so each row counts as 1 / h, and predictions at long horizons are as wide as
    few independent rows make them. A row between training times is predicted one step ahead, from
    the times before it.

    Attributes
    ----------
    times_, levels_ : ndarray of shape (T,)
        Distinct training times, and the mean target at each, less the effects of other columns.
    step_ : float
        Median distance of the times.
    horizons_ : tuple of int
        Horizons with a model.
    models_ : list of BayesianLinearRegression
        The model of each horizon.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import comparison
    >>> t = np.arange(110.0)[:, None]
    >>> y = np.random.default_rng(0).normal(size=110).cumsum()
    >>> model = comparison.LaggedRegressor().fit(t[:100], y[:100])
    >>> std = model.predict_dist(t[100:]).standard_deviation()
    >>> bool(std[0] < 1.2 < 2.0 < std[7])
    True
    """

    card = ModelCard(
        likelihood="normal, wider at longer horizons",
        prior="normal",
        feature_space="the columns, the last target before a row, and the mean of the last four",
        inference="closed form, a linear model for each horizon",
        advice="later rows depend on the last ones before them",
        page="comparing",
        candidates=(Member("lagged", 70, "N D^2 a horizon", usual_rows=1e6, role="time"),),
    )

    times_: Array
    levels_: Array
    step_: float
    horizons_: tuple[int, ...]
    models_: list[Any]

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit a model for each horizon that has enough rows."""
        rows, targets = validate_data(self, X, y, y_numeric=True)
        self.times_, place = np.unique(rows[:, 0], return_inverse=True)
        if len(self.times_) < 2:
            raise ValueError("At least two different times are needed to learn from earlier ones.")
        self.step_ = float(np.median(np.diff(self.times_)))
        self.levels_ = _average(targets, place)
        effects = self._fit_horizon(rows, targets, place, 1).coef_[1 : rows.shape[1]]
        self.levels_ = _average(targets - rows[:, 1:] @ effects, place)
        longest = len(self.times_) / (rows.shape[1] + 2 + _LEAST)
        self.horizons_ = tuple(2**k for k in range(max(int(np.log2(max(longest, 1.0))), 0) + 1))
        self.models_ = [self._fit_horizon(rows, targets, place, h) for h in self.horizons_]
        return self

    def _fit_horizon(self, rows: Array, targets: Array, place: NDArray[np.intp], h: int) -> Any:
        """Fit to the rows that have a time h steps before."""
        some = np.flatnonzero(place >= h)
        Z = np.column_stack([rows[some], self._lags(place[some] - h)])
        weight = np.full(len(some), 1.0 / h)
        return linear.BayesianLinearRegression().fit(Z, targets[some], sample_weight=weight)

    def predict_dist(self, X: ArrayLike) -> distributions.Univariate:
        """Return a normal for each row, whose variance grows with its horizon."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False)
        origin = np.searchsorted(self.times_, rows[:, 0], side="left") - 1
        Z = np.column_stack([rows, self._lags(np.maximum(origin, 0))])
        which = self._choose_models(rows[:, 0])
        mean, std = np.empty(len(rows)), np.empty(len(rows))
        for number in np.unique(which):
            mine = which == number
            dist = self.models_[number].predict_dist(Z[mine])
            mean[mine], std[mine] = dist.mean(), dist.standard_deviation()
        return distributions.Normal(mean, std)

    def _choose_models(self, times: Array) -> NDArray[np.intp]:
        """Return the model of the next longer horizon, the longest one beyond."""
        ahead = np.maximum(np.round((times - self.times_[-1]) / self.step_), 1.0)
        return np.minimum(np.searchsorted(self.horizons_, ahead), len(self.horizons_) - 1)

    def _lags(self, origins: NDArray[np.intp]) -> Array:
        """Return the last target and the mean of the last few at each origin, (n, 2)."""
        sums = np.concatenate([[0.0], np.cumsum(self.levels_)])
        first = np.maximum(origins + 1 - _AVERAGED, 0)
        slow = (sums[origins + 1] - sums[first]) / (origins + 1 - first)
        return np.column_stack([self.levels_[origins], slow])


def _average(values: Array, place: NDArray[np.intp]) -> Array:
    """Return the mean of the values at each place."""
    return np.bincount(place, weights=values) / np.bincount(place)
