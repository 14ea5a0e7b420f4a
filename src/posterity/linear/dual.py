"""One weight a row x inner products or a kernel: regression and classification."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from posterity import designs, distributions
from posterity.arrays import Array
from posterity.constructors import declare_parameters
from posterity.inference.conjugate import ConjugatePosterior, LinearProblem
from posterity.inference.weights import WeightSpace, maximise_likelihood
from posterity.linear.classifiers import report_convergence
from posterity.linear.dual_model import PRIORS, DualModel
from posterity.linear.predictions import FlatModel, PosteriorModel
from posterity.linear.statistics_model import FeatureRows
from posterity.linear.weight_classifier import WeightClassifier, check_choice
from posterity.models import MOST_KERNEL_ROWS, Member, ModelCard
from posterity.page_forms import Form


@declare_parameters
class DualLinearRegression(DualModel, PosteriorModel, FlatModel):
    """Regression with one weight for each training row, on inner products or a kernel.

    The mean is ``kernel(X, X_train) @ dual_coef_ + intercept_``. With the linear kernel and a
    flat prior this is least squares again, at the cost of the rows rather than of the columns.
    With an intercept the kernel is centred on the training rows, so the origin does not matter.

    Parameters
    ----------
    kernel : "linear" or callable, default="linear"
        ``kernel(A, B)`` gives the matrix of values between the rows of A and of B.
    prior : {"normal", "flat"}, default="normal"
        "normal": Bayesian, each dual weight normal. "flat": maximum likelihood.
    features : transformer, optional
        Features of the inputs on which the kernel acts. None: the columns as they are.
    prior_variance, noise_variance : float, optional
        Variance of each dual weight, and of the noise. None: learned by the evidence. Unused
        with a flat prior.
    fit_intercept : bool, default=True
        Add an intercept, and centre the kernel; the dual weights then sum to zero.
    standardize : bool, default=True
        Let ``kernel="linear"`` be inner products of columns scaled to unit variance, so that units
        do not matter. False: of the columns as they are. Other kernels have units of their own.
    predictive : {"student_t", "plug_in"}, default="student_t"
        The predictive distribution under a flat prior, as in :class:`LinearRegression`.
    hyperparameters : {"average", "maximise"}, default="average"
        With the normal prior: average over variances that are not given, or use those of the
        largest evidence, as in :class:`BayesianLinearRegression`.

    Attributes
    ----------
    dual_coef_ : array of shape (N,) or (K, N)
        One weight for each training row.
    row_weights_ : array of shape (N,)
        How often each training row counts.
    column_coef_ : array of shape (N,) or (K, N)
        The weights on the centred kernel columns, each column times the root of its row's weight.
    coef_ : array of shape (M,) or (K, M)
        With the linear kernel: the weights of the features.
    intercept_, noise_variance_, features_
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
        super()._start_fit(rows)
        if self.prior not in PRIORS:
            raise ValueError(f"prior={self.prior!r} must be one of {PRIORS}.")

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
        if self.prior == "normal":
            self._learn(statistics, standardize=False)  # [P8 8.49]
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
        if self.prior == "flat":
            raise TypeError("A flat prior has no posterior to draw from: use prior='normal'.")
        return super()._posterior()

    def _predict_from_features(
        self, Z: Array, noise_variance: ArrayLike | None
    ) -> distributions.Univariate:
        kind = PosteriorModel if self.prior == "normal" else FlatModel
        return kind._predict_from_features(self, Z, noise_variance)

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        return (PosteriorModel if self.prior == "normal" else FlatModel).page_form(self)


@declare_parameters
class DualLogisticRegression(DualModel, WeightClassifier):
    """Logistic regression with one weight for each training row, on inner products or a kernel.

    Latent values are ``kernel(X, X_train) @ dual_coef_.T + intercept_``. With the linear kernel and
    a flat prior this is maximum likelihood in the columns again, at the cost of the rows rather
    than of the columns. With an intercept the kernel is centred on the training rows, so that the
    origin does not matter.

    Parameters
    ----------
    kernel : "linear" or callable, default="linear"
        ``kernel(A, B)`` gives the matrix of values between the rows of A and of B. Its parameters
        are not learned: :class:`KernelLogisticRegression` does that.
    prior : {"normal", "flat"}, default="normal"
        "normal": Bayesian, each dual weight normal. "flat": maximum likelihood.
    features : transformer, optional
        Features of the inputs on which the kernel acts. None: the columns as they are.
    prior_variance : float, optional
        Variance of each dual weight. None: learned by the evidence. Unused with a flat prior.
    fit_intercept : bool, default=True
        Add an intercept, and centre the kernel; the dual weights then sum to zero.
    standardize : bool, default=True
        Let ``kernel="linear"`` be inner products of columns scaled to unit variance, so that units
        do not matter. False: of the columns as they are. Other kernels have units of their own.
    averaging : {"exact", "approximate", "none"}, default="exact"
        How probabilities are averaged over the posterior, as in
        :class:`BayesianLogisticRegression`; with a flat prior they are at the best weights.
    inference : {"auto", "laplace"}, default="auto"
        End with Laplace's approximation, or with the normal nearest to the posterior, as in
        :class:`BayesianLogisticRegression`.
    hyperparameters : {"average", "maximise"}, default="average"
        As in :class:`BayesianLogisticRegression`.

    Attributes
    ----------
    dual_coef_ : array of shape (1, N) or (C, N)
        One weight for each training row.
    row_weights_ : array of shape (N,)
        How often each training row counts.
    column_coef_ : array of shape (N, 1) or (N, C)
        The weights on the centred kernel columns, each column times the root of its row's weight.
    coef_ : array of shape (1, M) or (C, M)
        With the linear kernel: the weights of the features.
    classes_, intercept_, features_, n_iter_, stop_reason_
        As in :class:`LogisticRegression`.
    log_likelihood_, separable_
        As in :class:`LogisticRegression`, with the flat prior.
    log_evidence_, prior_variance_
        As in :class:`BayesianLogisticRegression`, with the normal prior.
    posterior_ : LatentPosterior or None
        None with the flat prior.

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
        space = self._find_coordinates(design, weights)
        if check_choice(self.prior, "prior", PRIORS) == "flat":
            problem, found = maximise_likelihood(
                space,
                codes,
                weights,
                self._likelihood(),
                exactly=True,
                mean_square=space.compute_mean_square(weights),
            )
            report_convergence(self, found)
            self.posterior_ = None
            self.log_likelihood_ = found.value + problem.quadratic(found.W)
            self._publish(*space.restore_units(found.W, problem.targets))
            return
        self._learn(space, codes, weights, self.prior_variance, self.inference)

    def _find_coordinates(self, design: designs.Design, weights: Array | None) -> WeightSpace:
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
