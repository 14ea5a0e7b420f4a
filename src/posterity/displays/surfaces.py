"""Plot predictions over two inputs: class probabilities, or means and standard deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity.arrays import Array
from posterity.displays import grid
from posterity.displays.style import COLORS, axes_or_new, class_color, class_marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize

_PALEST, _STRONGEST = 0.04, 0.62  # colour strength at equal probabilities and at certainty


@dataclass(frozen=True)
class DecisionSurfaceDisplay:
    """Class probabilities over two inputs, with the training rows.

    Parameters
    ----------
    x0, x1 : arrays of shape (n,)
        Values of the two inputs.
    probabilities : array of shape (n, n, C)
        Class probabilities; the second input varies along the first axis.
    classes : array of shape (C,)
        Labels of the classes.
    X : array of shape (N, 2)
        Rows to show as points; may be empty.
    codes : array of shape (N,)
        Class of each row, as a position in ``classes``.
    x_labels : tuple of two str, default=("x0", "x1")
        Names of the inputs.
    vectors : array of shape (m, 2)
        Relevance vectors, shown as rings; may be empty.

    Examples
    --------
    >>> from posterity import BayesianLogisticRegression, displays
    >>> X, y = [[0.0, 0.0], [1.0, 0.5], [2.0, 2.5], [3.0, 2.0]], ["no", "no", "yes", "yes"]
    >>> model = BayesianLogisticRegression().fit(X, y)
    >>> display = displays.DecisionSurfaceDisplay.from_estimator(model, X, y, n_grid=50)
    >>> display.probabilities.shape
    (50, 50, 2)
    """

    x0: Array
    x1: Array
    probabilities: Array
    classes: NDArray[Any]
    X: Array
    codes: NDArray[np.intp]
    x_labels: tuple[str, ...] = ("x0", "x1")
    vectors: Array = field(default_factory=lambda: np.empty((0, 2)))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        margin: float = 0.1,
        n_grid: int = 150,
        vectors: bool = True,
    ) -> DecisionSurfaceDisplay:
        """Evaluate the probabilities of a fitted classifier over the range of X.

        Parameters
        ----------
        estimator : classifier
            Fitted on two inputs, with ``predict_proba``.
        X : array-like of shape (N, 2)
            Rows whose range is drawn, usually the training rows.
        y : array-like of shape (N,), optional
            Classes of the rows, which are then shown as points.
        margin : float, default=0.1
            Margin beyond the rows, as a share of their range.
        n_grid : int, default=150
            Number of points along each input.
        vectors : bool, default=True
            Mark relevance vectors with rings, if the estimator has any.
        """
        rows, classes = grid.check_inputs(X, 2), grid.check_classes(estimator)
        x0, x1, queries = grid.make_square_grid(rows, margin=margin, n_grid=n_grid)
        P = np.asarray(estimator.predict_proba(grid.name_columns(estimator, queries)))
        return cls(
            x0=x0,
            x1=x1,
            probabilities=P.reshape(n_grid, n_grid, -1),
            classes=classes,
            X=rows if y is not None else np.empty((0, 2)),
            codes=grid.encode_classes([] if y is None else y, classes),
            x_labels=grid.find_names(estimator, 2),
            vectors=grid.find_vectors(estimator, 2) if vectors else np.empty((0, 2)),
        )

    def plot(self, ax: Axes | None = None, *, sure: Sequence[float] = (0.9,)) -> Axes:
        """Draw the surface, its contours, the rows and the vectors, and return the axes.

        Colours show the most probable class, paler for lower probabilities. Solid lines are
        decision boundaries, dashed lines are contours where a class has a probability of
        ``sure``. Rings mark relevance vectors.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        sure : sequence of floats, default=(0.9,)
            Probabilities at which to draw a dashed line for each class.
        """
        axes = axes_or_new(ax)
        grid.draw_image(axes, self._colors(), self.x0, self.x1)
        self._draw_contours(axes, sure)
        for c, name in enumerate(self.classes):
            rows = self.X[self.codes == c]
            style = {"c": class_color(c), "marker": class_marker(c), "label": name}
            if len(rows):
                axes.scatter(rows[:, 0], rows[:, 1], s=34, linewidths=0.7, edgecolors="w", **style)
        grid.draw_rings(axes, self.vectors)
        grid.frame_axes(axes, self.x0, self.x1, self.x_labels)
        return axes

    def _colors(self) -> Array:
        """Return the colour of the most probable class, mixed with white, (n, n, 3)."""
        from matplotlib.colors import to_rgb

        n_classes = len(self.classes)
        full = np.array([to_rgb(class_color(c)) for c in range(n_classes)])
        certainty = (n_classes * self.probabilities.max(axis=2) - 1.0) / (n_classes - 1.0)
        strength = (_PALEST + (_STRONGEST - _PALEST) * certainty)[:, :, None]
        return 1.0 - strength * (1.0 - full[self.probabilities.argmax(axis=2)])

    def _draw_contours(self, axes: Axes, sure: Sequence[float]) -> None:
        """Draw decision boundaries, and contours of the requested probabilities."""
        P, black = self.probabilities, COLORS["black"]
        for c in range(len(self.classes)):
            ahead = P[:, :, c] - np.delete(P, c, axis=2).max(axis=2)
            if c or len(self.classes) > 2:  # two classes share one boundary
                self._draw_level(axes, ahead, 0.0, colors=black, linewidths=1.8)
            for level in sure:
                style = {"linestyles": "dashed", "linewidths": 1.0}
                self._draw_level(axes, P[:, :, c], level, colors=black, **style)

    def _draw_level(self, axes: Axes, values: Array, level: float, **style: Any) -> None:
        """Draw a contour if the values cross the level."""
        if values.min() < level < values.max():
            axes.contour(self.x0, self.x1, values, [level], **style)


_N_LINES = 8
_MAPS = {"mean": "viridis", "deviation": "Blues"}
_LINES = {"mean": "w", "deviation": COLORS["black"]}
_SCALES = {"mean": "mean", "deviation": "standard deviation"}


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
    x_labels: tuple[str, ...] = ("x0", "x1")
    vectors: Array = field(default_factory=lambda: np.empty((0, 2)))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
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
        given = grid.check_inputs(X, 2)
        x0, x1, queries = grid.make_square_grid(given, margin=margin, n_grid=n_grid)
        mean, deviation = _moments(estimator, grid.name_columns(estimator, queries))
        return cls(
            x0=x0,
            x1=x1,
            mean=mean.reshape(n_grid, n_grid),
            deviation=deviation.reshape(-1, n_grid),
            X=given if y is not None else np.empty((0, 2)),
            y=_targets(y, len(given)),
            x_labels=grid.find_names(estimator, 2),
            vectors=grid.find_vectors(estimator, 2) if vectors else np.empty((0, 2)),
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
        look: dict[str, Any] = {"cmap": _MAPS[show], "norm": self._scale(values, show)}
        image = grid.draw_image(axes, values, self.x0, self.x1, **look)
        if np.ptp(values) > 0.0:
            line: dict[str, Any] = {"colors": _LINES[show], "linewidths": 0.8}
            axes.contour(self.x0, self.x1, values, _N_LINES, linestyles="solid", **line)
        self._draw_rows(axes, look if show == "mean" else None)
        if colorbar:
            axes.figure.colorbar(image, ax=axes, label=_SCALES[show])
        grid.frame_axes(axes, self.x0, self.x1, self.x_labels)
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
    mean = grid.check_target(estimator.predict(rows))
    if not hasattr(estimator, "predict_dist"):
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
