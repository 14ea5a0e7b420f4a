"""Estimators whose weights have a normal posterior, and that posterior by names of columns."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posterity import designs, distributions, likelihoods, linalg, models, priors, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.inference.averaging import check_hyperparameters
from posterity.inference.posterior import WeightedPosterior
from posterity.inference.weights import LearnedWeights, WeightSpace, learn_weights
from posterity.models import FeatureModel, report_weight_bounds

OFFSET = "intercept"


@declare_parameters
class WeightedModel(FeatureModel, abc.ABC):
    """An estimator that is linear in columns, with a posterior of their weights.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Add an intercept, with a prior worth one row.
    """

    fit_intercept: bool = True

    coef_: Array = field(init=False)

    def _read_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        exposure: Any,
        likelihood: likelihoods.Likelihood,
    ) -> tuple[designs.Design, Any, Any]:
        """Return columns, targets and weights of rows in memory, in blocks or on workers."""
        source = models.find_streamed_source(X, y, sample_weight)
        if source is not None:
            models.refuse_exposure(exposure)
            streamed = models.StreamedRows.from_source(self, source)
            return streamed.design, streamed.y, streamed.weights
        rows, targets = validation.check_X_y(self, X, y, min_rows=2, multi_output=False)
        validation.check_powers(rows, X)
        weights = validation.check_repetitions(sample_weight, len(rows))
        weights = self._weigh_copies(rows, targets, weights)
        columns = self._learn_columns(rows, targets, weights, likelihood)
        return designs.Dense(columns), targets, weights

    def weight_distribution(
        self, weights: Sequence[int | str] | None = None, *, output: Any = None, prior: bool = False
    ) -> distributions.MultivariateNormal:
        """The joint normal of weights and intercept in the units of the data.

        Parameters
        ----------
        weights : sequence of int or str, optional
            Which: columns by position or name, and "intercept" for the intercept. None: the
            intercept, if there is one, and then the weight of every column.
        output : object, optional
            Which target, by position, or which class. None: the only one; of two classes the
            second.
        prior : bool, default=False
            Return the prior instead of the posterior, with the fitted variances.

        Returns
        -------
        belief : MultivariateNormal
            Of as many numbers as weights were asked for.

        Examples
        --------
        >>> from posterity import BayesianLinearRegression
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.1, 2.9]
        >>> model = BayesianLinearRegression().fit(X, y)
        >>> belief = model.weight_distribution(["intercept", 0])
        >>> bool(belief.covariance[0, 1] < 0.0)  # a steeper line begins lower
        True
        """
        check_is_fitted(self)
        belief = self._weight_posterior()
        A, b = self._weight_combinations(weights)
        k = _find_output(self._output_names(), output)
        asked = belief.before_rows() if prior else belief
        f = asked.combine(*self._to_design_weights(A, b))
        return distributions.MultivariateNormal(f.mean[:, k], linalg.symmetrize(f.covariance[k]))

    @abc.abstractmethod
    def _weight_posterior(self) -> WeightedPosterior:
        """Return the posterior of the weights of the design."""

    @abc.abstractmethod
    def _output_names(self) -> Sequence[Any]:
        """Return the names of the latent values."""

    def _to_design_weights(self, A: Array, b: Array) -> tuple[Array, Array]:
        """The same sums of the weights of the design, from sums of those of the features."""
        return A, b

    def _weight_combinations(self, weights: Sequence[int | str] | None) -> tuple[Array, Array]:
        """One row a weight: with how much of each column's weight, (n, M), and of the intercept."""
        M = np.shape(self.coef_)[-1]
        if weights is None:
            weights = [*([OFFSET] if self.fit_intercept else []), *range(M)]
        A, b = np.zeros((len(weights), M)), np.zeros(len(weights))
        for i, weight in enumerate(weights):
            if isinstance(weight, str) and weight == OFFSET:
                b[i] = self._offset_share()
            else:
                A[i, self._find_column(weight, M)] = 1.0
        return A, b

    def _offset_share(self) -> float:
        if self.fit_intercept:
            return 1.0
        raise ValueError("The model has no intercept: it was fitted with fit_intercept=False.")

    def _find_column(self, weight: Any, M: int) -> int:
        """Return the position of a column that is given by position or by name."""
        names = getattr(self, "feature_names_in_", None) if self.features is None else None
        if isinstance(weight, str) and names is not None and weight in names:
            return list(names).index(weight)
        if isinstance(weight, int | np.integer) and -M <= weight < M:
            return int(weight)
        known = "" if names is None else f", or one of the names {', '.join(map(str, names))}"
        raise ValueError(
            f"Weight {weight!r} does not exist: give a position from 0 to {M - 1}{known}, or "
            f"{OFFSET!r} for the intercept."
        )


