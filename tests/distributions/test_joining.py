"""Several batches of predictions made one."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import distributions
from posterity.distributions import joining


def some(n, seed):
    rng = np.random.default_rng(seed)
    location, scale = rng.normal(size=(n, 2)), rng.gamma(2.0, size=(n, 2))
    p = rng.dirichlet(np.ones(3), size=n)
    normals = distributions.Normal(location, scale)
    return [
        normals,
        distributions.StudentT(location, scale, 4.0),
        distributions.GeneralNormal(location, scale, 1.5),
        distributions.Gamma(scale[:, 0], 2.0),
        distributions.Poisson(scale[:, 0]),
        distributions.PoissonLogNormal(location[:, 0], 0.5),
        distributions.Bernoulli.from_logit(location[:, 0]),
        distributions.Categorical(np.log(p)),
        distributions.AveragedCategorical(np.log(p), p[:, 0]),
        distributions.Mixture(normals, np.log([0.3, 0.7])),
    ]


@for_each("i", range(10))
def test_the_joined_batch_is_sliced_into_its_parts(i):
    parts = [some(n, n)[i] for n in (3, 1, 5)]
    whole = joining.concatenate_predictions(parts)
    assert type(whole) is type(parts[0])
    assert len(whole) == 9
    for part, rows in zip(parts, (slice(3), slice(3, 4), slice(4, 9)), strict=True):
        assert whole[rows] == part
        np.testing.assert_array_equal(whole.mean()[rows], part.mean())
        np.testing.assert_array_equal(whole.icdf(0.3)[rows], part.icdf(0.3))


def test_mixtures_of_more_and_of_fewer_components_are_joined_without_a_change():
    few = distributions.Mixture(distributions.Normal([[0.0, 2.0]], 1.0), np.log([0.5, 0.5]))
    many = distributions.Mixture(
        distributions.Normal([[0.0, 2.0, 5.0, 7.0]], 2.0), np.log([0.1, 0.2, 0.3, 0.4])
    )
    whole = joining.concatenate_predictions([few, many])
    assert whole.components.shape == (2, 4)
    y = 1.3
    for method in ("cdf", "logpdf", "crps"):
        expected = np.concatenate([getattr(part, method)(y) for part in (few, many)])
        np.testing.assert_allclose(getattr(whole, method)(y), expected, rtol=1e-12)
    for method in ("mean", "variance", "entropy", "median", "epistemic_variance"):
        expected = np.concatenate([getattr(part, method)() for part in (few, many)])
        np.testing.assert_allclose(getattr(whole, method)(), expected, rtol=1e-9)


def test_the_joined_batch_is_a_value():
    whole = joining.concatenate_predictions(
        [distributions.Normal([0.0], 1.0), distributions.Normal([1.0], 1.0)]
    )
    with pytest.raises(ValueError, match="read-only"):
        whole.location[0] = 3.0


def test_two_families_are_not_joined():
    parts = [distributions.Normal([0.0], 1.0), distributions.StudentT([0.0], 1.0, 3.0)]
    with pytest.raises(
        TypeError, match=r"one family are joined; these are \['Normal', 'StudentT'\]"
    ):
        joining.concatenate_predictions(parts)
