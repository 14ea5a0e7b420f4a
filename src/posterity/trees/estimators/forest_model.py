"""Estimators that are one tree or fern, or an average of several, of classes or of numbers."""

from __future__ import annotations

import abc
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, copies, designs, distributions, models, page_forms, trees, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.models.classifier import CLASS_DISTRIBUTION, Classifier, encode_classes
from posterity.models.regressor import DISTRIBUTION, Regressor
from posterity.page_forms import Form
from posterity.trees import forests, growth
from posterity.trees.estimators import split_model
from posterity.trees.forests.forest import TargetKind
from posterity.trees.forests.row_counts import CountedRows


@declare_parameters
class ForestModel(split_model.SplitModel, abc.ABC):
    """An estimator that is one tree or fern, or several. A subclass says how they grow.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    splits : Family, optional
        Which tests a node may use: a family of :mod:`posterity.trees`, or your own. None: values of
        single columns.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of tests drawn as candidates at each node; a float is a fraction of the columns.
        None: what suits the family; for columns the square root of their number.
    max_depth : int, optional
        Maximum number of splits from the root to a leaf. None: no limit.
    min_samples_leaf : float, default=1
        Minimum number of rows, counted by weight, on each side of a split.
    bootstrap : bool, default=True
        Draw the rows of each tree with replacement. False: every tree uses all rows, and there are
        no out-of-bag rows.
    max_samples : int or float, optional
        Number of rows drawn for each tree, or a fraction of all. None: as many as there are.
    concentration : float, optional
        Weight of a leaf's prior, in rows. None: learned from out-of-bag rows, or 1 without them.
    sharpness : float, optional
        Power to which averaged probabilities are raised. None: learned from out-of-bag rows, or 1
        (the plain average) without them.
    n_jobs : int, optional
        Number of threads for fitting and predicting. The result does not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        Seed for drawing rows and tests.
    """

    max_features: int | float | str | None = None
    min_samples_leaf: float = 1.0
    concentration: float | None = None
    random_state: Any = None

    max_depth: int | None = field(init=False)
    n_jobs: int | None = field(default=None, init=False)
    forest_: forests.Forest = field(init=False)

    @abc.abstractmethod
    def _plan_trees(self, family: trees.Family) -> forests.ForestPlan:
        """Plan the growth of trees on tests of a family that knows the rows."""

    @abc.abstractmethod
    def _choose_kind(self) -> TargetKind[Any, Any]:
        """Return the kind of targets that the trees predict."""

    @abc.abstractmethod
    def _read_targets(self, y: Any, n_rows: int, counts: Array | None) -> NDArray[Any]:
        """Targets as they were given, checked."""

    @abc.abstractmethod
    def _count_rows(self, source: designs.Partitions) -> tuple[CountedRows[Any], Array]:
        """Rows of Dask collections, and what is known of their targets without any tree."""

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
            tree grows from a sample of them, of 65,536 rows unless ``max_samples`` says otherwise.
            Its leaves count all rows, or, of classes, that sample if it predicts unseen rows
            better. Rows of a Dask array or data frame are treated alike on the workers, where each
            tree draws from all partitions, so these may be sorted in any way.
        y : array-like of shape (N,), or (N, K) for regression
            Classes, which are numbers or names; or numbers. Several targets share the trees.
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
        targets = self._read_targets(y, len(given), counts)
        together = split_model.check_groups(groups, len(given), counts)
        rows, target, weights, bound = _drop_weightless_rows(given, targets, counts, together)
        family = self._family().adapt_to(rows, weights)
        plan, kind = self._plan_trees(family), self._choose_kind()
        is_class = is_classifier(self)
        if plan.bootstrap:
            bound = copies.group_copies(bound, rows, target, weights, is_class=is_class)
        elif plan.max_samples is None and bound is None:
            weights = copies.weigh_copies_once(rows, target, weights, is_class=is_class)
        rng = arrays.generator(self.random_state)
        return self._adopt_forest(
            forests.fit_forest(family, rows, kind.targets(target), weights, kind, plan, rng, bound),
            counts,
        )

    @models.refuse_partitions
    def apply(self, X: Any) -> NDArray[np.int32]:
        """The leaf of each row in each tree, (n, T), leaves being numbered through all trees."""
        check_is_fitted(self, "forest_")
        return self.forest_.apply(self._check_rows(X, reset=False), self.n_jobs)

    def _fit_streamed(self, source: models.Source) -> Self:
        if isinstance(source, designs.Chunks):
            return self._fit_chunks(source)
        counted, overall = self._count_rows(source)
        models.learn_columns(self, source)
        rng, kind = arrays.generator(self.random_state), self._choose_kind()
        return self._adopt_forest(
            forests.fit_partitions(self._family(), counted, overall, kind, self._plan_trees, rng)
        )

    def _fit_chunks(self, chunks: designs.Chunks) -> Self:
        chunks.require_rereadable(type(self).__name__)
        y, weights = models.read_targets(self, chunks)
        target = self._read_targets(y, len(y), weights)
        if not is_classifier(self):
            models.warn_of_copies_in_chunks(chunks, y)
        family, kind = forests.fit_family(self._family(), chunks), self._choose_kind()
        plan, rng = self._plan_trees(family), arrays.generator(self.random_state)
        return self._adopt_forest(
            forests.fit_chunks(family, chunks, kind.targets(target), weights, kind, plan, rng)
        )

    def _growth_rules(self, family: trees.Family, n_tests: int | None = None) -> growth.GrowthRules:
        """The rules of growth; ``n_tests`` candidates a node unless ``max_features`` says."""
        if self.max_depth is not None:
            validation.check_count(self.max_depth, "max_depth")
        least = validation.check_positive(self.min_samples_leaf, "min_samples_leaf")
        chosen = split_model.count_candidates(
            self.max_features, family, n_tests or family.default_tests()
        )
        return growth.GrowthRules(chosen, max_depth=self.max_depth, min_samples_leaf=least)

    def _check_positive(self, name: str) -> float | None:
        """A parameter that is given, or None where it is to be learned."""
        value = getattr(self, name)
        return None if value is None else validation.check_positive(value, name)

    def _check_max_samples(self, max_samples: float | None) -> float | None:
        """Check the number of rows that a tree draws, and whether it draws with replacement."""
        if not isinstance(self.bootstrap, bool | np.bool_):
            raise ValueError(f"bootstrap={self.bootstrap!r} must be True or False.")
        if max_samples is None:
            return None
        if isinstance(max_samples, int | np.integer) and not isinstance(max_samples, bool):
            validation.check_count(max_samples, "max_samples")
            return max_samples
        if validation.check_positive(max_samples, "max_samples") > 1.0:
            raise ValueError(
                f"max_samples={max_samples!r} is a fraction of the rows and must be at most 1; "
                "give a whole number to count them."
            )
        return max_samples

    def check_consistency(self) -> None:
        """Raise ValueError where a forest is not one that rows as they are taken can go down."""
        forest = vars(self).get("forest_")
        if forest is None:
            return
        validation.require(isinstance(forest, forests.Forest), "forest_ is not a forest.")
        forest.check_consistency()
        self._check_learned(forest.family, forest.trees.tests)

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        return page_forms.find_form(self.forest_)

    def _adopt_forest(
        self, fitted: forests.FittedForest[Any], weights: Array | None = None
    ) -> Self:
        """Publish a forest that grew from the rows whose weights, as they were given, count."""
        self.forest_ = fitted.forest
        self.concentration_ = fitted.forest.concentration
        self.sharpness_ = fitted.forest.sharpness
        self.oob_log_score_ = fitted.oob_log_score
        self.oob_log_prob_ = _expand_to_all_rows(fitted.oob_log_prob, weights)
        grown = fitted.forest.trees
        self._count_gains(fitted.forest.family, grown.tests, grown.gains)
        return self


