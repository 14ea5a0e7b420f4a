"""Relevance vectors in several packages: the RBF kernel of a given width, no offset.

Each class wraps one package, which is imported when it is first used, and tells after a fit how
many vectors it kept and the log evidence, by ``sparse_evidence`` for all.
"""

from __future__ import annotations

import abc
from typing import Any, Self

import numpy as np
from scipy import special

from benchmarks import sparse_evidence
from benchmarks.cases import Array, Scores

WIDTH = 1.0  # of the kernel for Friedman's function
WIDTH_OF_CLASSES = 0.5
SVM_PENALTY = 10.0


def gamma(width: float) -> float:
    """As the other packages write a width."""
    return 0.5 / width**2


def facts(machine: Machine) -> Scores:
    """What a fitted machine says of itself."""
    return machine.facts()


class Machine(abc.ABC):
    """A package's model, and the rows it was fitted to."""

    width = WIDTH

    @abc.abstractmethod
    def build(self) -> Any:
        """The package's estimator, not fitted."""

    @abc.abstractmethod
    def facts(self) -> Scores:
        """Vectors kept, and the log evidence where the package has one."""

    def fit(self, X: Array, y: Array) -> Self:
        """Fit in scikit-learn's way; what ``fit`` returns is not relied upon."""
        self.X, self.y, self.model = X, y, self.build()
        self.model.fit(X, y)
        return self

    def predict(self, X: Array, return_std: bool = False) -> Any:
        """Mean and, where asked for, standard deviation, noise included."""
        return self.model.predict(X, return_std=True) if return_std else self.model.predict(X)

    def predict_proba(self, X: Array) -> Array:
        """One column a class."""
        return self.model.predict_proba(X)

    def columns(self, rows: Any) -> Array:
        """The kernel between all rows and the vectors kept."""
        return sparse_evidence.rbf(self.X, self.X[rows], self.width)


def report_evidence(Z: Array, log_evidence: float) -> Scores:
    """As the tables name them."""
    return {"vectors": float(Z.shape[1]), "log_evidence": log_evidence}


class PosterityRegressor(Machine):
    """RelevanceVectorRegressor, told to take the model that the other packages have."""

    def build(self) -> Any:
        from posterity import RelevanceVectorRegressor, kernels

        return RelevanceVectorRegressor(kernels.RBF(self.width).fixed(), fit_intercept=False)

    def facts(self) -> Scores:
        Z, noise = self.columns(self.model.relevance_), float(self.model.noise_variance_)
        slope = (self.y - Z @ self.model.dual_coef_) / noise
        precision = sparse_evidence.precision_at(Z, self.model.dual_coef_, slope)
        return report_evidence(Z, sparse_evidence.normal(Z, self.y, precision, noise))


class PosterityWithOffset(PosterityRegressor):
    """The same with an offset, as by default; the evidence is then of another model."""

    def build(self) -> Any:
        return super().build().set_params(fit_intercept=True)

    def facts(self) -> Scores:
        return {"vectors": float(len(self.model.relevance_))}


class FastRegressor(Machine):
    """fastrvm's RVR; its ``alpha_`` has another order and unit than its weights."""

    def build(self) -> Any:
        from fastrvm import RVR

        return RVR(kernel="rbf", gamma=gamma(self.width))

    def facts(self) -> Scores:
        Z, w = self.columns(self.model.relevance_), self.model.dual_coef_.ravel()
        noise = 1.0 / float(self.model.beta_)
        precision = sparse_evidence.precision_at(Z, w, (self.y - Z @ w) / noise)
        return report_evidence(Z, sparse_evidence.normal(Z, self.y, precision, noise))


