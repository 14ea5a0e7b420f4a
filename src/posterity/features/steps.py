"""Steps along each column: smooth ones, by an arctan, and sharp ones."""

import numpy as np
from numpy.typing import ArrayLike

from posterity import validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.features import base, positions
from posterity.page_forms import Form


@declare_parameters
class Arctan(base.Features):
    """``z = arctan(slope (x - offset))``, with several ``offsets`` along each column.  [P8 8.23]

    Parameters
    ----------
    n_offsets : int, default=7
        Number of steps a column; fewer if it has fewer distinct values.
    offsets : "quantile" or array-like of shape (K,) or (K, D), default="quantile"
        Positions of the steps in the units of the columns: quantiles of the data, or given.
    slope : float or array-like of shape (D,), optional
        Slope of the steps, per unit of the column. None: the inverse of the mean distance between
        neighbouring offsets.

    Attributes
    ----------
    columns_ : ndarray of shape (M,)
        The column of each feature.
    offsets_ : ndarray of shape (M,)
        The offset of each feature.
    slope_ : ndarray of shape (D,)
        The slope in each column.

    Examples
    --------
    >>> from posterity import features
    >>> steps = features.Arctan(offsets=[0.0, 1.0], slope=2.0).fit([[0.0], [0.5], [1.0]])
    >>> steps.transform([[0.5]]).round(3)
    array([[ 0.785, -0.785]])
    >>> steps.get_feature_names_out()
    array(['arctan(x0 - 0)', 'arctan(x0 - 1)'], dtype=object)
    """

    n_offsets: int = field(default=7, kw_only=False)
    offsets: str | ArrayLike = "quantile"
    slope: float | ArrayLike | None = None

    def _learn(self, X: Array, weights: Array | None) -> None:
        n = validation.check_count(self.n_offsets, "n_offsets")
        if isinstance(self.offsets, str) and self.offsets == "quantile":
            places = [positions.compute_quantiles(x, weights, n) for x in X.T]
        else:
            places = positions.check_places(self.offsets, "offsets", X.shape[1])
        self.columns_, self.offsets_ = positions.flatten_places(places)
        if self.slope is None:
            pairs = zip(places, X.T, strict=True)
            self.slope_ = 1.0 / np.array(
                [positions.compute_spacing(p, x, weights) for p, x in pairs]
            )
        else:
            self.slope_ = base.check_per_column(self.slope, "slope", X.shape[1])

    def _columns(self, X: Array) -> Array:
        with np.errstate(over="ignore"):
            steps = X[:, self.columns_] - self.offsets_
            return np.arctan(self.slope_[self.columns_] * steps)  # [P8 8.23]

    def _names(self, inputs: list[str]) -> list[str]:
        words = positions.format_places(self.columns_, self.offsets_)
        signed = (f"+ {word[1:]}" if word.startswith("-") else f"- {word}" for word in words)
        return [f"arctan({inputs[d]} {s})" for d, s in zip(self.columns_, signed, strict=True)]

    def page_form(self) -> Form:
        """Return the form from which a page computes the columns."""
        return {
            "kind": "arctan",
            "places": self.columns_.tolist(),
            "offsets": self.offsets_.tolist(),
            "slopes": self.slope_[self.columns_].tolist(),
        }


@declare_parameters
class Heaviside(base.Features):
    """z = 1 where x >= threshold, else 0, several thresholds along each column.  [P9 Sec 9.3]

    Parameters
    ----------
    n_steps : int, default=10
        Number of steps a column; fewer if it has fewer distinct values.
    thresholds : "quantile" or array-like of shape (K,) or (K, D), default="quantile"
        Positions of the steps in the units of the columns: between neighbouring values at quantiles
        of the data, or given.

    Attributes
    ----------
    columns_ : ndarray of shape (M,)
        The column of each feature.
    thresholds_ : ndarray of shape (M,)
        The threshold of each feature.

    Examples
    --------
    >>> from posterity import features
    >>> steps = features.Heaviside(3).fit([[0.0], [1.0], [2.0], [3.0]])
    >>> steps.transform([[1.0], [2.0]])
    array([[1., 0., 0.],
           [1., 1., 0.]])
    >>> steps.get_feature_names_out()
    array(['x0>=0.5', 'x0>=1.5', 'x0>=2.5'], dtype=object)
    """

    n_steps: int = field(default=10, kw_only=False)
    thresholds: str | ArrayLike = "quantile"

    def _learn(self, X: Array, weights: Array | None) -> None:
        n = validation.check_count(self.n_steps, "n_steps")
        if isinstance(self.thresholds, str) and self.thresholds == "quantile":
            places = [positions.compute_cuts(x, weights, n) for x in X.T]
        else:
            places = positions.check_places(self.thresholds, "thresholds", X.shape[1])
        self.columns_, self.thresholds_ = positions.flatten_places(places)

    def _columns(self, X: Array) -> Array:
        return (X[:, self.columns_] >= self.thresholds_).astype(np.float64)

    def _names(self, inputs: list[str]) -> list[str]:
        words = positions.format_places(self.columns_, self.thresholds_)
        return [f"{inputs[d]}>={word}" for d, word in zip(self.columns_, words, strict=True)]

    def page_form(self) -> Form:
        """Return the form from which a page computes the columns."""
        places, thresholds = self.columns_.tolist(), self.thresholds_.tolist()
        return {"kind": "heaviside", "places": places, "thresholds": thresholds}
