"""Parameters at the door: broadcast, or refused with a sentence."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity.distributions import Bernoulli, Categorical, Gamma, GeneralNormal, Normal, StudentT


@for_each(
    ("make", "sentence"),
    [
        (lambda: Normal(0.0, -1.0), "scale is -1; it must not be negative"),
        (lambda: Normal([0.0, np.nan], 1.0), "location is nan at index 1; it must be finite"),
        (
            lambda: Normal(0.0, [[1.0, np.inf]]),
            r"scale is inf at index \(0, 1\); it must be finite",
        ),
        (lambda: Normal([1.0, 2.0], [1.0, 2.0, 3.0]), r"location \(2,\), scale \(3,\)"),
        (lambda: Normal("one", 1.0), "location must be numbers; got str"),
        (lambda: StudentT(0.0, 1.0, [3.0, 0.0]), "degrees_of_freedom is 0 at index 1"),
        (lambda: Gamma(0.0, 1.0), "shape is 0; it must be positive"),
        (lambda: Gamma(1.0, -2.0), "rate is -2; it must be positive"),
        (lambda: GeneralNormal(0.0, 1.0, 0.0), "power is 0; it must be positive"),
        (
            lambda: Bernoulli(-1.0, -1.0),
            r"sum of exp\(\(log_p1, log_p0\)\) is 0.735759; it must be 1",
        ),
        (lambda: Bernoulli(np.nan, 0.0), "must be a log-probability"),
        (lambda: Categorical(0.0), r"log_p has shape \(\)"),
        (lambda: Categorical(np.zeros((2, 0))), r"log_p has shape \(2, 0\)"),
        (lambda: Categorical(np.log([[0.5, 0.5], [0.5, 0.6]])), "is 1.1 at index 1; it must be 1"),
    ],
)
def test_bad_parameters_are_refused_with_a_sentence(make, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


def test_scalars_broadcast_against_arrays():
    dist = StudentT(np.zeros((3, 1)), np.ones(4), 5.0)
    assert dist.shape == (3, 4)
    assert dist.location.shape == dist.scale.shape == dist.degrees_of_freedom.shape == (3, 4)
    assert Normal(0, 1).location.dtype == np.float64
    assert Bernoulli(np.log([0.2, 0.8]), np.log([0.8, 0.2])).shape == (2,)


def test_rounding_in_probabilities_is_repaired():
    dist = Categorical(np.log([0.3, 0.7]) + 1e-9)
    np.testing.assert_allclose(dist.probabilities().sum(), 1.0, rtol=1e-15)
    assert np.all(Categorical([1e-17, -np.inf]).log_p <= 0.0)
    certain = Bernoulli(-1e-30, -30.0 * np.log(10.0))
    assert certain.log_p1 == -1e-30


def test_the_certain_outcome_has_no_entropy():
    assert Categorical([0.0, -np.inf]).entropy() == 0.0
    assert Bernoulli.from_logit(np.inf).entropy() == 0.0
    assert np.all(Categorical([0.0, -np.inf]).sample(100, rng=np.random.default_rng(0)) == 0)
    assert np.all(Categorical([0.0, -np.inf]).variance() == 0.0)
