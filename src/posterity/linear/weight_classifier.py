"""Classifiers that are linear in features, fitted from rows in memory or block by block."""

from __future__ import annotations

import abc
import functools
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from posterity import designs, distributions, likelihoods, models, page_forms, validation
from posterity.arrays import Array
from posterity.inference.averaging import check_hyperparameters
from posterity.inference.posterior import LatentMarginals, WeightedPosterior
from posterity.inference.weights import LatentPosterior, WeightSpace, learn_weights
from posterity.linear.weighted_model import WeightedModel, record_learned
from posterity.models import classes
from posterity.models.classifier import (
    CLASS_DISTRIBUTION,
    LATENT_VALUES,
    Classifier,
    encode_classes,
)
from posterity.page_forms import Form

SHARING = ("shared", "per_class")
"""What classes do with the columns of a sparse model."""


class WeightClassifier(WeightedModel, Classifier):
    """A classifier whose latent values are linear in features of the inputs.

    A subclass writes ``_conclude``, which turns columns and classes into fitted attributes.
    """

    intercept_: Array
    averaging = "exact"  # of classifiers without these two parameters
    hyperparameters = "maximise"
    posterior_: LatentPosterior | None

    @abc.abstractmethod
    def _conclude(self, design: designs.Design, codes: Any, weights: Any) -> None:
        """Set the fitted attributes, from classes (N,) by number, or Tallied."""

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D)
            Inputs.
        y : array-like of shape (N,)
            Classes: numbers or names.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        """
        return self._fit_rows(X, y, sample_weight)

    def _fit_rows(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Self:
        rows = validation.check_X(self, X, reset=True)
        validation.check_powers(rows, X)
        weights = validation.check_repetitions(sample_weight, len(rows))
        codes = self._learn_classes(y, len(rows), weights)
        weights = self._weigh_copies(rows, codes, weights, is_class=True)
        columns = self._learn_columns(rows, codes, weights, self._likelihood())
        self._conclude(designs.Dense(columns), codes, weights)
        return self

    @models.answer_lazily(CLASS_DISTRIBUTION)
    def predict_dist(self, X: ArrayLike) -> distributions.Discrete:
        """The distribution of the class at each row of X, by its place in ``classes_``."""
        return self._answer_queries(self._predict_from_columns, X)

    @models.answer_lazily(LATENT_VALUES)
    def predict_latent(self, X: ArrayLike) -> distributions.Normal:
        """The latent value at each row: of the second class, (n,), or of each of C, (n, C)."""
        return self._answer_queries(lambda Z: classes.latent_normal(self._latent(Z)), X)

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        space, coef = self._page_columns(), self._page_coef()
        if self.posterior_ is None:
            latent = page_forms.form_weights(coef, self.intercept_)
            return page_forms.form_linear(space, latent, classes.POINT_FORM)
        posterior = page_forms.find_form(self.posterior_)
        latent = page_forms.form_weights(coef, self.intercept_, posterior)
        return page_forms.form_linear(space, latent, classes.form_classes(self))

    def _predict_from_columns(self, Z: Array) -> distributions.Discrete:
        latent = self._latent(Z)
        return classes.predict_classes(self._likelihood(), latent)

    def _latent(self, Z: Array) -> LatentMarginals:
        """Return the distributions of the C latent values; C = 1 for two classes."""
        if self.posterior_ is not None:
            return self.posterior_.latent(Z)
        mean = self._mean_at(Z)
        return LatentMarginals(mean, np.zeros_like(mean))

    def _weight_posterior(self) -> WeightedPosterior:
        if self.posterior_ is None:
            raise TypeError(
                f"This {type(self).__name__} has no posterior of its weights, only their best "
                "values; use BayesianLogisticRegression."
            )
        return self.posterior_

    def _output_names(self) -> list[Any]:
        """Return the class of each latent value: the second one where there are two classes."""
        names: list[Any] = self.classes_.tolist()
        return names[1:] if len(names) == 2 else names

    def _mean_at(self, Z: Array) -> Array:
        return Z @ self.coef_.T + self.intercept_

    def _likelihood(self) -> likelihoods.Bernoulli | likelihoods.Categorical:
        """Return the likelihood for the number of classes that were fitted."""
        return classes.likelihood_of_classes(len(self.classes_), self.averaging)

    def _learn(
        self,
        space: WeightSpace,
        codes: Any,
        weights: Any,
        prior_variance: Any,
        inference: str,
    ) -> None:
        """Find the posterior under a normal prior, its variance by the evidence if not given."""
        learned = learn_weights(
            space,
            codes,
            weights,
            self._likelihood(),
            prior_variance=models.check_variance(prior_variance, "prior_variance"),
            nearest=classes.wants_nearest(inference, self.averaging),
            average=check_hyperparameters(self.hyperparameters) and self.averaging != "none",
        )
        record_learned(self, learned)
        self._publish(learned.coef, learned.intercept)

    def _publish(self, coef: Array, intercept: Array) -> None:
        """Weights (M, C) and intercepts (C,), in the shapes scikit-learn uses."""
        self.coef_ = np.ascontiguousarray(coef.T)
        self.intercept_ = np.asarray(intercept) if self.fit_intercept else np.zeros(coef.shape[1])


class StreamedClassifier(WeightClassifier):
    """One whose columns do not depend on the rows, so that these can be read block by block."""

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), :class:`posterity.designs.Chunks`, or Dask's
            Inputs; chunks bring their own targets and weights and never sit in memory at once.
            Rows of a Dask array or data frame stay on the workers, with those of y and weights.
        y : array-like of shape (N,)
            Classes: numbers or names.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        """
        source = models.find_streamed_source(X, y, sample_weight)
        if source is None:
            return self._fit_rows(X, y, sample_weight)
        return self._fit_streamed(source)

    def _fit_streamed(self, source: models.Source) -> Self:
        if isinstance(source, designs.Partitions):
            rows = self._on_workers(source)
            codes = rows.y
        else:
            rows = models.StreamedRows.from_source(self, source)
            codes = self._learn_classes(rows.y, len(rows.y), rows.weights)
        self._conclude(rows.design, codes, rows.weights)
        return self

    def _on_workers(self, partitions: designs.Partitions) -> models.StreamedRows:
        """Classes are counted where the rows are, and numbered there at every pass."""
        values, counts = partitions.count_targets()
        self._set_classes(values)
        encoded = partitions.encode_targets(functools.partial(encode_classes, values))
        codes = np.arange(len(values), dtype=np.float64)
        return models.StreamedRows.from_partitions(self, encoded, codes, counts)


def check_choice(value: str, name: str, allowed: tuple[str, ...]) -> str:
    """The word itself, if it is one of those allowed."""
    if value not in allowed:
        raise ValueError(f"{name}={value!r} must be one of {allowed}.")
    return value
