"""The family on embedded data sets, ranked by how well it predicts rows it has not seen."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from sklearn.base import clone
from sklearn.model_selection import KFold

from posterity import datasets, features, kernels, likelihoods, regression
from posterity.cli import demo_classes


@dataclass(frozen=True)
class Score:
    """One model, measured on rows it was not fitted to."""

    name: str
    code: str
    log_score: float
    standard_error: float
    rmse: float
    coverage: float
    log_evidence: float | None
    seconds: float


def family() -> dict[str, regression.Regressor]:
    """The models there are, each under the short name it is shown by."""
    bayesian = regression.BayesianLinearRegression
    generalized = regression.GeneralizedLinearRegression
    return {
        "offset only": bayesian(prior_variance=1e-12),
        "linear": regression.LinearRegression(),
        "linear, plug-in": regression.LinearRegression(predictive="plug_in"),
        "ridge": regression.RidgeRegression(),
        "Lasso": regression.LqRegression(penalty=1e3),
        "median": regression.LqRegression(penalty=10.0, loss_power=1.0),
        "Bayesian": bayesian(),
        "Bayesian, quadratic": bayesian(features=features.Polynomial(2)),
        "Bayesian, radial": bayesian(features=features.Radial(6)),
        "Bayesian, steps": bayesian(features=features.Heaviside(6)),
        "sparse": regression.SparseLinearRegression(),
        "sparse, quadratic": regression.SparseLinearRegression(features.Polynomial(2)),
        "relevance vectors": regression.RelevanceVectorRegressor(),
        "five units": regression.IncrementalRegressor(
            5, n_restarts=0, validation_fraction=None, random_state=0
        ),
        "random tree": regression.RandomTreeRegressor(random_state=0),
        "random ferns": regression.RandomFernRegressor(20, random_state=0),
        "random forest": regression.RandomForestRegressor(50, random_state=0),
        "robust": regression.RobustRegression(),
        "gamma": regression.GammaRegression(),
        "gamma, quadratic": generalized(likelihoods.Gamma(), features=features.Polynomial(2)),
        "dual": regression.DualLinearRegression(),
        "kernel ridge": regression.KernelRidgeRegression(),
        "Gaussian process": regression.GaussianProcessRegressor(kernels.Scaled(kernels.RBF())),
    }


def measure(
    name: str, model: regression.Regressor, data: datasets.Dataset, *, folds: int, seed: int
) -> Score:
    """Cross-validate one model; the evidence is that of all rows."""
    n = len(data.y)
    log_prob, error, inside = np.empty(n), np.empty(n), np.empty(n)
    split = KFold(folds, shuffle=True, random_state=seed)
    start = time.perf_counter()
    for train, test in split.split(data.X):
        fitted = clone(model).fit(data.X[train], data.y[train])
        dist, y = fitted.predict_dist(data.X[test]), data.y[test]
        log_prob[test], error[test] = dist.log_prob(y), y - dist.mean()
        lower, upper = dist.interval(0.9)
        inside[test] = (lower <= y) & (y <= upper)
    seconds = (time.perf_counter() - start) / folds
    whole = clone(model).fit(data.X, data.y)
    return Score(
        name=name,
        code=" ".join(repr(model).split()),
        log_score=float(log_prob.mean()),
        standard_error=float(log_prob.std(ddof=1) / np.sqrt(n)),
        rmse=float(np.sqrt(np.mean(error**2))),
        coverage=float(inside.mean()),
        log_evidence=demo_classes.comparable_evidence(whole),
        seconds=seconds,
    )


def rank(
    models: Mapping[str, regression.Regressor], data: datasets.Dataset, *, folds: int, seed: int
) -> list[Score]:
    """Every model measured on the same parts, the best log score first."""
    scores = [measure(name, m, data, folds=folds, seed=seed) for name, m in models.items()]
    return sorted(scores, key=lambda s: -s.log_score)


def table(scores: list[Score], data: datasets.Dataset, folds: int) -> Table:
    """The ranking as a person reads it, in eighty columns."""
    n, d = data.X.shape
    title = f"{data.target_name} from {d} columns, {n} rows, {folds}-fold cross-validated"
    out = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    out.add_column("model", no_wrap=True)
    for column in ("log score", "RMSE", "in 90 %", "log evidence", "time"):
        out.add_column(column, justify="right", no_wrap=True)
    for s in scores:
        out.add_row(
            s.name,
            f"{s.log_score:.3f} +- {s.standard_error:.3f}",
            f"{s.rmse:.2f}",
            f"{100 * s.coverage:.1f} %",
            "" if s.log_evidence is None else f"{s.log_evidence:.1f}",
            f"{1e3 * s.seconds:.0f} ms",
        )
    return out


def verdict(scores: list[Score]) -> str:
    """Which model to take and how sure that is, in a few sentences."""
    best = scores[0]
    rivals = [s.name for s in scores[1:] if best.log_score - s.log_score < best.standard_error]
    bayesian = [s for s in scores if s.log_evidence is not None]
    sentences = [f"Unseen rows are predicted best by {best.name!r}: {best.code}."]
    if rivals:
        sentences.append(f"Within its standard error are {'; '.join(rivals)}.")
    if bayesian:
        evident = max(bayesian, key=lambda s: s.log_evidence or -np.inf)
        sentences.append(f"By the evidence, which needs no held-out rows, it is {evident.name!r}.")
    return " ".join(sentences)


def show(console: Console, *, folds: int, seed: int) -> None:
    """Measure, rank and print: first the regressors, then the classifiers."""
    data = datasets.diabetes()
    with console.status("Fitting the regressors ..."):
        scores = rank(family(), data, folds=folds, seed=seed)
    console.print(table(scores, data, folds))
    console.print(verdict(scores), highlight=False, markup=False)
    console.print()
    demo_classes.show(console, folds=folds, seed=seed)
