"""The classifiers of posterity and of scikit-learn that real sets are given to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import sklearn.linear_model
from sklearn import gaussian_process as gp
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.cases import Scores
from posterity import kernels
from posterity.linear import BayesianLogisticRegression, LogisticRegression
from posterity.process import GaussianProcessClassifier, KernelLogisticRegression

LEARNING_ROWS = 700


@dataclass(frozen=True)
class Model:
    """A classifier as a table names it, and how it is made."""

    name: str
    build: Callable[[], Any]


def two_classes(*, pixels: bool = False) -> tuple[Model, ...]:
    """For two classes and some hundreds of rows."""
    return (
        Model("posterity GaussianProcessClassifier", partial(_process, pixels)),
        Model("posterity, Laplace", partial(_process, pixels, inference="laplace")),
        Model("posterity, propagation", partial(_process, pixels, inference="propagation")),
        Model("posterity KernelLogisticRegression", KernelLogisticRegression),
        *_linear(),
        Model("scikit-learn GaussianProcessClassifier", partial(_peer_process, pixels)),
        *_peers(pixels),
    )


def several_classes() -> tuple[Model, ...]:
    """For more classes and some hundreds of rows."""
    return (
        Model("posterity GaussianProcessClassifier", partial(_process, False)),
        Model("posterity, one length scale", partial(_process, True)),
        *_linear(),
        Model("scikit-learn GaussianProcessClassifier", partial(_peer_process, False)),
        *_peers(False),
    )


def many_rows(points: int, *, pixels: bool = False) -> tuple[Model, ...]:
    """For thousands of rows: carried by points, or by all rows once parameters are learned."""
    carried = partial(_process, pixels, inducing_points=points)
    learned = partial(_process, pixels, learning_rows=LEARNING_ROWS, n_restarts=0)
    return (
        Model(f"posterity GaussianProcessClassifier, {points} points", carried),
        Model(f"posterity, all rows, learned on {LEARNING_ROWS}", learned),
        Model("posterity, the same, at the mode", partial(learned, averaging="none")),
        *_linear(),
        *_peers(pixels),
    )


def _linear() -> tuple[Model, ...]:
    return (
        Model("posterity BayesianLogisticRegression", BayesianLogisticRegression),
        Model("posterity LogisticRegression", LogisticRegression),
    )


def _peers(pixels: bool) -> tuple[Model, ...]:
    return (
        Model("scikit-learn LogisticRegression", partial(_peer_logistic, pixels)),
        Model("scikit-learn SVC, calibrated by 5 folds", partial(_peer_machine, pixels)),
    )


def _process(pixels: bool, **settings: Any) -> GaussianProcessClassifier:
    """Its default kernel, but pixels share one length scale."""
    kernel = kernels.Scaled(kernels.RBF()) if pixels else None
    return GaussianProcessClassifier(kernel, **settings)


class PeerProcess(gp.GaussianProcessClassifier):
    """scikit-learn's, which starts where rows are as far apart as they are: at one it stays."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit from a length scale of the square root of the number of columns."""
        self.kernel = 1.0 * RBF(X.shape[1] ** 0.5)
        return super().fit(X, y)


def _peer_process(pixels: bool) -> Any:
    return _standardise_inputs(pixels, PeerProcess())


def _peer_logistic(pixels: bool) -> Any:
    return _standardise_inputs(pixels, sklearn.linear_model.LogisticRegression(max_iter=10_000))


def _peer_machine(pixels: bool) -> Any:
    return CalibratedClassifierCV(_standardise_inputs(pixels, SVC()), ensemble=False)


def _standardise_inputs(pixels: bool, model: BaseEstimator) -> Any:
    return model if pixels else make_pipeline(StandardScaler(), model)


def evidence(model: Any) -> Scores:
    """The log evidence, where a model has one of all rows."""
    last = model[-1] if isinstance(model, Pipeline) else model
    if isinstance(last, gp.GaussianProcessClassifier):
        found = last.log_marginal_likelihood_value_ if last.n_classes_ == 2 else None
    else:
        found = getattr(last, "log_evidence_", None)
    return {} if found is None else {"log_evidence": float(found)}
