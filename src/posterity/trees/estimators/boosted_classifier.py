"""Bernoulli or categorical likelihood x boosted trees x cross-fitted members."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from posterity import designs, distributions, models, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.models import Member, ModelCard
from posterity.models.classifier import (
    CLASS_DISTRIBUTION,
    LATENT_VALUES,
    StagedClassifier,
    encode_classes,
)
from posterity.page_forms import Form
from posterity.trees.boosting import calibration, training
from posterity.trees.estimators import split_model
from posterity.trees.estimators.boosted_model import BoostedModel, BoostedTargets, BoostingStart
from posterity.trees.estimators.boosted_rows import PreparedRows


@declare_parameters
class BoostedTreesClassifier(BoostedModel, StagedClassifier):
    """Boosted trees for classification, with calibrated probabilities.

    The latent value of a row is a constant plus the leaf values of many small trees, each of which
    is a Newton step of the log-likelihood given the trees before it. Two classes share one latent
    value and a sigmoid; with more, trees are shared, every class has its own leaf values, and the
    softmax gives the probabilities.

    The fit is an average of members, each of which leaves out a part of the rows. Those rows choose
    the number of rounds and calibrate the probabilities, and their log score, ``oob_log_score_``,
    is known without a test set. By default trees are oblivious: all nodes of a level ask the same
    question. Tests are chosen by Bayesian bootstrap weights and random scores, so that members
    differ and their average is smooth; while a training row is moved, its leaf leaves its own
    target out, so that later trees see honest residuals.

    Missing values (NaN) are accepted. A column that has some is tested twice, once with missing
    values as the largest and once as the smallest, so each split sends them to the side where they
    predict better.

    A round of one member with N rows and J tests takes time N J max_depth / 2, times the number of
    classes if there are more than two.

    Attributes
    ----------
    classes_ : array of shape (C,)
        Class labels, sorted.
    trees_ : BoostedTrees
        The trees of all members as flat arrays.
    calibration_ : ClassCalibration
        ``sharpness`` by which latent values are multiplied, and ``variance_factor`` of their
        variance, from rows that members left out.
    learning_rate_ : float
        As given, or chosen.
    validation_scores_ : array of shape (1 + rounds,) or None
        Mean log probability of the class of a left-out row for the constant, and after each round.
    oob_log_score_, oob_score_ : float
        Mean log probability of the observed class of left-out rows after calibration, with what the
        mean of members gains over the one that left a row out, and the accuracy of that one; NaN
        where no row was left out.
    oob_decision_function_ : array of shape (N, C)
        Probabilities of the classes by the member that left the row out; NaN where none did.

    See Also
    --------
    RandomForestClassifier : Deep trees that are averaged, not added; faster to fit.
    LogitBoostClassifier : A sum of single steps.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import BoostedTreesClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0.0, "alike", "unlike")
    >>> model = BoostedTreesClassifier(random_state=0).fit(X, y)
    >>> model.predict_proba([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]).round(2)
    array([[1.  , 0.  ],
           [0.51, 0.49]])
    >>> round(model.oob_score_, 2)
    0.99
    """

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="normal leaf values",
        feature_space="trees, added one by one",
        inference="stagewise, cross-fitted and averaged",
        advice="the best probabilities of most tables",
        page="trees",
        candidates=(
            Member("boosted-trees", 120, "N D a round and member", {"n_jobs": -1}, usual_rows=3e5),
        ),
    )

    calibration_: calibration.ClassCalibration = field(init=False)

    def check_consistency(self) -> None:
        """Raise ValueError where trees are not such that rows as they are taken can go down."""
        if "trees_" not in vars(self):
            return
        self._check_trees("trees_", 1 if len(self.classes_) == 2 else len(self.classes_))
        calibrated = vars(self).get("calibration_")
        is_one = isinstance(calibrated, calibration.ClassCalibration)
        validation.require(is_one, "calibration_ must be a calibration of classes.")
        self.calibration_.check_consistency()
        self._check_labels()

    @models.answer_lazily(CLASS_DISTRIBUTION)
    def predict_dist(self, X: Any) -> distributions.AveragedCategorical:
        """The distribution of the class at each row of X, by its place in ``classes_``.

        Its epistemic part is due to leaves of few rows, and grows where rows are scarce.
        """
        return self._answer(*self._compute_moments(X))

    @models.answer_lazily(LATENT_VALUES)
    def predict_latent(self, X: Any) -> distributions.Normal:
        """The latent value of the second of two classes, (n,), or of each of several, (n, C)."""
        A, v = self._compute_moments(X)
        std = np.sqrt(self.calibration_.variances_of_latents(v))
        mean = self.calibration_.sharpness * A
        if A.shape[1] == 1:
            return distributions.Normal(mean[:, 0], std)
        return distributions.Normal(mean, np.repeat(std[:, None], A.shape[1], axis=1))

    @models.refuse_partitions
    def activation(self, X: Any) -> Array:
        """Latents whose sigmoid, (n,), or softmax, (n, C), is the probability of the classes."""
        return split_model.squeeze_two_classes(
            self.calibration_.moderate(*self._compute_moments(X))
        )

    @models.refuse_partitions
    def staged_activation(self, X: Any) -> Iterator[Array]:
        """Yield ``activation`` after the first round, the second, and so on."""
        for A, v in self._stage_moments(X):
            yield split_model.squeeze_two_classes(self.calibration_.moderate(A, v))

    @models.refuse_partitions
    def staged_predict_dist(self, X: Any) -> Iterator[distributions.AveragedCategorical]:
        """Yield ``predict_dist`` after the first round, the second, and so on."""
        for A, v in self._stage_moments(X):
            yield self._answer(A, v)

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        calibrated = {
            "sharpness": self.calibration_.sharpness,
            "variance_factor": self.calibration_.variance_factor,
        }
        sums = self.trees_.page_form(self.splits_.tested_columns())
        return {"kind": "boosted_trees", **sums, **calibrated}

    def _answer(self, A: Array, v: Array) -> distributions.AveragedCategorical:
        """The distribution at sums of trees (n, L) of variance (n,)."""
        return distributions.AveragedCategorical.from_valid_arrays(
            *calibration.predict_log_probabilities(self.calibration_, A, v)
        )

    def _compute_moments(self, X: Any) -> tuple[Array, Array]:
        """Sums of trees (n, L), and what leaf values leave open of them, (n,)."""
        return self._open_more(self._prepare_rows(X).compute_moments(self.trees_, self.splits_))

    def _stage_moments(self, X: Any) -> Iterator[tuple[Array, Array]]:
        return map(self._open_more, self._prepare_rows(X).stage_moments(self.trees_, self.splits_))

    def _open_more(self, moments: tuple[Array, Array, Array | float]) -> tuple[Array, Array]:
        """Count what levels leave open of the sums as if leaf values did."""
        A, v, more = moments
        factor = self.calibration_.variance_factor
        return A, v + more / factor if factor > 0.0 else v

    def _scale_latents(self) -> float:
        return self.calibration_.sharpness

    def _read_targets(self, y: Any, n_rows: int, counts: Array | None) -> BoostedTargets:
        codes = self._learn_classes(y, n_rows, counts)
        return BoostedTargets(codes, codes)

    def _check_targets_of(self, earlier: Self) -> None:
        now, self.classes_ = self.classes_, earlier.classes_
        split_model.require_same_classes(now, self.classes_)

    def _gather_targets(self, source: models.Source) -> tuple[Array, Array | None]:
        if isinstance(source, designs.Chunks):
            return super()._gather_targets(source)
        labels, _ = source.count_targets()
        encoded = source.encode_targets(partial(encode_classes, labels))
        codes, weights = super()._gather_targets(encoded)
        return labels[codes.astype(np.intp)], weights

    def _activation_shape(self, n_rows: int) -> tuple[int, ...]:
        return split_model.shape_latents(n_rows, len(self.classes_))

    def _boost(self, rows: PreparedRows, y: Array, start: BoostingStart) -> Self:
        codes = y.astype(np.int64)
        found = training.fit_boosted_classes(
            rows.table,
            codes,
            len(self.classes_),
            start.plan,
            start.rng,
            start.point,
            calibrate=start.point is None or start.earlier is not None,
            share_rows=self.cv is None or isinstance(self.cv, Integral),
        )
        self.splits_, self.calibration_ = found.fit.family, found.calibration
        self.learning_rate_ = start.plan.learning_rate
        self._adopt_fit(found.fit, start.earlier)
        self._judge_held_out(found.held_out_latents, codes, rows)
        self.oob_log_score_ += found.gain
        return self

    def _judge_held_out(self, latents: Array, y: NDArray[np.int64], rows: PreparedRows) -> None:
        """Publish probabilities of rows that members left out, and their scores."""
        log_p = log_softmax(calibration.contrast_classes(latents), axis=1)
        out, w = ~np.isnan(log_p[:, 0]), rows.table.weights
        total = float(np.sum(w[out]))
        own, right = log_p[out, y[out]], np.argmax(log_p[out], axis=1) == y[out]
        self.oob_log_score_ = float(w[out] @ own) / total if total else float("nan")
        self.oob_score_ = float(w[out] @ right) / total if total else float("nan")
        self.oob_decision_function_ = rows.expand(np.exp(log_p))
