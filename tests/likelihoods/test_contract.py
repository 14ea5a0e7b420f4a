"""What every likelihood promises; a new one needs a row in the table and nothing else."""

import inspect
from dataclasses import FrozenInstanceError, dataclass, fields
from typing import Any

import numpy as np
import pytest
from scipy import stats

from posterity import distributions, likelihoods, quadrature


@dataclass(frozen=True)
class Case:
    likelihood: likelihoods.Likelihood
    y: Any  # observations that can occur
    centre: float = 0.0  # where the features of log_prob in a are, and how wide
    width: float = 1.0


TABLE = {
    "normal": Case(likelihoods.Normal(0.3), np.array([-7.0, 0.0, 0.2, 3.0])),
    "normal of known noise": Case(likelihoods.Normal([0.01, 1.0, 2.0, 90.0]), np.arange(4.0)),
}
A = np.linspace(-3.0, 4.0, 4)
every_case = pytest.mark.parametrize("case", TABLE.values(), ids=TABLE.keys())


def concrete_subclasses(cls):
    below = [s for child in cls.__subclasses__() for s in concrete_subclasses(child)]
    return below if inspect.isabstract(cls) else [cls, *below]


def expect(g, case, mean, variance):
    return quadrature.expect_wide(g, mean, variance, centre=case.centre, width=case.width)


def test_every_likelihood_has_a_row_in_the_table():
    library = {
        c
        for c in concrete_subclasses(likelihoods.Likelihood)
        if c.__module__.startswith("posterity.")
    }
    assert library == {type(case.likelihood) for case in TABLE.values()}


@every_case
def test_a_likelihood_is_a_value(case):
    parameters = {f.name: getattr(case.likelihood, f.name) for f in fields(case.likelihood)}
    assert type(case.likelihood)(**parameters) == case.likelihood
    assert case.likelihood != 3
    for name in parameters:
        with pytest.raises(FrozenInstanceError):
            setattr(case.likelihood, name, 1.0)


@every_case
@pytest.mark.parametrize(("value", "slope"), [("log_prob", "d1"), ("d1", "d2")])
def test_derivatives_agree_with_differences(case, value, slope):
    h = 1e-5
    f = getattr(case.likelihood, value)
    difference = (f(case.y, A + h) - f(case.y, A - h)) / (2.0 * h)
    np.testing.assert_allclose(getattr(case.likelihood, slope)(case.y, A), difference, 1e-6, 1e-6)


@every_case
@pytest.mark.parametrize("variance", [1e-12, 0.04, 1.0, 50.0, 1e6])
def test_the_prediction_agrees_with_quadrature(case, variance):
    prediction = case.likelihood.predict(A, variance)

    def given(a):
        return case.likelihood.predict(a, 0.0)

    mean = expect(lambda a: given(a).mean(), case, A, variance)
    square = expect(
        lambda a: given(a).variance() + (given(a).mean() - mean) ** 2, case, A, variance
    )
    np.testing.assert_allclose(prediction.mean(), mean, rtol=1e-9, atol=1e-9 * np.sqrt(variance))
    np.testing.assert_allclose(prediction.variance(), square, rtol=1e-9)
    log_p = quadrature.log_expect_wide(
        lambda a: case.likelihood.log_prob(case.y, a),
        A,
        variance,
        centre=case.centre,
        width=case.width,
    )
    np.testing.assert_allclose(prediction.log_prob(case.y), log_p, rtol=1e-9, atol=1e-9)


@every_case
def test_without_uncertainty_the_prediction_is_the_likelihood(case):
    prediction = case.likelihood.predict(A, 0.0)
    np.testing.assert_allclose(prediction.log_prob(case.y), case.likelihood.log_prob(case.y, A))


@every_case
def test_samples_are_those_of_the_prediction(case):
    a = np.broadcast_to(A, (5000, 4))
    y = case.likelihood.sample(a, rng=np.random.default_rng(0))
    given = case.likelihood.predict(A, 0.0)
    error = 5.0 * given.standard_deviation() / np.sqrt(5000)
    assert y.shape == a.shape
    assert np.all(np.abs(y.mean(axis=0) - given.mean()) < error)


def test_normal_agrees_with_scipy():
    y, a = np.array([-50.0, 0.0, 1.0]), np.array([0.0, 0.5, 1.0])
    expected = stats.norm.logpdf(y, a, np.sqrt([0.1, 2.0, 3.0]))
    likelihood = likelihoods.Normal([0.1, 2.0, 3.0])
    np.testing.assert_allclose(likelihood.log_prob(y, a), expected, rtol=1e-13)
    assert isinstance(likelihood.predict(a, 1.0), distributions.Normal)
    np.testing.assert_allclose(likelihood.predict(a, [1.0, 2.0, 0.0]).variance(), [1.1, 4.0, 3.0])
    assert likelihoods.Normal(1.0).d2(y, 0.0).shape == (3,)


@pytest.mark.parametrize("noise_variance", [0.0, -1.0, np.nan, np.inf, [1.0, 0.0]])
def test_an_impossible_noise_variance_is_refused(noise_variance):
    with pytest.raises(ValueError, match="noise_variance must be positive and finite"):
        likelihoods.Normal(noise_variance)
