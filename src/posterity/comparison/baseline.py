"""Baselines of a comparison: constant predictions, and scikit-learn's models."""

import functools
from typing import Any, Self

import numpy as np
import threadpoolctl
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.utils.validation import check_is_fitted, validate_data

from posterity import arrays, designs, distributions, likelihoods, linear, models, tables
from posterity.comparison import row_scores
from posterity.comparison.candidate import Candidate
from posterity.designs.moments import RowMoments

_INNER_FOLDS = 3


class MeanRegressor(models.Regressor):
    """Predict every row by a normal whose mean and variance are those of the targets."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Estimate the mean and the variance."""
        if arrays.is_collection(X):
            return self._fit_on_workers(X, y)
        _, targets = validate_data(self, X, y, y_numeric=True)
        self.mean_, self.n_rows_ = float(np.mean(targets)), len(targets)
        self.noise_variance_ = float(np.var(targets, ddof=1))
        return self

    def _fit_on_workers(self, X: Any, y: Any) -> Self:
        """Estimate the mean and the variance on the workers of a Dask cluster."""
        seen = designs.Partitions.from_collections(X, y).reduce(_target_moments, RowMoments.merge)
        self.n_features_in_ = X.shape[1]
        self.mean_, self.n_rows_ = float(seen.mean[0]), seen.n_rows
        self.noise_variance_ = float(seen.scatter[0, 0]) / (seen.n_rows - 1.0)
        return self

    def predict_dist(self, X: ArrayLike) -> distributions.Univariate:
        """Return a Student-t, the average over mean and variance under flat priors."""
        check_is_fitted(self)
        location = np.full(len(validate_data(self, X, reset=False)), self.mean_)
        scale = np.sqrt(self.noise_variance_ * (1.0 + 1.0 / self.n_rows_))
        return distributions.StudentT(location, scale, self.n_rows_ - 1.0)


class MeanRateRegressor(models.Regressor):
    """Predict counts by one rate for all rows, and the spread of rates over the rows."""

    likelihood = likelihoods.NegativeBinomial()

    def fit(self, X: ArrayLike, y: ArrayLike, exposure: ArrayLike | None = None) -> Self:
        """Learn the rate and its spread."""
        rows, targets = validate_data(self, X, y, y_numeric=True)
        self.model_ = linear.GeneralizedLinearRegression(self.likelihood)
        self.model_.fit(np.zeros((len(rows), 1)), targets, exposure=exposure)
        return self

    def predict_dist(
        self, X: ArrayLike, *, exposure: ArrayLike | None = None
    ) -> distributions.Univariate:
        """Return the distribution of each count over its exposure."""
        check_is_fitted(self)
        n = len(validate_data(self, X, reset=False))
        return self.model_.predict_dist(np.zeros((n, 1)), exposure=exposure)


class NormalNoiseRegressor(models.Regressor):
    """Add normal noise to a point prediction, with the variance of errors in three inner folds."""

    def __init__(self, estimator: Any, *, seed: int = 0) -> None:
        self.estimator = estimator
        self.seed = seed

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to all rows, and estimate the noise variance by threefold cross-validation."""
        rows, targets = validate_data(self, X, y, y_numeric=True)
        folds = KFold(_INNER_FOLDS, shuffle=True, random_state=self.seed)
        with _limit_to_one_thread():
            residuals = targets - cross_val_predict(self.estimator, rows, targets, cv=folds)
            self.estimator_ = clone(self.estimator).fit(rows, targets)
        self.noise_variance_ = float(np.mean(residuals**2))
        return self

    def predict_dist(self, X: ArrayLike) -> distributions.Univariate:
        """Return a normal with the same variance for every row."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False)
        with _limit_to_one_thread():
            mean = self.estimator_.predict(rows)
        return distributions.Normal(mean, np.sqrt(self.noise_variance_))


