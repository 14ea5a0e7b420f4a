"""The base of boosted trees of classes and of numbers: rows, folds, starts and columns."""

from __future__ import annotations

import abc
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, designs, trees, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.copies import group_copies
from posterity.likelihoods import exposed_counts
from posterity.likelihoods.exposed_counts import attach_exposure
from posterity.models.lazy_queries import refuse_partitions
from posterity.models.streamed_rows import (
    Source,
    find_streamed_source,
    learn_columns,
    read_targets,
)
from posterity.trees.boosting.boosted_trees import BoostedTrees
from posterity.trees.boosting.levels import LeveledColumns, LevelLabels, QueryRows
from posterity.trees.boosting.member import BoostingPlan
from posterity.trees.boosting.members import CrossFit, StartingPoint
from posterity.trees.boosting.shap import find_shapley_values
from posterity.trees.estimators import boosted_rows, boosting_plan
from posterity.trees.estimators.boosted_rows import PreparedRows
from posterity.trees.estimators.split_model import AdditiveModel, check_activation, check_groups


@dataclass(frozen=True, eq=False)
class BoostedTargets:
    """Targets of N rows as trees take them, and what folds share out."""

    values: Array  # (N,), classes from 0 on, or numbers
    strata: Array  # (N,), equal for rows of which each fold has its share


@dataclass(frozen=True, eq=False)
class BoostingStart:
    """Start of training: the plan, draws, and latents where these are given."""

    plan: BoostingPlan
    rng: np.random.Generator
    point: StartingPoint | None
    earlier: BoostedModel | None


