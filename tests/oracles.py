"""Bayesian linear regression by dense textbook algebra, written to be read and nothing else."""

import numpy as np
from scipy.stats import multivariate_normal


def unit_information(y, weight):
    center = np.average(y, weights=weight)
    return center, np.average((y - center) ** 2, weights=weight)


def dense_posterior(Z, y, noise, tau2, *, offset, X_star, standardize):
    """Mean and covariance of the function at X_star, and the log evidence; one row, one noise."""
    weight = 1.0 / np.broadcast_to(noise, len(y))
    center = np.average(Z, axis=0, weights=weight) if offset else np.zeros(Z.shape[1])
    spread2 = np.average((Z - center) ** 2, axis=0, weights=weight)
    scale = np.sqrt(np.where(spread2 > 0, spread2, 1.0)) if standardize else 1.0
    A, A_star = (Z - center) / scale, (X_star - center) / scale
    prior_mean, prior_variance = unit_information(y, weight) if offset else (0.0, 0.0)
    C = tau2 * A @ A.T + prior_variance + np.diag(np.broadcast_to(noise, len(y)))
    C_star = tau2 * A_star @ A.T + prior_variance
    mean = prior_mean + C_star @ np.linalg.solve(C, y - prior_mean)
    prior = tau2 * A_star @ A_star.T + prior_variance
    cov = prior - C_star @ np.linalg.solve(C, C_star.T)
    evidence = multivariate_normal(np.full(len(y), prior_mean), C).logpdf(y)
    return mean, cov, evidence
