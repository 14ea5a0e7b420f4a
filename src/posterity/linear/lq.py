"""Noise of any power x penalties of any power x any features x point estimate."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from posterity import (
    arrays,
    callers,
    designs,
    distributions,
    models,
    optimize,
    page_forms,
    validation,
)
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.linear.penalized import MinkowskiFit, minimise_penalized, minimise_penalized_squares
from posterity.linear.statistics_model import FeatureRows, StreamedLinearModel
from posterity.models import Member, ModelCard
from posterity.page_forms import Form

_AT_ONCE = "Rows come bit by bit only at loss_power=2, whose statistics merge: fit all at once."


def _statistics_merge(model: LqRegression) -> bool:
    """Whether rows can be added to those seen; scikit-learn hides the method otherwise."""
    if model.loss_power != 2.0:
        raise AttributeError(_AT_ONCE)
    return True


@declare_parameters
class LqRegression(StreamedLinearModel):
    """Linear regression with any power of the loss and any power of the penalty.

    The weights w and the intercept b minimise

        sum_n weight_n |y_n - z_n.w - b|^loss_power + penalty * sum_m |w_m|^penalty_power,

    a sum over rows, not a mean. ``loss_power`` 2 fits the mean, 1 the median, and towards 0 the
    mode. ``penalty_power`` 2 is ridge and 1 the Lasso, which is the most probable w under a Laplace
    prior of scale ``2 * noise_variance / penalty``; at 1 and below, weights become exactly zero.

    With both powers at least 1 the minimum is unique or one of equals, and is found. Otherwise
    there are many local minima; the best of several searches is returned.

    Parameters
    ----------
    penalty : float, default=1.0
        >= 0. Without standardising, scikit-learn's ``Lasso(alpha)`` on N rows has the penalty
        ``2 * N * alpha``. It is in units of the targets to the power ``loss_power -
        penalty_power``: scale it with them, or standardise the targets.
    penalty_power : float, default=1.0
        Power of the weights in the penalty, > 0.
    loss_power : float, default=2.0
        Power of the residuals in the loss, > 0. With 2 it learns from chunks and in parts too.
    fit_intercept : bool, default=True
        Add an intercept; it is never penalised.
    standardize : bool, default=True
        Penalise the weights of columns scaled to unit standard deviation, so that units do not
        matter. ``coef_`` is in the units of the data either way.
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-10
        Relative accuracy of the minimum.
    random_state : int, Generator or None, default=None
        Draws the random starts of ``loss_power`` < 1, or 1 with ``penalty_power`` < 1; not used
        otherwise.

    Attributes
    ----------
    coef_ : array of shape (M,) or (K, M)
        Weights.
    intercept_ : float or array of shape (K,)
        Intercept.
    objective_ : float or array of shape (K,)
        The minimum reached.
    noise_scale_ : float or array of shape (K,)
        Maximum likelihood s of noise with density proportional to ``exp(-|r / s|^loss_power)``,
        under which the loss is the likelihood.
    noise_variance_ : float or array of shape (K,)
        The variance of that noise.
    n_iter_ : int
        Iterations, of the output that took most.
    stop_reason_ : str
        Why they ended.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import LqRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> y = 3.0 * X[:, 0] - 2.0 * X[:, 1] + 0.1 * rng.normal(size=60)
    >>> LqRegression(penalty=10.0).fit(X, y).coef_.round(1)
    array([ 2.9, -1.9,  0. ,  0. ])
    >>> y[:5] += 100.0
    >>> LqRegression(penalty=10.0, loss_power=1.0).fit(X, y).coef_.round(1)
    array([ 2.9, -2. ,  0. ,  0. ])
    """

    penalty: float = field(default=1.0, kw_only=False)
    penalty_power: float = 1.0
    loss_power: float = 2.0
    standardize: bool = True
    max_iter: int = 1000
    tol: float = 1e-10
    random_state: Any = None

    card = ModelCard(
        likelihood="power of the error",
        prior="power of the weight (Lasso at 1)",
        feature_space="explicit",
        inference="point estimate",
        advice="the penalty is known: Lasso, median regression; otherwise sparse",
        page="regression",
        candidates=(
            Member("lasso", 40, "N D^2", on_dask=True),
            Member(
                "median",
                150,
                "N D^2 an iteration",
                {"loss_power": 1.0},
                likelihood="absolute error",
                prior="absolute weight",
                advice="the median instead of the mean",
                most_rows=1e5,
            ),
        ),
    )

    @available_if(_statistics_merge)
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        noise_variance: ArrayLike | None = None,
    ) -> Self:
        """Add rows to those seen so far; for a loss power of 2 only, whose statistics merge."""
        return super().partial_fit(X, y, sample_weight, noise_variance)

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        latent = page_forms.form_weights(self.coef_, self.intercept_)
        answer = {"kind": "general_normal", "scale": self.noise_scale_, "power": self.loss_power}
        if self.loss_power == 2.0:
            answer = page_forms.form_normal_noise(self.noise_variance_)
        return page_forms.form_linear(self._page_columns(), latent, answer)

    def _start_fit(self, rows: FeatureRows) -> None:
        if self.penalty != 0.0:
            validation.check_positive(self.penalty, "penalty")
        for name in ("penalty_power", "loss_power", "max_iter", "tol"):
            validation.check_positive(getattr(self, name), name)
        if rows.noise_variance is not None and self.loss_power != 2.0:
            raise ValueError("noise_variance is known of normal noise only: use loss_power=2.")
        super()._start_fit(rows)

    def _statistics_of_source(self, source: models.Source) -> designs.Statistics:
        if self.loss_power != 2.0:
            raise ValueError(_AT_ONCE)
        return super()._statistics_of_source(source)

    def _fit_statistics(self, statistics: designs.Statistics) -> None:
        """Squares need the statistics only; other losses wait for the rows."""
        if self.loss_power != 2.0:
            return
        fits = minimise_penalized_squares(
            statistics,
            penalty=self.penalty,
            penalty_power=self.penalty_power,
            fit_intercept=self.fit_intercept,
            standardize=self.standardize,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self._adopt(fits)
        if self._known_noise:
            typical = np.sqrt(2.0 * statistics.noise_sum / statistics.count)
            self._set_noise(np.full(len(fits), typical))

    def _polish(self, rows: FeatureRows) -> None:
        if self.loss_power == 2.0:
            return
        Z, rng = self._transform_features(rows.X), arrays.generator(self.random_state)
        fits = [
            minimise_penalized(
                Z,
                y,
                penalty=self.penalty,
                penalty_power=self.penalty_power,
                loss_power=self.loss_power,
                sample_weight=rows.sample_weight,
                fit_intercept=self.fit_intercept,
                standardize=self.standardize,
                tol=self.tol,
                max_iter=self.max_iter,
                rng=rng,
            )
            for y in rows.Y.T
        ]
        self._adopt(fits)

    def _set_noise(self, scale: Array) -> None:
        variance = distributions.GeneralNormal(0.0, scale, self.loss_power).variance()
        self.noise_scale_ = self._per_output(scale)
        self.noise_variance_ = self._per_output(variance)

    def _adopt(self, fits: list[MinkowskiFit]) -> None:
        """Publish one fit an output."""
        self._publish(
            np.column_stack([fit.weights for fit in fits]),
            np.array([fit.intercept for fit in fits]),
        )
        self._set_noise(np.array([fit.noise_scale for fit in fits]))
        self.objective_ = self._per_output(np.array([fit.objective for fit in fits]))
        self.n_iter_ = max(fit.n_iter for fit in fits)
        self.stop_reason_ = "; ".join(dict.fromkeys(fit.stop_reason for fit in fits))
        if not all(fit.converged for fit in fits):
            callers.warn_caller(
                f"LqRegression did not converge: {self.stop_reason_}. Raise max_iter or tol.",
                optimize.ConvergenceWarning,
            )

    def _predict_from_features(
        self, Z: Array, noise_variance: ArrayLike | None
    ) -> distributions.Continuous:
        mean = self._predict_mean_from_features(Z)
        if self.loss_power == 2.0:
            noise = self._per_row(self._make_query_noise(noise_variance, len(Z)))
            return distributions.Normal(mean, np.sqrt(noise))
        if noise_variance is not None:
            raise ValueError("noise_variance is known of normal noise only: use loss_power=2.")
        return distributions.GeneralNormal(mean, self.noise_scale_, self.loss_power)
