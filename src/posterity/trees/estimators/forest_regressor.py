"""Regressors that are mixtures of what trees say."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, copies, designs, distributions, models, validation
from posterity.arrays import Array
from posterity.models.regressor import DISTRIBUTION, Regressor
from posterity.trees import forests
from posterity.trees.estimators import split_model


class ForestRegressor(split_model.ForestModel, Regressor):
    """A regressor whose prediction is a mixture of the normals in the leaves of its trees."""

    _least_rows: ClassVar[int] = 2  # one does not tell how far others lie from it

    forest_: forests.NormalForest

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), :class:`posterity.designs.Chunks`, or Dask's
            Inputs, where NaN is a missing value; or rows of any kind that ``splits`` takes. Chunks
            contain targets and weights, may not contain NaN, and are never in memory together: each
            tree grows from a sample of them, of 65,536 rows unless ``max_samples`` says otherwise,
            and its leaves count all rows. Rows of a Dask array
            or data frame are treated alike on the workers, where each tree draws from all
            partitions, so these may be sorted in any way.
        y : array-like of shape (N,) or (N, K)
            Targets; several share the trees.
        sample_weight : array-like of shape (N,), optional
            Number of repetitions of each row.
        groups : array-like of shape (N,), optional
            Group of each row, such as the person who was measured. A tree draws all rows of a group
            or none. Without groups, correlated rows leak between training and out-of-bag sets,
            which makes out-of-bag estimates overconfident. Where no groups are given, copies of a
            row (equal targets of equal or nearly equal inputs) are one.
        """
        source = models.find_streamed_source(X, y, sample_weight)
        if source is not None:
            split_model.refuse_groups(groups)
            return self._fit_streamed(source)
        given = self._check_rows(X, reset=True)
        targets = validation.check_targets(self, y, len(given))
        counts = validation.check_repetitions(sample_weight, len(given))
        together = split_model.check_groups(groups, len(given), counts)
        rows, Y, weights, bound = split_model.drop_weightless_rows(given, targets, counts, together)
        self._is_flat = Y.ndim == 1
        family = self._family().adapt_to(rows, weights)
        rng = arrays.generator(self.random_state)
        plan = self._plan_trees(family)
        if plan.bootstrap:
            bound = copies.group_copies(bound, rows, Y, weights)
        return self._adopt(
            forests.fit_normals(family, rows, _columns(Y), weights, plan, rng, bound), counts
        )

    @models.answer_lazily(DISTRIBUTION)
    def predict_dist(self, X: Any) -> distributions.Mixture:
        """The mixture of what all trees say, (n,) or (n, K).

        Its variance has an aleatoric part, that of the leaves, and an epistemic one, by which the
        trees differ.
        """
        check_is_fitted(self, "forest_")
        mean, std = self.forest_.members(self._check_rows(X, reset=False), self.n_jobs)
        T = mean.shape[1]
        own = (slice(None), slice(None), 0) if self._is_flat else slice(None)
        means, stds = (part[own] if self._is_flat else part.swapaxes(1, 2) for part in (mean, std))
        return distributions.Mixture(distributions.Normal(means, stds), np.full(T, -np.log(T)))

    @models.refuse_partitions
    def apply(self, X: Any) -> NDArray[np.int32]:
        """The leaf of each row in each tree, (n, T), leaves being numbered through all trees."""
        check_is_fitted(self, "forest_")
        return self.forest_.apply(self._check_rows(X, reset=False), self.n_jobs)

    @property
    def _target_shape(self) -> tuple[int, ...]:
        return () if self._is_flat else self.forest_.pooled.shape

    def _predict_mean(self, X: ArrayLike) -> Array:
        check_is_fitted(self, "forest_")
        mean = self.forest_.mean(self._check_rows(X, reset=False), self.n_jobs)
        return mean[:, 0] if self._is_flat else mean

    def _fit_streamed(self, source: models.Source) -> Self:
        if isinstance(source, designs.Chunks):
            return self._fit_chunks(source)
        found = forests.survey.survey_numbers(source)
        self._is_flat = source.form.target_shape == ()
        models.learn_columns(self, source)
        rng = arrays.generator(self.random_state)
        return self._adopt(
            forests.fit_normal_partitions(self._family(), found, self._plan_trees, rng)
        )

    def _fit_chunks(self, chunks: designs.Chunks) -> Self:
        chunks.require_rereadable(type(self).__name__)
        y, weights = models.read_targets(self, chunks)
        models.warn_of_copies_in_chunks(chunks, y)
        self._is_flat = True
        family = forests.fit_family(self._family(), chunks)
        plan, rng = self._plan_trees(family), arrays.generator(self.random_state)
        return self._adopt(
            forests.fit_normal_chunks(family, chunks, y[:, None], weights, plan, rng)
        )

    def _adopt(self, fitted: forests.FittedNormals, weights: Array | None = None) -> Self:
        self._adopt_forest(fitted, weights)
        self.oob_rmse_ = fitted.oob_rmse
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _columns(Y: Array) -> Array:
    return np.ascontiguousarray(Y.reshape(len(Y), -1))
