"""Probabilities averaged over a vector that may have no weight are those of an integral."""

import numpy as np

from posterity import RelevanceVectorClassifier, kernels
from posterity.inference.averaging import PosteriorMixture
from posterity.sparse import SparsePosterior


def rows(n=24, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 1))
    p = 1.0 / (1.0 + np.exp(1.5 - 4.0 * np.exp(-2.0 * (X[:, 0] - 0.5) ** 2)))
    return X, rng.random(n) < p


def integrate_probabilities(model, X, y, queries):
    """Of the second class, over weight, offset, prior variance and whether there is a weight."""
    targets = model.posterior_.best.fit.problem.targets
    K, k = (np.exp(-0.5 * (Z - model.relevance_vectors_.T) ** 2)[:, 0] for Z in (X, queries))
    z, q = (K - K.mean()) / K.std(), (k - K.mean()) / K.std()
    x = np.linspace(-6.0, 6.0, 81)
    b = targets.shift[0] + np.sqrt(targets.offset_variance[0]) * x
    signs, prior = np.where(y, 1.0, -1.0), np.exp(-0.5 * x**2) / np.sum(np.exp(-0.5 * x**2))

    def integrate(deviation, weight):
        a = deviation * x[:, None, None] * z + b[:, None]
        evidence = weight * np.exp(-np.sum(np.logaddexp(0.0, -signs * a), axis=-1))
        joint = evidence * np.outer(prior, prior)
        latent = deviation * x[:, None, None] * q + b[:, None]
        return np.sum(joint), np.einsum("wb,wbn->n", joint, 1.0 / (1.0 + np.exp(-latent)))

    price = np.exp(-1.0) / (len(y) * np.sum(z**4) / np.sum(z**2) ** 2)
    found = [integrate(0.0, 1.0)]
    for u in np.arange(-4.5, 5.5, 0.5):
        found.append(integrate(np.exp(0.5 * u), 0.5 * price / (2.0 * np.pi * np.cosh(0.5 * u))))
    total, p = (sum(part) for part in zip(*found, strict=True))
    return p / total


def test_a_part_without_some_vectors_has_the_covariance_of_the_others():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (60, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=60) > 0.0
    model = RelevanceVectorClassifier(kernels.RBF(1.0).fixed()).fit(X, y)
    K = model.kernel_(X[:5], model.relevance_vectors_)
    partial = [one for one in model.posterior_.parts if not np.isfinite(one.precision).all()]
    assert len(partial) > 1
    for part in partial:
        used = np.append(np.isfinite(part.precision), True)
        z = np.column_stack([(K - part.center) / part.scale, np.ones(5)])[:, used]
        L = part.fit.L
        dense = np.sum(z * np.linalg.solve(L @ L.T, z.T).T, axis=1)
        np.testing.assert_allclose(part.latent(K).variance[:, 0], dense, rtol=1e-9)


def test_probabilities_are_those_of_an_integral():
    X, y = rows(seed=3)
    queries = np.linspace(-2.0, 2.0, 9)[:, None]
    model = RelevanceVectorClassifier(kernels.RBF(1.0).fixed()).fit(X, y)
    assert len(model.relevance_) == 1
    assert isinstance(model.posterior_, PosteriorMixture)
    dense = integrate_probabilities(model, X, y, queries)
    np.testing.assert_allclose(model.predict_proba(queries)[:, 1], dense, atol=0.01)
    best = RelevanceVectorClassifier(model.kernel, hyperparameters="maximise").fit(X, y)
    assert isinstance(best.posterior_, SparsePosterior)
    assert np.max(np.abs(best.predict_proba(queries)[:, 1] - dense)) > 0.04
