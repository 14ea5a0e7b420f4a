"""A process told through few rows says what the process says, where the few say enough."""

import numpy as np
from support.for_each import for_each
from support.latents import of_one

from posterity import GaussianProcessClassifier, GaussianProcessRegressor, kernels
from posterity.process import exact
from posterity.process.latent import condensed, site_posterior

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
QUERIES = RNG.normal(size=(30, 2), scale=2.0)
LATENT = np.sin(2.0 * X[:, 0]) + X[:, 1]
NOISY = LATENT + 0.3 * RNG.normal(size=80)


def regression(kernel):
    found = GaussianProcessRegressor(kernel.fixed(), 0.1, "zero").fit(X, NOISY).posterior_
    assert isinstance(found, exact.ProcessPosterior)
    return found


def classification(kernel):
    found = GaussianProcessClassifier(kernel.fixed()).fit(X, NOISY > 0.0).posterior_
    assert isinstance(found, site_posterior.SitePosterior)
    return found


def latent(posterior):
    return [np.asarray(part).reshape(len(QUERIES)) for part in of_one(posterior.latent(QUERIES))]


@for_each("fitted", [regression, classification])
def test_all_rows_tell_all_there_is_to_tell(fitted):
    posterior = fitted(3.0 * kernels.Matern(2.0, smoothness=0.5) + kernels.White(0.1))
    mean, variance = latent(posterior)
    m, v = of_one(condensed.CondensedPosterior.from_posterior(posterior, len(X)).latent(QUERIES))
    np.testing.assert_allclose(m, mean, atol=1e-6)
    np.testing.assert_allclose(v, variance, rtol=1e-6)


@for_each("fitted", [regression, classification])
def test_more_rows_tell_more_and_few_tell_enough_of_a_smooth_function(fitted):
    posterior = fitted(2.0 * kernels.RBF(3.0))
    mean, variance = latent(posterior)
    apart = []
    for n_rows in (3, 10, 30):
        few = condensed.CondensedPosterior.from_posterior(posterior, n_rows)
        assert len(few.Z) <= n_rows
        m, v = of_one(few.latent(QUERIES))
        apart.append(max(np.max(np.abs(m - mean)), np.max(np.abs(v - variance))))
    assert apart[0] > apart[1] > apart[2]
    assert apart[2] < 3e-3
