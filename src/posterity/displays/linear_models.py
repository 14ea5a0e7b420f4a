"""Plot basis functions of a linear model, and the posterior of two of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from posterity import arrays, distributions, linalg, linear
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
        x = grid.spread_evenly(grid.check_inputs(X, 1)[:, 0], margin=margin, n_grid=n_grid)
        features = estimator.features_
        values = x[:, None] if features is None else np.asarray(features.transform(x[:, None]))
        weights = np.asarray(estimator.coef_, dtype=np.float64)
        if weights.ndim != 1:
            raise ValueError(f"This display shows one target, but the model has {len(weights)}.")
        return cls(
            x, values, weights, float(estimator.intercept_), grid.find_names(estimator, 1)[0]
        )

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


_N_CORNERS = 181


@dataclass(frozen=True)
class PosteriorDisplay:
    """The joint normal of two weights, as ellipses and draws.

    Parameters
    ----------
    mean : array of shape (2,)
        Mean of the two weights.
    covariance : array of shape (2, 2)
        Covariance of the two weights.
    coverage : tuple of floats, ascending
        Probability that each ellipse contains the weights.
    names : tuple of two str, default=("w0", "w1")
        Names of the weights, for the axes.
    draws : array of shape (n, 2)
        Draws from the normal; may be empty.

    Examples
    --------
    >>> from posterity import BayesianLinearRegression, displays
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.1, 2.9]
    >>> model = BayesianLinearRegression().fit(X, y)
    >>> display = displays.PosteriorDisplay.from_estimator(model, n_draws=5, random_state=0)
    >>> display.names, display.draws.shape
    (('intercept', 'weight of x'), (5, 2))
    >>> display.covariance.round(4)
    array([[ 0.1926, -0.0808],
           [-0.0808,  0.0539]])
    """

    mean: Array
    covariance: Array
    coverage: tuple[float, ...]
    names: tuple[str, str] = ("w0", "w1")
    draws: Array = field(default_factory=lambda: np.empty((0, 2)))

    @classmethod
    def from_distribution(
        cls,
        normal: distributions.MultivariateNormal,
        names: tuple[str, str] = ("w0", "w1"),
        *,
        coverage: Sequence[float] = (0.5, 0.9),
        n_draws: int = 0,
        random_state: Any = None,
    ) -> PosteriorDisplay:
        """Use any joint normal of two numbers.

        Parameters
        ----------
        normal : MultivariateNormal of shape (2,)
            The distribution to show.
        names : tuple of two str, default=("w0", "w1")
            Names of the numbers, for the axes.
        coverage : sequence of floats, default=(0.5, 0.9)
            Probability that each ellipse contains them both.
        n_draws : int, default=0
            Number of draws to show as points.
        random_state : int, Generator or None
            Random state of the draws.
        """
        levels = tuple(sorted(float(level) for level in coverage))
        if not all(0.0 < level < 1.0 for level in levels):
            raise ValueError(f"coverage={tuple(coverage)} must lie strictly between 0 and 1.")
        _check_distribution(normal, names)
        draws = normal.sample(n_draws, rng=arrays.generator(random_state))
        return cls(normal.mean(), np.array(normal.covariance), levels, names, draws)

    @classmethod
    def from_estimator(
        cls,
        estimator: linear.WeightedModel,
        weights: tuple[int | str, int | str] = ("intercept", 0),
        *,
        output: Any = None,
        prior: bool = False,
        coverage: Sequence[float] = (0.5, 0.9),
        n_draws: int = 0,
        random_state: Any = None,
    ) -> PosteriorDisplay:
        """Use two weights of a fitted linear model, in the units of the data.

        Parameters
        ----------
        estimator : linear model
            Fitted, with ``weight_distribution``, such as Bayesian linear or logistic regression.
        weights : tuple of two, default=("intercept", 0)
            The weights to show: columns by position or name, or "intercept".
        output : object, optional
            Target, by position, or class. None: the only target, or the second of two classes.
        prior : bool, default=False
            Show the prior instead of the posterior, with the fitted variances.
        coverage, n_draws, random_state
            As in :meth:`from_distribution`.
        """
        if not isinstance(estimator, linear.WeightedModel):
            raise TypeError(
                f"{type(estimator).__name__} has no normal posterior of weights; use a Bayesian "
                "linear model, or from_distribution with any normal."
            )
        if len(weights) != 2:
            raise ValueError(f"weights={weights!r} must name exactly two weights.")
        return cls.from_distribution(
            estimator.weight_distribution(weights, output=output, prior=prior),
            (_weight_name(estimator, weights[0]), _weight_name(estimator, weights[1])),
            coverage=coverage,
            n_draws=n_draws,
            random_state=random_state,
        )

    def ellipse(self, coverage: float) -> Array:
        """Return the boundary of the highest-density region with this probability, (n, 2)."""
        directions, size, _ = linalg.thin_svd(self.covariance)
        angle = np.linspace(0.0, 2.0 * np.pi, _N_CORNERS)
        circle = np.stack([np.cos(angle), np.sin(angle)])
        # the squared distance from the mean is chi-squared of two degrees of freedom
        radius = np.sqrt(-2.0 * np.log1p(-coverage))
        return self.mean + radius * (directions @ (np.sqrt(size)[:, None] * circle)).T

    def plot(self, ax: Axes | None = None, *, color: str = COLORS["blue"]) -> Axes:
        """Draw the ellipses, the widest first, the mean and the draws, and return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        color : str, default=blue
            Colour of everything but the draws, which are black.
        """
        axes = axes_or_new(ax)
        for level in self.coverage[::-1]:
            strength = 0.16 + 0.30 * (self.coverage[-1] - level)
            name, corners = f"{100 * level:g} % region", self.ellipse(level).T
            axes.fill(*corners, facecolor=color, alpha=strength, lw=0, label=name)
            axes.plot(*corners, color=color, lw=1.0, alpha=0.7)
        axes.plot(*self.mean, "+", ms=10, mew=2.0, color=color, label="mean")
        if len(self.draws):
            axes.plot(
                *self.draws.T, "o", ms=4, mec="w", mew=0.5, color=COLORS["black"], label="draws"
            )
        axes.set(xlabel=self.names[0], ylabel=self.names[1])
        return axes


def _weight_name(estimator: linear.WeightedModel, weight: int | str) -> str:
    """Return the name of a weight for an axis."""
    if weight == "intercept":
        return "intercept"
    if estimator.features is not None:
        return f"weight {weight}"
    if isinstance(weight, str):
        return f"weight of {weight}"
    n_columns = np.shape(estimator.coef_)[-1]
    plain = ["x"] if n_columns == 1 else [f"x{d}" for d in range(n_columns)]
    return f"weight of {getattr(estimator, 'feature_names_in_', plain)[weight]}"


def _check_distribution(normal: distributions.MultivariateNormal, names: tuple[str, str]) -> None:
    """Check that the normal has two components with positive variances."""
    if normal.shape != (2,):
        raise ValueError(f"The normal must have shape (2,), but has {normal.shape}.")
    for name, variance in zip(names, normal.variance(), strict=True):
        if variance <= 0.0:
            raise ValueError(f"The variance of the {name} is zero, so no region can be drawn.")
