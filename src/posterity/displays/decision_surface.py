"""Plot class probabilities and decision boundaries over two inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity.arrays import Array
from posterity.displays import grid
from posterity.displays.style import COLORS, axes_or_new, class_color, class_marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PALEST, _STRONGEST = 0.04, 0.62  # colour strength at equal probabilities and at certainty


@runtime_checkable
class ProbabilisticClassifier(Protocol):
    """Any fitted classifier with ``predict_proba``."""

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> Array: ...


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
    x_labels: tuple[str, str] = ("x0", "x1")
    vectors: Array = field(default_factory=lambda: np.empty((0, 2)))

    @classmethod
    def from_estimator(
        cls,
        estimator: ProbabilisticClassifier,
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
        rows, classes = grid.two_inputs(X), grid.classes(estimator)
        x0, x1, queries = grid.square_grid(rows, margin=margin, n_grid=n_grid)
        P = np.asarray(estimator.predict_proba(grid.column_names(estimator, queries)))
        return cls(
            x0=x0,
            x1=x1,
            probabilities=P.reshape(n_grid, n_grid, -1),
            classes=classes,
            X=rows if y is not None else np.empty((0, 2)),
            codes=grid.class_codes([] if y is None else y, classes),
            x_labels=grid.labels(estimator),
            vectors=grid.kept_rows(estimator, 2) if vectors else np.empty((0, 2)),
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
        extent = (self.x0[0], self.x0[-1], self.x1[0], self.x1[-1])
        axes.imshow(
            self._colors(), origin="lower", extent=extent, aspect="auto", interpolation="bilinear"
        )
        self._draw_contours(axes, sure)
        for c, name in enumerate(self.classes):
            rows = self.X[self.codes == c]
            style = {"c": class_color(c), "marker": class_marker(c), "label": name}
            if len(rows):
                axes.scatter(rows[:, 0], rows[:, 1], s=34, linewidths=0.7, edgecolors="w", **style)
        grid.draw_rings(axes, self.vectors)
        axes.set(xlabel=self.x_labels[0], ylabel=self.x_labels[1])
        axes.set(xlim=extent[:2], ylim=extent[2:])
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
