"""Plot the basis functions of a linear model along one input, and their weighted sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from posterity.arrays import Array
from posterity.displays import grid
from posterity.displays.style import COLORS, axes_or_new
from posterity.linear.statistics_model import LinearModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class BasisDisplay:
    """Basis functions along one input, each with its weight in a fitted model.

    Parameters
    ----------
    x : array of shape (n,)
        Values of the input.
    values : array of shape (n, M)
        Values of the basis functions.
    weights : array of shape (M,)
        Weight of each basis function in the model.
    offset : float
        Intercept of the model.
    x_label : str, default="x"
        Name of the input.

    Examples
    --------
    >>> from posterity import BayesianLinearRegression, displays, features
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 4.1, 8.9]
    >>> model = BayesianLinearRegression(features=features.Polynomial(2)).fit(X, y)
    >>> display = displays.BasisDisplay.from_estimator(model, X, n_grid=50)
    >>> display.values.shape
    (50, 2)
    """

    x: Array
    values: Array
    weights: Array
    offset: float
    x_label: str = "x"

    @classmethod
    def from_estimator(
        cls, estimator: LinearModel, X: ArrayLike, *, margin: float = 0.1, n_grid: int = 200
    ) -> BasisDisplay:
        """Evaluate the features of a fitted linear model along the range of X.

        Parameters
        ----------
        estimator : linear model
            Fitted on one input and one target.
        X : array-like of shape (N, 1)
            Rows whose range is drawn.
        margin : float, default=0.1
            Margin beyond the rows, as a share of their range.
        n_grid : int, default=200
            Number of points.
        """
        x = grid.span(grid.single_input(X), margin=margin, n_grid=n_grid)
        features = estimator.features_
        values = x[:, None] if features is None else np.asarray(features.transform(x[:, None]))
        weights = np.asarray(estimator.coef_, dtype=np.float64)
        if weights.ndim != 1:
            raise ValueError(f"This display shows one target, but the model has {len(weights)}.")
        return cls(x, values, weights, float(estimator.intercept_), grid.label(estimator))

    @property
    def total(self) -> Array:
        """Mean of the model: the weighted sum of the functions plus the intercept."""
        return self.values @ self.weights + self.offset

    def plot(self, ax: Axes | None = None, *, weighted: bool = False) -> Axes:
        """Draw the basis functions and return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        weighted : bool, default=False
            Draw each function multiplied by its weight, and their sum with the intercept.
        """
        axes = axes_or_new(ax)
        axes.plot(self.x, self.values * self.weights if weighted else self.values, lw=1.4)
        if weighted:
            axes.plot(self.x, self.total, color=COLORS["black"], lw=2.4, label="sum + intercept")
        axes.set(xlabel=self.x_label, ylabel="contribution to y" if weighted else "value")
        axes.set(xlim=(self.x[0], self.x[-1]))
        return axes
