"""The family on an embedded data set, ranked by how well it predicts rows it has not seen."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.base import clone
from sklearn.model_selection import KFold

from posterity import datasets, features, regression


@dataclass(frozen=True)
class Score:
    """One model, measured on rows it was not fitted to."""

    name: str
    log_score: float
    standard_error: float
    rmse: float
    coverage: float
    log_evidence: float | None
    seconds: float


def family() -> dict[str, regression.Regressor]:
    """The models there are, each under the name it is shown by."""
    bayesian = regression.BayesianLinearRegression
    return {
        "offset only": bayesian(prior_variance=1e-12),
        "LinearRegression": regression.LinearRegression(),
        "LinearRegression, plug-in": regression.LinearRegression(predictive="plug_in"),
        "RidgeRegression": regression.RidgeRegression(),
        "LqRegression, Lasso": regression.LqRegression(penalty=1e3),
        "LqRegression, median": regression.LqRegression(penalty=10.0, loss_power=1.0),
        "BayesianLinearRegression": bayesian(),
        "BayesianLinearRegression, quadratic": bayesian(features=features.Polynomial(2)),
        "BayesianLinearRegression, radial": bayesian(features=features.Radial(6)),
        "BayesianLinearRegression, steps": bayesian(features=features.Heaviside(6)),
        "DualLinearRegression": regression.DualLinearRegression(),
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
        log_score=float(log_prob.mean()),
        standard_error=float(log_prob.std(ddof=1) / np.sqrt(n)),
        rmse=float(np.sqrt(np.mean(error**2))),
        coverage=float(inside.mean()),
        log_evidence=vars(whole).get("log_evidence_"),
        seconds=seconds,
    )


def rank(
    models: Mapping[str, regression.Regressor], data: datasets.Dataset, *, folds: int, seed: int
) -> list[Score]:
    """Every model measured on the same parts, the best log score first."""
    scores = [measure(name, m, data, folds=folds, seed=seed) for name, m in models.items()]
    return sorted(scores, key=lambda s: -s.log_score)


def table(scores: list[Score], data: datasets.Dataset, folds: int) -> Table:
    """The ranking as a person reads it."""
    n, d = data.X.shape
    out = Table(
        title=f"{data.target_name} from {d} columns, {n} rows, {folds}-fold cross-validated"
    )
    out.add_column("model", no_wrap=True)
    for column in ("log score", "RMSE", "90 % coverage", "log evidence", "fit + predict"):
        out.add_column(column, justify="right", no_wrap=True)
    for s in scores:
        evidence = "" if s.log_evidence is None else f"{s.log_evidence:.1f}"
        out.add_row(
            s.name,
            f"{s.log_score:.3f} +- {s.standard_error:.3f}",
            f"{s.rmse:.2f}",
            f"{100 * s.coverage:.1f} %",
            evidence,
            f"{1e3 * s.seconds:.1f} ms",
        )
    return out


def verdict(scores: list[Score]) -> str:
    """Which model to take and how sure that is, in two sentences."""
    best = scores[0]
    rivals = [s for s in scores[1:] if best.log_score - s.log_score < best.standard_error]
    bayesian = [s for s in scores if s.log_evidence is not None]
    first = f"{best.name} predicts unseen rows best ({best.log_score:.3f} a row)"
    if rivals:
        first += f"; within its standard error are {', '.join(s.name for s in rivals[:3])}"
    evident = max(bayesian, key=lambda s: s.log_evidence or -np.inf).name
    return f"{first}. By the evidence alone, without held-out rows, it is {evident}."


def show(console: Console, *, folds: int, seed: int) -> None:
    """Measure, rank and print."""
    data = datasets.diabetes()
    with console.status("Fitting the family ..."):
        scores = rank(family(), data, folds=folds, seed=seed)
    console.print(table(scores, data, folds))
    console.print(verdict(scores))
