"""The fit and the weights of classifiers whose linear experts are weighted by gates."""

from __future__ import annotations

import abc
from typing import Any, Self

from numpy.typing import ArrayLike

from posterity import copies, designs, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters
from posterity.inference import rows as equal_rows
from posterity.models import FeatureModel
from posterity.models.classifier import Classifier


@declare_parameters
class GatedClassifier(FeatureModel, Classifier, abc.ABC):
    """Gates and experts that are linear in standardised features, at their most probable weights.

    A subclass finds the weights, and says what gates and experts predict together.
    """

    prior_variance: float = 10.0
    n_restarts: int = 4
    max_iter: int = 1000
    n_jobs: int | None = None
    random_state: Any = None

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D)
            Inputs.
        y : array-like of shape (N,)
            Classes.
        sample_weight : array-like of shape (N,), optional
            Number of repetitions of each row: an integer weight equals repeating the row.
        """
        self._check_parameters()
        X_rows = validation.check_X(self, X, reset=True)
        validation.check_powers(X_rows, X)
        weights = validation.check_repetitions(sample_weight, len(X_rows))
        codes = self._learn_classes(y, len(X_rows), weights)
        weights = copies.weigh_copies_once(X_rows, codes, weights, is_class=True)
        rows, targets, counts, _ = equal_rows.merge_and_sort(X_rows, codes, weights)
        self._fit_features(rows, counts)
        standard = designs.Standardized.from_design(
            designs.Dense(self._transform_features(rows)), counts, offset=True
        )
        self._center, self._scale = standard.center, standard.scale
        self._learn(standard.rows(0, len(rows)), targets, counts)
        return self

    @abc.abstractmethod
    def _learn(self, Z: Array, y: Array, counts: Array) -> None:
        """Find the weights from standardised features and a one, and publish them."""

    def _check_parameters(self) -> None:
        for name, least in (("n_restarts", 0), ("max_iter", 1)):
            validation.check_count(getattr(self, name), name, least=least)
        validation.check_positive(self.prior_variance, "prior_variance")

    def _design_of(self, Z: Array) -> Array:
        """Standardised features of each row, and a one."""
        design = designs.Standardized(designs.Dense(Z), self._center, self._scale, offset=True)
        return design.rows(0, len(Z))

    def _publish_weights(self, gates: Array, experts: Array) -> None:
        """Give the weights of gates (K, M) and experts (E, C, M) in the units of the data."""
        self.gate_coef_, self.gate_intercept_ = self._unscale_weights(gates)
        self.expert_coef_, self.expert_intercept_ = self._unscale_experts(experts)

    def _unscale_experts(self, W: Array) -> tuple[Array, Array]:
        """Weights (E, C, M) like those of gates; two classes have one latent value."""
        return self._unscale_weights(W[:, 0] if len(self.classes_) == 2 else W)

    def _unscale_weights(self, W: Array) -> tuple[Array, Array]:
        """Weights (..., M) of the columns as they are, and the intercepts that go with them."""
        coef = W[..., :-1] / self._scale
        return coef, W[..., -1] - coef @ self._center
