"""A likelihood of forty lines fits in every family that takes one."""

import inspect
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import expit, logit

import posterity
from posterity import designs, distributions, likelihoods, testing

LOGIT = distributions.MonotoneMap(logit, expit, lambda y: 1.0 / (y * (1.0 - y)))


@dataclass(frozen=True, eq=False)
class LogitNormal(likelihoods.Likelihood):
    """Shares 0 < y < 1 whose logit is normal about a, with a variance that can be learned."""

    _learnable: ClassVar = ("noise_variance",)
    joins_predictions: ClassVar = False

    noise_variance: float | None = None

    def log_prob(self, y, a):
        s2 = self._numbers("noise_variance")
        inside = -0.5 * ((logit(y) - a) ** 2 / s2 + np.log(2.0 * np.pi * s2))
        return inside - np.log(y) - np.log1p(-np.asarray(y))

    def d1(self, y, a):
        return (logit(y) - a) / self._numbers("noise_variance")

    def d2(self, y, a):
        return -1.0 / self._numbers("noise_variance") - 0.0 * (logit(y) - a)

    def d3(self, y, a):
        return 0.0 * (logit(y) - a)

    def parameter_derivatives(self, y, a):
        value = 0.5 * (logit(y) - a) * self.d1(y, a) - 0.5
        return value[None], -self.d1(y, a)[None], -self.d2(y, a)[None]

    def predict(self, mean, variance):
        scale = np.sqrt(variance + self._numbers("noise_variance"))
        return distributions.Transformed(distributions.Normal(mean, scale), LOGIT)

    def check(self, y):
        if np.any((y <= 0.0) | (y >= 1.0)):
            raise ValueError("shares must be above 0 and below 1; move others inside.")

    def _search_ranges(self, y, weights):
        start = float(np.cov(logit(y), aweights=weights))
        return {"noise_variance": (start, 1e-6 * start, 10.0 * start)}


RNG = np.random.default_rng(0)
X = np.linspace(-2.0, 2.0, 150)[:, None]
Y = expit(0.5 + 0.8 * X[:, 0] + 0.5 * RNG.normal(size=150))
SETTINGS = {  # that make fits short
    "BoostedTreesRegressor": {"n_estimators": 60, "random_state": 0},
    "RelevanceVectorRegressor": {"random_state": 0},
    "StagewiseRegressor": {"n_units": 2, "n_restarts": 1, "random_state": 0},
}
FAMILIES = [
    name
    for name in posterity.__all__
    if isinstance(getattr(posterity, name), type)
    and "likelihood" in inspect.signature(getattr(posterity, name)).parameters
]


def test_it_keeps_the_contract():
    testing.check_likelihood(LogitNormal(0.4), y=[0.1, 0.5, 0.9], a=[-0.5, 0.3, 1.0])


def test_the_families_are_those_that_are_known():
    assert {
        "BoostedTreesRegressor",
        "GaussianProcessRegressor",
        "GeneralizedLinearRegression",
        "RelevanceVectorRegressor",
        "SparseLinearRegression",
        "StagewiseRegressor",
    } <= set(FAMILIES)


@pytest.mark.full(but=2)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_takes_it(family):
    model = getattr(posterity, family)(likelihood=LogitNormal(), **SETTINGS.get(family, {}))
    prediction = model.fit(X, Y).predict_dist([[0.0], [1.0]])
    learned = model.noise_.likelihood if hasattr(model, "noise_") else model.likelihood_
    assert 0.15 < learned.noise_variance < 0.4  # the true value is 0.25
    np.testing.assert_allclose(logit(prediction.median()), [0.5, 1.3], atol=0.3)
    low, high = (logit(end) for end in prediction.interval(0.9))
    np.testing.assert_allclose(high - low, 2.0 * 1.645 * 0.5, rtol=0.25)


def test_what_it_refuses_is_refused_by_every_family():
    for family in FAMILIES:
        with pytest.raises(ValueError, match="must be above 0 and below 1"):
            getattr(posterity, family)(likelihood=LogitNormal()).fit(X, np.round(Y))


def test_chunks_give_what_rows_in_memory_give():
    model = posterity.GeneralizedLinearRegression(LogitNormal()).fit(X, Y)
    chunked = posterity.GeneralizedLinearRegression(LogitNormal()).fit(
        designs.Chunks.from_arrays(X, Y, rows=40)
    )
    np.testing.assert_allclose(chunked.coef_, model.coef_, rtol=1e-6)
    assert chunked.likelihood_.noise_variance == pytest.approx(
        model.likelihood_.noise_variance, rel=1e-6
    )