@declare_parameters
class BoostedModel(AdditiveModel, abc.ABC):
    """An estimator whose latent values are sums of trees, in members that leave rows out.

    A subclass says what targets are, and trains.

    Parameters
    ----------
    n_estimators : int, default=300
        Maximum number of rounds, each of which adds a tree to every member.
    splits : Family, optional
        Which tests the trees may use: a family of :mod:`posterity.trees`. None: values of single
        columns.
    learning_rate : float, optional
        Fraction of a Newton step that a tree adds, > 0 and at most 1. None: chosen from the number
        of rows and of rounds.
    growth : {"oblivious", "level", "leaf"}, default="oblivious"
        One test for each level of a tree; or one for each node, level by level, or first where it
        gains most.
    max_depth : int, default=6
        Maximum number of tests from the root to a leaf.
    max_leaf_nodes : int, optional
        Maximum number of leaves, of trees that are not oblivious.
    min_samples_leaf : float, default=1
        Minimum number of rows, counted by weight, on each side of a split; for oblivious trees on
        each side of the test of a level.
    l2_regularization : float, default=1
        Precision of the normal prior of a leaf value.
    random_strength : float, default=1
        Standard deviation of random scores, in units of the sampling error of a score. 0: the best
        test is taken.
    bootstrap : bool, default=True
        Whether tests are chosen by Bayesian bootstrap weights of the rows.
    subsample : float, default=1
        Fraction of the rows, drawn in each round, by which tests are chosen.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of tests tried in each round; a float is a fraction of the columns. None: all. A
        family without an end of tests draws this many once, before the first round.
    monotonic_cst : array-like of shape (D,) or dict, optional
        1 or -1 where the probability of the second class may only increase or decrease with a
        column, else 0. For two classes.
    categorical_features : sequence of int, str or bool, optional
        Columns whose entries are categories: numbers, or text, ``category`` or ``Enum`` columns of
        a data frame. Trees separate a level from the others, and sets of levels by what members
        learn of them. Levels that were not seen have the mean of the known ones, and their spread.
    cv : int, splitter or iterable of (train, test), optional
        Number of members, each of which leaves out other rows; or splits of scikit-learn, each of
        whose test rows a member leaves out. None: ten for few rows, down to one that leaves out a
        tenth of the rows. 1: one member that uses all rows for ``n_estimators`` rounds, without
        calibration.
    n_iter_no_change : int, optional
        Number of rounds without improvement after which training ends. None: that of four full
        Newton steps.
    warm_start : bool, default=False
        Whether ``fit`` continues from the trees of an earlier fit of the same rows.
    n_jobs : int, optional
        Number of threads. The result does not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        Seed for folds, weights, scores and drawn tests.

    Attributes
    ----------
    splits_ : Family
        The family of tests, fitted.
    n_estimators_ : int
        Number of rounds that were kept.
    n_members_ : int
        Number of members.
    column_gain_ : array of shape (D,) or None
        Gain in log-likelihood, in nats, of the splits on each column, in the mean of the members.
        None for other families.
    seed_ : int
        From which folds, weights and scores were drawn; a warm start draws the same folds.
    stop_reason_ : str
        Why the fit ended.
    """

    n_estimators: int = field(default=300, kw_only=False)
    learning_rate: float | None = None
    growth: str = "oblivious"
    max_depth: int = 6
    max_leaf_nodes: int | None = None
    min_samples_leaf: float = 1.0
    l2_regularization: float = 1.0
    random_strength: float = 1.0
    bootstrap: bool = True
    subsample: float = 1.0
    max_features: int | float | str | None = None
    monotonic_cst: Any = None
    categorical_features: Any = None
    cv: Any = None
    n_iter_no_change: int | None = None
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: Any = None

    _n_thresholds: ClassVar[int | None] = None

    splits_: trees.Family | LeveledColumns = field(init=False)
    labels_: LevelLabels = field(init=False)
    trees_: BoostedTrees = field(init=False)

    @abc.abstractmethod
    def _read_targets(self, y: Any, n_rows: int, counts: Array | None) -> BoostedTargets:
        """Targets as they were given, checked."""

    @abc.abstractmethod
    def _boost(self, rows: PreparedRows, y: Array, start: BoostingStart) -> Self:
        """Train on coded rows and publish what was found."""

    @abc.abstractmethod
    def _check_targets_of(self, earlier: Self) -> None:
        """Raise ValueError where a fit of other targets cannot go on from an earlier one."""

    @abc.abstractmethod
    def _activation_shape(self, n_rows: int) -> tuple[int, ...]:
        """The shape of latents that rows are given."""

    def _count_members(self, n_rows: int) -> Any:
        """The parameter ``cv``, or what stands for it where it is None."""
        del n_rows
        return self.cv

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        activation: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), :class:`posterity.designs.Chunks` or Dask
            Inputs, where NaN is a missing value; or rows of any kind that ``splits`` takes. Chunks
            contain targets and weights and are never in memory together; a byte for each row and
            test is. Rows of Dask collections stay on the workers, which send these bytes; the
            trees grow in this process.
        y : array-like of shape (N,)
            Targets: classes or numbers; a Dask collection where X is one.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        groups : array-like of shape (N,), optional
            Group of each row, such as the person who was measured. A member leaves out all rows of
            a group or none. Where no groups are given, copies of a row (equal targets of equal or
            nearly equal inputs) are one.
        activation : array-like of shape (N,), or (N, C) for several classes, optional
            Latent values at which the trees start. They are not part of the model: add them to
            ``activation(X)`` of new rows.
        """
        return self._fit_rows(X, y, sample_weight, groups, activation, None)

    def _fit_rows(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, activation: Any, exposure: Any
    ) -> Self:
        """Fit to rows in memory or elsewhere; an exposure is for counts alone."""
        boosting_plan.check_boosting_parameters(self)
        earlier = self._find_earlier_fit()
        if earlier is None:
            self.seed_ = int(arrays.generator(self.random_state).integers(2**62))
        rng = np.random.default_rng(self.seed_)
        source = find_streamed_source(X, y, sample_weight)
        if source is not None:
            self._refuse_beside_streamed_rows(groups, activation, exposure)
            return self._fit_streamed(source, rng)
        rows = self._check_rows(X, reset=earlier is None)
        counts = validation.check_repetitions(sample_weight, len(rows))
        targets = self._read_targets(y, len(rows), counts)
        values = attach_exposure(vars(self).get("likelihood"), targets.values, exposure)
        if earlier is not None:
            self._check_targets_of(earlier)
        given = check_activation(activation, self._activation_shape(len(rows)))
        bound = check_groups(groups, len(rows), counts)
        keys = _as_keys(values)
        if self.cv is None or (boosted_rows.is_count(self.cv) and self.cv > 1):
            bound = group_copies(bound, rows, keys, counts, is_class=is_classifier(self))
        coded = boosted_rows.BoostingRows(
            rows,
            keys if given is None else np.column_stack([keys, given]),
            targets.strata,
            np.ones(len(rows)) if counts is None else counts,
            bound,
            self._n_thresholds,
        ).code(self._choose_family(), self._count_members, self.max_features, rng)
        if earlier is not None:
            coded = coded.continue_from(earlier.splits_)
        start = self._start(coded, rng, given, earlier)
        return self._boost(coded, values[coded.kept], start)

    @refuse_partitions
    def shap_values(self, X: Any) -> tuple[Array, Array]:
        """Exact Shapley values: what each column adds to the latent values of a row.

        Where a column is not known, a row goes both ways at its tests, by the shares of training
        rows. The values of a row and the expected latents sum to the mean of ``predict_latent``.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows.

        Returns
        -------
        values : array of shape (n, D), or (n, D, C) for several classes
            For the latent value of a row, which is that of the second of two classes.
        expected : array of shape () or (C,)
            Latents where no column is known.
        """
        query = self._prepare_rows(X)
        found, expected = find_shapley_values(self.trees_, self.splits_, query.rows)
        found = query.average(found)
        values, offset = self._scale_latents() * found, self._scale_latents() * expected
        return (values[..., 0], offset[0]) if values.shape[2] == 1 else (values, offset)

    def _scale_latents(self) -> float:
        """By what sums of trees are multiplied."""
        return 1.0

    def _check_trees(self, name: str, n_latents: int) -> None:
        """Raise ValueError unless rows as they are taken can go down these trees."""
        grown = vars(self).get(name)
        validation.require(isinstance(grown, BoostedTrees), f"{name} must be boosted trees.")
        assert isinstance(grown, BoostedTrees)
        grown.check_consistency()
        is_right = grown.offset.shape[1] == n_latents
        validation.require(is_right, f"{name} must have {n_latents} latents.")
        self._check_learned(vars(self).get("splits_"), grown.tests)

    def _check_labels(self) -> None:
        """Raise ValueError unless labels of categories are such."""
        if self.categorical_features is not None:
            labels = vars(self).get("labels_")
            validation.require(isinstance(labels, LevelLabels), "labels_ must be labels of levels.")
            self.labels_.check_consistency()

    def _prepare_rows(self, X: Any) -> QueryRows:
        """Query rows as the trees take them."""
        check_is_fitted(self, "trees_")
        return QueryRows.of_family(self.splits_, self._check_rows(X, reset=False))

    def _check_rows(self, X: Any, *, reset: bool) -> Any:
        """Numbers, of categories that have names too."""
        if self.categorical_features is None or arrays.is_collection(X):
            return super()._check_rows(X, reset=reset)
        if reset or "labels_" not in vars(self):
            validation.check_columns(self, X)
            self.labels_ = LevelLabels.from_rows(X, self._find_categorical())
        return super()._check_rows(self.labels_.number_labels(X), reset=reset)

    def _adopt_fit(self, fit: CrossFit, earlier: BoostedModel | None) -> None:
        """Set the attributes that follow from a fit, which continues an earlier one."""
        if earlier is not None:
            fit = fit.append_to(earlier.trees_, earlier.validation_scores_)
        self.stop_reason_ = fit.stop_reason
        self.validation_scores_ = fit.scores if len(fit.scores) else None
        self._adopt_trees(fit.trees, fit.n_rounds)

    def _adopt_trees(self, grown: BoostedTrees, n_rounds: int) -> None:
        """Set the attributes that follow from the trees."""
        self.trees_, self.n_estimators_, self.n_members_ = grown, n_rounds, grown.n_members
        self._count_gains(self.splits_, grown.tests, grown.gains / grown.n_members)

    def _keep_rounds(self, n_rounds: int) -> None:
        self._adopt_trees(self.trees_.truncate(n_rounds), n_rounds)

    def _fit_streamed(self, source: Source, rng: np.random.Generator) -> Self:
        """Fit to rows that are not in memory: targets, weights and codes of all of them are."""
        y, weights = self._gather_targets(source)
        targets = self._read_targets(y, len(y), weights)
        counts = np.ones(len(y)) if weights is None else weights
        keys = _as_keys(targets.values)
        coded = boosted_rows.code_streamed_rows(
            self._family(),
            source,
            targets.strata,
            keys,
            counts,
            self._count_members,
            rng,
            is_class=is_classifier(self),
        )
        return self._boost(coded, targets.values[coded.kept], self._start(coded, rng, None, None))

    def _gather_targets(self, source: Source) -> tuple[Array, Array | None]:
        """Targets and weights of all rows; the model learns its columns."""
        if isinstance(source, designs.Partitions):
            learn_columns(self, source)
            return boosted_rows.gather_targets(source)
        source.require_rereadable(type(self).__name__)
        return read_targets(self, source)

    def _refuse_beside_streamed_rows(self, groups: Any, activation: Any, exposure: Any) -> None:
        """Raise ValueError for what cannot be used where rows are not in memory."""
        given = {
            "categorical_features": self.categorical_features,
            "groups": groups,
            "activation": activation,
            "exposure": exposure,
        }
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"{name} can be used only with rows in memory: omit it, or fit on a sample."
                )

    def _start(
        self,
        coded: PreparedRows,
        rng: np.random.Generator,
        activation: Array | None,
        earlier: BoostedModel | None,
    ) -> BoostingStart:
        """Start from a constant, from given latents, or after the trees of an earlier fit."""
        plan = boosting_plan.plan_boosting(self, coded.table, vars(self).get("n_features_in_"))
        if earlier is None:
            point = None
            if activation is not None:
                point = StartingPoint.at_latents(activation[coded.kept])
            return BoostingStart(plan, rng, point, None)
        done = earlier.n_estimators_
        return BoostingStart(
            replace(plan, n_rounds=max(0, plan.n_rounds - done)),
            np.random.default_rng([self.seed_, done]),
            coded.start_after(earlier.trees_),
            earlier,
        )

    def _choose_family(self) -> trees.Family:
        """The tests that trees may use."""
        if self.categorical_features is None:
            return self._family()
        if self.splits is not None:
            raise ValueError("categorical_features are for splits of single columns: splits=None.")
        found = np.array(self._find_categorical(), dtype=np.int32)
        return LeveledColumns(categorical=found) if len(found) else self._family()

    def _find_categorical(self) -> tuple[int, ...]:
        return boosting_plan.find_columns(self.categorical_features, "categorical_features", self)


def _as_keys(values: Array) -> Array:
    """Targets (N, K) as numbers, with exposures where they have these."""
    return exposed_counts.as_columns(values).reshape(len(values), -1)