class FrequencyClassifier(models.Classifier):
    """Predict every row by the class frequencies."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Count the classes."""
        if arrays.is_collection(X):
            return self._fit_on_workers(X, y)
        rows = validate_data(self, X)
        places = self._learn_classes(y, len(rows))
        self.frequencies_ = np.bincount(places.astype(np.intp)) / len(places)
        return self

    def _fit_on_workers(self, X: Any, y: Any) -> Self:
        """Count the classes on the workers of a Dask cluster."""
        self.n_features_in_ = X.shape[1]
        self.classes_, counts = designs.Partitions.from_collections(X, y).count_targets()
        self.frequencies_ = counts / counts.sum()
        return self

    def predict_dist(self, X: Any) -> distributions.Discrete:
        """Return the class frequencies for every row."""
        check_is_fitted(self)
        n = len(validate_data(self, X, reset=False))
        return distributions.Categorical(np.tile(np.log(self.frequencies_), (n, 1)))


class ProbabilityClassifier(models.Classifier):
    """Use ``predict_proba`` of another classifier, with probabilities of at least 1e-15."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the wrapped classifier."""
        rows = validate_data(self, X)
        self._learn_classes(y, len(rows))
        with _limit_to_one_thread():
            self.estimator_ = clone(self.estimator).fit(rows, np.asarray(y))
        return self

    def predict_dist(self, X: Any) -> distributions.Discrete:
        """Return the predicted probabilities, raised to 1e-15 so that the log loss is finite."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False)
        with _limit_to_one_thread():
            p = self.estimator_.predict_proba(rows)
        return distributions.Categorical.from_logits(np.log(np.maximum(p, row_scores.SMALLEST)))


def _target_moments(block: designs.RowBlock) -> RowMoments:
    return RowMoments.from_rows(np.asarray(block.y)[:, None])


def _limit_to_one_thread() -> Any:
    """Limit OpenMP to one thread: boosting's threads wait for each other on a busy machine."""
    return _find_openmp().limit(limits=1)


@functools.cache
def _find_openmp() -> Any:
    """Find the OpenMP libraries of this process, once: the search is slow."""
    return threadpoolctl.ThreadpoolController().select(user_api="openmp")


def constant_baseline(schema: tables.Schema) -> Any:
    """Return the baseline whose prediction, or rate, is the same for every row."""
    return _constant_baseline(schema.task, schema.exposure is not None)


def _constant_baseline(task: tables.Task, exposed: bool) -> Any:
    if exposed:
        return MeanRateRegressor()
    return MeanRegressor() if task == "regression" else FrequencyClassifier()


def baselines(
    task: tables.Task, *, seed: int = 0, on_dask: bool = False, exposed: bool = False
) -> tuple[Candidate, ...]:
    """Return the baselines of a comparison.

    Regression: "mean", a Student-t around the mean of all targets, and scikit-learn's linear
    regression and gradient boosting, with a normal whose variance is that of their errors in three
    inner folds. Classification: "frequencies" of the classes, and scikit-learn's logistic
    regression and gradient boosting with their predicted probabilities, at least 1e-15.

    Parameters
    ----------
    task : "regression" or "classification"
        Whether the target is a number or a class.
    seed : int, default=0
        Random seed of inner folds and of gradient boosting.
    on_dask : bool, default=False
        Whether the rows are on the workers of a Dask cluster; scikit-learn's models are then
        omitted.
    exposed : bool, default=False
        Whether the targets are counts over different exposures: "mean" is then the mean rate, with
        a negative binomial, and scikit-learn's models, which take no exposure, are omitted.

    Examples
    --------
    >>> from posterity import comparison
    >>> [one.name for one in comparison.baselines("classification")]
    ['frequencies', 'sklearn-logistic', 'sklearn-boosting']
    """
    if task == "regression":
        models: dict[str, Any] = {
            "mean": _constant_baseline(task, exposed),
            "sklearn-linear": NormalNoiseRegressor(LinearRegression(), seed=seed),
            "sklearn-boosting": NormalNoiseRegressor(
                HistGradientBoostingRegressor(random_state=seed), seed=seed
            ),
        }
    else:
        models = {
            "frequencies": _constant_baseline(task, exposed),
            "sklearn-logistic": ProbabilityClassifier(LogisticRegression()),
            "sklearn-boosting": ProbabilityClassifier(
                HistGradientBoostingClassifier(random_state=seed)
            ),
        }
    shown = list(models)[:1] if on_dask or exposed else list(models)
    return tuple(Candidate(name, models[name], baseline=True) for name in shown)
