"""Both packages are judged by the same numbers, and the tables hold what they say."""

import json
from dataclasses import replace
from importlib import util

import numpy as np
import pytest
from benchmarks import harness, latent_models, latent_variables
from benchmarks.cases import Size
from benchmarks.options import Options
from scipy import stats

from posterity.latent.gplvm import terms

pytestmark = pytest.mark.filterwarnings("ignore")  # few steps, and packages that are not ours
needs_gpy = pytest.mark.skipif(util.find_spec("GPy") is None, reason="needs GPy")
MAP = [latent_models.Posterity, pytest.param(latent_models.GPy, marks=needs_gpy)]
BAYESIAN = [
    latent_models.PosterityVariational,
    pytest.param(latent_models.GPyVariational, marks=needs_gpy),
]


@pytest.fixture(scope="module")
def Y():
    return latent_variables.drawn(np.random.default_rng(0), Size(40, 6, 0))


def test_the_density_is_that_of_normal_columns(Y):
    X = np.random.default_rng(1).normal(size=(40, 2))
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    K = 1.5 * np.exp(-0.5 * squares / 0.7**2) + 0.2 * np.eye(40)
    expected = stats.multivariate_normal(np.zeros(40), K).logpdf(Y.T).sum()
    assert latent_models.log_density(Y, X, 1.5, 0.7, 0.2) == pytest.approx(expected)


def test_the_density_does_not_change_where_points_are_stretched(Y):
    X = np.random.default_rng(1).normal(size=(40, 2))
    near = latent_models.log_density(Y, X, 1.5, 0.7, 0.2)
    assert latent_models.log_density(Y, 3.0 * X, 1.5, 2.1, 0.2) == pytest.approx(near)


def test_the_prior_is_the_models_at_the_stretch_where_it_is_largest():
    X = np.random.default_rng(1).normal(size=(40, 2)) * [1.0, 0.3]
    X -= X.mean(axis=0)
    parts = (terms.StandardNormalPrior(), terms.Volume())
    stretched = np.geomspace(0.1, 10.0, 2001)
    most = max(sum(part(c * X, np.empty(0))[0] for part in parts) for c in stretched)
    assert latent_models.log_prior(X) == pytest.approx(most, abs=1e-3)


def test_the_posterior_of_the_page_is_what_posterity_has_maximised(Y):
    model = latent_models.Posterity(2, 1000).fit(Y)
    found = model.facts()["log_posterior"]
    assert found == pytest.approx(model.model.log_posterior_, abs=1e-2)


@pytest.mark.parametrize("kind", MAP)
def test_steps_lead_upwards_from_principal_components(kind, Y):
    start, end = (kind(2, steps).fit(Y) for steps in (1, 50))
    assert start.points.shape == (40, 2)
    assert end.facts()["log_density"] > start.facts()["log_density"]


def bound(Y, m, S, Z, variance, lengths, noise):
    """The collapsed bound of Titsias and Lawrence by its definition, one row at a time."""
    N, D = Y.shape
    half = (Z[:, None] - Z) / lengths
    K = variance * np.exp(-0.5 * (half**2).sum(axis=2)) + 1e-8 * variance * np.eye(len(Z))
    middle = 0.5 * (Z[:, None] + Z)
    psi1, psi2 = np.empty((N, len(Z))), np.zeros((len(Z), len(Z)))
    for n in range(N):
        wide = S[n] / lengths**2 + 1.0
        reach = ((m[n] - Z) ** 2 / (lengths**2 * wide)).sum(axis=1)
        psi1[n] = variance * np.exp(-0.5 * reach) / np.sqrt(wide.prod())
        wider = 2.0 * S[n] / lengths**2 + 1.0
        reach = ((m[n] - middle) ** 2 / (lengths**2 * wider)).sum(axis=2)
        psi2 += variance**2 * np.exp(-0.25 * (half**2).sum(axis=2) - reach) / wider.prod() ** 0.5
    A = noise * K + psi2
    log_dets = np.linalg.slogdet(K)[1] - np.linalg.slogdet(A)[1]
    fit = np.trace(Y.T @ psi1 @ np.linalg.solve(A, psi1.T @ Y)) - np.sum(Y**2)
    spare = N * variance - np.trace(np.linalg.solve(K, psi2))
    constant = -N * np.log(2.0 * np.pi) - (N - len(Z)) * np.log(noise)
    value = 0.5 * (D * (constant + log_dets - spare / noise) + fit / noise)
    return value - 0.5 * np.sum(S + m**2 - 1.0 - np.log(S))


def test_the_bound_of_posterity_is_by_its_definition(Y):
    fitted = latent_models.PosterityVariational(2, 20, 8).fit(Y)
    found = fitted.model._fitted.model.posterior
    lengths = np.array(found.kernel.kernel.length_scale)
    parameters = (found.kernel.variance, lengths, found.noise_variance)
    expected = bound(fitted.Y, found.m, found.S, found.Z, *parameters)
    assert fitted.facts()["log_evidence"] == pytest.approx(expected, abs=0.1)


@needs_gpy
def test_the_bound_of_gpy_is_by_the_same_definition(Y):
    fitted = latent_models.GPyVariational(2, 20, 8).fit(Y)
    found = fitted.model
    m, S, Z = (np.asarray(part) for part in (found.X.mean, found.X.variance, found.Z))
    kernel, noise = found.kern, float(found.likelihood.variance[0])
    lengths = np.asarray(kernel.lengthscale)
    expected = bound(fitted.Y, m, S, Z, float(kernel.variance[0]), lengths, noise)
    assert fitted.facts()["log_evidence"] == pytest.approx(expected, abs=0.1)


def length_scales(model):
    """Of either package."""
    if isinstance(model, latent_models.GPyVariational):
        return np.asarray(model.model.kern.lengthscale)
    return np.array(model.model.kernel_.kernel.length_scale)


@pytest.mark.parametrize("kind", BAYESIAN)
def test_relevances_are_defined_alike(kind, Y):
    model = kind(3, 20, 8).fit(Y)
    varied = np.var(model.points, axis=0) / length_scales(model) ** 2
    np.testing.assert_allclose(model.relevances, varied / varied.max(), rtol=1e-3)


def test_the_table_shows_heights_and_seconds(monkeypatch, tmp_path):
    monkeypatch.setattr(harness, "in_new_process", lambda work, *a: work(*a))
    task = replace(latent_variables.MOST_PROBABLE.tasks[0], size=Size(40, 6, 0))
    small = replace(latent_variables.MOST_PROBABLE, tasks=(task,))
    options = Options(repeats=1, threads=1, folder=tmp_path)
    harness.run(small, options, latent_variables.measure)
    page = (tmp_path / "latent_variables.md").read_text()
    assert "| log density | log posterior |" in page
    (found,) = json.loads((tmp_path / "latent_variables.json").read_text())["tasks"]
    run = found["runs"][0]
    assert run["contender"] == "posterity GPLVM"
    assert run["iterations"] <= latent_variables.STEPS
    assert len(run["draws"]) == latent_variables.DRAWS
    mean = np.mean([draw["log_density"] for draw in run["draws"]])
    assert run["log_density"] == pytest.approx(mean)
    assert "predict_wall_s" not in run
