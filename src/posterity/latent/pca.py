"""Normal rows x few axes and equal noise beyond x closed form: principal component analysis."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posterity import arrays, distributions, models
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.latent import lazy_forms, principal_model
from posterity.latent.components import (
    Principal,
    RowSource,
    StreamedSource,
    decompose_by_columns,
    decompose_by_projection,
    decompose_by_rows,
)
from posterity.models import ModelCard

_METHODS = ("auto", "columns", "rows", "randomized")


@models.transform_lazily(lazy_forms.POINTS)
@declare_parameters
class PCA(principal_model.PrincipalModel):
    """Principal components: the axes of largest variance, which reconstruct rows best.

    As a model of the rows it is a normal distribution with a variance along each axis and one,
    ``noise_variance_``, along every direction beyond [TB 7, 8]: rows have a density,
    reconstructions an uncertainty, and the number of axes an evidence.

    Parameters
    ----------
    n_components : int, float, "evidence" or None, default=None
        How many axes. A number between 0 and 1: as many as have this share of the variance.
        "evidence": the number of largest ``log_evidences_``. None: min(N, D).
    method : {"auto", "columns", "rows", "randomized"}, default="auto"
        By the D x D matrix of columns, or by the N x N one of rows; they give the same, and "auto"
        takes the smaller. "randomized" finds a given number of axes of a large matrix; variances
        are right to about 1e-6, relative, less where they are nearly equal. "auto" takes it where
        that saves three quarters of the work.
    random_state : int, Generator, RandomState or None, default=0
        Of the random projection.

    Attributes
    ----------
    components_ : array of shape (k, D)
        The axes; the largest entry of each is positive.
    explained_variance_ : array of shape (k,)
        The variance along each, with N - 1 degrees of freedom; exactly 0 where rows are flat.
    explained_variance_ratio_ : array of shape (k,)
        Its share of the total.
    singular_values_ : array of shape (k,)
        Of the rows about their mean.
    noise_variance_ : float
        The mean variance of the D - k directions beyond the axes. (scikit-learn leaves
        out those that N < D rows do not reach.)
    log_evidence_ : float
        Log marginal likelihood of all rows for this number of axes, constants included.
    log_evidences_ : array
        For 0, 1, ... axes, as many as there are variances known.

    Notes
    -----
    A variance below 1e-8 of the largest is computed by an orthogonal factorisation of the rows,
    which costs a few times more and is as accurate as a singular value decomposition.

    The evidence is computed when it is asked for: ``log_evidence_`` in a moment, ``log_evidences_``
    for m^3 operations, m = min(N, D), or some two seconds for a thousand columns. Its priors are
    worth one row: ``posterity.latent.components.principal`` says which.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import PCA
    >>> rng = np.random.default_rng(0)
    >>> latent = rng.normal(size=(200, 2)) * [3.0, 1.5]
    >>> X = latent @ rng.normal(size=(2, 10)) + 0.1 * rng.normal(size=(200, 10))
    >>> pca = PCA("evidence").fit(X)
    >>> pca.n_components_, round(pca.noise_variance_, 3)
    (2, 0.01)
    >>> dist = pca.inverse_transform_dist(pca.transform(X))
    >>> bool(np.mean(np.abs(X - dist.mean()) < 2.0 * dist.standard_deviation()) > 0.9)
    True
    """

    n_components: principal_model.Number = field(default=None, kw_only=False)
    method: str = "auto"
    random_state: Any = 0

    card = ModelCard(
        likelihood="normal",
        prior="normal, over coordinates",
        feature_space="linear, latent",
        inference="closed form, number of axes by evidence",
        advice="few coordinates that are linear in the columns",
        page="latent",
    )

    explained_variance_ratio_ = models.FittedAttribute()
    singular_values_ = models.FittedAttribute()
    noise_variance_ = models.FittedAttribute("principal.noise_variance")
    log_evidence_ = models.FittedAttribute()
    log_evidences_ = models.FittedAttribute("principal.spectrum.log_evidences")

    def transform(self, X: ArrayLike) -> Array:
        """The coordinates of rows along the axes, from their mean.

        Parameters
        ----------
        X : array-like or data frame of shape (n, D)
            Rows.
        """
        rows = self._check_query(X)
        return self._fitted.principal.coordinates(rows)

    @models.answer_lazily(lazy_forms.ROWS)
    def inverse_transform(self, X: ArrayLike) -> Array:
        """The rows at these coordinates.

        Parameters
        ----------
        X : array-like or data frame of shape (n, k)
            Coordinates.
        """
        latents = self._check_coordinates(X)
        return self._fitted.principal.rows_at(latents)

    @models.answer_lazily(lazy_forms.ROW_DISTRIBUTION)
    def inverse_transform_dist(self, X: ArrayLike) -> distributions.Normal:
        """The distribution of each entry of a row, given its coordinates: noise about the plane."""
        location = self.inverse_transform(X)
        return distributions.Normal(location, np.sqrt(self.noise_variance_))

    @models.answer_lazily(lazy_forms.SCORES)
    def reconstruction_error(self, X: ArrayLike) -> Array:
        """The squared distance of each row from its reconstruction, (n,)."""
        rows = self._check_query(X)
        return self._fitted.principal.coordinates_and_residuals(rows)[1]

    @models.answer_lazily(lazy_forms.SCORES)
    def score_samples(self, X: ArrayLike) -> Array:
        """The log density of each row, (n,), for n D k operations."""
        rows = self._check_query(X)
        if not self._fitted.principal.has_density:
            raise ValueError(
                "The rows that were fitted have no variance in some direction, so the density does "
                "not exist: take fewer components, drop constant columns, or fit more rows."
            )
        return self._fitted.principal.log_density(rows)

    @models.score_lazily
    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:
        """The mean log density of the rows."""
        return float(np.mean(self.score_samples(X)))

    def _check_parameters(self) -> None:
        if not isinstance(self.method, str) or self.method not in _METHODS:
            raise ValueError(
                f"method={self.method!r} must be one of {', '.join(map(repr, _METHODS))}."
            )
        principal_model.check_n_components(self.n_components)
        if self.method == "randomized" and not principal_model.is_count(self.n_components):
            raise ValueError(
                f"method='randomized' never sees all variances, and needs a whole number of "
                f"n_components, not {self.n_components!r}."
            )

    def _decompose(self, source: RowSource) -> Principal:
        choose = functools.partial(principal_model.choose_number, self.n_components)
        if isinstance(source, StreamedSource):
            self._require_columns()
            return decompose_by_columns(source, choose)
        route = self._route(source.shape)
        if route == "randomized":
            return decompose_by_projection(source, choose, arrays.generator(self.random_state))
        exact = decompose_by_rows if route == "rows" else decompose_by_columns
        return exact(source, choose)

    def _route(self, shape: tuple[int, int]) -> str:
        if self.method != "auto":
            return self.method
        if principal_model.pays_to_project(self.n_components, shape):
            return "randomized"
        return "rows" if shape[0] <= shape[1] else "columns"

    def _require_columns(self) -> None:
        if self.method not in ("auto", "columns"):
            raise ValueError(
                f"method={self.method!r} needs all rows in memory; chunks go with method='auto' or "
                "'columns'."
            )

    def _explained_variance(self, principal: Principal) -> Array:
        return principal.variances
