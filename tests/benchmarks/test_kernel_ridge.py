"""Both packages solve the same problem, and say which penalty they chose."""

import numpy as np
import pytest
from benchmarks import friedman, kernel_ridge, standardised
from benchmarks.cases import Size


@pytest.fixture(scope="module")
def data():
    return friedman.generate(np.random.default_rng(0), Size(150, 8, 30))


def test_packages_have_the_same_kernel_and_penalty(data):
    ours, theirs = (contender.build() for contender in kernel_ridge.GIVEN.contenders)
    assert theirs.alpha == ours.alpha == kernel_ridge.PENALTY
    y = data.y - data.y.mean()
    expected = theirs.fit(data.X, y).predict(data.X_test)
    found = ours.set_params(fit_intercept=False).fit(data.X, y).predict(data.X_test)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_chosen_penalties_are_told_and_near_each_other(data):
    found = []
    for contender in kernel_ridge.CHOSEN.contenders:
        fitted = contender.fit(contender.build(), data.X, data.y)
        found.append(contender.facts(fitted)["log10_penalty"])
        mean, std = contender.predict(fitted, data.X_test)
        assert std is None
        assert np.std(mean - data.reference) < 0.5 * np.std(data.reference)
    assert found[0] == pytest.approx(np.log10(fitted_penalty(data)))
    assert found[0] == pytest.approx(found[1], abs=1.0)


def fitted_penalty(data):
    model = kernel_ridge.CHOSEN.contenders[0].build()
    return standardised.fit(model, data.X, data.y).model.alpha_
