"""Predictive distributions of models inside scikit-learn's pipelines, searches and the like."""

from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from posterity import distributions
from posterity.arrays import Array

_SLOPES: dict[Any, Any] = {np.log: np.reciprocal, np.log1p: lambda y: 1.0 / (1.0 + y)}
_TINY = float(np.finfo(np.float64).tiny)


def predict_dist(model: Any, X: Any) -> Any:
    """Return the predictive distribution of a model, also from inside scikit-learn's wrappers.

    Parameters
    ----------
    model : estimator
        Fitted: an estimator of posterity; a ``Pipeline``, a grid search or a
        ``TransformedTargetRegressor`` around one; or a classifier with ``predict_proba``.
    X : array-like of shape (n, D)
        Query rows, as the outermost estimator takes them.

    Returns
    -------
    Distribution
        For transformed targets in the units of the targets, a ``distributions.Transformed``.

    Examples
    --------
    >>> import numpy as np
    >>> import posterity
    >>> from sklearn.compose import TransformedTargetRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 3.0, size=(80, 1))
    >>> y = np.exp(X[:, 0] + 0.2 * rng.normal(size=80))
    >>> inner = make_pipeline(PolynomialFeatures(2), posterity.BayesianLinearRegression())
    >>> model = TransformedTargetRegressor(inner, func=np.log, inverse_func=np.exp).fit(X, y)
    >>> lower, upper = posterity.predict_dist(model, [[1.0], [3.0]]).interval(0.9)
    >>> lower.round(1), upper.round(1)
    (array([ 2. , 14.1]), array([ 3.8, 27.4]))
    """
    if hasattr(model, "predict_dist"):
        return model.predict_dist(X)
    check_is_fitted(model)
    if isinstance(model, Pipeline):
        return predict_dist(model[-1], model[:-1].transform(X) if len(model) > 1 else X)
    if isinstance(model, TransformedTargetRegressor):
        return _restore_targets(predict_dist(model.regressor_, X), model)
    if hasattr(model, "best_estimator_"):
        return predict_dist(model.best_estimator_, X)
    if hasattr(model, "predict_proba"):
        p = np.maximum(np.asarray(model.predict_proba(X), dtype=np.float64), _TINY)
        return distributions.Categorical.from_logits(np.log(p))
    raise TypeError(
        f"{type(model).__name__} predicts no distribution: it has neither predict_dist nor "
        "predict_proba. Use an estimator of posterity, or put one inside it."
    )


def _restore_targets(latent: Any, model: TransformedTargetRegressor) -> Any:
    """Return the distribution of targets whose transformation has a known one."""
    transformer = model.transformer_

    def forward(y: Array) -> Array:
        return np.reshape(transformer.transform(np.reshape(y, (-1, 1))), np.shape(y))

    def inverse(z: Array) -> Array:
        return np.reshape(transformer.inverse_transform(np.reshape(z, (-1, 1))), np.shape(z))

    if len(latent.shape) != 1:
        raise ValueError("Transformed targets have a distribution only where y is one column.")
    slope = _SLOPES.get(model.func)
    return distributions.Transformed(latent, distributions.MonotoneMap(forward, inverse, slope))
