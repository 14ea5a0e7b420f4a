"""Noise of any power x penalties of any power x any features x point estimate."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from posterity import arrays, designs, distributions, inference, optimize, validation
from posterity.regression.linear_model import Rows
from posterity.regression.streamed import StreamedLinearModel

_AT_ONCE = "Rows come bit by bit only at loss_power=2, whose statistics merge: fit all at once."


def _statistics_merge(model: LqRegression) -> bool:
    """Whether rows can be added to those seen; scikit-learn hides the method otherwise."""
    if model.loss_power != 2.0:
        raise AttributeError(_AT_ONCE)
    return True


class LqRegression(StreamedLinearModel):
    """Least powers of the errors with a penalty on powers of the weights.

    Minimises ``sum |y - Z w - b|**loss_power + penalty * sum |w|**penalty_power``. This is the
    maximum of the posterior under noise and a prior of these powers: ridge is (2, 2) and the Lasso
    (2, 1), which is the normal likelihood with the Laplace prior. Powers below 1 are not convex:
    the best of several local minima is kept.

    Parameters
    ----------
    penalty : float, default=1.0
        The factor of the penalty; >= 0. A sum over rows, not a mean: for the Lasso without
        standardising it is ``2 * N * alpha`` of scikit-learn.
    penalty_power : float, default=1.0
        2: ridge. 1: Lasso, which sets weights to zero. Below 1: sparser still. > 0.
    loss_power : float, default=2.0
        2 fits the conditional mean, 1 the median, towards 0 the mode. > 0.
    features : transformer, optional
        What the model is linear in. None: the columns as they are.
    fit_intercept : bool, default=True
        Add an offset, which is not penalised.
    standardize : bool, default=True
        Penalise the weights of columns scaled to unit variance, so that units do not matter.
    max_iter : int, default=1000
        Limit of sweeps or steps of one descent.
    tol : float, default=1e-10
        Relative change at which a descent stops.
    random_state : int, Generator or None, default=None
        Draws the starts that a loss power below 1 needs.

    Attributes
    ----------
    coef_, intercept_
        Weights and offset in the units of the data.
    noise_scale_ : float or array of shape (K,)
        s of the noise density exp(-|r / s|**loss_power), at its maximum likelihood.
    objective_ : float or array of shape (K,)
        What was minimised, at the minimum.
    n_iter_ : int
        Sweeps and steps taken.
    stop_reason_ : str
        Why the descent stopped.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import LqRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> y = 3.0 * X[:, 1] + 0.1 * rng.normal(size=100)
    >>> LqRegression(penalty=10.0).fit(X, y).coef_.round(1)
    array([0., 3., 0., 0., 0.])
    """

    def __init__(
        self,
        penalty: float = 1.0,
        *,
        penalty_power: float = 1.0,
        loss_power: float = 2.0,
        features: Any = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-10,
        random_state: Any = None,
    ) -> None:
        self.penalty = penalty
        self.penalty_power = penalty_power
        self.loss_power = loss_power
        self.features = features
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @available_if(_statistics_merge)
    def partial_fit(
        self,
        X: ArrayLike | designs.Chunks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        noise_variance: ArrayLike | None = None,
    ) -> Self:
        """Add rows to those seen so far; for a loss power of 2 only, whose statistics merge."""
        return super().partial_fit(X, y, sample_weight, noise_variance)

    def _begin(self, rows: Rows) -> None:
        if self.penalty != 0.0:
            validation.check_positive(self.penalty, "penalty")
        validation.check_positive(self.penalty_power, "penalty_power")
        validation.check_positive(self.loss_power, "loss_power")
        if rows.noise_variance is not None and self.loss_power != 2.0:
            raise ValueError("noise_variance is known of normal noise only: use loss_power=2.")
        super()._begin(rows)

    def _statistics_of_chunks(self, chunks: designs.Chunks) -> designs.Statistics:
        if self.loss_power != 2.0:
            raise ValueError(_AT_ONCE)
        return super()._statistics_of_chunks(chunks)

    def _conclude(self, statistics: designs.Statistics) -> None:
        self._penalty = np.full(statistics.n_features, float(self.penalty))
        if self.standardize:
            self._penalty = inference.unit_penalties(
                statistics, self.penalty, self.penalty_power, fit_intercept=self.fit_intercept
            )
        if self.loss_power != 2.0:
            return
        fits = inference.minimise_squares(
            statistics, **self._options(), rng=arrays.generator(self.random_state)
        )
        if self._known_noise:
            typical = np.sqrt(2.0 * statistics.noise_sum / statistics.count)
            self._adopt(fits, noise_scale=np.full(len(fits), typical))
        else:
            self._adopt(fits, noise_scale=np.array([fit.noise_scale for fit in fits]))

    def _polish(self, rows: Rows) -> None:
        if self.loss_power == 2.0:
            return
        Z, rng = self._features_of(rows.X), arrays.generator(self.random_state)
        fits = [
            inference.minimise(
                Z,
                y,
                loss_power=self.loss_power,
                sample_weight=rows.sample_weight,
                **self._options(),
                rng=rng,
            )
            for y in rows.Y.T
        ]
        self._adopt(fits, noise_scale=np.array([fit.noise_scale for fit in fits]))

    def _options(self) -> dict[str, Any]:
        return {
            "penalty": self._penalty,
            "penalty_power": self.penalty_power,
            "fit_intercept": self.fit_intercept,
            "tol": self.tol,
            "max_iter": self.max_iter,
        }

    def _adopt(self, fits: list[inference.MinkowskiFit], noise_scale: arrays.Array) -> None:
        self._publish(
            np.column_stack([fit.weights for fit in fits]),
            np.array([fit.intercept for fit in fits]),
        )
        self.noise_scale_ = self._per_output(noise_scale)
        self.objective_ = self._per_output(np.array([fit.objective for fit in fits]))
        self.n_iter_ = max(1, *(fit.n_iter for fit in fits))
        self.stop_reason_ = "; ".join(dict.fromkeys(fit.stop_reason for fit in fits))
        if not all(fit.converged for fit in fits):
            warnings.warn(
                f"LqRegression did not converge: {self.stop_reason_}. Raise max_iter or tol.",
                optimize.ConvergenceWarning,
                stacklevel=4,
            )

    def predict_dist(self, X: ArrayLike) -> distributions.Continuous:
        """The predictive distribution at each row: the noise about the point estimate.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Query rows.
        """
        mean = self._predict_mean(X)
        if self.loss_power == 2.0:
            return distributions.Normal(mean, np.asarray(self.noise_scale_) / np.sqrt(2.0))
        return distributions.GeneralNormal(mean, self.noise_scale_, self.loss_power)
