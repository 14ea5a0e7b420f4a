"""Any likelihood x sparse prior x any features: SparseLinearRegression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from posterity import (
    designs,
    distributions,
    features,
    likelihoods,
    models,
    priors,
    sparse,
    validation,
)
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.inference.averaging import check_hyperparameters
from posterity.inference.conjugate import ConjugatePosterior
from posterity.inference.weights import count_targets
from posterity.linear.predictions import PosteriorModel
from posterity.linear.statistics_model import FeatureRows, LinearModel, StreamedLinearModel
from posterity.models import MOST_PAIR_COLUMNS, Member, ModelCard
from posterity.models.regressor import DISTRIBUTION, ExposedRegressor
from posterity.sparse import (
    ColumnEngine,
    LatentOutputs,
    SparsePosterior,
    SparseProblem,
    sparse_noise,
)
from posterity.sparse.chosen_columns import ChosenColumns
from posterity.sparse.sparse_noise import EqualVarianceRows, SparseNoise


@declare_parameters
class SparseLinearRegression(ChosenColumns, PosteriorModel, StreamedLinearModel, ExposedRegressor):
    """Linear regression that keeps the few columns that raise the evidence.

    Each weight has a normal prior of its own precision, and the precisions are those of the largest
    evidence. Most of them are then infinite: their columns are out, and nobody need measure them
    again. Several outputs share their columns.

    Parameters
    ----------
    degrees_of_freedom : float, default=0.0
        Of the Student-t that is the prior of each weight, in units of the noise and for columns of
        unit variance. 0: any precision is as probable as any other, the classical choice.
    noise_variance : float, optional
        Variance of the noise. None: learned by the evidence.
    fit_intercept : bool, default=True
        Add an intercept, with a unit-information prior about the mean of the targets.
    likelihood : Likelihood, optional
        How targets scatter about the linear function: a value of :mod:`posterity.likelihoods`, such
        as ``Poisson()`` for counts or ``StudentT()`` for outliers, with one output. Its parameters
        that are None are learned. Columns are then chosen by Laplace's evidence, from rows that are
        all given to ``fit``. None: normal noise.
    inference : {"auto", "laplace"}, default="auto"
        With a likelihood: the posterior of the weights is the normal nearest to it for counts and
        positive amounts, Laplace's normal at its mode for all others and with "laplace". In normal
        noise it is exact.
    hyperparameters : {"average", "maximise"}, default="average"
        In normal noise, with at most a few hundred rows. "average": predictions average over which
        of the columns that are kept have a weight, and over the variances of weights and noise, as
        far as these are not given. "maximise": they take the choice and the precisions and noise
        of the largest evidence as known, which is too sure where rows are few.

    Attributes
    ----------
    coef_ : array of shape (M,) or (K, M)
        Posterior mean of the weights, in the units of the data; zero for columns that are out.
    intercept_ : float or array of shape (K,)
        Posterior mean of the intercept.
    precision_ : array of shape (m,)
        Prior precisions of the weights that are kept, for columns of unit variance and in units of
        the noise: a weight has variance ``noise_variance_ / precision_`` before the data.
    noise_variance_ : float or array of shape (K,)
        Learned, or as given; None with a likelihood.
    likelihood_ : Likelihood
        With every parameter set or learned, where one was given; else None.
    log_evidence_ : float
        Log marginal likelihood of all targets given the precisions, constants included.
    posterior_ : PosteriorMixture, WeightPosterior or SparsePosterior
        Of the weights that are kept, as prediction uses it; the last with a likelihood.

    Notes
    -----
    All that is learned of the rows are their products, so that chunks that never sit in memory at
    once, and rows that come later, lead to the same columns.

    Among many columns that explain nothing some seem to, and the evidence at the best precisions
    would let about a third of them in. So the search also counts how many ways there are to choose
    as many columns: before the data every number of columns is as probable as any other, and so is
    every choice of that many. ``log_evidence_`` is without that.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import SparseLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 200))
    >>> y = X[:, 3] - 2.0 * X[:, 80] + 0.1 * rng.normal(size=50)
    >>> model = SparseLinearRegression().fit(X, y)
    >>> model.relevance_, model.coef_[model.relevance_].round(1)
    (array([ 3, 80]), array([ 1., -2.]))
    """

    noise_variance: float | None = None
    likelihood: Any = None

    card = ModelCard(
        likelihood="normal, or any of one latent value",
        prior="Student-t (precision per weight)",
        feature_space="explicit, few columns kept",
        inference="closed form or Laplace, precisions by evidence",
        advice="few of many columns matter, and you want to know which",
        page="sparse",
        candidates=(
            Member("sparse", 50, "N D m, m columns kept", usual_rows=1e6, on_dask=True),
            Member(
                "sparse-quadratic",
                100,
                "N D^2 m, m products kept",
                {"features": features.Polynomial(2)},
                feature_space="squares and products, few kept",
                advice="some columns interact, and you want to know which",
                usual_rows=1e5,
                usual_columns=40,
                most_columns=MOST_PAIR_COLUMNS,
                on_dask=True,
            ),
        ),
    )

    likelihood_: Any = field(default=None, init=False)
    posterior_: ConjugatePosterior | SparsePosterior = field(init=False)  # type: ignore[assignment]

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        noise_variance: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), :class:`posterity.designs.Chunks`, or Dask's
            Inputs; chunks bring their own targets and weights and never sit in memory at once.
        y : array-like of shape (N,) or (N, K)
            Targets.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        noise_variance : array-like of shape (N,), optional
            Known variance of the noise of each row. The noise is then not learned.
        exposure : array-like of shape (N,), optional
            Exposure of each count, such as hours, people or square metres; positive. What is
            learned is the rate of events in a unit of it. Only with a likelihood of counts.
        """
        if self.likelihood is None:
            models.require_counts(None, exposure)
            return super().fit(X, y, sample_weight, noise_variance)
        validation.check_count(self.max_iter, "max_iter")
        design, targets, weights = self._read_rows(
            X, y, sample_weight, exposure, likelihoods.Normal()
        )
        known = None if noise_variance is None else np.asarray(noise_variance)
        observed = count_targets(targets, weights)[0]
        likelihood = sparse_noise.check_likelihood(self, observed, known)
        assert likelihood is not None
        exposed = models.attach_exposure(likelihood, targets, exposure)
        return self._choose_for(likelihood, design, exposed, weights)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        noise_variance: ArrayLike | None = None,
    ) -> Self:
        if self.likelihood is not None:
            raise TypeError(
                "partial_fit merges products of rows, which say all there is in normal noise only: "
                "with a likelihood, fit all rows at once."
            )
        return super().partial_fit(X, y, sample_weight, noise_variance)

    partial_fit.__doc__ = StreamedLinearModel.partial_fit.__doc__

    def _choose_for(
        self, likelihood: likelihoods.Likelihood, design: designs.Design, y: Any, weights: Any
    ) -> Self:
        """Choose columns under a likelihood, and set what the posterior of those kept tells."""
        outputs = LatentOutputs.from_likelihood(y, weights, likelihood, offset=self.fit_intercept)
        nearest = sparse_noise.wants_nearest(self, likelihood)
        found = self._choose_columns(design, outputs, nearest=nearest)
        self._single_output, self._known_noise, self._statistics = True, False, None
        self.noise_variance_ = None
        self.likelihood_ = found.fit.problem.targets.likelihood
        self._publish(*found.original_units())
        return self

    @models.answer_lazily(DISTRIBUTION)
    def predict_latent(self, X: ArrayLike) -> distributions.Normal:
        """The latent value at each row of X; without a likelihood, the noise-free function."""
        f = self.posterior_.latent(self._queries(X))
        return distributions.Normal(self._per_row(f.mean), np.sqrt(self._per_row(f.variance)))

    @models.answer_lazily(DISTRIBUTION)
    def predict_dist(
        self,
        X: ArrayLike,
        *,
        noise_variance: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> distributions.Univariate:
        """The predictive distribution at each row.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Query rows.
        noise_variance : float or array-like of shape (n,), optional
            Variance of the noise of the new targets. None: that of the training rows (their
            average where it was known row by row). 0: the noise-free function.
        exposure : float or array-like of shape (n,), optional
            Exposure of each new count. None: one, so that counts are rates. Only with a likelihood
            of counts.
        """
        if exposure is None:
            return LinearModel.predict_dist(self, X, noise_variance=noise_variance)
        return self._answer_queries(self._predict_from_features, X, noise_variance, exposure)

    def _predict_from_features(
        self, Z: Array, noise_variance: ArrayLike | None, exposure: ArrayLike | None = None
    ) -> distributions.Univariate:
        models.require_counts(self.likelihood_, exposure)
        if self.likelihood_ is None:
            return super()._predict_from_features(Z, noise_variance)
        if noise_variance is not None:
            raise ValueError("The likelihood says how targets scatter: noise_variance has no use.")
        f = self.posterior_.latent(Z)
        a = models.add_exposure(self.likelihood_, f.mean[:, 0], exposure)
        return self.likelihood_.predict(a, f.variance[:, 0])

    @models.refuse_partitions
    def predict_cov(self, X: ArrayLike) -> Array:
        if self.likelihood_ is not None:
            raise TypeError(
                "Targets of this likelihood are not jointly normal: use return_std=True, or "
                "sample_functions for the latent function."
            )
        return super().predict_cov(X)

    predict_cov.__doc__ = PosteriorModel.predict_cov.__doc__

    def _predict_mean(self, X: ArrayLike) -> Array:
        if self.likelihood_ is not None:
            return models.find_center(self.predict_dist(X))
        return super()._predict_mean(X)

    def _output_names(self) -> range:
        return super()._output_names() if self.likelihood_ is None else range(1)

    def _check_rows(
        self, X: Any, y: Any, sample_weight: Any, noise_variance: Any, **how: Any
    ) -> FeatureRows:
        rows = super()._check_rows(X, y, sample_weight, noise_variance, **how)
        validation.check_powers(rows.X, X)
        return rows

    def _fit_statistics(self, statistics: designs.Statistics) -> None:
        validation.check_count(self.max_iter, "max_iter")
        averages = check_hyperparameters(self.hyperparameters)
        rows = EqualVarianceRows.from_statistics(statistics, centred=self.fit_intercept)
        noise = SparseNoise.from_variance(
            models.check_variance(self.noise_variance, "noise_variance"),
            by_row=self._known_noise,
            count=statistics.count,
            total=rows.total,
        )
        prior = priors.Sparse(self.degrees_of_freedom, among=statistics.n_features)
        problem = SparseProblem(prior, self.fit_intercept, sparse_noise.TOL, self.max_iter)
        engine = ColumnEngine(rows.Z, noise.outputs(rows.Y, rows.weights), problem)
        found, _ = engine.select()
        chosen = found.reorder(np.argsort(found.places))
        self.relevance_, self.precision_ = chosen.places, chosen.precision
        self._n_columns = statistics.n_features
        kept = statistics.select_features(chosen.places)
        offset = {"fit_intercept": self.fit_intercept}
        posterior, evidence = noise.posterior(kept, chosen, **offset)
        if averages:
            at_maximum = posterior.at_maximum
            posterior = noise.average_columns(at_maximum, kept, chosen, prior, **offset)
        self._adopt(posterior, kept)
        self.likelihood_ = None
        self.log_evidence_ = evidence
        self.n_iter_, self.stop_reason_ = sparse.report_choice(chosen, "column", self.max_iter)

    def _adopt(self, posterior: ConjugatePosterior, statistics: designs.Statistics) -> None:
        super()._adopt(posterior, statistics)
        del self.prior_variance_  # each weight has its own

    def _predict_mean_from_features(self, Z: Array) -> Array:
        return Z @ self.coef_[..., self.relevance_].T + self.intercept_

    def _split(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        """With the weights of the columns that are out, which are zero."""
        return self._insert_zeros(coef), intercept
