"""The Gaussian process of ``processes`` in packages with automatic differentiation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from scipy import optimize

from benchmarks.cases import Array, Scores
from benchmarks.processes import Evaluation, Parameters, Process, report_evidence

_STEPS = 200


class GPyTorch(Process):
    """ExactGP in doubles, by Cholesky; parameters by PyTorch's L-BFGS with a line search."""

    def fit(self, X: Array, y: Array) -> Self:
        self._build(X, y)
        if self.parameters is None:
            self._learn()
        return self

    def predict(self, X: Array, return_std: bool = True) -> tuple[Array, Array]:
        import torch

        self.model.eval()
        with _cholesky(), torch.no_grad():
            predicted = self.model.likelihood(self.model(torch.from_numpy(X)))
            return predicted.mean.numpy(), predicted.stddev.numpy()

    def evaluation(self, X: Array, y: Array) -> Evaluation:
        self._build(X, y)
        return self._evaluate

    def facts(self) -> Scores:
        evaluations = self.evaluations
        return report_evidence(self._evaluate()[0], evaluations)

    def _evaluate(self) -> tuple[float, Array]:
        import torch

        with _cholesky():
            loss = self._loss()
        n = len(self.y)
        gradients = [p.grad.flatten() for p in self.model.parameters()]
        return -n * loss.item(), -n * torch.cat(gradients).numpy()

    def _learn(self) -> None:
        import torch

        optimizer = torch.optim.LBFGS(
            self.model.parameters(), max_iter=_STEPS, line_search_fn="strong_wolfe"
        )
        with _cholesky():
            optimizer.step(self._loss)

    def _loss(self) -> Any:
        """Minus the log evidence a row, after its gradient has been left at the parameters."""
        import gpytorch

        self.model.train()
        self.model.zero_grad()
        evidence = gpytorch.mlls.ExactMarginalLogLikelihood(self.model.likelihood, self.model)
        loss = -evidence(self.model(self.X), self.y)
        loss.backward()
        self.evaluations += 1
        return loss

    def _build(self, X: Array, y: Array) -> None:
        import torch

        self.X, self.y, self.evaluations = torch.from_numpy(X), torch.from_numpy(y), 0
        self.model = _exact_gp(self.X, self.y).double()
        if self.parameters is not None:
            _give(self.model, self.parameters, X)


@contextlib.contextmanager
def _cholesky() -> Iterator[None]:
    """No conjugate gradients: they are for more rows than these, and end far from the optimum."""
    import gpytorch

    exact = gpytorch.settings.fast_computations(False, False, False)
    with exact, gpytorch.settings.max_cholesky_size(2**31):
        yield


def _exact_gp(X: Any, y: Any) -> Any:
    """The model of GPyTorch's tutorial, with mean zero and a length scale an input."""
    import gpytorch

    class ExactGP(gpytorch.models.ExactGP):
        def __init__(self) -> None:
            super().__init__(X, y, gpytorch.likelihoods.GaussianLikelihood())
            self.mean = gpytorch.means.ZeroMean()
            rbf = gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1])
            self.kernel = gpytorch.kernels.ScaleKernel(rbf)

        def forward(self, rows: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(rows), self.kernel(rows))

    return ExactGP()


def _give(model: Any, parameters: Parameters, X: Array) -> None:
    import torch

    model.kernel.outputscale = parameters.variance
    model.kernel.base_kernel.lengthscale = torch.from_numpy(parameters.lengths(X))
    model.likelihood.noise = parameters.noise_variance


class TinyGP(Process):
    """tinygp in doubles, compiled; parameters by SciPy's L-BFGS-B, as its manual does."""

    def fit(self, X: Array, y: Array) -> Self:
        self.X, self.y, self.evaluations = X, y, 0
        self.theta = self._start(X)
        if self.parameters is None:
            value_and_gradient = self._compiled(X, y)

            def loss(theta: Array) -> tuple[float, Array]:
                value, gradient = value_and_gradient(theta)
                return -float(value), -np.asarray(gradient)

            found = optimize.minimize(loss, self.theta, jac=True, method="L-BFGS-B")
            self.theta, self.evaluations = found.x, found.nfev
        return self

    def predict(self, X: Array, return_std: bool = True) -> tuple[Array, Array]:
        jax = _jax()

        def moments(theta: Any, rows: Any, targets: Any, queries: Any) -> tuple[Any, Any]:
            noise = jax.numpy.exp(theta[-1])
            _, gp = _process(theta, rows).condition(targets, queries, diag=noise)
            return gp.loc, gp.variance

        mean, variance = jax.jit(moments)(self.theta, self.X, self.y, X)
        return np.asarray(mean), np.sqrt(np.asarray(variance))

    def evaluation(self, X: Array, y: Array) -> Evaluation:
        value_and_gradient, theta = self._compiled(X, y), self._start(X)

        def evaluate() -> tuple[float, Array]:
            value, gradient = value_and_gradient(theta)
            return float(value), np.asarray(gradient)

        return evaluate

    def facts(self) -> Scores:
        evidence = _process(self.theta, self.X).log_probability(self.y)
        return report_evidence(float(evidence), self.evaluations)

    def _start(self, X: Array) -> Array:
        """Log variance, length scales and noise: those given, or ones with a noise of a tenth."""
        if self.parameters is None:
            return np.append(np.zeros(X.shape[1] + 1), np.log(0.1))
        p = self.parameters
        return np.log([p.variance, *p.lengths(X), p.noise_variance])

    def _compiled(self, X: Array, y: Array) -> Any:
        jax = _jax()
        rows, targets = jax.numpy.asarray(X), jax.numpy.asarray(y)
        return jax.jit(
            jax.value_and_grad(lambda theta: _process(theta, rows).log_probability(targets))
        )


def _jax() -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax


def _process(theta: Any, X: Any) -> Any:
    import tinygp

    jnp = _jax().numpy
    scaled = tinygp.transforms.Linear(jnp.exp(-theta[1:-1]), tinygp.kernels.ExpSquared())
    return tinygp.GaussianProcess(jnp.exp(theta[0]) * scaled, X, diag=jnp.exp(theta[-1]))
