"""Rows made uncorrelated and of unit variance, along principal axes or along the columns."""

from __future__ import annotations

import functools
import numbers

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OneToOneFeatureMixin

from posterity import models
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.designs.moments import Centred
from posterity.latent import lazy_forms, principal_model
from posterity.latent.components import (
    Principal,
    RowSource,
    StreamedSource,
    decompose_by_columns,
    decompose_by_rows,
)
from posterity.models import ModelCard

_METHODS = ("pca", "zca")
_SMALL = 1e-6  # a variance divides here, so more of its digits count than in PCA


@models.transform_lazily(lazy_forms.POINTS)
@declare_parameters
class Whitening(principal_model.PrincipalModel):
    """Rows whose sample covariance, of N - 1 degrees of freedom, is the identity.

    Directions without variance (constant or dependent columns, or N <= D rows) have nothing that
    could be made one: they become zero, and are not blown up.

    Parameters
    ----------
    method : {"pca", "zca"}, default="pca"
        "pca": along principal axes, the largest first. "zca": turned back to the columns, of all
        whitenings the one closest to the rows about their mean in squares [KLS]; columns keep
        their names.
    n_components : int, float or None, default=None
        How many axes are kept: a number, or as many as have this share of the variance. The others
        become zero. None: all, min(N, D).
    tol : float, default=0.0
        Axes with at most this part of the largest variance count as without, too.

    Attributes
    ----------
    components_ : array of shape (k, D)
        The principal axes.
    explained_variance_ : array of shape (k,)
        The variance along each before whitening; 0 where it counts as none.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import Whitening
    >>> X = np.random.default_rng(0).normal(size=(100, 2)) @ [[2.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    >>> Z = Whitening().fit_transform(X)
    >>> np.abs(np.cov(Z.T)).round(6)
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 0.]])
    """

    method: str = field(default="pca", kw_only=False)
    n_components: int | float | None = None
    tol: float = 0.0

    card = ModelCard(
        likelihood="normal",
        prior="normal, over coordinates",
        feature_space="linear, latent",
        inference="closed form",
        advice="uncorrelated columns of unit variance",
        page="latent",
    )

    def transform(self, X: ArrayLike) -> Array:
        """White rows: of the rows that were fitted, uncorrelated with unit variance.

        Parameters
        ----------
        X : array-like or data frame of shape (n, D)
            Rows.
        """
        rows = Centred(self._check_query(X), self.mean_, None)
        Z = rows.times(self.components_.T * self._inverse_scales)
        return Z @ self.components_ if self.method == "zca" else Z

    @models.answer_lazily(lazy_forms.ROWS)
    def inverse_transform(self, X: ArrayLike) -> Array:
        """The rows that would become these; exactly those that did, within their span.

        Parameters
        ----------
        X : array-like or data frame
            White rows.
        """
        Z = self._check_coordinates(X)
        along = Z @ self.components_.T if self.method == "zca" else Z
        return self._fitted.principal.rows_at(along * np.sqrt(self.explained_variance_))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """The names of the columns of white rows: those of the input for "zca"."""
        if self.method == "zca":
            return OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        return super().get_feature_names_out(input_features)

    @property
    def _n_features_out(self) -> int:
        return len(self.mean_) if self.method == "zca" else self.n_components_

    @property
    def _inverse_scales(self) -> Array:
        """1 / sqrt(variance), and 0 where the variance is 0."""
        variance = self.explained_variance_
        return np.where(variance > 0.0, 1.0, 0.0) / np.sqrt(np.where(variance > 0.0, variance, 1.0))

    def _check_parameters(self) -> None:
        if not isinstance(self.method, str) or self.method not in _METHODS:
            raise ValueError(f"method={self.method!r} must be 'pca' or 'zca'.")
        if isinstance(self.n_components, str):
            raise ValueError(
                f"n_components={self.n_components!r} must be a number of axes, a share of the "
                "variance between 0 and 1, or None for all."
            )
        principal_model.check_n_components(self.n_components)
        if not isinstance(self.tol, numbers.Real) or not 0.0 <= self.tol < 1.0:
            raise ValueError(f"tol={self.tol!r} must be at least 0 and less than 1.")

    def _decompose(self, source: RowSource) -> Principal:
        choose = functools.partial(principal_model.choose_number, self.n_components)
        if isinstance(source, StreamedSource) or source.shape[0] > source.shape[1]:
            return decompose_by_columns(source, choose, small=_SMALL)
        return decompose_by_rows(source, choose, small=_SMALL)

    def _explained_variance(self, principal: Principal) -> Array:
        floor = self.tol * np.max(principal.variances, initial=0.0)
        return np.where(principal.variances > floor, principal.variances, 0.0)
