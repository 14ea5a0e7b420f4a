"""Principal components in a kernel's feature space, and the way back to rows."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, callers, kernels, linalg, models, optimize, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.latent import lazy_forms
from posterity.latent.components import (
    KernelComponents,
    decompose_kernel,
    fill_kernel_matrix,
    find_preimages,
    iterate_cross_blocks,
)
from posterity.models import ModelCard


def _rows_can_move(model: KernelPCA) -> bool:
    """Whether rows are vectors, or a sentence."""
    if model._takes_objects:
        raise AttributeError(
            f"inverse_transform needs rows that are vectors, unlike those of {model.kernel}. Use "
            "the training rows with the nearest embedding_ instead."
        )
    return True


@dataclass(frozen=True)
class FittedKernelPCA:
    """Components in the feature space of a kernel."""

    components: KernelComponents
    kernel: kernels.Kernel
    X_train: Any  # (N, D), or a list of objects

    @property
    def n_components(self) -> int:
        """The number k of components."""
        return self.components.A.shape[1]

    @property
    def dual_components(self) -> Array:
        """Weights of the training rows in each component, (k, N)."""
        return self.components.A.T

    @property
    def explained_variance_ratio(self) -> Array:
        """Share of the variance of all features, (k,)."""
        return self.components.variances / self.components.total_variance


@models.transform_lazily(lazy_forms.POINTS)
@declare_parameters
class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, models.KernelModel):
    """Curved coordinates: principal components of the features that a kernel stands for.

    A component is a direction of the feature space, of length one, in which the centred features
    of the training rows vary most, given those before it. With a linear kernel this is PCA; with
    others the coordinates bend with the data. Rows may be vectors, or objects such as strings and
    graphs where the kernel takes those.

    Parameters
    ----------
    n_components : int, float or None, default=2
        How many components; a share between 0 and 1 of the variance that they are to explain; None
        for all. Directions in which the rows do not vary, to rounding, are left out, so that there
        may be fewer: see ``n_components_``.
    kernel : Kernel or callable, optional
        A value of :mod:`posterity.kernels`, or ``kernel(A, B)`` that gives the matrix between the
        rows of A and of B. Parameters of a kernel that are not set are started from the data. None:
        ``kernels.RBF()``, one width for all columns: scale those of different units before, as for
        :class:`PCA`.
    max_iter : int, default=200
        The most iterations of ``inverse_transform``.
    tol : float, default=1e-6
        A row of ``inverse_transform`` is found when moving it by the spread of the training rows
        along the slope would gain no more than this part of the features' variance.

    Attributes
    ----------
    embedding_ : array of shape (N, k)
        Scores of the training rows.
    explained_variance_ : array of shape (k,)
        Variance of the scores, by N - 1.
    explained_variance_ratio_ : array of shape (k,)
        The same as a share of the variance of all features.
    n_components_ : int
        k, the number of components.
    dual_components_ : array of shape (k, N)
        The weights of the training rows in each component.
    kernel_ : Kernel
        The kernel, with every parameter set.
    X_train_ : array of shape (N, D), or list
        The training rows.

    Notes
    -----
    Few components of many rows are found by an iteration that only multiplies the kernel matrix,
    of which one copy is held while fitting and none after.

    The way back is exact in feature space only: a point there need not be the feature of any row.
    ``inverse_transform`` returns the rows whose features are nearest, by a descent that starts near
    the training rows of the nearest scores. Where few components are kept, what it gives back is
    a row with the noise taken out.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import KernelPCA, kernels
    >>> angle = np.linspace(0.0, 6.0, 60)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = KernelPCA(4, kernels.RBF(1.0)).fit(circle)
    >>> outside = np.array([[0.0, 1.2], [-1.2, 0.0]])
    >>> np.abs(model.inverse_transform(model.transform(outside))).round(1)
    array([[0., 1.],
           [1., 0.]])
    """

    n_components: int | float | None = field(default=2, kw_only=False)
    kernel: Any = field(default=None, kw_only=False)
    max_iter: int = 200
    tol: float = 1e-6

    card = ModelCard(
        likelihood="none",
        prior="none",
        feature_space="kernel: of vectors, strings, trees, graphs",
        inference="eigenvectors",
        advice="curved coordinates with a known kernel",
        page="latent",
    )

    _fitted: FittedKernelPCA = field(init=False)

    embedding_ = models.FittedAttribute("components.scores")
    explained_variance_ = models.FittedAttribute("components.variances")
    explained_variance_ratio_ = models.FittedAttribute()
    dual_components_ = models.FittedAttribute()
    n_components_ = models.FittedAttribute()
    kernel_ = models.FittedAttribute()
    X_train_ = models.FittedAttribute()

    @validation.restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), or a sequence of N objects
            Rows; objects where the kernel takes those.
        y : ignored
            Present for pipelines.
        """
        asked = _check_n_components(self.n_components)
        rows = self._host_rows(X, reset=True, min_rows=2)
        kernel = self._bind_kernel().start(models.drop_repeated_rows(rows))
        with linalg.limit_threads(len(rows)):
            components = decompose_kernel(fill_kernel_matrix(kernel, rows), asked)
        copy = kernels.rows.select_rows(rows, np.arange(len(rows)))  # X may change
        self._fitted = FittedKernelPCA(components, kernel, copy)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Find the components, and return the scores of the same rows."""
        return self.fit(X).embedding_

    def transform(self, X: Any) -> Array:
        """Scores of rows, (n, k)."""
        check_is_fitted(self)
        rows = self._host_rows(X)
        T = np.empty((len(rows), self.n_components_))
        for some, K in iterate_cross_blocks(self.kernel_, rows, self.X_train_):
            T[some] = self._fitted.components.project(K)
        return T

    @available_if(_rows_can_move)
    @models.answer_lazily(lazy_forms.ROWS)
    def inverse_transform(self, X: ArrayLike) -> Array:
        """The rows (n, D) whose features are nearest to the points with scores X.

        Only there where rows are vectors.

        Parameters
        ----------
        X : array-like of shape (n, k)
            Scores.

        Warns
        -----
        ConvergenceWarning
            Where some rows were not found in ``max_iter`` iterations.
        """
        check_is_fitted(self)
        found = find_preimages(
            self.kernel_,
            self.X_train_,
            self._fitted.components,
            validation.check_coordinates(self, X, self.n_components_),
            max_iter=validation.check_count(self.max_iter, "max_iter"),
            tol=validation.check_positive(self.tol, "tol"),
        )
        _warn_if_not_converged(found.converged, int(np.max(found.n_iter, initial=0)))
        return found.x

    @models.answer_lazily(lazy_forms.SCORES)
    def reconstruction_error(self, X: Any) -> Array:
        """Squared distance (n,) in feature space between rows and what the components keep.

        It is large for rows unlike those of training, and below the variance of the features that
        is not explained for most that are like them.
        """
        check_is_fitted(self)
        rows = self._host_rows(X)
        error = np.empty(len(rows))
        for some, K in iterate_cross_blocks(self.kernel_, rows, self.X_train_):
            few = kernels.rows.slice_rows(rows, some.start, some.stop)
            error[some] = self._fitted.components.squared_misfit(
                K, arrays.to_numpy(self.kernel_.diag(few))
            )
        return error

    def __sklearn_is_fitted__(self) -> bool:
        return models.is_fitted(self)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _host_rows(self, X: Any, *, reset: bool = False, min_rows: int = 1) -> Any:
        rows = self._check_rows(X, reset=reset, min_rows=min_rows)
        return rows if self._takes_objects else arrays.to_numpy(rows)


def _check_n_components(n_components: Any) -> int | float | None:
    """A whole number above zero, a share between zero and one, or None."""
    if n_components is None:
        return None
    whole = isinstance(n_components, numbers.Integral) and not isinstance(n_components, bool)
    if whole and n_components >= 1:
        return int(n_components)
    if isinstance(n_components, float) and 0.0 < n_components < 1.0:
        return n_components
    raise ValueError(
        f"n_components={n_components!r} must be a whole number of at least 1, a share of the "
        "variance between 0 and 1, or None for all."
    )


def _warn_if_not_converged(converged: NDArray[np.bool_], n_iter: int) -> None:
    if not converged.all():
        callers.warn_caller(
            f"{np.sum(~converged)} of {len(converged)} rows, the first of them row "
            f"{np.argmin(converged)}, were still moving after {n_iter} iterations: raise max_iter "
            "or tol.",
            optimize.ConvergenceWarning,
        )
