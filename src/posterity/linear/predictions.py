"""Predictions of linear models: from the posterior of the weights, or from least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, designs, distributions, models, page_forms, priors, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.inference.averaging import PosteriorMixture, check_hyperparameters
from posterity.inference.conjugate import (
    AveragedPosterior,
    ConjugatePosterior,
    FlatFit,
    WeightPosterior,
    average_points,
    find_variance_points,
    maximise_evidence,
    reduce_statistics,
)
from posterity.inference.posterior import WeightedPosterior
from posterity.linear.statistics_model import FeatureRows, LinearModel
from posterity.linear.weighted_model import WeightedModel
from posterity.page_forms import Form


@declare_parameters
class PosteriorModel(WeightedModel, LinearModel):
    """A linear model that predicts by averaging over the posterior of its weights."""

    hyperparameters: str = "average"

    noise_variance: float | None = field(init=False)
    prior_variance_: Any = field(init=False)
    posterior_: ConjugatePosterior = field(init=False)

    def _learn(
        self, statistics: designs.Statistics, prior: priors.Normal, *, standardize: bool
    ) -> None:
        """Find the posterior at variances that are given, averaged over those that are not."""
        averages = check_hyperparameters(self.hyperparameters)
        problem = self._reduce_statistics(statistics, standardize=standardize)
        factor = prior.find_column_factor(len(problem.scale))
        if not prior.is_shared:
            problem = reduce_statistics(
                statistics,
                fit_intercept=self._is_centred,
                standardize=standardize,
                scale=problem.scale / factor,
            )
        noise = models.check_variance(self.noise_variance, "noise_variance")
        given: dict[str, Any] = {
            "prior_variance": prior.shared_variance,
            # Rows of known noise were divided by its deviation, which leaves a variance of one.
            "noise_variance": 1.0 if self._known_noise else noise,
        }
        learned = maximise_evidence(problem, **given)
        at_maximum = WeightPosterior(problem, learned.noise_variance, learned.prior_variance)
        points = find_variance_points(problem, **given) if averages else None
        self._adopt(average_points(at_maximum, points), statistics)
        self.prior_variance_ = factor**2 * self.prior_variance_
        self.log_evidence_ = float(learned.log_evidence.sum())
        self.stop_reason_ = learned.stop_reason
        self.at_bounds_ = models.report_weight_bounds(learned)

    def _adopt(self, posterior: ConjugatePosterior, statistics: designs.Statistics) -> None:
        """Set what prediction needs; noise known row by row is reported by its average."""
        self.posterior_, at_maximum = posterior, posterior.at_maximum
        self._publish(posterior.coef, posterior.intercept)
        noise = at_maximum.noise_variance
        if self._known_noise:
            noise = np.full_like(noise, statistics.noise_sum / statistics.count)
        self.noise_variance_ = self._per_output(noise)
        self.prior_variance_ = self._per_output(at_maximum.prior_variance)

    def _predict_from_features(
        self, Z: Array, noise_variance: ArrayLike | None
    ) -> distributions.Univariate:
        if not isinstance(self.posterior_, WeightPosterior):
            return self._average_at(self.posterior_, Z, noise_variance)
        f = self.posterior_.latent(Z)
        total = f.variance + self._make_query_noise(noise_variance, len(Z))
        return distributions.Normal(self._per_row(f.mean), np.sqrt(self._per_row(total)))

    def _average_at(
        self,
        posterior: AveragedPosterior | PosteriorMixture,
        Z: Array,
        noise_variance: ArrayLike | None,
    ) -> distributions.Univariate:
        """The mixture over variances; noise that was learned is averaged over too."""
        is_learned = noise_variance is None and not posterior.is_noise_known
        noise = None if is_learned else self._make_query_noise(noise_variance, len(Z))
        outputs = () if self._single_output else (len(posterior.at_maximum.noise_variance),)
        return posterior.predict(Z, noise, outputs)

    @models.refuse_partitions
    def predict_cov(self, X: ArrayLike) -> Array:
        """Covariance of the targets between rows, noise on the diagonal: (n, n) or (K, n, n)."""
        Z = self._queries(X)
        posterior = self._posterior()
        C = posterior.joint(Z).covariance
        noise = np.atleast_1d(self.noise_variance_)
        if not isinstance(posterior, WeightPosterior) and not posterior.is_noise_known:
            noise = posterior.mean_noise_variance
        i = np.arange(len(Z))
        C[:, i, i] += noise[:, None]
        return C[0] if self._single_output else C

    def sample_weights(self, n_samples: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Draws from the posterior of the weights and of the intercept, in the units of the data.

        Returns
        -------
        coef : array of shape (n_samples, M) or (n_samples, K, M)
        intercept : array of shape (n_samples,) or (n_samples, K)
        """
        rng = arrays.generator(random_state)
        coef, intercept = self._split(*self._posterior().sample(n_samples, rng))
        by_output = np.moveaxis(coef, 1, 2)
        if self._single_output:
            return by_output[:, 0], intercept[:, 0]
        return by_output, intercept

    @models.refuse_partitions
    def sample_functions(self, X: ArrayLike, n_samples: int = 1, random_state: Any = None) -> Array:
        """Noise-free functions drawn from the posterior, at the rows of X.

        Returns
        -------
        values : array of shape (n_samples, n) or (n_samples, n, K)
        """
        Z = self._queries(X)
        coef, intercept = self._posterior().sample(n_samples, arrays.generator(random_state))
        values = Z @ coef + intercept[:, None, :]
        return values[..., 0] if self._single_output else values

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        given = self._page_columns(), self._page_coef(), self.intercept_, self.noise_variance_
        return page_forms.find_form(self.posterior_, *given, method="page_regression")

    def _weight_posterior(self) -> WeightedPosterior:
        return self._posterior()

    def _output_names(self) -> range:
        return range(len(self.posterior_.noise_variance))

    def _posterior(self) -> ConjugatePosterior:
        check_is_fitted(self)
        return self.posterior_

    def _split(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        """Weights (..., M, K) and offset (..., K) of the features, from those of the design."""
        return coef, intercept

    def _publish(self, coef: Array, intercept: Array) -> None:
        super()._publish(*self._split(coef, intercept))


PREDICTIVES = ("student_t", "plug_in")


@declare_parameters
class FlatModel(LinearModel):
    """A linear model with no prior: maximum likelihood, and what it leaves uncertain.

    Parameters
    ----------
    predictive : {"student_t", "plug_in"}, default="student_t"
        Under a flat prior. "student_t": the predictive distribution with weights and noise variance
        integrated out under a reference prior; its intervals are the classical prediction
        intervals. "plug_in": a normal with the maximum likelihood variance, which is too narrow.
    """

    predictive: str = "student_t"

    fit_: FlatFit = field(init=False)

    def _start_fit(self, rows: FeatureRows) -> None:
        validation.check_choice(self.predictive, "predictive", PREDICTIVES)
        super()._start_fit(rows)

    def _maximise_likelihood(self, statistics: designs.Statistics, *, standardize: bool) -> None:
        """Least squares; noise known row by row is reported by its average."""
        problem = self._reduce_statistics(statistics, standardize=standardize)
        fit = FlatFit(problem, has_offset=self.fit_intercept)
        self.fit_, self.rank_ = fit, problem.rank
        coef = fit.coef
        self._publish(coef, fit.compute_intercept(coef))
        noise = fit.noise_variance
        if self._known_noise:
            noise = np.full_like(noise, statistics.noise_sum / statistics.count)
        self.noise_variance_ = self._per_output(noise)

    def _predict_from_features(
        self, Z: Array, noise_variance: ArrayLike | None
    ) -> distributions.Univariate:
        mean = self._predict_mean_from_features(Z)
        noise = self._per_row(self._make_query_noise(noise_variance, len(Z)))
        if self.predictive == "plug_in":
            return distributions.Normal(mean, np.sqrt(noise))
        leverage = self._per_row(self.fit_.weights.latent(Z).variance)  # in units of the noise
        if self._known_noise:
            return distributions.Normal(mean, np.sqrt(leverage + noise))
        freedom = self._degrees_of_freedom()
        unbiased = self._per_output(self.fit_.unbiased_noise_variance)
        new = unbiased if noise_variance is None else noise
        return distributions.StudentT(mean, np.sqrt(unbiased * leverage + new), freedom)

    def _degrees_of_freedom(self) -> float:
        freedom = self.fit_.degrees_of_freedom
        if freedom > 0:
            return freedom
        raise ValueError(
            f"{self.fit_.problem.count:g} rows are fitted exactly by {self.rank_} weights, so "
            "the noise cannot be estimated and a predictive distribution does not exist. Use "
            "more rows, fewer features, or BayesianLinearRegression."
        )

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        space, coef = self._page_columns(), self._page_coef()
        if self.predictive == "plug_in":
            noise = page_forms.form_normal_noise(self.noise_variance_)
            return page_forms.form_linear(
                space, page_forms.form_weights(coef, self.intercept_), noise
            )
        posterior = page_forms.find_form(self.fit_.weights)
        latent = page_forms.form_weights(coef, self.intercept_, posterior)
        if self.has_known_noise:
            return page_forms.form_linear(
                space, latent, page_forms.form_normal_noise(self.noise_variance_)
            )
        nu = self.fit_.degrees_of_freedom
        if nu <= 0:
            raise page_forms.NoFormError(
                "The weights fit all rows exactly, so the noise cannot be estimated."
            )
        unit = float(self.fit_.unbiased_noise_variance[0])
        answer = {"kind": "student_t", "freedom": nu, "unit": unit, "noise": unit}
        return page_forms.form_linear(space, latent, answer)
