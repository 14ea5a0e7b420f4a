"""Clusters with curved boundaries: k-means in a kernel's feature space."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, callers, kernels, linalg, models, optimize, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.latent import lazy_forms
from posterity.latent.components import (
    Clusters,
    center_kernel,
    fill_kernel_matrix,
    find_clusters,
    iterate_cross_blocks,
)
from posterity.models import ModelCard
from posterity.row_groups import RowGroups


@dataclass(frozen=True)
class FittedClusters:
    """Clusters in the feature space of a kernel."""

    clusters: Clusters
    means: Array  # of the kernel matrix, by which rows are centred
    kernel: kernels.Kernel
    X_train: Any  # (M, D), or a list of objects
    labels: NDArray[np.intp]  # (N,)
    stop_reason: str

    @property
    def n_iter(self) -> int:
        """Steps of the best search."""
        return len(self.clusters.path)


@declare_parameters
class KernelKMeans(ClusterMixin, models.KernelModel):
    """Groups of rows that are alike to a kernel.

    Rows are so divided that the squared distances of their features from the mean of their group
    add up to as little as can be found. With a linear kernel this is k-means, whose groups are
    separated by flat boundaries; with others boundaries bend. Rows may be vectors, or objects such
    as strings and graphs where the kernel takes those.

    Parameters
    ----------
    n_clusters : int, default=2
        How many groups.
    kernel : Kernel or callable, optional
        A value of :mod:`posterity.kernels`, or ``kernel(A, B)`` that gives the matrix between the
        rows of A and of B. Parameters of a kernel that are not set are started from the data. None:
        ``kernels.RBF()``, one width for all columns: scale those of different units before, as for
        :class:`PCA`.
    n_restarts : int, default=10
        How many times to search: once from the leading eigenvectors of the kernel matrix, then from
        rows drawn far apart; the best is kept.
    max_iter : int, default=300
        The most steps of a search.
    random_state : int, Generator, RandomState or None, default=0
        Draws the rows to start from.

    Attributes
    ----------
    labels_ : array of shape (N,)
        The group of each training row.
    inertia_ : float
        The sum of squared distances in feature space, each as often as its row counts.
    n_iter_ : int
        Steps of the best search.
    stop_reason_ : str
        Why it ended.
    kernel_ : Kernel
        The kernel, with every parameter set.
    X_train_ : array of shape (M, D), or list
        The training rows that count; where they are vectors, equal ones once.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import KernelKMeans, kernels
    >>> angle = np.linspace(0.0, 6.2, 40)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> rows = np.concatenate([0.2 * ring, 2.0 * ring])
    >>> model = KernelKMeans(2, kernels.RBF(0.5)).fit(rows)
    >>> np.bincount(model.labels_[:40]), np.bincount(model.labels_[40:])
    (array([ 0, 40]), array([40]))
    """

    n_clusters: int = field(default=2, kw_only=False)
    kernel: Any = field(default=None, kw_only=False)
    n_restarts: int = 10
    max_iter: int = 300
    random_state: Any = 0

    card = ModelCard(
        likelihood="none",
        prior="none",
        feature_space="kernel: of vectors, strings, trees, graphs",
        inference="descent",
        advice="groups of rows, with any kernel",
        page="latent",
    )

    _fitted: FittedClusters = field(init=False)

    labels_ = models.FittedAttribute()
    inertia_ = models.FittedAttribute("clusters.inertia")
    n_iter_ = models.FittedAttribute()
    stop_reason_ = models.FittedAttribute()
    kernel_ = models.FittedAttribute()
    X_train_ = models.FittedAttribute()

    @validation.restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the groups.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), or a sequence of N objects
            Rows; objects where the kernel takes those.
        y : ignored
            Present for pipelines.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row, and a row of
            weight zero is absent.

        Warns
        -----
        ConvergenceWarning
            Where rows were still changing groups after ``max_iter`` steps.
        """
        n_clusters, n_restarts, max_iter = (
            _check_whole_number(self, name) for name in ("n_clusters", "n_restarts", "max_iter")
        )
        rows = self._host_rows(X, reset=True)
        # Only ratios of weights matter here, so that their sum may be anything.
        given = validation.check_sample_weight(sample_weight, len(rows))
        weight = np.ones(len(rows)) if given is None else given
        X_train, counts, places = self._merge_equal_rows(rows, weight)
        _check_number_of_rows(len(counts), n_clusters)
        kernel = self._bind_kernel().start(models.drop_repeated_rows(X_train))
        with linalg.limit_threads(len(counts)):
            K = fill_kernel_matrix(kernel, X_train)
            means, _ = center_kernel(K, counts)
            clusters = find_clusters(
                K,
                counts,
                n_clusters,
                n_restarts=n_restarts,
                max_iter=max_iter,
                rng=arrays.generator(self.random_state),
            )
        labels = _find_labels(clusters, means, kernel, X_train, rows)
        labels[weight > 0.0] = clusters.labels[places]
        reason = self._report_stop(clusters, n_clusters)
        self._fitted = FittedClusters(clusters, means, kernel, X_train, labels, reason)
        return self

    @models.answer_lazily(lazy_forms.CLUSTERS)
    def predict(self, X: Any) -> NDArray[np.intp]:
        """The group (n,) whose centre is nearest to each row."""
        check_is_fitted(self)
        rows, fitted = self._host_rows(X), self._fitted
        return _find_labels(fitted.clusters, fitted.means, fitted.kernel, fitted.X_train, rows)

    def __sklearn_is_fitted__(self) -> bool:
        return models.is_fitted(self)

    def _merge_equal_rows(self, rows: Any, weight: Array) -> tuple[Any, Array, NDArray[np.intp]]:
        """The rows that count, equal ones made one, how often each counts, and where each went.

        In one order whatever that of the data, so that a repetition is the same as a weight even
        to the random numbers.
        """
        present = np.flatnonzero(weight)
        kept = kernels.rows.select_rows(rows, present)
        if self._takes_objects or self._get_kernel().tells_rows_apart:
            return kept, weight[present], np.arange(len(present))
        groups = RowGroups.of_equal(kept)
        return kept[groups.first], groups.count(weight[present]), groups.number

    def _host_rows(self, X: Any, *, reset: bool = False) -> Any:
        rows = self._check_rows(X, reset=reset)
        return rows if self._takes_objects else arrays.to_numpy(rows)

    def _report_stop(self, found: Clusters, n_clusters: int) -> str:
        """Why the search ended, after a warning where that is not as it was asked."""
        n_found = len(found.norms)
        reason = "no row changed its group"
        if not found.converged:
            reason = f"{self.max_iter} steps were not enough: raise max_iter"
        if n_found < n_clusters:
            reason = f"only {n_found} groups of rows differ to the kernel"
        if not found.converged or n_found < n_clusters:
            callers.warn_caller(reason, optimize.ConvergenceWarning)
        return reason


def _find_labels(
    clusters: Clusters, means: Array, kernel: kernels.Kernel, X_train: Any, rows: Any
) -> NDArray[np.intp]:
    """The nearest cluster of each row, (n,)."""
    labels = np.empty(len(rows), dtype=np.intp)
    for some, K in iterate_cross_blocks(kernel, rows, X_train):
        labels[some] = clusters.nearest(K, means)
    return labels


def _check_whole_number(model: KernelKMeans, name: str) -> int:
    value = getattr(model, name)
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or int(value) < 1:
        raise ValueError(f"{name}={value!r} must be a whole number of at least 1.")
    return int(value)


def _check_number_of_rows(n_rows: int, n_clusters: int) -> None:
    if n_rows < n_clusters:
        raise ValueError(
            f"Only {n_rows} different rows count (n_samples={n_rows}), too few for "
            f"n_clusters={n_clusters}: ask for fewer clusters."
        )
