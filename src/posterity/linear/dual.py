"""One weight a row x inner products or a kernel: regression and classification."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posterity import (
    designs,
    distributions,
    kernels,
    likelihoods,
    linalg,
    page_forms,
    priors,
    validation,
)
from posterity import features as feature_spaces
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.distributions import joining
from posterity.inference.conjugate import ConjugatePosterior, LinearProblem
from posterity.inference.weights import WeightSpace, maximise_likelihood
from posterity.linear.classifiers import BayesianClassifier, adopt_best_weights
from posterity.linear.predictions import FlatModel, PosteriorModel
from posterity.linear.statistics_model import FeatureRows
from posterity.linear.weighted_model import BayesianModel
from posterity.models import MOST_KERNEL_ROWS, Member, ModelCard
from posterity.models.training import make_query_noise
from posterity.page_forms import Form

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
class DualModel(BayesianModel):
    """An estimator that is linear in the kernel between queries and training rows.

    Parameters
    ----------
    kernel : "linear" or callable, default="linear"
        ``kernel(A, B)`` gives the matrix of values between the rows of A and of B. Its parameters
        are not learned: :class:`KernelRidgeRegression` and :class:`KernelLogisticRegression` do
        that.
    prior : Normal or Flat, optional
        Prior of the dual weights: ``priors.Normal(variance)``, with one variance for all, or
        ``priors.Flat()``, which is maximum likelihood. None: normal, of ``prior_variance``.
    features : transformer, optional
        Features of the inputs on which the kernel acts. None: the columns as they are.
    fit_intercept : bool, default=True
        Add an intercept, and centre the kernel; the dual weights then sum to zero.
    standardize : bool, default=True
        Let ``kernel="linear"`` be inner products of columns scaled to unit variance, so that units
        do not matter. False: of the columns as they are. Other kernels have units of their own.

    Attributes
    ----------
    row_weights_ : array of shape (N,)
        How often each training row counts.
    """

    kernel: Any = field(default="linear", kw_only=False)

    kernel_columns_: feature_spaces.KernelColumns = field(init=False)
    row_weights_: Array = field(init=False)

    def _read_prior(self) -> priors.Normal | priors.Flat:
        prior = super()._read_prior()
        if isinstance(prior, priors.Normal) and not prior.is_shared:
            raise ValueError("The weights of rows have one prior variance: give prior one number.")
        return prior

    @property
    def _is_linear_in_columns(self) -> bool:
        return super()._is_linear_in_columns and isinstance(self.kernel, str)

    @property
    def _counts_copies_once(self) -> bool:
        return not self._is_linear_in_columns

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


@declare_parameters
class DualLinearRegression(DualModel, PosteriorModel, FlatModel):
    """Regression with one weight for each training row, on inner products or a kernel.

    The mean is ``kernel(X, X_train) @ dual_coef_ + intercept_``. With the linear kernel and a
    flat prior this is least squares again, at the cost of the rows rather than of the columns.
    With an intercept the kernel is centred on the training rows, so the origin does not matter.

    Parameters
    ----------
    noise_variance : float, optional
        Variance of the noise. None: learned by the evidence. Unused with a flat prior.

    Attributes
    ----------
    dual_coef_ : array of shape (N,) or (K, N)
        One weight for each training row.
    column_coef_ : array of shape (N,) or (K, N)
        The weights on the centred kernel columns, each column times the root of its row's weight.
    coef_ : array of shape (M,) or (K, M)
        With the linear kernel: the weights of the features.
    intercept_, noise_variance_
        As in :class:`LinearRegression`.
    log_evidence_, prior_variance_, posterior_, stop_reason_
        As in :class:`BayesianLinearRegression`, with the normal prior.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import DualLinearRegression
    >>> X = np.linspace(0.0, 6.0, 30)[:, None]
    >>> def bump(A, B):
    ...     return np.exp(-0.5 * (A - B.T) ** 2)
    >>> model = DualLinearRegression(kernel=bump).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 1e-3)
    True
    """

    noise_variance: float | None = None

    card = ModelCard(
        likelihood="normal",
        prior="flat or normal",
        feature_space="one weight per row, or a kernel",
        inference="closed form",
        advice="more columns than rows; a known kernel; teaching",
        page="regression",
        candidates=(Member("dual", 220, "N^2 D + N^3", most_rows=MOST_KERNEL_ROWS),),
    )

    def _start_fit(self, rows: FeatureRows) -> None:
        for name in ("coef_", "posterior_", "log_evidence_", "prior_variance_", "stop_reason_"):
            self.__dict__.pop(name, None)  # what an earlier fit with another prior or kernel had
        self._read_prior()
        super()._start_fit(rows)

    @property
    def _is_flat(self) -> bool:
        return isinstance(self._read_prior(), priors.Flat)

    def _predict_mean_from_features(self, Z: Array) -> Array:
        return Z @ self.column_coef_.T + self.intercept_

    def _reduce_statistics(
        self, statistics: designs.Statistics, *, standardize: bool
    ) -> LinearProblem:
        problem = super()._reduce_statistics(statistics, standardize=standardize)
        if (span := self._find_span()) is None:
            return problem
        B = span.basis
        return replace(problem, V=B @ problem.V, center=B @ problem.center, scale=np.ones(len(B)))

    def _fit_statistics(self, statistics: designs.Statistics) -> None:
        prior = self._read_prior()
        if isinstance(prior, priors.Normal):
            self._learn(statistics, prior, standardize=False)  # [P8 8.49]
        else:
            self._maximise_likelihood(statistics, standardize=False)  # [P8 8.45], pseudo-inverse

    def _publish(self, coef: Array, intercept: Array) -> None:
        self.column_coef_ = self._per_output(np.ascontiguousarray(coef.T))
        self.intercept_ = self._per_output(intercept) if self.fit_intercept else 0.0
        # About the centre these sum to zero, so they are also the weights of the kernel itself.
        self.dual_coef_ = self.column_coef_ * np.sqrt(self.row_weights_)
        if isinstance(self.kernel, str):  # only the linear kernel has weights of the features
            self.coef_ = self._column_weights(self.dual_coef_)  # [P8 8.41]

    def _posterior(self) -> ConjugatePosterior:
        if self._is_flat:
            raise TypeError("A flat prior has no posterior to draw from: use priors.Normal().")
        return super()._posterior()

    def _predict_from_features(
        self, Z: Array, noise_variance: ArrayLike | None
    ) -> distributions.Univariate:
        kind = FlatModel if self._is_flat else PosteriorModel
        return kind._predict_from_features(self, Z, noise_variance)

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        return (FlatModel if self._is_flat else PosteriorModel).page_form(self)


@declare_parameters
class DualLogisticRegression(DualModel, BayesianClassifier):
    """Logistic regression with one weight for each training row, on inner products or a kernel.

    Latent values are ``kernel(X, X_train) @ dual_coef_.T + intercept_``. With the linear kernel and
    a flat prior this is maximum likelihood in the columns again, at the cost of the rows rather
    than of the columns. With an intercept the kernel is centred on the training rows, so that the
    origin does not matter.

    Parameters
    ----------
    averaging : {"exact", "approximate", "none"}, default="exact"
        How probabilities are averaged over the posterior, as in
        :class:`BayesianLogisticRegression`; with a flat prior they are at the best weights.
    inference : {"auto", "laplace"}, default="auto"
        End with Laplace's approximation, or with the normal nearest to the posterior, as in
        :class:`BayesianLogisticRegression`.

    Attributes
    ----------
    dual_coef_ : array of shape (1, N) or (C, N)
        One weight for each training row.
    column_coef_ : array of shape (N, 1) or (N, C)
        The weights on the centred kernel columns, each column times the root of its row's weight.
    coef_ : array of shape (1, M) or (C, M)
        With the linear kernel: the weights of the features.
    log_likelihood_, separable_
        As in :class:`LogisticRegression`, with the flat prior.

    Examples
    --------
    >>> from posterity import DualLogisticRegression, kernels
    >>> X = [[-2.0], [-1.0], [1.0], [2.0]]
    >>> model = DualLogisticRegression(kernels.RBF(1.0)).fit(X, [0, 1, 1, 0])
    >>> model.predict([[-0.5], [2.5]])
    array([1, 0])
    """

    averaging: str = "exact"
    inference: str = "auto"

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="flat or normal",
        feature_space="one weight per row, or a kernel",
        inference="Newton, variational or Laplace",
        advice="more columns than rows; a known kernel; teaching",
        page="classification",
        candidates=(Member("dual", 160, "N^3 an iteration", most_rows=MOST_KERNEL_ROWS),),
    )

    def _conclude(self, design: designs.Design, codes: Array, weights: Array | None) -> None:
        for name in ("coef_", "log_evidence_", "prior_variance_", "log_likelihood_", "separable_"):
            self.__dict__.pop(name, None)  # what an earlier fit with another prior or kernel had
        prior = self._read_prior()
        if isinstance(prior, priors.Normal):
            super()._conclude(design, codes, weights)
            return
        space = self._choose_coordinates(design, weights, prior)
        given = space, codes, weights, self._likelihood()
        size = space.compute_mean_square(weights)
        best = maximise_likelihood(*given, exactly=True, mean_square=size)
        adopt_best_weights(self, space, *best)
        self.posterior_ = None

    def _choose_coordinates(
        self, design: designs.Design, weights: Any, prior: priors.Normal | priors.Flat
    ) -> WeightSpace:
        """Return the coordinates of the weights of rows along directions that the rows span."""
        Z, span = self.kernel_columns_.X_train_, self._find_span()
        K = self._evaluate_kernel(Z) if span is None else np.sum(Z**2 * self._find_factor(), axis=1)
        space = WeightSpace.from_design(
            design,
            weights,
            offset=self.fit_intercept,
            standardize=False,
            rotate=True,
            size=float(np.max(np.abs(K))),
        )
        return space if span is None else space.expand(span.basis)

    def _mean_at(self, Z: Array) -> Array:
        return Z @ self.column_coef_ + self.intercept_

    def _publish(self, coef: Array, intercept: Array) -> None:
        self.column_coef_ = coef
        self.intercept_ = np.asarray(intercept) if self.fit_intercept else np.zeros(coef.shape[1])
        # About the centre these sum to zero, so they are also the weights of the kernel itself.
        self.dual_coef_ = np.ascontiguousarray((coef * np.sqrt(self.row_weights_)[:, None]).T)
        if isinstance(self.kernel, str):  # only the linear kernel has weights of the features
            self.coef_ = self._column_weights(self.dual_coef_)  # [P9 9.24]
