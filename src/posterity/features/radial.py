"""Radial basis functions, along each column or in all columns jointly."""

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state

from posterity import page_forms, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.features import base, positions
from posterity.page_forms import Form


@declare_parameters
class Radial(base.Features):
    """z = exp(-r^2 / 2), r the distance to a centre in units of the length scale.  [P8 8.22]

    Parameters
    ----------
    n_centers : int, default=10
        Number of centres; fewer if the data have fewer distinct values.
    centers : "quantile", "kmeans" or array-like of shape (C, D), default="quantile"
        "quantile": ``n_centers`` along each column, at quantiles of the data, each function looking
        at one column. "kmeans": centres in all columns at once, by clustering the standardised
        columns. Given centres are in the units of the columns.
    length_scale : float or array-like of shape (D,), optional
        The width, in the units of the columns. None: for quantiles the mean distance between
        neighbouring centres of the column; otherwise each column's standard deviation times the
        mean distance of a centre to the nearest other one, measured in standard deviations.
    random_state : int, RandomState or None, default=None
        Seed of "kmeans".

    Attributes
    ----------
    centers_ : ndarray of shape (C, D), or (C, 1) for "quantile"
        The centres.
    columns_ : ndarray of shape (C,) or None
        For "quantile", the column of each function; otherwise None.
    length_scale_ : ndarray of shape (D,)
        The width along each column.

    Examples
    --------
    >>> from posterity import features
    >>> bumps = features.Radial(centers=[[0.0], [1.0]], length_scale=1.0).fit([[0.0], [1.0]])
    >>> bumps.transform([[0.0]]).round(4)
    array([[1.    , 0.6065]])
    >>> bumps.get_feature_names_out()
    array(['radial(x0, 0)', 'radial(x0, 1)'], dtype=object)
    """

    n_centers: int = field(default=10, kw_only=False)
    centers: str | ArrayLike = "quantile"
    length_scale: float | ArrayLike | None = None
    random_state: int | RandomState | None = None

    columns_: NDArray[np.intp] | None = field(init=False)

    def _learn(self, X: Array, weights: Array | None) -> None:
        n = validation.check_count(self.n_centers, "n_centers")
        along = isinstance(self.centers, str) and self.centers == "quantile"
        learn = self._learn_along_columns if along else self._learn_jointly
        width = learn(X, weights, n)
        self.length_scale_ = (
            width
            if self.length_scale is None
            else base.check_per_column(self.length_scale, "length_scale", X.shape[1])
        )

    def _learn_along_columns(self, X: Array, weights: Array | None, n: int) -> Array:
        """Set the centres along each column and return widths from their spacing."""
        places = [positions.compute_quantiles(x, weights, n) for x in X.T]
        self.columns_, flat = positions.flatten_places(places)
        self.centers_ = flat[:, None]
        pairs = zip(places, X.T, strict=True)
        return np.array([positions.compute_spacing(p, x, weights) for p, x in pairs])

    def _learn_jointly(self, X: Array, weights: Array | None, n: int) -> Array:
        """Set the centres in all columns and return widths from their spacing."""
        unit = np.array([positions.compute_spread(x, weights) for x in X.T])
        self.columns_ = None
        if isinstance(self.centers, str) and self.centers == "kmeans":
            self.centers_ = _find_cluster_centers(
                X, weights, unit, n, check_random_state(self.random_state)
            )
        else:
            self.centers_ = _check_centers(self.centers, X.shape[1])
        return unit * _compute_nearest_distance((self.centers_ - self.centers_[0]) / unit)

    def _columns(self, X: Array) -> Array:
        with np.errstate(over="ignore"):
            if self.columns_ is None:
                # Shifted before scaled: far from zero, a quotient keeps few digits of a difference.
                U = (X - self.centers_[0]) / self.length_scale_
                V = (self.centers_ - self.centers_[0]) / self.length_scale_
                return np.exp(-0.5 * cdist(U, V, "sqeuclidean"))  # [P8 8.22]
            r = (X[:, self.columns_] - self.centers_[:, 0]) / self.length_scale_[self.columns_]
            return np.exp(-0.5 * r**2)  # [P8 8.22]

    def _names(self, inputs: list[str]) -> list[str]:
        C, D = self.centers_.shape
        if D > 1:
            return [f"radial(center {c})" for c in range(C)]
        columns = np.zeros(C, dtype=np.intp) if self.columns_ is None else self.columns_
        words = positions.format_places(columns, self.centers_[:, 0])
        return [f"radial({inputs[d]}, {word})" for d, word in zip(columns, words, strict=True)]

    def page_form(self) -> Form:
        """Return the form from which a page computes the columns."""
        lengths, centers = np.asarray(self.length_scale_), np.asarray(self.centers_)
        if self.columns_ is None:
            kernel = {"kind": "rbf", "lengths": lengths.tolist()}
            return page_forms.form_kernel_columns(kernel, centers)
        return {
            "kind": "bumps",
            "places": self.columns_.tolist(),
            "centres": centers.ravel().tolist(),
            "lengths": lengths[self.columns_].tolist(),
        }


def _find_cluster_centers(
    X: Array, weights: Array | None, unit: Array, n: int, rng: RandomState
) -> Array:
    """Return centres by k-means of the standardised rows; weights are repetitions."""
    # Imported here because it takes 0.1 s and few need it.
    from sklearn.cluster import KMeans

    rows, counts = positions.find_distinct(X, weights)
    clusters = KMeans(min(n, len(rows)), n_init=1, random_state=rng)
    clusters.fit((rows - rows[0]) / unit, sample_weight=counts)
    centers: Array = rows[0] + clusters.cluster_centers_ * unit
    return centers


def _check_centers(centers: ArrayLike, D: int) -> Array:
    """Check given centres: distinct rows of D numbers."""
    table = positions.check_finite_table(centers, "centers")
    if table.ndim != 2 or table.shape[1] != D:
        raise ValueError(f"centers has shape {table.shape}; X has {D} columns: pass (C, {D}).")
    if len(np.unique(table, axis=0)) < len(table):
        raise ValueError("centers contains a row twice; all centres must differ.")
    return table


def _compute_nearest_distance(centers: Array) -> float:
    """Return the mean distance to the nearest other centre; for one, a typical norm."""
    C, D = centers.shape
    if C == 1:
        return float(np.sqrt(D))
    return float(KDTree(centers).query(centers, k=2)[0][:, 1].mean())
