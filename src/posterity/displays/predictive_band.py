"""Plot a prediction or a prior along one input: mean, intervals and drawn functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import arrays, distributions, kernels, linalg
from posterity.arrays import Array
from posterity.displays import grid
from posterity.displays.style import COLORS, axes_or_new
from posterity.models.regressor import Regressor

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class PredictiveBandDisplay:
    """Mean and central intervals of a prediction along one input.

    Parameters
    ----------
    x : array of shape (n,)
        Values of the input.
    mean : array of shape (n,)
        Mean of the prediction.
    coverage : tuple of floats, ascending
        Probability that each interval contains a new target.
    lower, upper : arrays of shape (len(coverage), n)
        Ends of the intervals.
    functions : array of shape (n_functions, n)
        Noise-free functions drawn from the posterior; may be empty.
    x_train, y_train : arrays of shape (N,)
        Rows to show as points; may be empty.
    x_label : str, default="x"
        Name of the input.
    x_vectors, y_vectors : arrays of shape (m,)
        Relevance vectors among these rows, shown as rings; may be empty.

    Examples
    --------
    >>> from posterity import BayesianLinearRegression, displays
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.1, 2.9]
    >>> model = BayesianLinearRegression().fit(X, y)
    >>> display = displays.PredictiveBandDisplay.from_estimator(model, X, y, n_grid=50)
    >>> display.lower.shape
    (2, 50)
    >>> bool((display.lower[1] < display.lower[0]).all())
    True
    """

    x: Array
    mean: Array
    coverage: tuple[float, ...]
    lower: Array
    upper: Array
    functions: Array
    x_train: Array
    y_train: Array
    x_label: str = "x"
    x_vectors: Array = field(default_factory=lambda: np.empty(0))
    y_vectors: Array = field(default_factory=lambda: np.empty(0))

    @classmethod
    def from_estimator(
        cls,
        estimator: Regressor,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        coverage: Sequence[float] = (0.5, 0.9),
        n_functions: int = 0,
        random_state: Any = None,
        margin: float = 0.1,
        n_grid: int = 200,
        vectors: bool = True,
    ) -> PredictiveBandDisplay:
        """Evaluate the prediction of a fitted regressor along the range of X.

        Parameters
        ----------
        estimator : regressor
            Fitted on one input and one target.
        X : array-like of shape (N, 1)
            Rows whose range is drawn, usually the training rows.
        y : array-like of shape (N,), optional
            Targets of the rows, shown as points.
        coverage : sequence of floats, default=(0.5, 0.9)
            Probabilities of the intervals.
        n_functions : int, default=0
            Number of functions to draw from the posterior.
        random_state : int, Generator or None
            Random state of the draws.
        margin : float, default=0.1
            Margin beyond the rows, as a share of their range.
        n_grid : int, default=200
            Number of grid points.
        vectors : bool, default=True
            Mark relevance vectors with rings, if the estimator has any and y is given.
        """
        x_train = grid.check_inputs(X, 1)[:, 0]
        x = grid.spread_evenly(x_train, margin=margin, n_grid=n_grid)
        rows = grid.name_columns(estimator, x[:, None])
        levels = tuple(sorted(coverage))
        ends = [estimator.predict_interval(rows, coverage=level) for level in levels]
        y_train = np.empty(0) if y is None else np.asarray(y, dtype=np.float64).ravel()
        shown = np.empty(0) if y is None else x_train
        kept = _select_drawn_rows(estimator, shown) if vectors else np.empty(0, dtype=np.intp)
        return cls(
            x=x,
            mean=grid.check_target(estimator.predict(rows)),
            coverage=levels,
            lower=np.array([low for low, _ in ends]).reshape(len(levels), len(x)),
            upper=np.array([high for _, high in ends]).reshape(len(levels), len(x)),
            functions=_draw_functions(estimator, rows, len(x), n_functions, random_state),
            x_train=shown,
            y_train=y_train,
            x_label=grid.find_names(estimator, 1)[0],
            x_vectors=shown[kept],
            y_vectors=y_train[kept],
        )

    @classmethod
    def from_kernel(
        cls,
        kernel: kernels.Kernel,
        X: ArrayLike,
        *,
        coverage: Sequence[float] = (0.9,),
        n_functions: int = 3,
        random_state: Any = None,
        margin: float = 0.0,
        n_grid: int = 200,
    ) -> PredictiveBandDisplay:
        """Show the Gaussian process prior of a kernel, with mean zero and without noise.

        Parameters
        ----------
        kernel : Kernel
            Kernel of one input. Parameters that are not set are chosen from X.
        X : array-like of shape (N, 1)
            Rows whose range is drawn.
        coverage : sequence of floats, default=(0.9,)
            Probabilities of the intervals.
        n_functions : int, default=3
            Number of functions to draw from the prior.
        random_state : int, Generator or None
            Random state of the draws.
        margin : float, default=0.0
            Margin beyond the rows, as a share of their range.
        n_grid : int, default=200
            Number of points.

        Examples
        --------
        >>> from posterity import displays, kernels
        >>> kernel = 4.0 * kernels.RBF(1.0)
        >>> prior = displays.PredictiveBandDisplay.from_kernel(kernel, [[0.0], [5.0]])
        >>> prior.functions.shape, round(float(prior.upper.max()), 2)
        ((3, 200), 3.29)
        """
        given = grid.check_inputs(X, 1)[:, 0]
        x = grid.spread_evenly(given, margin=margin, n_grid=n_grid)
        K = arrays.to_numpy(kernel.start(given[:, None])(x[:, None]))
        process = distributions.MultivariateNormal(np.zeros(n_grid), linalg.symmetrize(K))
        levels = tuple(sorted(coverage))
        ends_of = process.marginals().interval
        band = np.array([ends_of(level) for level in levels]).reshape(-1, 2, n_grid)
        return cls(
            x=x,
            mean=process.mean(),
            coverage=levels,
            lower=band[:, 0],
            upper=band[:, 1],
            functions=process.sample(n_functions, rng=arrays.generator(random_state)),
            x_train=np.empty(0),
            y_train=np.empty(0),
        )

    def plot(self, ax: Axes | None = None, *, color: str = COLORS["blue"]) -> Axes:
        """Draw intervals, functions, mean, points and vectors, in this order; return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        color : str, default=blue
            Colour of everything but the points.
        """
        axes = axes_or_new(ax)
        widest_first = list(zip(self.coverage, self.lower, self.upper, strict=True))[::-1]
        for level, low, high in widest_first:
            strength = 0.16 + 0.30 * (self.coverage[-1] - level)
            name = f"{100 * level:g} % interval"
            axes.fill_between(self.x, low, high, color=color, alpha=strength, lw=0, label=name)
        for values in self.functions:
            axes.plot(self.x, values, color=color, lw=0.9, alpha=0.7)
        axes.plot(self.x, self.mean, color=color, label="mean")
        if len(self.x_train):
            black = COLORS["black"]
            axes.plot(self.x_train, self.y_train, "o", ms=5, color=black, label="data")
        if len(self.x_vectors):
            ring: dict[str, Any] = {"ms": 12, "mfc": "none", "mew": 1.7, "color": COLORS["black"]}
            axes.plot(self.x_vectors, self.y_vectors, "o", label=grid.RING, **ring)
        axes.set(xlabel=self.x_label, ylabel="y", xlim=(self.x[0], self.x[-1]))
        return axes


def _select_drawn_rows(estimator: Regressor, x: Array) -> NDArray[np.intp]:
    """Return the positions of relevance vectors; of equal rows the first."""
    vectors = grid.find_vectors(estimator, 1)[:, 0]
    firsts = np.unique(x, return_index=True)[1]
    return np.sort(firsts[np.isin(x[firsts], vectors)])


def _draw_functions(
    estimator: Regressor, rows: Any, n: int, n_functions: int, random_state: Any
) -> Array:
    """Draw functions from the posterior, (n_functions, n)."""
    if not n_functions:
        return np.empty((0, n))
    if not hasattr(estimator, "sample_functions"):
        raise TypeError(
            f"{type(estimator).__name__} has no posterior over functions to draw from; "
            "use n_functions=0, or a Bayesian estimator."
        )
    return estimator.sample_functions(rows, n_functions, random_state)
