"""One Gaussian process in several packages: variance x RBF, a length scale an input, and noise.

Each class learns the parameters, from the start and with the optimiser that its package or its
manual offers, or is given them. Its package is imported when it is first used, so that a process
holds the contender's package alone, and one that is not installed can be left out.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from benchmarks.cases import Array, Scores

Evaluation: TypeAlias = Callable[[], tuple[float, Array]]


@dataclass(frozen=True)
class Parameters:
    """Parameters of a process that are given, not learned: near those of Friedman's function."""

    variance: float = 4.0
    length_scales: tuple[float, ...] = (1.0, 1.0, 1.0, 4.0, 4.0, 20.0, 20.0, 20.0)
    noise_variance: float = 0.04

    def lengths(self, X: Array) -> Array:
        """One for each column."""
        return np.array(self.length_scales[: X.shape[1]])


GIVEN = Parameters()


class Process(abc.ABC):
    """A package's Gaussian process: ``parameters`` given, or None to learn them."""

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.parameters = parameters

    @abc.abstractmethod
    def fit(self, X: Array, y: Array) -> Self:
        """Learn, and do what can be done before the first prediction."""

    @abc.abstractmethod
    def predict(self, X: Array, return_std: bool = True) -> tuple[Array, Array]:
        """Mean and standard deviation of new targets, noise included."""

    @abc.abstractmethod
    def evaluation(self, X: Array, y: Array) -> Evaluation:
        """The log evidence and its gradient at the parameters given, computed at every call."""

    @abc.abstractmethod
    def facts(self) -> Scores:
        """The log evidence after a fit, and the evaluations it took where the package says."""

    @property
    def given(self) -> Parameters:
        """The parameters, where there are some."""
        if self.parameters is None:
            raise ValueError("This process learns its parameters; it can be evaluated at none.")
        return self.parameters


def facts(process: Process) -> Scores:
    """What a fitted process says of itself."""
    return process.facts()


def report_evidence(log_evidence: float, evaluations: int) -> Scores:
    """Both, where the parameters were learned."""
    found = {"log_evidence": log_evidence}
    return found | {"evaluations": float(evaluations)} if evaluations else found


class Posterity(Process):
    """GaussianProcessRegressor, told to take the model that the other packages have."""

    def fit(self, X: Array, y: Array) -> Self:
        self.model = self._model(X).fit(X, y)
        return self

    def predict(self, X: Array, return_std: bool = True) -> tuple[Array, Array]:
        return self.model.predict(X, return_std=True)

    def evaluation(self, X: Array, y: Array) -> Evaluation:
        from posterity.inference.observations import Observations
        from posterity.process import Evidence

        evidence = Evidence(X, Observations.from_targets(y[:, None]))
        kernel, noise = self._kernel(X), self.given.noise_variance
        return lambda: evidence(kernel, noise)

    def facts(self) -> Scores:
        return {"log_evidence": self.model.log_evidence_}

    def _model(self, X: Array) -> Any:
        from posterity import kernels
        from posterity.process import GaussianProcessRegressor

        if self.parameters is None:
            kernel = kernels.Scaled(kernels.RBF(ard=True))
            return GaussianProcessRegressor(kernel, mean="zero")
        noise = self.parameters.noise_variance
        return GaussianProcessRegressor(self._kernel(X).fixed(), noise, mean="zero")

    def _kernel(self, X: Array) -> Any:
        from posterity import kernels

        p = self.given
        return kernels.Scaled(kernels.RBF(tuple(p.lengths(X))), p.variance)


class PosterityDefaults(Posterity):
    """GaussianProcessRegressor as it comes: kernel and mean are its own choice."""

    def _model(self, X: Array) -> Any:
        from posterity.process import GaussianProcessRegressor

        return GaussianProcessRegressor()


class ScikitLearn(Process):
    """GaussianProcessRegressor with its own L-BFGS-B."""

    def fit(self, X: Array, y: Array) -> Self:
        self.model = self._model(X).fit(X, y)
        return self

    def predict(self, X: Array, return_std: bool = True) -> tuple[Array, Array]:
        return self.model.predict(X, return_std=True)

    def evaluation(self, X: Array, y: Array) -> Evaluation:
        model = self._model(X).set_params(optimizer=None, normalize_y=False).fit(X, y)
        theta = model.kernel_.theta
        return lambda: model.log_marginal_likelihood(theta, True, clone_kernel=False)

    def facts(self) -> Scores:
        return {"log_evidence": float(self.model.log_marginal_likelihood_value_)}

    def _model(self, X: Array) -> Any:
        from sklearn import gaussian_process as gp
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

        p = self.parameters
        if p is None:
            kernel = ConstantKernel() * RBF(np.ones(X.shape[1])) + WhiteKernel()
            return gp.GaussianProcessRegressor(kernel, normalize_y=True)
        kernel = ConstantKernel(p.variance) * RBF(p.lengths(X)) + WhiteKernel(p.noise_variance)
        return gp.GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None)


class GPy(Process):
    """GPRegression with its ``optimize()``."""

    def fit(self, X: Array, y: Array) -> Self:
        self.model, self.evaluations = self._model(X, y), 0
        if self.parameters is None:
            self.evaluations = self.model.optimize().funct_eval
        return self

    def predict(self, X: Array, return_std: bool = True) -> tuple[Array, Array]:
        mean, variance = self.model.predict(X)
        return mean[:, 0], np.sqrt(variance[:, 0])

    def evaluation(self, X: Array, y: Array) -> Evaluation:
        model = self._model(X, y)
        theta = model.optimizer_array.copy()

        def evaluate() -> tuple[float, Array]:
            model.optimizer_array = theta  # setting them makes it compute both
            return float(model.log_likelihood()), model.gradient.copy()

        return evaluate

    def facts(self) -> Scores:
        return report_evidence(float(self.model.log_likelihood()), self.evaluations)

    def _model(self, X: Array, y: Array) -> Any:
        import GPy as package

        kernel = package.kern.RBF(X.shape[1], ARD=True)
        model = package.models.GPRegression(X, y[:, None], kernel)
        if self.parameters is not None:
            kernel.variance = self.parameters.variance
            kernel.lengthscale = self.parameters.lengths(X)
            model.likelihood.variance = self.parameters.noise_variance
        return model