class AlternatingRegressor(Machine):
    """sklearn-rvm's EMRVR, which divides the kernel by a number of its own."""

    def build(self) -> Any:
        from sklearn_rvm import EMRVR

        return EMRVR(kernel="rbf", gamma=gamma(self.width), bias_used=False)

    def facts(self) -> Scores:
        Z = self.model.Phi_
        noise = 1.0 / float(self.model.beta_)
        return report_evidence(Z, sparse_evidence.normal(Z, self.y, self.model.alpha_, noise))


class PeerDetermination(Machine):
    """scikit-learn's ARDRegression, on the kernel's columns."""

    def build(self) -> Any:
        from sklearn.linear_model import ARDRegression

        return ARDRegression(fit_intercept=False)

    def fit(self, X: Array, y: Array) -> Self:
        self.X, self.y = X, y
        self.model = self.build().fit(self.columns(slice(None)), y)
        return self

    def predict(self, X: Array, return_std: bool = False) -> Any:
        Z = sparse_evidence.rbf(X, self.X, self.width)
        return self.model.predict(Z, return_std=return_std)

    def facts(self) -> Scores:
        kept = np.flatnonzero(self.model.lambda_ < self.model.threshold_lambda)
        Z, noise = self.columns(kept), 1.0 / float(self.model.alpha_)
        return report_evidence(
            Z, sparse_evidence.normal(Z, self.y, self.model.lambda_[kept], noise)
        )


class PeerRegressor(Machine):
    """scikit-learn's SVR, for scale: it has no evidence, no noise and no deviations."""

    def build(self) -> Any:
        from sklearn.svm import SVR

        return SVR(gamma=gamma(self.width), C=SVM_PENALTY)

    def facts(self) -> Scores:
        return {"vectors": float(len(self.model.support_))}


class PosterityClassifier(Machine):
    """RelevanceVectorClassifier, told to take the model that the other packages have."""

    width = WIDTH_OF_CLASSES

    def build(self) -> Any:
        from posterity import RelevanceVectorClassifier, kernels

        kernel = kernels.RBF(self.width).fixed()
        return RelevanceVectorClassifier(kernel, fit_intercept=False, inference="laplace")

    def facts(self) -> Scores:
        return of_two_classes(self, self.model.relevance_, self.model.dual_coef_)


class FastClassifier(Machine):
    """fastrvm's RVC, which keeps no covariance: its probabilities are those at the mode."""

    width = WIDTH_OF_CLASSES

    def build(self) -> Any:
        from fastrvm import RVC

        return RVC(kernel="rbf", gamma=gamma(self.width))

    def facts(self) -> Scores:
        return of_two_classes(self, self.model.relevance_, self.model.dual_coef_)


class AlternatingClassifier(Machine):
    """sklearn-rvm's EMRVC; its probabilities are those at the mode."""

    width = WIDTH_OF_CLASSES

    def build(self) -> Any:
        from sklearn_rvm import EMRVC

        return EMRVC(kernel="rbf", gamma=gamma(self.width), bias_used=False)

    def facts(self) -> Scores:
        Z, found = self.model.Phi_, self.model
        return report_evidence(Z, sparse_evidence.bernoulli(Z, self.y, found.alpha_, found.mu_))


class PeerClassifier(Machine):
    """scikit-learn's SVC, for scale; probabilities by its five-fold calibration."""

    width = WIDTH_OF_CLASSES

    def build(self) -> Any:
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.svm import SVC

        return CalibratedClassifierCV(SVC(gamma=gamma(self.width)), ensemble=False)

    def facts(self) -> Scores:
        (calibrated,) = self.model.calibrated_classifiers_
        return {"vectors": float(len(calibrated.estimator.support_))}


def of_two_classes(machine: Machine, rows: Any, weights: Array) -> Scores:
    """Vectors and evidence, from the mode of the weights."""
    Z, w = machine.columns(rows), np.ravel(weights)
    precision = sparse_evidence.precision_at(Z, w, machine.y - special.expit(Z @ w))
    return report_evidence(Z, sparse_evidence.bernoulli(Z, machine.y, precision, w))
