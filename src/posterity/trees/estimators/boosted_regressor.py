"""Any likelihood x boosted trees x cross-fitted members: BoostedTreesRegressor."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from posterity import distributions, likelihoods, models, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.models import Member, ModelCard
from posterity.models.regressor import DISTRIBUTION, ExposedRegressor
from posterity.page_forms import Form
from posterity.trees.boosting import training
from posterity.trees.boosting.boosted_trees import BoostedTrees
from posterity.trees.boosting.catalogue import MOST_OFFSETS
from posterity.trees.boosting.levels import QueryRows
from posterity.trees.boosting.noise import Noise
from posterity.trees.estimators.boosted_model import BoostedModel, BoostedTargets, BoostingStart
from posterity.trees.estimators.boosted_rows import PreparedRows

_N_MEMBERS, _MANY_ROWS = 5, 20_000
_PATIENCE = 6.0  # full steps without a better score


@declare_parameters
class BoostedTreesRegressor(BoostedModel, ExposedRegressor):
    """Boosted trees for regression, with a distribution for every row.

    The location of a row is a constant plus the leaf values of many small trees, each of which is a
    natural gradient step of the log-likelihood given the trees before it. The spread has trees of
    its own, which are grown on rows at locations by trees that have not seen them. Quantiles cannot
    cross, since a distribution is fitted.

    The fit is an average of members, each of which leaves out a part of the rows. Those rows choose
    the number of rounds, give honest residuals, and calibrate the spread and the tails, so that
    intervals hold what they say on new rows. Predictive variance has an aleatoric part, the noise,
    and an epistemic part, that of the location, which grows where leaves have few rows or none:
    ``predict_latent`` returns it.

    By default the mean is fitted by least squares, and noise is Student's t: with outliers, or
    nearly normal, as rows say that members left out. Another ``likelihood`` changes both.

    Missing values (NaN) are accepted. A column that has some is tested twice, once with missing
    values as the largest and once as the smallest, so each split sends them to the side where they
    predict better.

    Parameters
    ----------
    n_estimators : int, default=600
        Maximum number of rounds, each of which adds a tree to every member.
    likelihood : Likelihood, optional
        A value of :mod:`posterity.likelihoods`: ``Normal()``, ``StudentT()`` for outliers, whose
        location is then robust, ``LogNormal()`` or ``Gamma()`` for positive targets, ``Poisson()``
        or ``NegativeBinomial()`` for counts. Parameters that are None are learned, the first of
        them by trees. None: least squares, and Student-t noise.
    learning_rate : float, default=0.15
        Fraction of a step that a tree adds, > 0 and at most 1.
    max_depth : int, default=6
        Maximum number of tests from the root to a leaf; trees of the spread have at most four.
    l2_regularization : float, default=1
        Precision of the normal prior of a leaf value, in rows.
    random_strength : float, default=0.5
        Standard deviation of random scores, in units of the sampling error of a score. 0: the best
        test is taken.
    monotonic_cst : array-like of shape (D,) or dict, optional
        1 or -1 where the location, which is ``activation``, may only increase or decrease with a
        column, else 0. The mean of counts and of positive targets depends on what is open of the
        location too, and may move against it, by less than 1 % in fits to 200 drawn rows.
    cv : int, optional
        Number of members, each of which leaves out other rows. None: five, and from 20,000 rows
        on one, which leaves out a tenth of the rows. 1: one member that uses all rows for
        ``n_estimators`` rounds, with the noise of training rows.
    n_iter_no_change : int, optional
        Number of rounds without improvement after which training ends. None: that of six full
        steps.
    warm_start : bool, default=False
        Whether ``fit`` continues from the trees of an earlier fit of the same rows; trees of the
        spread are grown anew.

    Attributes
    ----------
    trees_ : BoostedTrees
        The trees of the location, of all members, as flat arrays.
    spread_trees_ : BoostedTrees or None
        Those of the log of the first parameter of the likelihood; None where it is the same for
        all rows.
    noise_ : Noise
        The likelihood with its parameters, and the factors that calibrate them.
    validation_scores_ : array of shape (1 + rounds,) or None
        Mean log density of the targets of left-out rows for the constant, and after each round,
        under noise that is the same for all rows.
    oob_log_score_ : float
        Mean log density of left-out rows after calibration, with what the mean of members gains
        over the one that left a row out; NaN without any.
    oob_log_prob_ : array of shape (N,)
        The same for each row; NaN where no member left it out.
    oob_prediction_ : array of shape (N,)
        Latent values by the member that left the row out; NaN where none did.

    See Also
    --------
    RandomForestRegressor : Deep trees that are averaged, not added; faster to fit.
    BoostedTreesClassifier : The same for classes.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import BoostedTreesRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2.0, 2.0, size=(800, 2))
    >>> y = X[:, 0] ** 2 + np.exp(0.8 * X[:, 1]) * rng.normal(size=800)
    >>> model = BoostedTreesRegressor(random_state=0).fit(X, y)
    >>> mean, std = model.predict([[0.0, -1.5], [0.0, 1.5]], return_std=True)
    >>> bool(np.all(np.abs(mean) < 0.6)), bool(std[1] > 4.0 * std[0])
    (True, True)
    """

    n_estimators: int = field(default=600, kw_only=False)
    likelihood: likelihoods.Likelihood | None = None
    learning_rate: float = 0.15
    random_strength: float = 0.5

    card = ModelCard(
        likelihood="any: Student-t by default",
        prior="normal leaf values",
        feature_space="trees, added one by one",
        inference="stagewise, cross-fitted and averaged",
        advice="the best predictions for most tables, with a spread for each row",
        page="trees",
        candidates=(
            Member("boosted-trees", 170, "N D a round and member", {"n_jobs": -1}, usual_rows=3e5),
            Member(
                "boosted-counts",
                180,
                "N D a round and member",
                {"likelihood": likelihoods.NegativeBinomial(), "n_jobs": -1},
                likelihood="negative binomial: counts",
                advice="counts of events, many rows",
                target="counts",
            ),
        ),
    )

    _least_rows: ClassVar[int] = 2  # one does not tell how far others lie from it
    _n_thresholds: ClassVar[int | None] = MOST_OFFSETS  # smooth means need them, also of few rows

    spread_trees_: BoostedTrees | None = field(init=False)
    noise_: Noise = field(init=False)

    def check_consistency(self) -> None:
        """Raise ValueError where trees are not such that rows as they are taken can go down."""
        if "trees_" not in vars(self):
            return
        self._check_trees("trees_", 1)
        if vars(self).get("spread_trees_") is not None:
            self._check_trees("spread_trees_", 1)
        self._check_labels()
        validation.require(isinstance(vars(self).get("noise_"), Noise), "noise_ must be noise.")
        self.noise_.check_consistency()

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        activation: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
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
            Targets: numbers; a Dask collection where X is one.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        groups : array-like of shape (N,), optional
            Group of each row. A member leaves out all rows of a group or none. Without groups,
            copies of a row are one.
        activation : array-like of shape (N,), optional
            Latent values at which the trees start. They are not part of the model: add them to
            ``activation(X)`` of new rows.
        exposure : array-like of shape (N,), optional
            Exposure of each count, such as hours or people; positive. What is learned is the rate
            of events in a unit of it. Only with a likelihood of counts.
        """
        return self._fit_rows(X, y, sample_weight, groups, activation, exposure)

    @models.answer_lazily(DISTRIBUTION)
    def predict_dist(
        self, X: Any, *, exposure: ArrayLike | None = None
    ) -> distributions.Univariate:
        """The distribution of the target at each row of X.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Query rows.
        exposure : float or array-like of shape (n,), optional
            Exposure of each new count, with a likelihood of counts. None: one: counts are rates.
        """
        query = self._prepare_rows(X)
        return self._answer(query, exposure, *query.compute_moments(self.trees_, self.splits_))

    @models.answer_lazily(DISTRIBUTION)
    def predict_latent(self, X: Any) -> distributions.Normal:
        """The latent value at each row, with its epistemic uncertainty.

        It is the mean of the target, or the log of the mean, as the likelihood has it.
        """
        query = self._prepare_rows(X)
        a, v, more = query.compute_moments(self.trees_, self.splits_)
        variance = self.noise_.find_variance(a[:, 0], v, self._compute_spread(query), more)
        return distributions.Normal(a[:, 0], np.sqrt(variance))

    @models.refuse_partitions
    def activation(self, X: Any) -> Array:
        """Latent values, (n,): the sum of the trees."""
        return self._prepare_rows(X).compute_moments(self.trees_, self.splits_)[0][:, 0]

    @models.refuse_partitions
    def staged_activation(self, X: Any) -> Iterator[Array]:
        """Yield ``activation`` after the first round, the second, and so on."""
        for a, _, _ in self._prepare_rows(X).stage_moments(self.trees_, self.splits_):
            yield a[:, 0]

    @models.refuse_partitions
    def staged_predict_dist(
        self, X: Any, *, exposure: ArrayLike | None = None
    ) -> Iterator[distributions.Univariate]:
        """Yield ``predict_dist`` with locations after the first round, and so on."""
        query = self._prepare_rows(X)
        for moments in query.stage_moments(self.trees_, self.splits_):
            yield self._answer(query, exposure, *moments)

    @models.refuse_partitions
    def staged_predict(self, X: Any, *, exposure: ArrayLike | None = None) -> Iterator[Array]:
        """Yield ``predict`` after the first round, the second, and so on."""
        yield from map(models.find_center, self.staged_predict_dist(X, exposure=exposure))

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        tests = self.splits_.tested_columns()
        spread = None if self.spread_trees_ is None else self.spread_trees_.page_form(tests)
        location = self.trees_.page_form(tests)
        notes = [form.pop("note", "") for form in (location, spread or {})]
        return {
            "kind": "boosted_numbers",
            "location": location,
            "spread": spread,
            **self.noise_.page_form(spread is not None),
            "note": next(filter(None, notes), ""),
        }

    def _answer(
        self, query: QueryRows, exposure: Any, a: Array, v: Array, more: Array | float
    ) -> distributions.Univariate:
        """The distribution at sums of trees, of counts over an exposure where there is one."""
        own = models.add_exposure(self.likelihood, np.zeros(len(a)), exposure)
        return self.noise_.predict(a[:, 0], v, self._compute_spread(query), more, log_exposure=own)

    def _compute_spread(self, query: QueryRows) -> Array | None:
        """The log of the first parameter of the likelihood, (n,)."""
        if self.spread_trees_ is None:
            return None
        return query.compute_moments(self.spread_trees_, self.splits_)[0][:, 0]

    def _read_targets(self, y: Any, n_rows: int, counts: Array | None) -> BoostedTargets:
        if self.likelihood is not None and not isinstance(self.likelihood, likelihoods.Likelihood):
            raise TypeError(
                f"likelihood={self.likelihood!r} must be a likelihood of one latent value, such as "
                "posterity.likelihoods.Gamma(), or None."
            )
        values = validation.check_targets(self, y, n_rows, multi_output=False)
        # Gains are squares of slopes, which are targets over squared scales.
        validation.check_spread(np.atleast_1d(np.ptp(values)), "targets", power=4)
        if self.likelihood is not None:
            self.likelihood.check(values if counts is None else values[counts > 0.0])
        return BoostedTargets(values, np.zeros(n_rows))

    def _check_targets_of(self, earlier: Self) -> None:
        kind = likelihoods.StudentT if self.likelihood is None else type(self.likelihood)
        if kind is not type(earlier.noise_.likelihood):
            raise ValueError(
                f"warm_start goes on with the likelihood of the last fit, "
                f"{type(earlier.noise_.likelihood).__name__}, not with {kind.__name__}; set "
                "warm_start=False to fit anew."
            )

    def _activation_shape(self, n_rows: int) -> tuple[int, ...]:
        return (n_rows,)

    def _count_members(self, n_rows: int) -> Any:
        """As given; five, and of many rows one that leaves a tenth out."""
        if self.cv is None:
            return _N_MEMBERS if n_rows <= _MANY_ROWS else None
        return self.cv

    def _boost(self, rows: PreparedRows, y: Array, start: BoostingStart) -> Self:
        plan = start.plan
        if self.n_iter_no_change is None:
            plan = replace(plan, patience=round(_PATIENCE / plan.learning_rate))
        found = training.fit_boosted_numbers(
            rows.table,
            y,
            self.likelihood,
            plan,
            start.rng,
            start.point,
            share_rows=self.cv is None or isinstance(self.cv, numbers.Integral),
        )
        self.splits_, self.spread_trees_, self.noise_ = found.family, found.spread, found.noise
        self._adopt_fit(found.fit, start.earlier)
        out = np.isfinite(found.held_out_log_prob)
        w, own = rows.table.weights[out], found.held_out_log_prob[out]
        self.oob_log_score_ = float(np.average(own, weights=w)) if len(own) else float("nan")
        self.oob_log_prob_ = rows.expand(found.held_out_log_prob)
        self.oob_prediction_ = rows.expand(found.fit.held_out_latents[:, 0])
        return self
