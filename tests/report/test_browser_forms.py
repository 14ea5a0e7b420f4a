"""The numbers of the panel, computed by a real browser, are those of the model."""

from pathlib import Path
from typing import Any

import browser
import numpy as np
import polars as pl
import pytest
from report import panel_cases

from posterity import (
    features,
    kernels,
    likelihoods,
    linear,
    local,
    priors,
    process,
    sparse,
    tables,
    trees,
)
from posterity.process.latent import condensed
from posterity.report import what_if

CLOSE = 1e-6
SUM = (
    kernels.Scaled(kernels.Columns(kernels.RBF(2.0), [0, -1]), 2.0)
    + kernels.Matern(3.0, smoothness=1.5) * kernels.Columns(kernels.Periodic(2.0, 1.0), 1)
    + kernels.Matern(2.0, smoothness=0.5)
    + kernels.Matern([2.0] * 12, smoothness=2.5)
    + kernels.Scaled(kernels.Polynomial(2, offset=1.0), 1e-3)
    + kernels.Linear(0.1)
    + kernels.White(0.01)
)
REGRESSORS = {
    "least squares": linear.LinearRegression(),
    "plug-in": linear.LinearRegression(predictive="plug_in"),
    "penalised offset": linear.RidgeRegression(penalize_intercept=True),
    "more weights than rows": linear.BayesianLinearRegression(features=features.Polynomial(3)),
    "bumps": sparse.SparseLinearRegression(features=features.Radial(5)),
    "centres": linear.BayesianLinearRegression(
        features=features.Radial(6, centers="kmeans", random_state=0)
    ),
    "arctan": linear.BayesianLinearRegression(features=features.Arctan(3)),
    "heaviside": linear.BayesianLinearRegression(features=features.Heaviside(3)),
    "learned steps": linear.BayesianLinearRegression(
        features=features.LearnedArctan(2, n_restarts=0, random_state=0)
    ),
    "learned bumps": local.StagewiseRegressor(
        2, units="radial", n_restarts=0, likelihood=likelihoods.StudentT(), random_state=0
    ),
    "dual": linear.DualLinearRegression(kernels.RBF(3.0)),
    "dual, flat": linear.DualLinearRegression(prior=priors.Flat()),
    "lq": linear.LqRegression(loss_power=1.5),
    "robust": linear.RobustRegression(degrees_of_freedom=4.0),
    "gamma": linear.GammaRegression(),
    "gamma, sharper than its mean": process.GaussianProcessRegressor(
        kernels.Scaled(kernels.RBF(1.0), 1.0).fixed(), likelihood=likelihoods.Gamma(1000.0)
    ),
    "kernel ridge": process.KernelRidgeRegression(),
    "relevance vectors": sparse.RelevanceVectorRegressor(kernels.RBF(3.0).fixed(), random_state=0),
    "process": process.GaussianProcessRegressor(max_iter=5, mean="linear", random_state=0),
    "process of a sum": process.GaussianProcessRegressor(SUM.fixed(), random_state=0),
    "inducing points": process.GaussianProcessRegressor(
        kernels.RationalQuadratic(3.0), inducing_points=12, max_iter=3, random_state=0
    ),
    "process, robust": process.GaussianProcessRegressor(
        kernels.Scaled(kernels.RBF(3.0)),
        likelihood=likelihoods.StudentT(),
        max_iter=3,
        random_state=0,
    ),
    "process, robust, by few points": process.GaussianProcessRegressor(
        kernels.Scaled(kernels.RBF(3.0)),
        likelihood=likelihoods.StudentT(),
        inducing_points=10,
        max_iter=3,
        random_state=0,
    ),
    "tree": trees.RandomTreeRegressor(random_state=0),
    "forest": trees.RandomForestRegressor(10, random_state=0),
    "boosted trees": trees.BoostedTreesRegressor(10, cv=2, random_state=0),
    "boosted normal": trees.BoostedTreesRegressor(
        10, likelihood=likelihoods.Normal(), cv=2, random_state=0
    ),
    "boosted gamma": trees.BoostedTreesRegressor(
        10, likelihood=likelihoods.Gamma(), cv=2, random_state=0
    ),
    "boosted, one spread": trees.BoostedTreesRegressor(
        10, likelihood=likelihoods.StudentT(scale=0.5, degrees_of_freedom=5.0), cv=2, random_state=0
    ),
}
CLASSIFIERS = {
    "logistic": linear.LogisticRegression(features=features.Heaviside(1)),
    "bayesian": linear.BayesianLogisticRegression(),
    "closed form": linear.BayesianLogisticRegression(averaging="approximate"),
    "sparse": sparse.SparseLogisticRegression(),
    "sparse by class": sparse.SparseLogisticRegression(columns="per_class"),
    "dual": linear.DualLogisticRegression(),
    "kernel": process.KernelLogisticRegression(max_iter=5),
    "relevance vectors": sparse.RelevanceVectorClassifier(kernels.RBF(3.0).fixed(), random_state=0),
    "process": process.GaussianProcessClassifier(
        kernels.Scaled(kernels.RBF(3.0)), max_iter=3, random_state=0
    ),
    "units": local.StagewiseClassifier(2, n_restarts=0, random_state=0),
    "boosted": trees.LogitBoostClassifier(n_estimators=20, random_state=0),
    "boosted trees": trees.BoostedTreesClassifier(10, cv=2, random_state=0),
    "forest": trees.RandomForestClassifier(10, random_state=0),
    "logistic tree": local.LogisticTreeClassifier(depth=2, n_restarts=0, random_state=0),
    "hard gates": local.LogisticTreeClassifier(depth=1, gates="hard", n_restarts=0, random_state=0),
    "experts": local.MixtureOfExpertsClassifier(n_restarts=0, random_state=0),
}


