"""Any likelihood x normal prior x any features x Laplace or the nearest normal."""

from __future__ import annotations

import abc
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from posterity import designs, distributions, likelihoods, models, page_forms, validation
from posterity.constructors import declare_parameters, field
from posterity.inference.averaging import can_average, check_hyperparameters
from posterity.inference.posterior import LatentMarginals, WeightedPosterior
from posterity.inference.weights import LatentPosterior, WeightSpace, count_targets, learn_weights
from posterity.linear.weighted_model import WeightedModel, record_learned
from posterity.models import Member, ModelCard
from posterity.models.regressor import DISTRIBUTION, ExposedRegressor
from posterity.page_forms import Form


@declare_parameters
class LikelihoodRegressor(WeightedModel, ExposedRegressor):
    """A regressor whose latent value is linear in features, and has a normal prior.

    A subclass says which likelihood it has.
    """

    prior_variance: float | None = None
    standardize: bool = True
    hyperparameters: str = "average"

    inference = "auto"  # of regressors without this parameter
    # Averaged over, by weight.
    likelihoods_: tuple[tuple[likelihoods.Likelihood, float], ...] = field(default=(), init=False)
    posterior_: LatentPosterior = field(init=False)

    @abc.abstractmethod
    def _likelihood(self) -> likelihoods.Likelihood:
        """With None for what is to be learned."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), :class:`posterity.designs.Chunks`, or Dask's
            Inputs; chunks bring their own targets and weights and never sit in memory at once.
            Rows of a Dask array or data frame stay on the workers; targets there must be counts.
        y : array-like of shape (N,)
            Targets.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        exposure : array-like of shape (N,), optional
            Exposure of each count, such as hours, people or square metres; positive. What is
            learned is the rate of events in a unit of it. Only with a likelihood of counts.
        """
        source = models.find_streamed_source(X, y, sample_weight)
        if source is not None:
            models.refuse_exposure(exposure)
            streamed = models.StreamedRows.from_source(self, source)
            return self._conclude(streamed.design, streamed.y, streamed.weights)
        rows, targets = validation.check_X_y(self, X, y, min_rows=2, multi_output=False)
        validation.check_powers(rows, X)
        weights = validation.check_repetitions(sample_weight, len(rows))
        likelihood = self._likelihood()
        weights = self._weigh_copies(rows, targets, weights)
        columns = self._learn_columns(rows, targets, weights, likelihood)
        exposed = models.attach_exposure(likelihood, targets, exposure)
        return self._conclude(designs.Dense(columns), exposed, weights)

    def _conclude(self, design: designs.Design, y: Any, weights: Any) -> Self:
        likelihood = self._likelihood()
        likelihood.check(count_targets(y, weights)[0])
        learned = learn_weights(
            WeightSpace.from_design(
                design, weights, offset=self.fit_intercept, standardize=self.standardize
            ),
            y,
            weights,
            likelihood,
            prior_variance=models.check_variance(self.prior_variance, "prior_variance"),
            nearest=self._wants_nearest(likelihood),
            average=check_hyperparameters(self.hyperparameters) and can_average(likelihood),
        )
        record_learned(self, learned)
        self.likelihood_, self.likelihoods_ = learned.likelihood, learned.likelihoods
        self.coef_ = learned.coef[:, 0]
        self.intercept_ = float(learned.intercept[0]) if self.fit_intercept else 0.0
        return self

    def _wants_nearest(self, likelihood: likelihoods.Likelihood) -> bool:
        """Whether the posterior is to be the nearest normal; refuses what is not a choice."""
        if self.inference not in ("auto", "laplace"):
            raise ValueError(f"inference={self.inference!r} must be 'auto' or 'laplace'.")
        return self.inference == "auto" and isinstance(likelihood, likelihoods.Averaged)

    @models.answer_lazily(DISTRIBUTION)
    def predict_dist(
        self, X: ArrayLike, *, exposure: ArrayLike | None = None
    ) -> distributions.Univariate:
        """The predictive distribution of the target at each row of X.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Query rows.
        exposure : float or array-like of shape (n,), optional
            Exposure of each new count. None: one, so that counts are rates. Only with a likelihood
            of counts.
        """
        f = self._latent(X)
        a = models.add_exposure(self.likelihood_, f.mean[:, 0], exposure)
        each = self.likelihoods_ or ((self.likelihood_, 1.0),)
        predicted: list[Any] = [likelihood.predict(a, f.variance[:, 0]) for likelihood, _ in each]
        if len(predicted) == 1:
            return predicted[0]
        return distributions.Mixture.average(predicted, [weight for _, weight in each])

    @models.answer_lazily(DISTRIBUTION)
    def predict_latent(self, X: ArrayLike) -> distributions.Normal:
        """The latent value at each row of X."""
        f = self._latent(X)
        return distributions.Normal(f.mean[:, 0], np.sqrt(f.variance[:, 0]))

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        posterior = page_forms.find_form(self.posterior_)
        latent = page_forms.form_weights(self.coef_, self.intercept_, posterior)
        space, each = self._page_columns(), self.likelihoods_ or ((self.likelihood_, 1.0),)
        forms = [
            page_forms.form_linear(space, latent, page_forms.find_form(one)) for one, _ in each
        ]
        return page_forms.form_mixture(forms, [weight for _, weight in each])

    def _weight_posterior(self) -> WeightedPosterior:
        return self.posterior_

    def _output_names(self) -> range:
        return range(1)

    def _latent(self, X: ArrayLike) -> LatentMarginals:
        check_is_fitted(self)
        return self.posterior_.latent(
            self._transform_features(validation.check_X(self, X, reset=False))
        )