@declare_parameters
class ForestClassifier(ForestModel, Classifier):
    """A classifier whose probabilities are the mean of what the leaves of its trees say.

    Attributes
    ----------
    classes_ : array of shape (C,)
        Class labels, sorted.
    forest_ : ClassForest
        The trees as flat arrays, and the class counts of their leaves.
    concentration_, sharpness_ : float
        Learned, or as given.
    oob_score_ : float
        Accuracy on out-of-bag rows; NaN without a bootstrap.
    oob_log_score_ : float
        Mean log probability of the observed class of out-of-bag rows; NaN without a bootstrap.
    oob_log_prob_ : array of shape (N,) or None
        Log probability of the observed class of each row by the trees that did not use it; NaN
        where all trees did. None when the rows stayed on Dask workers.
    """

    forest_: forests.ClassForest = field(init=False)

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

    def _choose_kind(self) -> forests.ClassTargets:
        return forests.ClassTargets(len(self.classes_))

    def _read_targets(self, y: Any, n_rows: int, counts: Array | None) -> NDArray[Any]:
        return self._learn_classes(y, n_rows, counts)

    def _count_rows(self, source: designs.Partitions) -> tuple[CountedRows[Any], Array]:
        found = forests.row_counts.count_classes(source)
        labels, counts = found.targets
        self._set_classes(labels)
        overall = self._choose_kind().summarise(np.arange(len(labels)), counts)
        return found.encode_targets(partial(encode_classes, self.classes_)), overall

    def _adopt_forest(
        self, fitted: forests.FittedForest[Any], weights: Array | None = None
    ) -> Self:
        self.oob_score_ = fitted.oob_score
        return super()._adopt_forest(fitted, weights)


