"""Classifiers that are averages of trees."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, copies, designs, distributions, models, validation
from posterity.arrays import Array
from posterity.models.classifier import CLASS_DISTRIBUTION, Classifier, encode_classes
from posterity.trees import forests
from posterity.trees.estimators import split_model


class ForestClassifier(split_model.ForestModel, Classifier):
    """A classifier whose probabilities are the mean of what the leaves of its trees say."""

    forest_: forests.ClassForest

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
            and its leaves count that sample or all rows, whichever predicts unseen rows better.
            Rows of a Dask array or data frame are treated alike on the workers, where each tree
            draws from all partitions, so these may be sorted in any way.
        y : array-like of shape (N,)
            Classes: numbers or names.
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
        counts = validation.check_repetitions(sample_weight, len(given))
        all_codes = self._learn_classes(y, len(given), counts)
        together = split_model.check_groups(groups, len(given), counts)
        rows, codes, weights, bound = split_model.drop_weightless_rows(
            given, all_codes, counts, together
        )
        family = self._family().adapt_to(rows, weights)
        plan = self._plan_trees(family)
        if plan.bootstrap:
            bound = copies.group_copies(bound, rows, codes, weights, is_class=True)
        return self._adopt(
            forests.fit_classes(
                family,
                rows,
                codes.astype(np.int32),
                weights,
                len(self.classes_),
                plan,
                arrays.generator(self.random_state),
                bound,
            ),
            counts,
        )

    @models.answer_lazily(CLASS_DISTRIBUTION)
    def predict_dist(self, X: Any) -> distributions.AveragedCategorical:
        """The distribution of the class at each row of X, by its place in ``classes_``.

        It knows which part of its entropy is disagreement between trees.
        """
        check_is_fitted(self, "forest_")
        rows = self._check_rows(X, reset=False)
        return distributions.AveragedCategorical.from_valid_arrays(
            *self.forest_.average(rows, self.n_jobs)
        )

    @models.refuse_partitions
    def apply(self, X: Any) -> NDArray[np.int32]:
        """The leaf of each row in each tree, (n, T), leaves being numbered through all trees."""
        check_is_fitted(self, "forest_")
        return self.forest_.apply(self._check_rows(X, reset=False), self.n_jobs)

    def _fit_streamed(self, source: models.Source) -> Self:
        if isinstance(source, designs.Chunks):
            return self._fit_chunks(source)
        found = forests.survey.survey_classes(source)
        self._set_classes(found.targets[0])
        models.learn_columns(self, source)
        rows, rng = found.encode_targets(partial(encode_classes, self.classes_)), self.random_state
        return self._adopt(
            forests.fit_class_partitions(
                self._family(), rows, self._plan_trees, arrays.generator(rng)
            )
        )

    def _fit_chunks(self, chunks: designs.Chunks) -> Self:
        chunks.require_rereadable(type(self).__name__)
        y, weights = models.read_targets(self, chunks)
        codes = self._learn_classes(y, len(y), weights).astype(np.int32)
        family = forests.fit_family(self._family(), chunks)
        plan, rng = self._plan_trees(family), arrays.generator(self.random_state)
        return self._adopt(
            forests.fit_class_chunks(family, chunks, codes, weights, len(self.classes_), plan, rng)
        )

    def _adopt(self, fitted: forests.FittedClasses, weights: Array | None = None) -> Self:
        self._adopt_forest(fitted, weights)
        self.oob_score_ = fitted.oob_accuracy
        return self
