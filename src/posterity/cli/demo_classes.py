"""The classifiers on an embedded data set, ranked by the probability they give to what is true."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table
from sklearn import datasets
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

from posterity import classification, features, kernels
from posterity.arrays import Array

_MEANS = 10  # columns: the mean of each measurement over the cells, before errors and extremes


@dataclass(frozen=True)
class Score:
    """One classifier, measured on rows it was not fitted to."""

    name: str
    log_score: float
    standard_error: float
    brier: float
    wrong: float
    log_evidence: float | None
    seconds: float


def family() -> dict[str, Any]:
    """The classifiers there are, each under the short name it is shown by."""
    bayesian = classification.BayesianLogisticRegression
    logistic = classification.LogisticRegression
    kernel_logistic = classification.KernelLogisticRegression(kernels.RBF(3.0).fixed())
    process = classification.GaussianProcessClassifier(kernels.Scaled(kernels.RBF()))
    vectors = classification.RelevanceVectorClassifier(kernels.RBF(3.0).fixed())
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    return {
        "frequencies only": bayesian(prior_variance=1e-12),
        "logistic": logistic(),
        "logistic, averaged": logistic(predictive="averaged"),
        "Bayesian": bayesian(),
        "Bayesian, quadratic": bayesian(features.Polynomial(2)),
        "dual": classification.DualLogisticRegression(),
        "kernel logistic": make_pipeline(StandardScaler(), kernel_logistic),
        "Gaussian process": make_pipeline(StandardScaler(), process),
        "sparse logistic": classification.SparseLogisticRegression(),
        "relevance vectors": make_pipeline(StandardScaler(), vectors),
        "two experts": classification.MixtureOfExpertsClassifier(random_state=0),
        "logistic tree": classification.LogisticTreeClassifier(1, n_restarts=0, random_state=0),
        "five units": classification.IncrementalClassifier(5, n_restarts=0, random_state=0),
        "boosted steps": classification.LogitBoostClassifier(n_rounds=50),
        "random tree": classification.RandomTreeClassifier(random_state=0),
        "random ferns": classification.RandomFernClassifier(20, random_state=0),
        "random forest": classification.RandomForestClassifier(50, random_state=0),
        "counts in three bins": make_pipeline(bins, classification.DiscreteClassifier()),
    }


def cells() -> tuple[Array, NDArray[Any]]:
    """Ten measurements of cell nuclei in 569 biopsies, and what was diagnosed."""
    bunch = datasets.load_breast_cancer()
    return bunch.data[:, :_MEANS], bunch.target_names[bunch.target]


def comparable_evidence(model: BaseEstimator) -> float | None:
    """What other models' can be held against; sparse ones maximise theirs over many precisions."""
    fitted = vars(model)
    return None if "precision_" in fitted else fitted.get("log_evidence_")


def measure(name: str, model: Any, X: Array, y: NDArray[Any], *, folds: int, seed: int) -> Score:
    """Cross-validate one classifier; the evidence is that of all rows."""
    log_p = np.empty((len(y), len(np.unique(y))))
    split = StratifiedKFold(folds, shuffle=True, random_state=seed)
    start = time.perf_counter()
    for train, test in split.split(X, y):
        log_p[test] = clone(model).fit(X[train], y[train]).predict_log_proba(X[test])
    seconds = (time.perf_counter() - start) / folds
    whole = clone(model).fit(X, y)
    last = whole[-1] if isinstance(whole, Pipeline) else whole
    codes = np.searchsorted(last.classes_, y)
    own = np.take_along_axis(log_p, codes[:, None], axis=1)[:, 0]
    is_own = codes[:, None] == np.arange(log_p.shape[1])
    return Score(
        name=name,
        log_score=float(own.mean()),
        standard_error=float(own.std(ddof=1) / np.sqrt(len(y))),
        brier=float(np.mean(np.sum((np.exp(log_p) - is_own) ** 2, axis=1))),
        wrong=float(np.mean(log_p.argmax(axis=1) != codes)),
        log_evidence=comparable_evidence(last),
        seconds=seconds,
    )


def rank(
    models: Mapping[str, Any], X: Array, y: NDArray[Any], *, folds: int, seed: int
) -> list[Score]:
    """Every classifier measured on the same parts, the best log score first."""
    scores = [measure(name, m, X, y, folds=folds, seed=seed) for name, m in models.items()]
    return sorted(scores, key=lambda s: -s.log_score)


def table(scores: list[Score], title: str) -> Table:
    """The ranking as a person reads it, in eighty columns."""
    out = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    out.add_column("model", no_wrap=True)
    for column in ("log score", "Brier", "wrong", "log evidence", "time"):
        out.add_column(column, justify="right", no_wrap=True)
    for s in scores:
        out.add_row(
            s.name,
            f"{s.log_score:.3f} +- {s.standard_error:.3f}",
            f"{s.brier:.3f}",
            f"{100 * s.wrong:.1f} %",
            "" if s.log_evidence is None else f"{s.log_evidence:.1f}",
            f"{1e3 * s.seconds:.0f} ms",
        )
    return out


def show(console: Console, *, folds: int, seed: int) -> None:
    """Measure, rank and print."""
    X, y = cells()
    with console.status("Fitting the classifiers ..."):
        scores = rank(family(), X, y, folds=folds, seed=seed)
    words = f"malignant or benign from {X.shape[1]} columns, {len(y)} rows"
    console.print(table(scores, f"{words}, {folds}-fold cross-validated"))
