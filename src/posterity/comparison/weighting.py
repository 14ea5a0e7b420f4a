"""Weights of a mixture of models that maximise its log score."""

import numpy as np
from scipy import optimize

from posterity import linalg
from posterity.arrays import Array

_MAX_ITERATIONS = 100
_TOLERANCE = 1e-9  # of the log score, in nats per row
_PRICE = 2.0  # nats that a model must add to the log score of all rows to be kept
_RIDGE = 1e-10  # of the curvature: models that agree on all rows make it singular


def learn_weights(log_prob: Array) -> Array:
    """Return the weights, (K,), that maximise the mean log probability of a mixture.

    The problem is concave: maximise mean_n log sum_k w_k p_nk over weights that are not negative
    and sum to 1. With the sum of the weights subtracted in place of the constraint the maximum is
    the same, and every Newton step is a least-squares problem over weights that are not negative.
    A model that adds less than two nats to the log score of all rows together has no weight: so
    much is gained by chance, and each costs a fit.

    Parameters
    ----------
    log_prob : ndarray of shape (n, K)
        Log probability of the observed value of each row according to each model.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.comparison.weighting import learn_weights
    >>> p = np.repeat([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]], 20, axis=0)
    >>> learn_weights(np.log(p)).round(3)
    array([0.708, 0.292])
    """
    p = np.exp(log_prob - log_prob.max(axis=1, keepdims=True))
    kept = np.arange(p.shape[1])
    w = maximise_score(p)
    while len(kept) > 1:
        fewer = np.delete(np.arange(len(kept)), int(np.argmin(w)))
        smaller = maximise_score(p[:, kept[fewer]])
        with np.errstate(divide="ignore"):
            lost = np.sum(np.log(p[:, kept] @ w)) - np.sum(np.log(p[:, kept[fewer]] @ smaller))
        if not lost < _PRICE:
            break
        kept, w = kept[fewer], smaller
    weights = np.zeros(p.shape[1])
    weights[kept] = w
    return weights


def maximise_score(p: Array) -> Array:
    """Return the weights at the maximum, by Newton steps with a line search.

    Parameters
    ----------
    p : ndarray of shape (n, K)
        Probabilities of the observed values, those of a row up to a common factor.
    """
    n, K = p.shape
    w = np.full(K, 1.0 / K)
    for _ in range(_MAX_ITERATIONS):
        ratio = p / (p @ w)[:, None]
        slope = ratio.sum(axis=0) / n - 1.0
        H = ratio.T @ ratio / n
        L = linalg.cholesky(H + _RIDGE * np.trace(H) * np.eye(K))
        # min (x - w)' H (x - w) / 2 - slope' (x - w) over x >= 0
        target = linalg.solve_lower(L, H @ w + slope)
        step = optimize.nnls(L.T, target)[0] - w
        gain = float(slope @ step)
        if gain <= _TOLERANCE:
            break
        w = _search_along(p, w, step, gain)
    return w / w.sum()


def _search_along(p: Array, w: Array, step: Array, gain: float) -> Array:
    """Halve a step until the objective rises by a part of what its slope promises."""
    now, length = _objective(p, w), 1.0
    while length > 1e-10:
        further = np.maximum(w + length * step, 0.0)
        if _objective(p, further) >= now + 1e-4 * length * gain:
            return further
        length *= 0.5
    return w


def _objective(p: Array, w: Array) -> float:
    mixed = p @ w
    return float(np.mean(np.log(mixed)) - w.sum()) if np.all(mixed > 0.0) else -np.inf
