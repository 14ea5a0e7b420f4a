"""Length scales from a Gaussian process, at which a search for relevance vectors begins.

The evidence of a process integrates over all functions that its kernel allows: it does not grow
without end as the kernel narrows, and has far fewer local maxima than a choice of vectors.
"""

from __future__ import annotations

import numpy as np

from posterity import arrays, kernels
from posterity.arrays import Array, DeviceArray
from posterity.inference.observations import Observations
from posterity.inference.search import climb_evidence, negate_evidence
from posterity.process import Evidence

_NOISE = 0.3  # of the targets' mean square, where the search starts
_NOISE_BOUNDS = (1e-5, 3.0)
_SPREAD = 1.7  # standard deviation of the log of a column's length scale about the shared one
_LONGEST = 30.0  # times the root of the number of columns: functions are straight over all rows
_ITERATIONS = 60
_LEAST_GAIN = 1e-2  # nats


def learn_length_scales(
    rows: DeviceArray, Y: Array, weights: Array | None = None
) -> list[kernels.RBF]:
    """The RBF of the largest evidence with one length scale, and with one for each column.

    Parameters
    ----------
    rows : array of shape (N, D)
        With columns of about unit variance.
    Y : array of shape (N, K)
        Outputs of about unit mean square, about their mean. They share the kernel and the noise.
    weights : array of shape (N,), optional
        How often each row counts.

    Returns
    -------
    found : list of RBF
        Only the first where there is one column, or where columns are not fewer than rows.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-2.0, 2.0, (60, 2))
    >>> shared, each = learn_length_scales(X, np.sin(2.0 * X[:, :1]))
    >>> round(shared.length_scale, 1), np.round(each.length_scale, 1)
    (1.4, array([ 1.1, 42.4]))
    """
    evidence = Evidence(rows, Observations.from_targets(arrays.like(rows, Y), weights=weights))
    n, D = rows.shape
    x = _climb_posterior(evidence, kernels.RBF(), np.array([0.0, np.nan, np.log(_NOISE)]))
    shared = kernels.RBF(float(np.exp(x[1])))
    if not 1 < D < n:
        return [shared]
    start = np.concatenate([x[:1], np.full(D, x[1]), x[2:]])
    x = _climb_posterior(evidence, kernels.RBF((1.0,) * D), start)
    return [shared, kernels.RBF(tuple(np.exp(x[1:-1])))]


def _climb_posterior(evidence: Evidence, kernel: kernels.RBF, start: Array) -> Array:
    """The best log variance, log length scales and log noise variance.

    Several length scales have a normal prior about their start. A start that is not a number is
    that of the kernel.
    """
    scaled, bounds = kernels.Scaled(kernel, 1.0).search_start(evidence.X)
    begin = np.where(np.isnan(start), np.append(scaled.theta, 0.0), start)
    longest = np.log(_LONGEST * np.sqrt(evidence.X.shape[1]))
    bounds[1:, 1] = np.minimum(bounds[1:, 1], longest)
    inverse_spread = np.zeros_like(begin)
    inverse_spread[1:-1] = 1.0 / _SPREAD if len(begin) > 3 else 0.0

    def log_posterior(x: Array) -> tuple[float, Array]:
        value, slope = evidence(scaled.with_theta(x[:-1]), float(np.exp(x[-1])))
        apart = (x - begin) * inverse_spread
        return value - 0.5 * float(apart @ apart), slope - apart * inverse_spread

    return climb_evidence(
        negate_evidence(log_posterior),
        begin,
        limits=np.vstack([bounds, np.log(_NOISE_BOUNDS)]),
        names=[*scaled.names, "noise_variance"],
        max_iter=_ITERATIONS,
        least_gain=_LEAST_GAIN,
        announce=False,  # it is a budget
    ).x
