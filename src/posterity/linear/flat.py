"""Predictions of least squares: a Student-t, or the textbook's plug-in normal."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from posterity import designs, distributions, page_forms
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.inference.conjugate import FlatFit, reduce_statistics
from posterity.linear.linear_model import FeatureRows, LinearModel
from posterity.page_forms import Form

PREDICTIVES = ("student_t", "plug_in")


@declare_parameters
class FlatModel(LinearModel):
    """A linear model with no prior: maximum likelihood, and what it leaves uncertain."""

    predictive: str = "student_t"

    fit_: FlatFit = field(init=False)

    def _start_fit(self, rows: FeatureRows) -> None:
        if self.predictive not in PREDICTIVES:
            raise ValueError(f"predictive={self.predictive!r} must be one of {PREDICTIVES}.")
        super()._start_fit(rows)

    def _maximise_likelihood(self, statistics: designs.Statistics, *, standardize: bool) -> None:
        """Least squares; noise known row by row is reported by its average."""
        problem = reduce_statistics(
            statistics, fit_intercept=self.fit_intercept, standardize=standardize
        )
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
            f"{self.fit_.problem.count:g} rows are fitted exactly by {self.rank_} weights and "
            "leave nothing to tell the noise by, so there is no predictive distribution. Use "
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
