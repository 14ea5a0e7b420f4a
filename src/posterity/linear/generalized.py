"""Any likelihood x normal or flat prior x any features x Laplace or the nearest normal."""

from __future__ import annotations

import abc
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils import Tags

from posterity import distributions, likelihoods, models, page_forms, validation
from posterity.constructors import declare_parameters, field
from posterity.inference.averaging import can_average
from posterity.inference.posterior import LatentMarginals, WeightedPosterior
from posterity.inference.weights import LatentPosterior, count_targets
from posterity.likelihoods import student_t
from posterity.linear.weighted_model import LatentModel
from posterity.models import Member, ModelCard, classes
from posterity.models.regressor import DISTRIBUTION, ExposedRegressor
from posterity.page_forms import Form


@declare_parameters
class LikelihoodRegressor(LatentModel, ExposedRegressor):
    """A regressor whose latent value is linear in features.

    A subclass says which likelihood it has.

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
    log_evidence_ : float
        Log marginal likelihood of all targets, constants included, to Laplace's approximation,
        whatever ``inference`` is.
    posterior_ : LatentPosterior
        The posterior, as prediction uses it.
    n_iter_, stop_reason_, at_bounds_
        Of the search for the parameters; which parameters ended at a bound.
    """

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
        likelihood = self._likelihood()
        design, targets, weights = self._read_rows(X, y, sample_weight, exposure, likelihood)
        exposed = models.attach_exposure(likelihood, targets, exposure)
        likelihood.check(count_targets(exposed, weights)[0])
        learned = self._learn(
            design,
            exposed,
            weights,
            likelihood,
            nearest=self._wants_nearest(likelihood),
            average=can_average(likelihood),
        )
        self.likelihood_, self.likelihoods_ = learned.likelihood, learned.likelihoods
        self.coef_ = learned.coef[:, 0]
        self.intercept_ = float(learned.intercept[0]) if self.fit_intercept else 0.0
        return self

    def _wants_nearest(self, likelihood: likelihoods.Likelihood) -> bool:
        """Whether the posterior is to be the nearest normal; refuses what is not a choice."""
        chosen = validation.check_choice(self.inference, "inference", classes.INFERENCES)
        return chosen == "auto" and isinstance(likelihood, likelihoods.Averaged)

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
        return classes.latent_normal(self._latent(X))

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
        columns = self._queries(X)
        return self.posterior_.latent(columns)


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
    inference : {"auto", "laplace"}, default="auto"
        Laplace's approximation, the normal at the mode of the weights. "auto" learns the parameters
        by Laplace and ends, for counts and positive amounts, with the normal nearest to the
        posterior, under which expected counts add up to those observed. Other likelihoods, and
        rows that are many for each weight, end with Laplace's all the same.
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


@declare_parameters
class GammaRegression(LikelihoodRegressor):
    """Regression for positive targets whose scatter is in proportion to their mean.

    The target is gamma-distributed, and the log of its mean is linear in the features, so that
    effects multiply: prices, durations, amounts of rain.  [P8 Prob 8.1]

    Parameters
    ----------
    shape : float, optional
        Of the gamma distribution: one over the squared relative deviation. None: learned by the
        evidence.
    inference : {"auto", "laplace"}, default="auto"
        As in :class:`GeneralizedLinearRegression`.

    Attributes
    ----------
    coef_ : array of shape (M,)
        Posterior mean of the weights of the log of the mean.
    shape_ : float
        As learned, or as given.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import GammaRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 2.0, size=(400, 1))
    >>> y = rng.gamma(shape=5.0, scale=np.exp(1.0 + 2.0 * X[:, 0]) / 5.0)
    >>> model = GammaRegression().fit(X, y)
    >>> model.coef_.round(1), round(model.shape_)
    (array([2.]), 5)
    """

    shape: float | None = None
    inference: str = "auto"

    card = ModelCard(
        likelihood="gamma: positive amounts",
        prior="normal",
        feature_space="explicit",
        inference="variational or Laplace, by evidence",
        advice="positive amounts whose scatter grows with their size",
        page="likelihoods",
        candidates=(Member("gamma", 120, "N D^2 an iteration", target="positive", usual_rows=1e5),),
    )

    def _likelihood(self) -> likelihoods.Gamma:
        return likelihoods.Gamma(self.shape)

    @property
    def shape_(self) -> float:
        """Shape of the gamma distribution, as learned or as given."""
        return float(self.likelihood_.shape)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


@declare_parameters
class RobustRegression(LikelihoodRegressor):
    """Linear regression whose noise has heavy tails, so that outliers lose their influence.

    The noise is Student's t; its degrees of freedom say how many outliers there are, and are
    learned by the evidence along with its scale and the prior variance of the weights. A target far
    from all others is taken for an outlier, not for news about the weights.  [P8 Prob 8.2]

    Parameters
    ----------
    degrees_of_freedom : float, optional
        Of the noise; the fewer, the heavier its tails. With two or fewer the standard deviation of
        a prediction is infinite. None: learned by the evidence.
    min_degrees_of_freedom : float, default=2.34
        The fewest that are learned. With 2.34 or more the standard deviation of the noise is no
        larger than half of its central 90 % interval. Fewer describe extreme outliers better.
    scale : float, optional
        Of the noise. None: learned by the evidence.
    Attributes
    ----------
    degrees_of_freedom_, scale_ : float
        Of the noise, as learned or as given.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RobustRegression
    >>> X = np.linspace(0.0, 1.0, 40)[:, None]
    >>> y = 2.0 * X[:, 0] + 0.05 * np.random.default_rng(0).normal(size=40)
    >>> y[[3, 30]] = 50.0
    >>> RobustRegression().fit(X, y).coef_.round(1)
    array([2.])
    """

    degrees_of_freedom: float | None = None
    min_degrees_of_freedom: float = student_t.MIN_DEGREES_OF_FREEDOM
    scale: float | None = None

    card = ModelCard(
        likelihood="Student-t: outliers",
        prior="normal",
        feature_space="explicit",
        inference="Laplace, by evidence",
        advice="some targets are outliers",
        page="likelihoods",
        candidates=(Member("robust", 110, "N D^2 an iteration", usual_rows=1e5),),
    )

    def _likelihood(self) -> likelihoods.StudentT:
        return likelihoods.StudentT(
            self.scale, self.degrees_of_freedom, self.min_degrees_of_freedom
        )

    @property
    def scale_(self) -> float:
        """Scale of the noise, as learned or as given."""
        return float(self.likelihood_.scale)

    @property
    def degrees_of_freedom_(self) -> float:
        """Degrees of freedom of the noise, as learned or as given."""
        return float(self.likelihood_.degrees_of_freedom)
