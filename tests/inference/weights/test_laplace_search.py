"""The parameters of the largest evidence are found, and no others are touched."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import designs, likelihoods
from posterity.inference.weights import few_hessians, laplace_search
from posterity.inference.weights.laplace_search import LaplaceSearch
from posterity.inference.weights.targets import RowTargets


def search_of(likelihood, y, Z, *, prior_variance=None, weights=None, offset=True):
    w = np.ones(len(y)) if weights is None else weights
    started, bounds = likelihood.search_start(y, w)
    targets = RowTargets.from_observations(y, weights, started, offset=offset)
    design = designs.Standardized.from_design(designs.Dense(Z), weights, offset=offset)
    return LaplaceSearch(design, targets, prior_variance, bounds, offset, design.square_length)


def data(n=80, m=4, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, m))
    return Z, Z @ rng.normal(size=m), rng


def classes(n_classes, seed=0):
    Z, _, rng = data(seed=seed)
    A = Z @ rng.normal(size=(4, n_classes)) + rng.gumbel(size=(len(Z), n_classes))
    return Z, np.argmax(A, axis=1).astype(float)


def all_cases():
    Z, a, rng = data()
    heavy = a + 0.3 * rng.standard_t(3.0, size=len(a))
    positive = rng.gamma(4.0, np.exp(a) / 4.0)
    counts = rng.poisson(np.exp(0.5 * a)).astype(float)
    return {
        "two": (likelihoods.Bernoulli(), *classes(2)[::-1]),
        "three": (likelihoods.Categorical(3), *classes(3)[::-1]),
        "counts": (likelihoods.Poisson(), counts, Z),
        "heavy": (likelihoods.StudentT(), heavy, Z),
        "positive": (likelihoods.Gamma(), positive, Z),
        "normal": (likelihoods.Normal(), heavy, Z),
    }


CASES = all_cases()
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@each_case
def test_no_place_nearby_has_more_evidence(case):
    search = search_of(*case)
    found = laplace_search.maximise_laplace_evidence(search)
    x = found.optimum.x
    assert found.optimum.converged
    assert len(x) == len(search.names) == 1 + len(case[0].names)
    best = found.fit.log_evidence
    assert best == pytest.approx(-found.optimum.value, abs=1e-9)
    for i, (low, high) in enumerate(search.limits):
        for step in (-0.3, 0.3):
            near = x.copy()
            near[i] = np.clip(near[i] + step, low, high)
            assert search.fit_at(near, found.fit.weights.W).log_evidence <= best + 1e-6
    assert found.prior_variance == pytest.approx(np.exp(x[0]))


@each_case
def test_the_gradient_of_the_search_is_that_of_its_evidence(case):
    search = search_of(*case, weights=np.random.default_rng(7).uniform(0.5, 2.0, 80))
    x = search.start + 0.1
    fit = search.fit_at(x, None)
    step = 1e-5
    for i, g in enumerate(search.gradient(fit)):
        e = step * (np.arange(len(x)) == i)
        up, down = (search.fit_at(x + s * e, fit.weights.W).log_evidence for s in (1, -1))
        assert g == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-6)


def test_what_is_given_is_held():
    _, y, Z = CASES["heavy"]
    held = likelihoods.StudentT(scale=0.7)
    search = search_of(held, y, Z, prior_variance=2.5)
    assert search.names == ["degrees_of_freedom"]
    found = laplace_search.maximise_laplace_evidence(search)
    assert found.prior_variance == 2.5
    assert found.fit.problem.prior.precision == pytest.approx(1.0 / 2.5)
    assert found.fit.problem.targets.likelihood.scale == pytest.approx(0.7)
    nothing = search_of(likelihoods.StudentT(0.7, 4.0), y, Z, prior_variance=2.5)
    found = laplace_search.maximise_laplace_evidence(nothing)
    assert found.optimum.stop_reason == "every parameter was given"
    assert np.isfinite(found.fit.log_evidence)


@for_each("seed", range(2))
def test_the_best_decade_is_found_wherever_it_is(seed):
    """Columns that tell everything, or nothing: the evidence is best at either end."""
    Z, _, rng = data(seed=seed)
    for y in ((Z[:, 0] > 0).astype(float), (rng.random(80) < 0.5).astype(float)):
        search = search_of(likelihoods.Bernoulli(), y, Z)
        found = laplace_search.maximise_laplace_evidence(search)
        grid = np.linspace(*search.limits[0], 40)
        evidences = [search.fit_at(np.array([x]), None).log_evidence for x in grid]
        # Within a decade there may be two maxima of next to the same height.
        assert found.fit.log_evidence >= np.max(evidences) - 0.01


@each_case
def test_the_climb_begins_in_the_best_decade(case):
    search = search_of(*case)

    def evidence(x):
        return search.fit_at(x, None).log_evidence

    start, _ = laplace_search._SuccessiveFits(search).scan_prior_variances()
    for decade in np.log(10.0) * np.arange(2.0, -4.5, -1.0):
        other = search.start.copy()
        other[0] += decade
        assert evidence(start) >= evidence(other) - 1e-9


@for_each("name", ["two", "three", "counts", "positive"])
def test_few_hessians_end_at_the_same_evidence(name, monkeypatch):
    search = search_of(*CASES[name])
    by_newton = laplace_search.maximise_laplace_evidence(search)
    monkeypatch.setattr(few_hessians, "_EXPENSIVE", 0.0)
    monkeypatch.setattr(few_hessians, "_MANY_WEIGHTS", 1)
    found = laplace_search.maximise_laplace_evidence(search)
    assert found.fit.log_evidence == pytest.approx(by_newton.fit.log_evidence, abs=1e-4)
    assert found.prior_variance == pytest.approx(by_newton.prior_variance, rel=0.02)


def test_evidence_prefers_the_columns_that_matter():
    Z, _, rng = data(200, 6)
    y = (2.0 * Z[:, 0] - 1.5 * Z[:, 1] + rng.logistic(size=200) > 0.0).astype(float)

    def evidence(columns):
        return laplace_search.maximise_laplace_evidence(
            search_of(likelihoods.Bernoulli(), y, Z[:, columns])
        ).fit.log_evidence

    relevant = evidence([0, 1])
    assert relevant > evidence([0]) + 3.0
    assert relevant > evidence([0, 1, 2, 3, 4, 5])
    assert relevant > evidence([2, 3]) + 10.0
