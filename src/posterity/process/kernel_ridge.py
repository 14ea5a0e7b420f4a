"""Squared error x a kernel's norm as penalty x closed form, chosen by leaving one out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, copies, distributions, kernels, models, page_forms, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.inference.conjugate import (
    CholeskyFit,
    KernelProblem,
    KernelRidgeFit,
    LeaveOneOut,
    LeaveOneOutPath,
    choose_penalty,
    reduce_kernel,
    solve_kernel_ridge,
)
from posterity.models import MOST_KERNEL_ROWS, Member, ModelCard
from posterity.models.regressor import DISTRIBUTION, KernelRegressor
from posterity.page_forms import Form

_BLOCK_VALUES = 1 << 22  # queries meet the training rows 32 MiB at a time


@declare_parameters
class KernelRidgeRegression(KernelRegressor):
    """The smoothest function near the targets: least squares with a kernel's norm as penalty.

    The function is ``kernel(X, X_train_) @ dual_coef_ + intercept_``. The penalty is chosen by the
    leave-one-out error, which has a closed form, over every penalty that can matter; each output
    has its own.

    Parameters
    ----------
    kernel : Kernel or callable, optional
        A value of :mod:`posterity.kernels`, or ``kernel(A, B)`` that gives the matrix between the
        rows of A and of B. Parameters of a kernel that are not set are started from the data; they
        are not tuned. None: ``kernels.RBF(ard=True)``, whose length scales follow the spread of
        each column.
    alpha : float, optional
        The factor of the squared norm of the function beside the sum of squared residuals; > 0.
        None: that of the least leave-one-out error.
    fit_intercept : bool, default=True
        Add an intercept, which is not penalised.

    Attributes
    ----------
    dual_coef_ : array of shape (N,) or (K, N)
        One weight for each training row; with an intercept they sum to zero.
    intercept_ : float or array of shape (K,)
        The intercept.
    alpha_ : float or array of shape (K,)
        The penalty, given or chosen.
    loo_path_ : LeaveOneOutPath
        With ``alpha=None``: ``penalties`` (G,) and the mean squared leave-one-out ``errors`` at
        each, (G,) or (G, K).
    loo_predictions_, loo_residuals_ : array of shape (N,) or (N, K)
        Each training row as the others predict it, the intercept estimated anew, and the target
        minus that. A row that counts n times is left out once where repeated targets tell of noise,
        and whole where they may be copies.
    noise_variance_ : float or array of shape (K,)
        Mean squared leave-one-out residual.
    kernel_ : Kernel
        The kernel, with every parameter set.
    X_train_ : array of shape (N, D), or list
        The training rows, without those of weight zero; equal ones, and copies, are held once.
    stop_reason_ : str
        How the penalty was found.
    at_bounds_ : tuple of str
        Parameters that ended at a bound of their search, and which bound.

    Notes
    -----
    The predictive distribution is normal, as wide everywhere as the leave-one-out residuals were
    on average. That includes noise and the errors of the function at rows like those of training;
    it does not grow far from them. For that, and for tuning the kernel, use
    :class:`GaussianProcessRegressor`, whose mean is the same function when its noise variance is
    ``alpha_`` times the variance of its kernel.

    With a penalty given, leave-one-out residuals cost as much again as the fit, and are computed
    when first asked for: by ``noise_variance_``, ``predict_dist`` or pickling.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import KernelRidgeRegression
    >>> X = np.linspace(0.0, 6.0, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=40)
    >>> model = KernelRidgeRegression().fit(X, y)
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.1)
    True
    >>> bool(0.05 < np.sqrt(model.noise_variance_) < 0.15)
    True
    """

    kernel: Any = field(default=None, kw_only=False)
    alpha: float | None = field(default=None, kw_only=False)
    fit_intercept: bool = True

    card = ModelCard(
        likelihood="normal",
        prior="normal",
        feature_space="kernel: of vectors, strings, trees, graphs",
        inference="closed form, alpha by leave-one-out",
        advice="a smooth function, quickly, with a known kernel",
        page="kernels",
        candidates=(Member("kernel-ridge", 230, "N^3", most_rows=MOST_KERNEL_ROWS),),
    )

    _loo: LeaveOneOut = field(init=False)
    _factorised: CholeskyFit | None = field(init=False)
    loo_path_: LeaveOneOutPath = field(init=False)

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), or a sequence of N objects
            Inputs; objects where the kernel takes those.
        y : array-like of shape (N,) or (N, K)
            Targets.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row, and a row of
            weight zero is absent.
        """
        self.__dict__.pop("loo_path_", None)  # what an earlier fit without a penalty had
        alpha = None if self.alpha is None else validation.check_positive(self.alpha, "alpha")
        # Two rows at least, before the noise can be told.
        rows, targets = self._check_training(X, y, reset=True, min_rows=2)
        weight = models.check_row_weights(sample_weight, len(targets))
        self._single_output = targets.ndim == 1
        training = models.Training.from_present_rows(
            rows, targets.reshape(len(targets), -1), weight, None
        )
        self.kernel_ = self._bind_kernel().start(models.drop_repeated_rows(training.rows))
        training, whole = self._merge_copies(training)
        self._Y, self._places, self.X_train_ = training.Y, training.places, training.rows
        K = np.require(arrays.to_numpy(self.kernel_(self.X_train_)), np.float64, "W")
        problem = reduce_kernel(
            K, training.Y, training.weights, fit_intercept=self.fit_intercept, whole=whole
        )
        self._adopt(
            self._choose_penalty(problem) if alpha is None else self._use_penalty(problem, alpha)
        )
        return self

    @models.answer_lazily(DISTRIBUTION)
    def predict_dist(self, X: Any) -> distributions.Normal:
        """The predictive distribution at each row: normal, of variance ``noise_variance_``."""
        mean = self._predict_mean(X)
        return distributions.Normal(
            mean, np.broadcast_to(np.sqrt(self.noise_variance_), mean.shape)
        )

    def _merge_copies(self, training: models.Training) -> tuple[models.Training, bool]:
        """Make equal rows one, and near-copies; whether rows that count more are left out whole."""
        if not isinstance(training.rows, np.ndarray) or self.kernel_.tells_rows_apart:
            return training, False
        once = training.merge_equal_rows()
        is_copied = len(once.Y) > 1 and not once.has_replicates
        n_copies = len(training.Y) - len(once.Y) if is_copied else 0
        near = models.find_near_copies((self.kernel_,), once)
        if near is not None and near.groups.n_groups > 1 and not near.are_expected(once.Y):
            n_copies += len(once.Y) - near.groups.n_groups
            once = once.merge_copies(near.groups)
        if n_copies:
            action = "The copies of a row were left out together."
            copies.warn_of_copies(n_copies, len(training.Y), action)
        return once, is_copied

    def _default_kernel(self) -> kernels.Kernel:
        return kernels.RBF(ard=True)  # it starts at the spread of each column, and stays there

    @property
    def noise_variance_(self) -> Any:
        """Mean squared leave-one-out residual, float or (K,)."""
        return self._per_output(self._leave_one_out().mean_squares)

    @property
    def loo_residuals_(self) -> Array:
        """Target minus leave-one-out prediction of each training row, (N,) or (N, K)."""
        return self._per_row(self._leave_one_out().residuals[self._places])

    @property
    def loo_predictions_(self) -> Array:
        """Each training row as predicted by the others, (N,) or (N, K)."""
        return self._per_row((self._Y - self._leave_one_out().residuals)[self._places])

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        latent = page_forms.form_weights(self.dual_coef_, self.intercept_)
        noise = page_forms.form_normal_noise(self.noise_variance_)
        return page_forms.form_linear(self.kernel_.form_columns(self.X_train_), latent, noise)

    def _choose_penalty(self, problem: KernelProblem) -> KernelRidgeFit:
        """The solution at the penalty of the least leave-one-out error."""
        chosen = choose_penalty(problem)
        penalties, errors = chosen.path
        self.loo_path_ = LeaveOneOutPath(penalties, self._per_row(errors))
        self.stop_reason_ = chosen.stop_reason
        self.at_bounds_ = models.report_weight_bounds(chosen)
        self._loo, self._factorised = chosen.fit.leave_one_out, None
        return chosen.fit

    def _use_penalty(self, problem: KernelProblem, alpha: float) -> KernelRidgeFit:
        """The solution at the penalty given."""
        self.stop_reason_, self.at_bounds_ = "alpha was given", ()
        self._factorised = solve_kernel_ridge(problem, alpha)
        return self._factorised

    def _adopt(self, fit: KernelRidgeFit) -> None:
        self.dual_coef_ = self._per_output(np.ascontiguousarray(fit.dual_coef.T))
        self.intercept_ = self._per_output(fit.intercept) if self.fit_intercept else 0.0
        self.alpha_ = self._per_output(fit.penalty)

    def _leave_one_out(self) -> LeaveOneOut:
        """Computed once; the factor that it needs is let go then."""
        check_is_fitted(self)
        if self._factorised is not None:
            self._loo, self._factorised = self._factorised.leave_one_out, None
        return self._loo

    def __getstate__(self) -> dict[str, Any]:
        if "dual_coef_" in self.__dict__:
            self._leave_one_out()  # a few numbers a row are stored, not the factor
        return super().__getstate__()

    def _predict_mean(self, X: Any) -> Array:
        check_is_fitted(self)
        queries = self._check_rows(X)
        n_block = max(1, _BLOCK_VALUES // len(self.dual_coef_.T))
        blocks = (queries[i : i + n_block] for i in range(0, len(queries), n_block))
        kernel_rows = (arrays.to_numpy(self.kernel_(Z, self.X_train_)) for Z in blocks)
        return np.concatenate([k @ self.dual_coef_.T for k in kernel_rows]) + self.intercept_
