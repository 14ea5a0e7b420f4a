"""A prior variance is looked for on the scale that the units of the columns give it."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import BayesianLogisticRegression, DualLogisticRegression, RobustRegression
from posterity.inference.weights.prior import PriorRange

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) + 2.0
A = X @ [1.0, -2.0, 0.5] + 0.3 * RNG.normal(size=60)


@for_each("scale", [1e-12, 1e-4, 1e4, 1e12])
def test_it_moves_with_the_square_of_the_units(scale):
    here, there = PriorRange.from_scales(4.0, 3.0), PriorRange.from_scales(4.0, 3.0 * scale**2)
    moved = -2.0 * np.log(scale)
    np.testing.assert_allclose(there.scan, here.scan + moved)
    np.testing.assert_allclose(there.limits, np.add(here.limits, moved))


def test_rows_that_are_all_zero_have_a_range_too():
    assert np.all(np.isfinite(PriorRange.from_scales(4.0, 0.0).limits))


@pytest.mark.full
@for_each("scale", [1e-12, 1e-4, 1e4, 1e12])
@for_each(
    ("model", "power"),
    [
        (RobustRegression(standardize=False), 2),
        (BayesianLogisticRegression(standardize=False), 2),
        (DualLogisticRegression(standardize=False), 4),  # the columns are squares of the rows
    ],
    ids=lambda v: type(v).__name__,
)
def test_a_learned_prior_variance_follows_the_units(model, power, scale):
    y = A if isinstance(model, RobustRegression) else A > 0.0
    here = model.fit(X, y)
    coef, variance = here.coef_, here.prior_variance_
    there = model.fit(scale * X, y)
    np.testing.assert_allclose(scale * there.coef_, coef, rtol=1e-6)
    assert there.prior_variance_ * scale**power == pytest.approx(variance, rel=1e-4)
    assert not any("prior_variance" in label for label in there.at_bounds_)
