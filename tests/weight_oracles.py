"""Laplace's approximation in weight space by dense algebra, and evidences by brute force."""

import itertools

import numpy as np
from scipy import optimize
from scipy.special import logsumexp

from posterity import likelihoods


class DenseWeights:
    """All C latent values have weights of their own: W (M, C), independent, about a shift."""

    def __init__(self, A, y, weight, likelihood, variance, shift):
        C = len(shift)
        self.A, self.y, self.weight, self.shift = A, y, weight, shift
        self.likelihood, self.precision = (
            likelihood,
            1.0 / np.broadcast_to(variance, (A.shape[1], C)),
        )
        best = optimize.minimize(
            self.loss,
            np.zeros(A.shape[1] * C),
            jac=self.slope,
            hess=self.hessian,
            method="trust-exact",
            options={"gtol": 1e-10, "maxiter": 500},
        )
        self.x, self.W = best.x, best.x.reshape(-1, C)
        H = self.hessian(best.x)
        self.covariance = np.linalg.inv(H)
        self.log_evidence = (
            0.5 * np.sum(np.log(self.precision)) - best.fun - 0.5 * np.linalg.slogdet(H)[1]
        )

    def latents(self, x):
        a = self.A @ x.reshape(self.precision.shape) + self.shift
        return a[:, 0] if a.shape[1] == 1 else a

    def loss(self, x):
        log_p = self.likelihood.log_prob(self.y, self.latents(x))
        return 0.5 * np.sum(self.precision.reshape(-1) * x**2) - self.weight @ log_p

    def slope(self, x):
        d1 = self.likelihood.d1(self.y, self.latents(x)).reshape(len(self.y), -1)
        return self.precision.reshape(-1) * x - (self.A.T @ (self.weight[:, None] * d1)).reshape(-1)

    def hessian(self, x):
        a = self.latents(x)
        if isinstance(self.likelihood, likelihoods.Coupled):
            p = self.likelihood.curvature_shares(self.y, a)
            h = p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * p[:, None, :]
        else:
            h = -self.likelihood.d2(self.y, a)[:, None, None]
        H = np.einsum("n,ni,nck,nj->icjk", self.weight, self.A, h, self.A)
        return H.reshape(len(x), len(x)) + np.diag(self.precision.reshape(-1))

    def latent(self, rows):
        """Mean (n, C) and covariance (n, C, C)."""
        C = len(self.shift)
        S = self.covariance.reshape(self.A.shape[1], C, -1, C)
        return rows @ self.W + self.shift, np.einsum("ni,icjk,nj->nck", rows, S, rows)


def exact_log_evidence(dense, reach=6.0, points=25):
    """The integral over the weights of one latent value, on a grid about the mode."""
    root = np.linalg.cholesky(dense.covariance)
    t = np.linspace(-reach, reach, points)
    grid = np.array(list(itertools.product(t, repeat=len(dense.x)))) @ root.T + dense.x
    log_p = dense.likelihood.log_prob(dense.y[:, None], dense.A @ grid.T + dense.shift)
    log_joint = dense.weight @ log_p - 0.5 * grid**2 @ dense.precision[:, 0]
    log_cell = len(dense.x) * np.log(t[1] - t[0]) + np.sum(np.log(np.diagonal(root)))
    log_prior = 0.5 * np.sum(np.log(dense.precision / (2.0 * np.pi)))
    return logsumexp(log_joint) + log_cell + log_prior


def differences(function, theta, step=1e-5):
    """Central differences of a function of log parameters."""
    steps = step * np.eye(len(theta))
    return np.array([(function(theta + h) - function(theta - h)) / (2 * step) for h in steps])
