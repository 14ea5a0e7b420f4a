"""One log evidence for every package's relevance vectors, from what each of them keeps.

Weights have zero mean and a precision each; the evidence is that of the targets once the weights
are integrated out: exactly for normal noise, by Laplace's approximation for two classes. Packages
differ in what they leave out of the number that they tell, so none of those is compared.
"""

import numpy as np
from scipy import linalg, special

from benchmarks.cases import Array

MOST_STEPS = 100


def rbf(X: Array, Z: Array, length_scale: float) -> Array:
    """exp(-r^2 / 2) of distances in units of the length scale."""
    R = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2.0 * X @ Z.T
    return np.exp(-0.5 * np.maximum(R, 0.0) / length_scale**2)


def normal(Z: Array, y: Array, precision: Array, noise_variance: float) -> float:
    """log N(y | 0, noise_variance + Z diag(1 / precision) Z'), without an N x N matrix.

    Examples
    --------
    >>> import numpy as np
    >>> round(normal(np.ones((1, 1)), np.zeros(1), np.ones(1), 1.0), 4)  # variance two
    -1.2655
    """
    n, scale = len(y), np.sqrt(noise_variance)
    A = np.vstack([Z / scale, np.diag(np.sqrt(precision))])
    b = np.concatenate([y / scale, np.zeros(len(precision))])
    Q, R = linalg.qr(A, mode="economic")
    misfit = np.sum((b - Q @ (Q.T @ b)) ** 2)
    log_det = 2.0 * np.sum(np.log(np.abs(np.diag(R)))) - np.sum(np.log(precision))
    return float(-0.5 * (misfit + log_det + n * np.log(2.0 * np.pi * noise_variance)))


def bernoulli(Z: Array, y: Array, precision: Array, start: Array) -> float:
    """Laplace's approximation for classes 0 and 1 and the logistic sigmoid, at its mode.

    Examples
    --------
    >>> import numpy as np
    >>> round(bernoulli(np.zeros((2, 1)), np.ones(2), np.ones(1), np.zeros(1)), 4)
    -1.3863
    """
    w = start
    for _ in range(MOST_STEPS):
        p = special.expit(Z @ w)
        H = Z.T @ ((p * (1.0 - p))[:, None] * Z) + np.diag(precision)
        step = linalg.solve(H, Z.T @ (y - p) - precision * w, assume_a="pos")
        size = min(1.0, 2.0 / max(float(np.max(np.abs(Z @ step), initial=0.0)), 1e-300))
        w = w + size * step
        if size == 1.0 and np.all(np.abs(Z @ step) < 1e-8):
            break
    log_likelihood = np.sum(special.log_expit((2.0 * y - 1.0) * (Z @ w)))
    log_det = np.linalg.slogdet(H)[1] - np.sum(np.log(precision))
    return float(log_likelihood - 0.5 * np.sum(precision * w**2) - 0.5 * log_det)


def precision_at(Z: Array, w: Array, slope: Array) -> Array:
    """The precisions of which w is the mode, from the slope of the log likelihood in Z w.

    At the mode the slope of the likelihood is that of the prior, precision times weight.
    """
    return (Z.T @ slope) / w
