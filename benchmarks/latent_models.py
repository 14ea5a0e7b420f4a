"""Latent variable models of several packages, and the same two yardsticks for all of them.

GPy maximises the log density of the columns given latent points, posterity adds a prior of the
points: both are computed here, from points, kernel and noise. The density does not change where
points and length scale are stretched alike, so that the prior is taken at the best stretch. A
package is imported when it is first used, as in ``processes``.
"""

from __future__ import annotations

import abc
from typing import Any, Self

import numpy as np
import scipy.optimize
from scipy import linalg

from benchmarks.cases import Array, Scores
from benchmarks.sparse_evidence import rbf

MANUAL_NOISE = 0.01  # of the variance: what GPy's examples start the Bayesian model from


class LatentModel(abc.ABC):
    """A package's model of rows with ``n_components`` unknown coordinates."""

    def __init__(self, n_components: int = 2, max_iter: int = 100) -> None:
        self.n_components = n_components
        self.max_iter = max_iter

    def fit(self, Y: Array) -> Self:
        """Find latent points, kernel and noise, of columns about their means."""
        centred = Y - Y.mean(axis=0)
        self.Y = centred / centred.std()
        self.model = self._fit_model()
        return self

    @property
    @abc.abstractmethod
    def points(self) -> Array:
        """Return the latent points of the rows, (N, Q), or their means."""

    @abc.abstractmethod
    def facts(self) -> Scores:
        """How high it came, and in how many steps."""

    @abc.abstractmethod
    def _fit_model(self) -> Any:
        """The package's model of ``self.Y``."""


def facts(model: LatentModel) -> Scores:
    """What is said of a fitted model."""
    return model.facts()


def log_density(Y: Array, X: Array, variance: float, length_scale: float, noise: float) -> float:
    """log p(Y | X): each column is a draw of a process with an RBF kernel, and noise.

    Examples
    --------
    >>> import numpy as np
    >>> round(log_density(np.zeros((1, 2)), np.zeros((1, 1)), 0.5, 1.0, 0.5), 4)
    -1.8379
    """
    n, columns = Y.shape
    L = linalg.cholesky(variance * rbf(X, X, length_scale) + noise * np.eye(n), lower=True)
    misfit = np.sum(linalg.solve_triangular(L, Y, lower=True) ** 2)
    log_det = 2.0 * np.sum(np.log(np.diag(L)))
    return float(-0.5 * (misfit + columns * (log_det + n * np.log(2.0 * np.pi))))


def log_prior(X: Array) -> float:
    """Return the log prior of latent points, with the volume of their best stretch.

    And about the best origin, which is their mean: the process sees no origin either.

    Examples
    --------
    >>> cloud = np.random.default_rng(0).normal(size=(50, 2))
    >>> log_prior(cloud) == log_prior(4.0 * cloud) > log_prior(cloud * [4.0, 1.0])
    True
    """
    n, dimensions = X.shape
    freedom, centred = n - dimensions - 2, X - X.mean(axis=0)
    # The determinant grows by the stretch to the power of the freedom and as many dimensions.
    stretched = centred * np.sqrt(freedom * dimensions / np.sum(centred**2))
    volume = 0.5 * freedom * np.linalg.slogdet(stretched.T @ stretched / n)[1]
    return float(volume - 0.5 * (np.sum(stretched**2) + X.size * np.log(2.0 * np.pi)))


def heights(Y: Array, X: Array, variance: float, length_scale: float, noise: float) -> Scores:
    """Return the log density and the log prior of latent points."""
    density = log_density(Y, X, variance, length_scale, noise)
    return {"log_density": density, "log_posterior": density + log_prior(X)}


def principal_points(Y: Array, n_components: int) -> Array:
    """Scores on principal components, each of variance one: where every search begins."""
    U, _, _ = linalg.svd(Y, full_matrices=False)
    return np.sqrt(len(Y)) * U[:, :n_components]


