"""Plot class probabilities along one input, with their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from posterity import arrays, linear
from posterity.arrays import Array
from posterity.displays import grid
from posterity.displays.style import COLORS, axes_or_new, class_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DASHES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class ProbabilityDisplay:
    """Class probabilities along one input, with the training rows.

    Parameters
    ----------
    x : array of shape (n,)
        Values of the input.
    probabilities : array of shape (n, C)
        Probability of each class.
    classes : array of shape (C,)
        Labels of the classes.
    coverage : float
        Coverage of the band of the probability of the second of two classes.
    lower, upper : arrays of shape (n,)
        Ends of the band; empty if the classifier has no uncertainty of its latent values.
    functions : array of shape (n_functions, n)
        Probabilities of the second class under weights from the posterior; may be empty.
    x_train : array of shape (N,)
        Rows to show; may be empty.
    codes : array of shape (N,)
        Class of each row, as a position in ``classes``.
    x_label : str, default="x"
        Name of the input.

    Examples
    --------
    >>> from posterity import BayesianLogisticRegression, displays
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> model = BayesianLogisticRegression().fit(X, y)
    >>> display = displays.ProbabilityDisplay.from_estimator(model, X, y, n_grid=50)
    >>> display.probabilities.shape, display.lower.shape
    ((50, 2), (50,))
    """

    x: Array
    probabilities: Array
    classes: NDArray[Any]
    coverage: float
    lower: Array
    upper: Array
    functions: Array
    x_train: Array
    codes: NDArray[np.intp]
    x_label: str = "x"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        coverage: float = 0.9,
        n_functions: int = 0,
        random_state: Any = None,
        margin: float = 0.1,
        n_grid: int = 200,
    ) -> ProbabilityDisplay:
        """Evaluate the probabilities of a fitted classifier along the range of X.

        Parameters
        ----------
        estimator : classifier
            Fitted on one input, with ``predict_proba``; a band needs ``predict_latent``.
        X : array-like of shape (N, 1)
            Rows whose range is drawn, usually the training rows.
        y : array-like of shape (N,), optional
            Classes of the rows, which are then shown.
        coverage : float, default=0.9
            Coverage of the band, the sigmoid of the interval of the latent value.
        n_functions : int, default=0
            Number of curves to draw from the posterior of the weights (two classes only).
        random_state : int, Generator or None
            Random state of the curves.
        margin : float, default=0.1
            Margin beyond the rows, as a share of their range.
        n_grid : int, default=200
            Number of points.
        """
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage={coverage} must lie strictly between 0 and 1.")
        x_train = grid.check_inputs(X, 1)[:, 0]
        x = grid.spread_evenly(x_train, margin=margin, n_grid=n_grid)
        rows, classes = grid.name_columns(estimator, x[:, None]), grid.check_classes(estimator)
        lower, upper = _band(estimator, rows, coverage)
        return cls(
            x=x,
            probabilities=np.asarray(estimator.predict_proba(rows)),
            classes=classes,
            coverage=coverage,
            lower=lower,
            upper=upper,
            functions=_functions(estimator, x, n_functions, random_state),
            x_train=np.empty(0) if y is None else x_train,
            codes=grid.encode_classes([] if y is None else y, classes),
            x_label=grid.find_names(estimator, 1)[0],
        )

    def plot(self, ax: Axes | None = None, *, color: str = COLORS["blue"]) -> Axes:
        """Draw band, curves and rows, and return the axes.

        For two classes, the curve is the probability of the second, and rows are marks at 0 and 1.
        For more, each class has a curve, and rows are ticks below in its colour.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        color : str, default=blue
            Colour of the band and of the curve of two classes.
        """
        axes = axes_or_new(ax)
        if len(self.classes) == 2:
            self._draw_second(axes, color)
        else:
            self._draw_each(axes)
        axes.set(xlabel=self.x_label, xlim=(self.x[0], self.x[-1]))
        return axes

    def _draw_second(self, axes: Axes, color: str) -> None:
        """Draw the probability of the second of two classes."""
        if len(self.lower):
            name = f"{100 * self.coverage:g} % interval"
            axes.fill_between(
                self.x, self.lower, self.upper, color=color, alpha=0.18, lw=0, label=name
            )
        for values in self.functions:
            axes.plot(self.x, values, color=color, lw=0.9, alpha=0.7)
        axes.plot(self.x, self.probabilities[:, 1], color=color, label="probability")
        if len(self.x_train):
            black = COLORS["black"]
            axes.plot(self.x_train, self.codes, "o", ms=5, color=black, label="data")
        axes.set(ylabel=f"probability of {self.classes[1]}", ylim=(-0.06, 1.06))

    def _draw_each(self, axes: Axes) -> None:
        """Draw a curve and a row of ticks for each class."""
        for c, name in enumerate(self.classes):
            line: dict[str, Any] = {"color": class_color(c), "ls": _DASHES[c % len(_DASHES)]}
            axes.plot(self.x, self.probabilities[:, c], label=str(name), **line)
            own = self.x_train[self.codes == c]
            if len(own):
                height = np.full(len(own), -0.05 * (c + 1))
                axes.plot(own, height, "|", ms=8, mew=1.5, color=class_color(c))
        bottom = -0.05 * (len(self.classes) + 1) if len(self.x_train) else -0.06
        axes.set(ylabel="probability", ylim=(bottom, 1.06), yticks=np.linspace(0.0, 1.0, 6))


def _band(estimator: Any, rows: Any, coverage: float) -> tuple[Array, Array]:
    """Return the sigmoid of the interval of the latent value of two classes; empty if unknown."""
    if len(estimator.classes_) != 2 or not hasattr(estimator, "predict_latent"):
        return np.empty(0), np.empty(0)
    latent = estimator.predict_latent(rows)
    if not np.any(latent.standard_deviation()):  # a single set of weights
        return np.empty(0), np.empty(0)
    low, high = latent.interval(coverage)
    return expit(low), expit(high)


def _functions(estimator: Any, x: Array, n_functions: int, random_state: Any) -> Array:
    """Draw curves of the second class from the posterior of the weights, (n_functions, n)."""
    if not n_functions:
        return np.empty((0, len(x)))
    if len(estimator.classes_) != 2:
        raise ValueError("Posterior curves are available for two classes only; use n_functions=0.")
    if not isinstance(estimator, linear.WeightedModel):
        raise TypeError(
            f"{type(estimator).__name__} has no posterior of weights to draw from; "
            "use n_functions=0, or BayesianLogisticRegression."
        )
    features = estimator.features_
    Z = x[:, None] if features is None else np.asarray(features.transform(x[:, None]))
    design = np.hstack([np.ones((len(x), int(estimator.fit_intercept))), Z])
    weights = estimator.weight_distribution().sample(
        n_functions, rng=arrays.generator(random_state)
    )
    return expit(weights @ design.T)
