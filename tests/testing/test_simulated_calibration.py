"""The check of calibration by simulation accepts an exact posterior and rejects a plug-in one."""

import numpy as np
import pytest
from support import simulated_calibration

from posterity import LinearRegression, distributions


def simulate(rng):
    """Eight rows of three weights, and one new row."""
    X, weights, deviation = rng.normal(size=(9, 3)), rng.normal(size=3), np.exp(rng.normal())
    y = X @ weights + 2.0 + deviation * rng.normal(size=9)
    return X[:8], y[:8], X[8:], y[8]


class Constant:
    def __init__(self, rate):
        self.rate = rate

    def predict_dist(self, X):
        return distributions.Poisson(np.full(len(X), self.rate))


@pytest.mark.full
def test_an_exact_posterior_is_accepted_and_a_plug_in_one_is_not():
    def ranks(predictive):
        model = LinearRegression(predictive=predictive)
        return simulated_calibration.rank_new_targets(model.fit, simulate, 200)

    assert simulated_calibration.probability_of_uniform(ranks("student_t")) > 0.01
    assert simulated_calibration.probability_of_uniform(ranks("plug_in")) < 1e-6
    assert simulated_calibration.coverage(ranks("plug_in")) < 0.8


def test_counts_are_ranked_within_their_steps():
    ranks = simulated_calibration.rank_new_targets(
        lambda X, y: Constant(0.7), lambda rng: (None, None, [[0.0]], rng.poisson(0.7)), 400
    )
    assert simulated_calibration.probability_of_uniform(ranks) > 0.01
