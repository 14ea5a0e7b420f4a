"""What dual models share: one column, and one weight, for each training row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posterity import copies, designs, kernels, likelihoods, linalg, page_forms, validation
from posterity import features as feature_spaces
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.distributions import joining
from posterity.linear.weighted_model import WeightedModel
from posterity.models.training import make_query_noise
from posterity.page_forms import Form

PRIORS = ("normal", "flat")
_EPS = float(np.finfo(np.float64).eps)
_BLOCK_VALUES = 1 << 20  # queries meet the training rows 8 MiB at a time


@dataclass(frozen=True)
class _LinearSpan:
    """What a linear kernel of fewer columns than rows makes of the weights of N rows.

    The N columns of the design are ``Z @ root @ basis.T``: few combinations of the weights matter,
    and these have the prior of the weights. Of all others the prior is all there is.
    """

    root: Array  # (M, r)
    basis: Array  # (N, r), orthonormal

    @classmethod
    def from_rows(cls, Z: Array, weights: Array, factor: Array, *, centred: bool) -> _LinearSpan:
        """Factorise the kernel of the rows, each as often as it counts; columns have a factor."""
        scale = np.sqrt(np.broadcast_to(factor, Z.shape[1:]))
        center = weights @ Z / weights.sum() if centred else 0.0
        U, s, Vt = linalg.thin_svd((Z - center) * scale * np.sqrt(weights)[:, None])
        kept = s > _EPS * len(Z) * s.max(initial=0.0)
        return cls(scale[:, None] * Vt[kept].T * s[kept], U[:, kept])


@declare_parameters
class DualModel(WeightedModel):
    """An estimator that is linear in the kernel between queries and training rows."""

    kernel: Any = field(default="linear", kw_only=False)
    prior: str = "normal"
    prior_variance: float | None = None
    standardize: bool = True
    hyperparameters: str = "average"

    kernel_columns_: feature_spaces.KernelColumns = field(init=False)
    row_weights_: Array = field(init=False)

    @property
    def _is_linear_in_columns(self) -> bool:
        return super()._is_linear_in_columns and isinstance(self.kernel, str)

    def _weigh_copies(
        self, X: Array, y: Array, weights: Array | None, *, is_class: bool = False
    ) -> Array | None:
        """Weights with which copies count once, since a kernel would pass through them."""
        if self._is_linear_in_columns:
            return super()._weigh_copies(X, y, weights, is_class=is_class)
        return copies.weigh_copies_once(X, y, weights, is_class=is_class)

    def _move_units(
        self,
        X: Array,
        y: Array,
        sample_weight: Array | None,
        likelihood: likelihoods.Likelihood | likelihoods.Coupled,
    ) -> None:
        """The last step of the features: the kernel acts on them where they have ended."""
        super()._move_units(X, y, sample_weight, likelihood)
        Z = self._transform_features(X)
        self.kernel_columns_ = feature_spaces.KernelColumns(self._kernel(Z, sample_weight)).fit(Z)
        self.row_weights_ = np.ones(len(X)) if sample_weight is None else sample_weight

    def _kernel(self, Z: Array, sample_weight: Array | None) -> Any:
        """The kernel as given; "linear" of columns that are scaled to unit variance."""
        if not (self.standardize and isinstance(self.kernel, str) and self.kernel == "linear"):
            return self.kernel
        validation.check_powers(Z)
        columns = designs.Standardized.from_design(
            designs.Dense(Z), sample_weight, offset=self.fit_intercept
        )
        factors = columns.scale**-2.0
        return kernels.Linear(tuple(map(float, factors)))

    def _find_factor(self) -> Any:
        """Return what a linear kernel multiplies columns by; None where the kernel is another."""
        kernel = self.kernel_columns_.kernel_
        if isinstance(kernel, kernels.Linear):
            return np.asarray(kernel.variance)
        return np.ones(()) if isinstance(self.kernel, str) else None

    def _find_span(self) -> _LinearSpan | None:
        """Return the span of the columns, where the kernel shows that it is small."""
        factor, Z = self._find_factor(), self.kernel_columns_.X_train_
        if factor is None or Z.shape[1] >= len(Z):
            return None
        return _LinearSpan.from_rows(Z, self.row_weights_, factor, centred=self.fit_intercept)

    def _training_columns(self, X: Array) -> Array:
        """Return the columns of the rows of a fit, in coordinates of their span if it is small."""
        Z, span = self.kernel_columns_.X_train_, self._find_span()
        return self._design_of(Z) if span is None else Z @ span.root

    def _column_weights(self, dual_coef: Array) -> Array:
        """The weights of the features, from those of the rows, under the linear kernel."""
        return dual_coef @ self.kernel_columns_.X_train_ * self._find_factor()

    def _evaluate_kernel(self, Z: Array) -> Array:
        """Between rows and training rows, (n, N)."""
        return np.asarray(self.kernel_columns_.transform(Z), dtype=np.float64)

    def _design_of(self, Z: Array) -> Array:
        """One column a training row, about their centre where there is an intercept.

        A row that counts n times has n dual weights on one column, which is one weight of n times
        the prior variance: the column is scaled by the root of n.
        """
        K, w = self._evaluate_kernel(Z), self.row_weights_
        about = (K @ w / w.sum())[:, None] if self.fit_intercept else 0.0  # [J 43]
        return (K - about) * np.sqrt(w)

    def _answer_queries(self, answer: Callable[..., Any], X: ArrayLike, *noise: Any) -> Any:
        """The same a block of rows at a time: the design has a column for each training row."""
        Z = self._query_features(X)
        n, size = len(Z), max(1, _BLOCK_VALUES // len(self.row_weights_))
        of_rows = [v if v is None else make_query_noise(0.0, v, n)[:, 0] for v in noise]
        parts = []
        for i in range(0, n, size):
            own = (None if v is None else v[i : i + size] for v in of_rows)
            parts.append(answer(self._design_of(Z[i : i + size]), *own))
        if isinstance(parts[0], np.ndarray):
            return np.concatenate(parts)
        return joining.concatenate_predictions(parts)

    def _weight_combinations(self, weights: Sequence[int | str] | None) -> tuple[Array, Array]:
        if not isinstance(self.kernel, str):
            raise TypeError("Only with kernel='linear' do columns have weights.")
        return super()._weight_combinations(weights)

    def _to_design_weights(self, A: Array, b: Array) -> tuple[Array, Array]:
        """Weights of columns are sums of those of rows, as the function at a row is."""
        return self._design_of(A), b

    def _page_columns(self) -> Form:
        inner, outer = super()._page_columns(), page_forms.find_form(self.kernel_columns_)
        return {
            "kind": "centred",
            "of": {"kind": "chain", "of": [inner, outer]},
            "weights": self.row_weights_.tolist(),
            "about": self.fit_intercept,
        }

    def _page_coef(self) -> Array:
        return np.atleast_2d(self.column_coef_.T)


PRIORS = ("normal", "flat")