class Posterity(LatentModel):
    """GPLVM with one length scale: the most probable latent points."""

    @property
    def points(self) -> Array:
        return np.asarray(self.model.embedding_)

    def facts(self) -> Scores:
        found = self.model
        kernel = found.kernel_
        given = self.Y, self.points, float(kernel.variance), float(kernel.kernel.length_scale)
        # The search ends at the most probable noise; what is published is that of the evidence.
        noise = scipy.optimize.minimize_scalar(
            lambda log_noise: -log_density(*given, np.exp(log_noise)),
            bracket=np.log(found.noise_variance_) - np.array([1.0, 0.0]),
        )
        return heights(*given, float(np.exp(noise.x))) | {"iterations": float(found.n_iter_)}

    def _fit_model(self) -> Any:
        from posterity import GPLVM

        return GPLVM(self.n_components, max_iter=self.max_iter).fit(self.Y)


class GPy(LatentModel):
    """GPLVM with the same kernel and start, and its ``optimize()``; its noise starts at 1."""

    def __init__(self, n_components: int = 2, max_iter: int = 100, noise: float = 1.0) -> None:
        super().__init__(n_components, max_iter)
        self.noise = noise

    @property
    def points(self) -> Array:
        return np.asarray(self.model.X)

    def facts(self) -> Scores:
        kernel, noise = self.model.kern, self.model.likelihood.variance
        parameters = (kernel.variance, kernel.lengthscale, noise)
        reached = heights(self.Y, self.points, *(float(p[0]) for p in parameters))
        return reached | {"evaluations": float(self.evaluations)}

    def _fit_model(self) -> Any:
        import GPy as package

        start = principal_points(self.Y, self.n_components)
        kernel = package.kern.RBF(self.n_components)
        model = package.models.GPLVM(self.Y, self.n_components, X=start, kernel=kernel)
        model.likelihood.variance = self.noise
        self.evaluations = model.optimize(max_iters=self.max_iter).funct_eval
        return model


class PosterityVariational(LatentModel):
    """GPLVM with a normal distribution over each latent point."""

    def __init__(self, n_components: int = 5, max_iter: int = 100, carriers: int = 20) -> None:
        super().__init__(n_components, max_iter)
        self.carriers = carriers

    @property
    def points(self) -> Array:
        return np.asarray(self.model.embedding_)

    @property
    def relevances(self) -> Array:
        """Variances of the points in units of squared length scales; the largest is one."""
        return np.asarray(self.model.relevances_)

    def facts(self) -> Scores:
        found = self.model
        return {"log_evidence": float(found.log_evidence_), "iterations": float(found.n_iter_)}

    def _fit_model(self) -> Any:
        from posterity import GPLVM

        model = GPLVM(
            self.n_components,
            inference="variational",
            inducing_points=self.carriers,
            max_iter=self.max_iter,
        )
        return model.fit(self.Y)


class GPyVariational(PosterityVariational):
    """BayesianGPLVM from the start that its examples take, and its ``optimize()``."""

    @property
    def points(self) -> Array:
        return np.asarray(self.model.X.mean)

    @property
    def relevances(self) -> Array:
        varied = np.var(self.points, axis=0) / np.asarray(self.model.kern.lengthscale) ** 2
        return varied / varied.max()

    def facts(self) -> Scores:
        height = float(np.squeeze(self.model.log_likelihood()))
        return {"log_evidence": height, "evaluations": float(self.evaluations)}

    def _fit_model(self) -> Any:
        import GPy as package

        rng = np.random.default_rng(0)
        start = principal_points(self.Y, self.n_components)
        chosen = rng.choice(len(start), min(self.carriers, len(start)), replace=False)
        model = package.models.BayesianGPLVM(
            self.Y,
            start.shape[1],
            X=start,
            X_variance=rng.uniform(0.0, 0.1, start.shape),
            Z=start[chosen],
            kernel=package.kern.RBF(start.shape[1], ARD=True),
        )
        model.likelihood.variance = MANUAL_NOISE * self.Y.var()
        self.evaluations = model.optimize(max_iters=self.max_iter).funct_eval
        return model
