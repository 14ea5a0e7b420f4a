"""Plot the mean or standard deviation of a regressor's prediction over two inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from posterity import distributions
from posterity.arrays import Array
from posterity.displays import grid
from posterity.displays.style import COLORS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize

_N_LINES = 8
_MAPS = {"mean": "viridis", "deviation": "Blues"}
_LINES = {"mean": "w", "deviation": COLORS["black"]}
_SCALES = {"mean": "mean", "deviation": "standard deviation"}


class AnyRegressor(Protocol):
    """Any fitted regressor."""

    def predict(self, X: Any) -> Any: ...


@runtime_checkable
class DistributionRegressor(Protocol):
    """A regressor whose prediction is a distribution."""

    def predict_dist(self, X: Any) -> distributions.Univariate: ...


@dataclass(frozen=True)
class MeanSurfaceDisplay:
    """Mean and standard deviation of a prediction over two inputs, with the training rows.

    Parameters
    ----------
    x0, x1 : arrays of shape (n,)
        Values of the two inputs.
    mean : array of shape (n, n)
        Predicted mean; the second input varies along the first axis.
    deviation : array of shape (n, n)
        Standard deviation of a new target; empty if the regressor does not predict it.
    X : array of shape (N, 2)
        Rows to show as points; may be empty.
    y : array of shape (N,)
        Targets of the rows.
    x_labels : tuple of two str, default=("x0", "x1")
        Names of the inputs.
    vectors : array of shape (m, 2)
        Relevance vectors, shown as rings; may be empty.

    Examples
    --------
    >>> from posterity import BayesianLinearRegression, displays
    >>> X, y = [[0.0, 0.0], [1.0, 0.5], [2.0, 2.5], [3.0, 2.0]], [0.1, 0.9, 2.1, 2.9]
    >>> model = BayesianLinearRegression().fit(X, y)
    >>> display = displays.MeanSurfaceDisplay.from_estimator(model, X, y, n_grid=50)
    >>> display.mean.shape, display.deviation.shape
    ((50, 50), (50, 50))
    """

    x0: Array
    x1: Array
    mean: Array
    deviation: Array
    X: Array
    y: Array
    x_labels: tuple[str, str] = ("x0", "x1")
    vectors: Array = field(default_factory=lambda: np.empty((0, 2)))

    @classmethod
    def from_estimator(
        cls,
        estimator: AnyRegressor,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        margin: float = 0.1,
        n_grid: int = 100,
        vectors: bool = True,
    ) -> MeanSurfaceDisplay:
        """Evaluate the prediction of a fitted regressor over the range of X.

        Parameters
        ----------
        estimator : regressor
            Fitted on two inputs and one target.
        X : array-like of shape (N, 2)
            Rows whose range is drawn, usually the training rows.
        y : array-like of shape (N,), optional
            Targets of the rows, which are then shown as points.
        margin : float, default=0.1
            Margin beyond the rows, as a share of their range.
        n_grid : int, default=100
            Number of points along each input.
        vectors : bool, default=True
            Mark relevance vectors with rings, if the estimator has any.
        """
        given = grid.two_inputs(X)
        x0, x1, queries = grid.square_grid(given, margin=margin, n_grid=n_grid)
        mean, deviation = _moments(estimator, grid.column_names(estimator, queries))
        return cls(
            x0=x0,
            x1=x1,
            mean=mean.reshape(n_grid, n_grid),
            deviation=deviation.reshape(-1, n_grid),
            X=given if y is not None else np.empty((0, 2)),
            y=_targets(y, len(given)),
            x_labels=grid.labels(estimator),
            vectors=grid.kept_rows(estimator, 2) if vectors else np.empty((0, 2)),
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        show: Literal["mean", "deviation"] = "mean",
        colorbar: bool = True,
    ) -> Axes:
        """Draw the surface with its contours, the rows and the vectors, and return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        show : {"mean", "deviation"}, default="mean"
            The mean, with rows coloured by their targets on the same scale; or the standard
            deviation of a new target.
        colorbar : bool, default=True
            Draw a colour bar.
        """
        if show not in _MAPS:
            raise ValueError(f"show={show!r} must be 'mean' or 'deviation'.")
        values = self.mean if show == "mean" else self.deviation
        if not values.size:
            raise ValueError("The regressor predicts no standard deviation; use show='mean'.")
        axes = axes_or_new(ax)
        extent = (self.x0[0], self.x0[-1], self.x1[0], self.x1[-1])
        look: dict[str, Any] = {"cmap": _MAPS[show], "norm": self._scale(values, show)}
        placed: dict[str, Any] = {"origin": "lower", "extent": extent, "aspect": "auto"}
        image = axes.imshow(values, interpolation="bilinear", **placed, **look)
        if np.ptp(values) > 0.0:
            line: dict[str, Any] = {"colors": _LINES[show], "linewidths": 0.8}
            axes.contour(self.x0, self.x1, values, _N_LINES, linestyles="solid", **line)
        self._draw_rows(axes, look if show == "mean" else None)
        if colorbar:
            axes.figure.colorbar(image, ax=axes, label=_SCALES[show])
        axes.set(xlabel=self.x_labels[0], ylabel=self.x_labels[1])
        axes.set(xlim=extent[:2], ylim=extent[2:])
        return axes

    def _draw_rows(self, axes: Axes, look: dict[str, Any] | None) -> None:
        """Draw the rows, coloured by their targets if the surface is the mean, and the rings."""
        (first, second), black = self.X.T, COLORS["black"]
        if len(self.X) and look is not None:
            axes.scatter(first, second, s=42, c=self.y, edgecolors="w", label="data", **look)
        elif len(self.X):
            axes.scatter(first, second, s=12, c=black, label="data")
        grid.draw_rings(axes, self.vectors)

    def _scale(self, values: Array, show: str) -> Normalize:
        """Return a colour scale over the range of the surface and the shown targets."""
        from matplotlib.colors import Normalize

        shown = np.append(values, self.y) if show == "mean" else values
        return Normalize(float(shown.min()), float(shown.max()))


def _moments(estimator: Any, rows: Any) -> tuple[Array, Array]:
    """Return the mean and, if it is predicted, the standard deviation, each (n,)."""
    mean = np.asarray(estimator.predict(rows), dtype=np.float64)
    if mean.ndim != 1:
        raise ValueError(
            f"This display shows one target, but the model predicts {mean.shape[1]}; fit one model "
            "per target."
        )
    if not isinstance(estimator, DistributionRegressor):
        return mean, np.empty(0)
    return mean, estimator.predict_dist(rows).standard_deviation()


def _targets(y: ArrayLike | None, n_rows: int) -> Array:
    """Check that there is one target per row, or none."""
    if y is None:
        return np.empty(0)
    targets = np.asarray(y, dtype=np.float64).ravel()
    if len(targets) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {len(targets)} values.")
    return targets
