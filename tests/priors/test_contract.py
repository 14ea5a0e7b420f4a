"""What every prior promises; a new one needs a row in the table and nothing else."""

import inspect
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from scipy import stats
from support.for_each import for_each

from posterity import priors

W = np.array([-30.0, -0.3, 0.7, 100.0])
VARIANCES = np.array([0.1, 1.0, 7.0, 1e4])
TABLE = {  # the log density by SciPy where there is one
    "flat": (priors.Flat(), None),
    "normal": (priors.Normal(2.0), stats.norm(0.0, np.sqrt(2.0))),
    "normal of several variances": (priors.Normal(VARIANCES), stats.norm(0.0, np.sqrt(VARIANCES))),
    "laplace": (priors.Laplace(0.5), stats.laplace(0.0, 0.5)),
    "laplace of several scales": (priors.Laplace(VARIANCES), stats.laplace(0.0, VARIANCES)),
    "sparse": (priors.Sparse(), None),
    "sparse of some degrees of freedom": (priors.Sparse(5.0), stats.t(5.0)),
}
every_prior = pytest.mark.parametrize(("prior", "theirs"), TABLE.values(), ids=TABLE.keys())
proper = {name: row for name, row in TABLE.items() if row[1] is not None}
every_proper_prior = pytest.mark.parametrize(("prior", "theirs"), proper.values(), ids=proper)


def concrete_subclasses(cls):
    below = [s for child in cls.__subclasses__() for s in concrete_subclasses(child)]
    return below if inspect.isabstract(cls) else [cls, *below]


def test_every_prior_has_a_row_in_the_table():
    library = {
        c for c in concrete_subclasses(priors.Prior) if c.__module__.startswith("posterity.")
    }
    assert library == {type(prior) for prior, _ in TABLE.values()}


@every_prior
def test_a_prior_is_a_value(prior, theirs):
    parameters = {f.name: getattr(prior, f.name) for f in fields(prior)}
    assert type(prior)(**parameters) == prior
    assert prior != 3
    for name in parameters:
        with pytest.raises(FrozenInstanceError):
            setattr(prior, name, 1.0)


@every_proper_prior
def test_log_prob_has_all_its_constants(prior, theirs):
    np.testing.assert_allclose(prior.log_prob(W), theirs.logpdf(W), rtol=1e-13)


@every_prior
@for_each(("value", "slope"), [("log_prob", "d1"), ("d1", "d2")])
def test_derivatives_agree_with_differences(prior, theirs, value, slope):
    h = 1e-4
    f = getattr(prior, value)
    difference = (f(W + h) - f(W - h)) / (2.0 * h)
    assert getattr(prior, slope)(W).shape == W.shape
    np.testing.assert_allclose(getattr(prior, slope)(W), difference, rtol=1e-6, atol=1e-6)


@every_prior
def test_precision_is_the_curvature(prior, theirs):
    np.testing.assert_array_equal(prior.precision(W), -prior.d2(W))
    log_concave = not isinstance(prior, priors.Sparse)
    assert np.all(prior.precision(W) >= 0.0) == log_concave


@every_proper_prior
def test_samples_have_the_moments(prior, theirs):
    draws = prior.sample((20_000, 4), rng=np.random.default_rng(0))
    np.testing.assert_allclose(draws.std(axis=0) / theirs.std(), 1.0, atol=0.05)
    assert np.all(np.abs(draws.mean(axis=0)) < 5.0 * theirs.std() / np.sqrt(20_000))
    for u in theirs.cdf(draws).T:
        assert stats.kstest(u, "uniform").pvalue > 1e-3


def test_what_cannot_be_sampled_says_so():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="flat prior does not integrate to one"):
        priors.Flat().sample(3, rng=rng)
    with pytest.raises(ValueError, match="infinite prior variance"):
        priors.Normal([1.0, np.inf]).sample(2, rng=rng)
    with pytest.raises(ValueError, match="zero degrees of freedom does not integrate to one"):
        priors.Sparse().sample(2, rng=rng)


def test_infinite_variance_is_flat():
    free, flat = priors.Normal(np.inf), priors.Flat()
    for method in ("log_prob", "d1", "d2", "precision"):
        np.testing.assert_array_equal(getattr(free, method)(W), getattr(flat, method)(W))
    mixed = priors.Normal([np.inf, 2.0]).log_prob([5.0, 1.0])
    np.testing.assert_allclose(mixed, [0.0, stats.norm.logpdf(1.0, 0.0, np.sqrt(2.0))])


def test_the_corner_of_the_laplace_prior_has_slope_zero():
    assert priors.Laplace(0.5).d1(0.0) == 0.0


@for_each("bad", [0.0, -1.0, np.nan, [1.0, 0.0]])
def test_impossible_parameters_are_refused(bad):
    with pytest.raises(ValueError, match="variance must be positive"):
        priors.Normal(bad)
    with pytest.raises(ValueError, match="scale must be positive"):
        priors.Laplace(bad)