@declare_parameters
class ForestRegressor(ForestModel, Regressor):
    """A regressor whose prediction is a mixture of the normals in the leaves of its trees.

    Parameters
    ----------
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of tests drawn as candidates at each node; a float is a fraction of the columns.
        None: two thirds of the columns, or what suits another family.
    concentration : float, optional
        Weight, in rows, of the error of single trees in the variance of a leaf. None: learned from
        out-of-bag rows; without them 1, of the variance around all leaves.
    sharpness : float, optional
        Factor by which the variance of the mixture is divided. None: learned from out-of-bag rows,
        by the variance between trees carried over from the third of the trees that these meet to
        all trees; or 1 without them.

    Attributes
    ----------
    forest_ : NormalForest
        The trees as flat arrays, and the moments of their leaves.
    concentration_, sharpness_ : float
        Learned, or as given.
    oob_log_score_ : float
        Mean log density of the targets of out-of-bag rows; NaN without a bootstrap.
    oob_rmse_ : float
        Root mean squared error on out-of-bag rows.
    oob_log_prob_ : array of shape (N,) or None
        Log density of the target of each row by the trees that did not use it; NaN where all trees
        did. None when the rows stayed on Dask workers.
    """

    _least_rows: ClassVar[int] = 2  # one does not tell how far others lie from it

    forest_: forests.NormalForest = field(init=False)

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

    @property
    def _target_shape(self) -> tuple[int, ...]:
        return () if self._is_flat else self.forest_.pooled.shape

    def _predict_mean(self, X: ArrayLike) -> Array:
        check_is_fitted(self, "forest_")
        mean = self.forest_.mean(self._check_rows(X, reset=False), self.n_jobs)
        return mean[:, 0] if self._is_flat else mean

    def _choose_kind(self) -> forests.NumberTargets:
        return forests.NumberTargets()

    def _read_targets(self, y: Any, n_rows: int, counts: Array | None) -> Array:
        del counts
        targets = validation.check_targets(self, y, n_rows)
        self._is_flat = targets.ndim == 1
        return targets

    def _count_rows(self, source: designs.Partitions) -> tuple[CountedRows[Any], Array]:
        found = forests.row_counts.sum_numbers(source)
        self._is_flat = source.form.target_shape == ()
        return found, found.targets.square[0] / found.targets.count[0]

    def _adopt_forest(
        self, fitted: forests.FittedForest[Any], weights: Array | None = None
    ) -> Self:
        self.oob_rmse_ = fitted.oob_score**0.5
        return super()._adopt_forest(fitted, weights)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _drop_weightless_rows(
    rows: Any, target: Array, weights: Array | None, groups: NDArray[np.int32] | None
) -> tuple[Any, Array, Array | None, NDArray[np.int32] | None]:
    """Rows that count at all: edges of columns are not drawn around others."""
    if weights is None or weights.all() or not isinstance(rows, np.ndarray):
        return rows, target, weights, groups
    kept = weights > 0.0
    return rows[kept], target[kept], weights[kept], None if groups is None else groups[kept]


def _expand_to_all_rows(values: Array | None, weights: Array | None) -> Array | None:
    """Return values for every row as it was given, NaN where it does not count."""
    if weights is None or values is None:
        return values
    kept = weights > 0.0
    everywhere = np.full(len(weights), np.nan)
    everywhere[kept] = values[kept] if len(values) == len(weights) else values
    return everywhere
