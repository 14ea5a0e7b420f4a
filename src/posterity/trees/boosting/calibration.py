"""The calibration of boosted latents of classes, learned from rows that their members left out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from posterity import compilation, optimize, validation
from posterity.arrays import Array
from posterity.inference import minima

_SHRINKING = np.pi / 8.0  # [P9 9.19]
_PRECISIONS = np.array([4.0, 1.0])
"""Prior precisions of the logs of temperature and variance factor, whose prior means are zero."""
_RULE = np.stack(np.polynomial.hermite_e.hermegauss(5))  # nodes and weights
_RULE[1] /= np.sum(_RULE[1])
_BOUND = 3.0  # of either logarithm
_LEAST_GAIN = 1e-7  # nats a row


@dataclass(frozen=True)
class ClassCalibration:
    """Latents times a factor, less where leaves had few rows.

    A latent is normal about ``sharpness`` times the sum of the trees; ``variance_factor`` says how
    much of what leaf values leave open it varies. The mean of the softmax is that of the latents
    divided by the root of 1 + pi variance / 8.

    Examples
    --------
    >>> import numpy as np
    >>> sure = ClassCalibration(2.0, 1.0)
    >>> sure.moderate(np.array([[1.0], [1.0]]), np.array([0.0, 8.0])).round(3).ravel()
    array([2.   , 0.543])
    """

    sharpness: float = 1.0
    variance_factor: float = 0.0

    @classmethod
    def learn(
        cls, latents: Array, variances: Array, y: NDArray[np.int64], weights: Array
    ) -> ClassCalibration:
        """The factors of the largest log score of rows left out, under a prior near one.

        Parameters
        ----------
        latents : array (m, L)
            Of rows by members that left them out.
        variances : array (m,)
            What leaf values leave open of them.
        y, weights : array (m,)
            Classes, and how often rows count.
        """
        A = contrast_classes(latents)
        if not len(A):
            return cls(1.0, 1.0)

        def loss(x: Array) -> tuple[float, Array]:
            return _compute_loss(A, variances, y, weights, x)

        bounds = [(-_BOUND, _BOUND)] * 2
        end = optimize.minimise_lbfgs(
            loss, np.zeros(2), bounds=bounds, least_gain=_LEAST_GAIN, announce=False
        )
        end = minima.settle_minimum(loss, end, bounds)
        return cls(*(float(factor) for factor in np.exp(end.x)))

    def moderate(self, latents: Array, variances: Array) -> Array:
        """Latents (n, L) whose softmax is the mean of the softmax at uncertain ones."""
        shrunk = 1.0 + _SHRINKING * self.variances_of_latents(variances)
        return latents * (self.sharpness / np.sqrt(shrunk))[:, None]

    def variances_of_latents(self, variances: Array) -> Array:
        """Variance (n,) of a latent, from that of sums of leaf values."""
        return self.sharpness**2 * self.variance_factor * variances

    def check_consistency(self) -> None:
        """Raise ValueError unless both factors are such."""
        for name in ("sharpness", "variance_factor"):
            value = getattr(self, name)
            is_factor = isinstance(value, float) and 0.0 <= value < np.inf
            validation.require(is_factor, f"{name} is not a factor.")


def contrast_classes(latents: Array) -> Array:
    """One latent for each class: that of the second of two is beside a zero."""
    if latents.shape[1] > 1:
        return latents
    return np.column_stack([np.zeros(len(latents)), latents[:, 0]])


def predict_log_probabilities(
    calibration: ClassCalibration, latents: Array, variances: Array
) -> tuple[Array, Array]:
    """Log-probabilities (n, C) of the classes, and the epistemic part (n,) of their entropy.

    The epistemic part is what the entropy loses, on average, once the latents are known: by
    quadrature along the contrast of the most probable class with all others.

    Parameters
    ----------
    calibration : ClassCalibration
        Of sums of trees.
    latents : array (n, L)
        Sums of trees.
    variances : array (n,)
        What leaf values leave open of them.
    """
    n, L = latents.shape
    log_p, epistemic = np.empty((n, max(L, 2))), np.empty(n)
    factors = calibration.sharpness, calibration.variance_factor
    scratch = np.zeros((3, log_p.shape[1]))
    _predict_rows(latents, variances, *factors, _RULE, scratch, log_p, epistemic)
    return log_p, epistemic


def _compute_loss(
    A: Array, variances: Array, y: NDArray[np.int64], weights: Array, x: Array
) -> tuple[float, Array]:
    """Minus the log score a row at the logs x of both factors, minus their prior; its gradient."""
    sharpness, factor = np.exp(x)
    shrunk = 1.0 + _SHRINKING * sharpness**2 * factor * variances
    Z = A * (sharpness / np.sqrt(shrunk))[:, None]
    log_p = log_softmax(Z, axis=1)
    own = np.arange(len(y)), y
    excess = weights * (Z[own] - np.sum(np.exp(log_p) * Z, axis=1))
    by_factor = -0.5 * (1.0 - 1.0 / shrunk)
    slope = np.array([excess @ (1.0 + 2.0 * by_factor), excess @ by_factor]) - _PRECISIONS * x
    value = float(weights @ log_p[own]) - 0.5 * float(_PRECISIONS @ x**2)
    total = float(np.sum(weights))
    return -value / total, -slope / total


@compilation.compile_at_first_call
def _predict_rows(
    latents: Array,
    variances: Array,
    sharpness: float,
    factor: float,
    rule: Array,
    scratch: Array,
    log_p: Array,
    epistemic: Array,
) -> None:
    """One row after the other: for a single one, calls of NumPy would take longest.

    Loops over classes are written out, since expressions of arrays take seconds to compile.
    """
    L, C = latents.shape[1], log_p.shape[1]
    known, moved, mean = scratch[0], scratch[1], scratch[2]
    for i in range(len(latents)):
        v = sharpness * sharpness * factor * variances[i]
        top: Any = np.int64(0)  # for a plain constant, functions would be compiled once more
        scale = 1.0 / math.sqrt(1.0 + _SHRINKING * v)
        for c in range(C):
            if c >= C - L:  # the first of two classes stays at zero
                known[c] = sharpness * latents[i, c - C + L]
            top = c if known[c] > known[top] else top
            moved[c] = scale * known[c]
        epistemic[i] = 0.0
        entropy = _normalise(moved)
        for c in range(C):
            log_p[i, c] = moved[c]
        if entropy <= 0.0 or v <= 0.0:
            continue
        own = v if L > 1 else 0.5 * v  # of either class, where that of their difference is known
        width = math.sqrt(own * (1.0 + _concentrate(moved, top)))
        epistemic[i] = _share_epistemic_entropy(known, top, width, rule, moved, mean)


@compilation.compile_for_callers
def _concentrate(log_p: Array, top: int) -> float:
    """The sum of the squared shares of all classes but one among these."""
    rest, squares = 0.0, 0.0
    for c in range(len(log_p)):
        if c != top:
            rest += math.exp(log_p[c])
            squares += math.exp(2.0 * log_p[c])
    return squares / (rest * rest) if squares > 0.0 else 1.0


@compilation.compile_for_callers
def _share_epistemic_entropy(
    latents: Array, top: int, width: float, rule: Array, moved: Array, mean: Array
) -> float:
    """The part of the entropy that is gone when one latent, which varies, is known."""
    inner, entropy = 0.0, 0.0
    for k in range(rule.shape[1]):  # as constants, nodes would be written out one by one
        node, weight = rule[0, k], rule[1, k]
        for c in range(len(latents)):
            moved[c] = latents[c] + (node * width if c == top else 0.0)
        inner += weight * _normalise(moved)
        for c in range(len(latents)):
            mean[c] = (mean[c] if k > 0 else 0.0) + weight * math.exp(moved[c])
    for c in range(len(latents)):
        if mean[c] > 0.0:
            entropy -= mean[c] * math.log(mean[c])
    return max(0.0, 1.0 - inner / entropy) if entropy > 0.0 else 0.0


@compilation.compile_for_callers
def _normalise(latents: Array) -> float:
    """Make log-probabilities of latents, in place, and return their entropy."""
    top, total, entropy = latents[0], 0.0, 0.0
    for c in range(1, len(latents)):
        top = max(top, latents[c])
    for c in range(len(latents)):
        total += math.exp(latents[c] - top)
    norm = top + math.log(total)
    for c in range(len(latents)):
        latents[c] -= norm
        entropy -= math.exp(latents[c]) * latents[c]
    return entropy
