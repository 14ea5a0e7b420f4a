"""Algebraic laws of distributions, for parameters nobody chose by hand."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import draws

from posterity.distributions import (
    Bernoulli,
    Categorical,
    Gamma,
    GeneralNormal,
    Mixture,
    Normal,
    StudentT,
)

locations = st.floats(-1e6, 1e6)
scales = st.floats(-6.0, 6.0).map(lambda e: 10.0**e)
shapes = st.floats(-1.0, 3.0).map(lambda e: 10.0**e)
levels = st.floats(1e-12, 1.0 - 1e-12)
weights = st.lists(st.floats(0.01, 1.0), min_size=3, max_size=3)

families = st.one_of(
    st.builds(Normal, locations, scales),
    st.builds(StudentT, locations, scales, shapes),
    st.builds(GeneralNormal, locations, scales, st.floats(0.4, 20.0)),
    st.builds(Gamma, shapes, scales),
    st.builds(
        lambda m, s, w: Mixture(Normal(m, s), np.log(np.array(w) / np.sum(w))),
        st.lists(locations, min_size=3, max_size=3),
        st.lists(scales, min_size=3, max_size=3),
        weights,
    ),
)


@settings(max_examples=draws(80, least=10), deadline=None)
@given(families, levels)
def test_cdf_and_icdf_are_inverse(dist, p):
    y, density = dist.icdf(p), dist.pdf(dist.icdf(p))
    rounding = 4e-15 * np.abs(y) * density  # what a step of one ulp in y does to p
    assert abs(dist.cdf(y) - p) <= 1e-10 * p + rounding
    x = dist.iccdf(p)
    assert abs(dist.ccdf(x) - p) <= 1e-10 * p + 4e-15 * np.abs(x) * dist.pdf(x)


@settings(max_examples=draws(50, least=10), deadline=None)
@given(families, levels, levels)
def test_quantiles_are_ordered(dist, p, q):
    low, high = dist.icdf(min(p, q)), dist.icdf(max(p, q))
    assert low <= high + 1e-12 * abs(high)


@settings(max_examples=draws(50, least=10), deadline=None)
@given(families, locations)
def test_cdf_and_ccdf_sum_to_one(dist, y):
    assert abs(dist.cdf(y) + dist.ccdf(y) - 1.0) < 1e-12
    assert dist.logcdf(y) <= 0.0
    assert dist.logccdf(y) <= 0.0


@settings(max_examples=draws(40, least=10), deadline=None)
@given(st.builds(Normal, locations, scales), st.floats(-30.0, 30.0), scales)
def test_crps_is_in_the_units_of_y(dist, z, unit):
    y = dist.location + z * dist.scale
    rescaled = Normal(unit * dist.location, unit * dist.scale)
    error = unit * dist.crps(y) - rescaled.crps(unit * y)
    assert abs(error) <= 1e-12 * unit * (abs(dist.location) + dist.crps(y))


@settings(max_examples=draws(40, least=10), deadline=None)
@given(families, st.floats(0.01, 0.99))
def test_an_interval_holds_its_coverage(dist, coverage):
    low, high = dist.interval(coverage)
    rounding = 4e-15 * (abs(low) * dist.pdf(low) + abs(high) * dist.pdf(high))
    assert abs(dist.cdf(high) - dist.cdf(low) - coverage) <= 1e-9 + rounding


@settings(max_examples=draws(40, least=10), deadline=None)
@given(st.floats(-1e3, 1e3))
def test_a_bernoulli_is_a_categorical_of_two(logit):
    two, many = Bernoulli.from_logit(logit), Categorical.from_logits([0.0, logit])
    np.testing.assert_allclose(two.log_probabilities(), many.log_probabilities(), 1e-14, 1e-15)
    np.testing.assert_allclose(two.entropy(), many.entropy(), rtol=1e-12, atol=1e-15)
    assert two.mode() == many.mode()