@declare_parameters
class GeneralizedLinearRegression(LikelihoodRegressor):
    """Regression with any likelihood whose latent value is linear in the features.

    The posterior of the weights is approximated by a normal, and the prior variance, with what the
    likelihood leaves open, is that of the largest evidence.

    Parameters
    ----------
    likelihood : Likelihood
        A value of :mod:`posterity.likelihoods`, such as ``Poisson()`` for counts. Its parameters
        that are None are learned by the evidence.
    features : transformer, optional
        What the latent value is linear in. None: the columns as they are.
    prior_variance : float, optional
        Variance of each weight. None: learned by the evidence.
    fit_intercept : bool, default=True
        Add an intercept, with a prior worth one row.
    standardize : bool, default=True
        Let the prior act on the weights of columns scaled to unit variance, so that units do not
        matter. False: on the weights as they are.
    inference : {"auto", "laplace"}, default="auto"
        Laplace's approximation, the normal at the mode of the weights. "auto" learns the parameters
        by Laplace and ends, for counts and positive amounts, with the normal nearest to the
        posterior, under which expected counts add up to those observed. Other likelihoods, and
        rows that are many for each weight, end with Laplace's all the same.
    hyperparameters : {"average", "maximise"}, default="average"
        What to do about the prior variance, and parameters of the likelihood, that are learned:
        average predictions over the values that the rows leave plausible, under weak priors, or
        take those of the largest evidence, which is too sure where rows are few. They are averaged
        up to 30 rows for each weight, and 400 in all.

    Attributes
    ----------
    coef_ : array of shape (M,)
        Posterior mean of the weights of the latent value, in the units of the features.
    intercept_ : float
        Posterior mean of the intercept.
    likelihood_ : Likelihood
        With every parameter set or learned.
    likelihoods_ : tuple of (Likelihood, float)
        Those over which predictions are averaged, with weights; empty where they are not.
    prior_variance_ : float
        As learned, or as given.
    log_evidence_ : float
        Log marginal likelihood of all targets, constants included, to Laplace's approximation,
        whatever ``inference`` is.
    posterior_ : LatentPosterior
        The posterior, as prediction uses it.
    features_ : transformer or None
        The fitted features.
    n_iter_, stop_reason_, at_bounds_
        Of the search for the parameters; which parameters ended at a bound.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import GeneralizedLinearRegression, likelihoods
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 2.0, size=(200, 1))
    >>> counts = rng.poisson(np.exp(1.0 + X[:, 0]))
    >>> model = GeneralizedLinearRegression(likelihoods.Poisson()).fit(X, counts)
    >>> model.coef_.round(1), round(model.intercept_, 1)
    (array([1.]), 1.1)
    """

    likelihood: Any = field(kw_only=False)
    inference: str = "auto"

    card = ModelCard(
        likelihood="any: Poisson for counts",
        prior="normal",
        feature_space="explicit",
        inference="variational or Laplace, by evidence",
        advice="counts of events, or another likelihood",
        page="likelihoods",
        candidates=(
            Member(
                "poisson",
                130,
                "N D^2 an iteration",
                {"likelihood": likelihoods.Poisson()},
                likelihood="Poisson: counts",
                advice="counts of events",
                target="counts",
                usual_rows=1e7,
                on_dask=True,
            ),
            Member(
                "negative-binomial",
                140,
                "N D^2 an iteration",
                {"likelihood": likelihoods.NegativeBinomial()},
                likelihood="negative binomial: counts",
                advice="counts that vary more than Poisson's",
                target="counts",
            ),
        ),
    )

    def _likelihood(self) -> likelihoods.Likelihood:
        if isinstance(self.likelihood, likelihoods.Likelihood):
            return self.likelihood
        raise TypeError(
            f"likelihood={self.likelihood!r} must be a likelihood of one latent value, such as "
            "posterity.likelihoods.Poisson()."
        )