@declare_parameters
class BayesianModel(WeightedModel):
    """An estimator whose weights have a prior, which is given or learned.

    Parameters
    ----------
    prior : Normal or Flat, optional
        Prior of the weights: ``priors.Normal(variance)``, with one variance or one for each column,
        or ``priors.Flat()``, which leaves them to the likelihood. None: normal, of
        ``prior_variance``.
    prior_variance : float, optional
        Variance of each weight, the short form of ``prior``. None: learned by the evidence.
    standardize : bool, default=True
        Let the prior act on the weights of columns scaled to unit variance, so that units do not
        matter. False: on the weights as they are, as in the textbook.
    hyperparameters : {"average", "maximise"}, default="average"
        What to do about the prior variance, and parameters of the likelihood, that are learned:
        average predictions over the values that the rows leave plausible, under weak priors, or
        take those of the largest evidence, which is too sure where rows are few. They are averaged
        up to 30 rows for each weight, and 400 in all.

    Attributes
    ----------
    prior_variance_ : float
        As learned, or as given.
    """

    prior: priors.Normal | priors.Flat | None = None
    prior_variance: float | None = None
    standardize: bool = True
    hyperparameters: str = "average"

    def _read_prior(self) -> priors.Normal | priors.Flat:
        """Return the prior of the weights, from its short form if that is how it was given."""
        if self.prior is None:
            return priors.Normal(models.check_variance(self.prior_variance, "prior_variance"))
        if self.prior_variance is not None:
            raise ValueError("prior_variance is that of prior=None: give one of them, not both.")
        if not isinstance(self.prior, priors.Normal | priors.Flat):
            raise ValueError(
                f"prior={self.prior!r} must be priors.Normal() or priors.Flat(), of "
                "posterity.priors. Sparse models have a prior of their own."
            )
        return self.prior


@declare_parameters
class LatentModel(BayesianModel):
    """An estimator of any likelihood, whose posterior is a normal about the weights."""

    posterior_: Any = field(init=False)

    def _learn(
        self,
        design: designs.Design,
        y: Any,
        weights: Any,
        likelihood: likelihoods.Likelihood | likelihoods.Coupled,
        *,
        nearest: bool,
        average: bool,
    ) -> LearnedWeights:
        """Find the posterior of the weights, and set what it tells beside them."""
        prior, averages = self._read_prior(), check_hyperparameters(self.hyperparameters)
        space = self._choose_coordinates(design, weights, prior)
        learned = learn_weights(
            space,
            y,
            weights,
            likelihood,
            prior=prior,
            nearest=nearest,
            average=averages and average,
        )
        self.posterior_ = learned.posterior
        self.prior_variance_ = learned.prior_variance
        self.log_evidence_ = learned.log_evidence
        self.n_iter_ = max(1, learned.optimum.n_iter)
        self.stop_reason_ = learned.optimum.stop_reason
        self.at_bounds_ = report_weight_bounds(learned.optimum)
        return learned

    def _choose_coordinates(
        self, design: designs.Design, weights: Any, prior: priors.Normal | priors.Flat
    ) -> WeightSpace:
        """Return the coordinates in which weights are inferred."""
        return WeightSpace.from_design(
            design,
            weights,
            offset=self.fit_intercept,
            standardize=self.standardize,
            prior=prior,
        )


def _find_output(outputs: Sequence[Any], output: Any) -> int:
    """Return the position of an output by name; None suffices where there is one."""
    named = ", ".join(repr(name) for name in outputs)
    if output is None:
        if len(outputs) == 1:
            return 0
        raise ValueError(f"The model has several outputs; say which: output= one of {named}.")
    found = [k for k, name in enumerate(outputs) if name == output]
    if not found:
        raise ValueError(f"output={output!r} must be one of {named}.")
    return found[0]
