"""One Gaussian process classifier in several packages: variance x RBF, one length scale, no offset.

Each learns both parameters, from the start and with the optimiser that its package offers. The
packages that may be absent are imported when they are first used.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np

from benchmarks.cases import Array, Scores
from posterity import kernels
from posterity.process import GaussianProcessClassifier


def posterity(inference: str = "laplace", n_restarts: int = 2) -> GaussianProcessClassifier:
    """The model of the others."""
    kernel = kernels.Scaled(kernels.RBF())
    return GaussianProcessClassifier(
        kernel, mean="zero", inference=inference, n_restarts=n_restarts
    )


def scikit_learn() -> Any:
    """Its L-BFGS-B, from a variance and a length scale of one; one against the rest for several."""
    from sklearn import gaussian_process as gp
    from sklearn.gaussian_process.kernels import RBF

    return gp.GaussianProcessClassifier(1.0 * RBF(1.0))


def posterity_facts(model: Any) -> Scores:
    """Its log evidence, and where it found it."""
    return report_parameters(
        model.log_evidence_, model.kernel_.variance, model.kernel_.kernel.length_scale
    )


def scikit_learn_facts(model: Any) -> Scores:
    """The same; one against the rest has no evidence of its own."""
    if model.n_classes_ > 2:
        return {}
    variance, length_scale = np.exp(model.kernel_.theta)
    return report_parameters(model.log_marginal_likelihood_value_, variance, length_scale)


def report_parameters(log_evidence: float, variance: float, length_scale: Any) -> Scores:
    """As the tables name them."""
    return {
        "log_evidence": float(log_evidence),
        "variance": float(variance),
        "length_scale": float(np.mean(length_scale)),
    }


class GPy:
    """GPClassification with its ``optimize()``; its sigmoid is the normal distribution function."""

    def __init__(self, laplace: bool) -> None:
        self.laplace = laplace

    def fit(self, X: Array, y: Array) -> Self:
        """Learn the parameters."""
        import GPy as package

        methods = package.inference.latent_function_inference
        method = methods.Laplace() if self.laplace else methods.EP()
        kernel = package.kern.RBF(X.shape[1])
        self.model = package.models.GPClassification(
            X, y[:, None], kernel=kernel, inference_method=method
        )
        self.model.optimize()
        return self

    def predict_proba(self, X: Array) -> Array:
        """One column a class."""
        p = self.model.predict(X)[0][:, 0]
        return np.column_stack([1.0 - p, p])

    def facts(self) -> Scores:
        """Log evidence and parameters."""
        kernel = self.model.kern
        return report_parameters(
            self.model.log_likelihood(), kernel.variance[0], kernel.lengthscale[0]
        )


def gpy_facts(model: GPy) -> Scores:
    """What a fitted model says of itself."""
    return model.facts()


gpy_laplace, gpy_propagation = partial(GPy, True), partial(GPy, False)
