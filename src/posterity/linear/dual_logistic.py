"""Bernoulli or categorical likelihood x one weight a row x inner products or a kernel."""

from __future__ import annotations

import numpy as np

from posterity import designs, linear
from posterity.arrays import Array
from posterity.constructors import declare_parameters
from posterity.inference.weights import WeightSpace, maximise_likelihood
from posterity.linear.logistic import report_convergence
from posterity.linear.weight_classifier import WeightClassifier, check_choice
from posterity.models import MOST_KERNEL_ROWS, Member, ModelCard

PRIORS = ("normal", "flat")


@declare_parameters
class DualLogisticRegression(linear.DualModel, WeightClassifier):
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
        K = self._evaluate_kernel(self.kernel_columns_.X_train_)
        space = WeightSpace.from_design(
            design,
            weights,
            offset=self.fit_intercept,
            standardize=False,
            rotate=True,
            size=float(np.max(np.abs(K))),
        )
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

    def _mean_at(self, Z: Array) -> Array:
        return Z @ self.column_coef_ + self.intercept_

    def _publish(self, coef: Array, intercept: Array) -> None:
        self.column_coef_ = coef
        self.intercept_ = np.asarray(intercept) if self.fit_intercept else np.zeros(coef.shape[1])
        # About the centre these sum to zero, so they are also the weights of the kernel itself.
        self.dual_coef_ = np.ascontiguousarray((coef * np.sqrt(self.row_weights_)[:, None]).T)
        if isinstance(self.kernel, str):  # only the linear kernel has weights of the features
            self.coef_ = self._column_weights(self.dual_coef_)  # [P9 9.24]