def answers(chromium: browser.Browser, folder: Path, payload: Any, rows: pl.DataFrame) -> list[Any]:
    """What a page says of the rows."""
    assert not isinstance(payload, what_if.NoPanel), payload.why
    path = folder / "panel.html"
    path.write_text(panel_cases.page(payload), encoding="utf-8")
    chromium.open(path)
    script = "const p = document.getElementById('what-if'); return arguments[0].map(p.answer)"
    found: list[Any] = chromium.run(script, panel_cases.values(rows))
    assert chromium.complaints() == []
    return found


def assert_same_number(found: list[Any], dist: Any, tolerance: float) -> None:
    """Mean and quantiles to so much of a deviation."""
    quantiles = [dist.icdf(p) for p in panel_cases.LEVELS]
    unit = (quantiles[4] - quantiles[0]) / 3.3
    expected = np.stack([dist.mean(), *quantiles], axis=1)
    names = ("mean", "q05", "q25", "median", "q75", "q95")
    told = np.array([[answer[name] for name in names] for answer in found])
    np.testing.assert_allclose(told / unit[:, None], expected / unit[:, None], atol=tolerance)


@pytest.mark.full(but=4)
@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_number_is_what_the_model_says(
    name: str, chromium: browser.Browser, tmp_path: Path
) -> None:
    model, rows = panel_cases.fitted(REGRESSORS[name]), panel_cases.queries(20)
    found = answers(chromium, tmp_path, what_if.payload(model), rows)
    assert_same_number(found, model.predict_dist(rows), CLOSE)


@pytest.mark.full(but=4)
@pytest.mark.parametrize(
    ("name", "n_classes"),
    [*((name, C) for name in CLASSIFIERS for C in (2, 3)), ("bayesian", 6), ("process", 4)],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_probabilities_are_what_the_model_says(
    name: str, n_classes: int, chromium: browser.Browser, tmp_path: Path
) -> None:
    model = panel_cases.fitted(CLASSIFIERS[name], n_classes=n_classes)
    payload, rows = what_if.payload(model), panel_cases.queries(20)
    found = answers(chromium, tmp_path, payload, rows)
    np.testing.assert_allclose(np.array(found), model.predict_proba(rows), atol=CLOSE)


@pytest.mark.parametrize("n_classes", [0, 2])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_few_rows_tell_what_many_say(
    n_classes: int, chromium: browser.Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(condensed, "MOST_PAGE_ROWS", 50)
    kind = process.GaussianProcessClassifier if n_classes else None
    estimator = (kind or process.GaussianProcessRegressor)(
        kernels.Scaled(kernels.RBF(3.0)), max_iter=3, random_state=0
    )
    model, rows = panel_cases.fitted(estimator, 120, n_classes), panel_cases.queries(20)
    payload = what_if.payload(model)
    assert not isinstance(payload, what_if.NoPanel)
    assert "approximates the model by" in payload["model"]["note"]
    found = answers(chromium, tmp_path, payload, rows)
    if n_classes:
        np.testing.assert_allclose(np.array(found), model.predict_proba(rows), atol=1e-4)
    else:
        assert_same_number(found, model.predict_dist(rows), 1e-3)


def test_a_category_of_many_levels_is_what_the_model_says(
    chromium: browser.Browser, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    frame = panel_cases.frame(400).with_columns(kind=rng.permutation(400) % 60)
    frame = frame.with_columns(pl.col("kind").cast(pl.String))
    model = tables.TableModel(linear.BayesianLinearRegression(), panel_cases.schema())
    model.fit(frame)
    payload, rows = what_if.payload(model), panel_cases.queries(20)
    assert not isinstance(payload, what_if.NoPanel)
    shown = payload["inputs"][2]["levels"]
    rows = rows.with_columns(kind=pl.Series(["new", None, *rng.choice(shown, 18)], dtype=pl.String))
    found = answers(chromium, tmp_path, payload, rows)
    assert_same_number(found, model.predict_dist(rows), CLOSE)
