"""Latent Gaussian processes by dense textbook algebra, and a likelihood that is not log-concave."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import optimize
from scipy.special import gammaln

from posterity import distributions
from posterity.likelihoods import Likelihood


@dataclass(frozen=True, eq=False)
class HeavyTailed(Likelihood):
    """Student-t noise of known degrees of freedom."""

    log_concave: ClassVar[bool] = False
    _learnable: ClassVar[tuple[str, ...]] = ("scale",)

    scale: float = 1.0
    freedom: float = 3.0

    def log_prob(self, y, a):
        nu, c = self.freedom, self.freedom * self.scale**2
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(np.pi * c)
        return constant - (nu + 1) / 2 * np.log1p(np.subtract(y, a) ** 2 / c)

    def d1(self, y, a):
        r, c = np.subtract(y, a), self.freedom * self.scale**2
        return (self.freedom + 1) * r / (c + r**2)

    def d2(self, y, a):
        r, c = np.subtract(y, a), self.freedom * self.scale**2
        return (self.freedom + 1) * (r**2 - c) / (c + r**2) ** 2

    def d3(self, y, a):
        r, c = np.subtract(y, a), self.freedom * self.scale**2
        return 2 * (self.freedom + 1) * r * (r**2 - 3 * c) / (c + r**2) ** 3

    def step_curvature(self, y, a):
        r, c = np.subtract(y, a), self.freedom * self.scale**2
        return (self.freedom + 1) / (c + r**2)

    def parameter_derivatives(self, y, a):
        r, nu, c = np.subtract(y, a), self.freedom, self.freedom * self.scale**2
        q = c + r**2
        in_c = [
            -0.5 / c + (nu + 1) / 2 * r**2 / (c * q),
            -(nu + 1) * r / q**2,
            -(nu + 1) * (1 / q**2 + 2 * (r**2 - c) / q**3),
        ]
        return tuple(2 * c * s[None] for s in in_c)

    def predict(self, mean, variance):
        return distributions.Normal(mean, np.sqrt(variance))


class DenseLaplace:
    """The mode by a general optimiser, everything else by inverses of small matrices."""

    def __init__(self, kernel, likelihood, X, targets, alpha=None):
        self.kernel, self.X, t = kernel, X, targets
        v = t.offset_variance[0]
        self.k = lambda A, B=None: kernel(A, B) + v
        K = self.k(X)
        root = np.linalg.cholesky(K + 1e-13 * np.trace(K) / len(K) * np.eye(len(K)))

        def loss(z):
            a = t.shift[0] + root @ z
            value = 0.5 * z @ z - t.weights @ likelihood.log_prob(t.y, a)
            return value, z - root.T @ (t.weights * likelihood.d1(t.y, a))

        z = np.zeros(len(K)) if alpha is None else root.T @ alpha
        best = optimize.minimize(loss, z, jac=True, method="BFGS", tol=1e-9)
        self.f = root @ best.x
        W = -t.weights * likelihood.d2(t.y, t.shift[0] + self.f)
        self.log_evidence = -best.fun - 0.5 * np.linalg.slogdet(np.eye(len(K)) + K * W)[1]
        self.R = np.linalg.solve(np.eye(len(K)) + W[:, None] * K, np.diag(W))
        self.alpha = t.weights * likelihood.d1(t.y, t.shift[0] + self.f)
        self.shift, self.W = t.shift[0], W

    def latent(self, X):
        k = self.k(self.X, X)
        return self.shift + k.T @ self.alpha, self.k(X) - k.T @ self.R @ k


def differences(function, theta, step=1e-5):
    """Central differences of a function of log parameters."""
    steps = step * np.eye(len(theta))
    return [(function(theta + h) - function(theta - h)) / (2 * step) for h in steps]
