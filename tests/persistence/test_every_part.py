"""Every kernel, feature space, likelihood, prior and family of tests survives a file."""

import inspect

import numpy as np
import pytest
from persistence_cases import assert_same

from posterity import features, kernels, likelihoods, persistence, priors, trees

X = np.random.default_rng(0).uniform(size=(12, 2))


def product(A, B):
    return A @ B.T


def answer(rows, place, test):
    return rows[place, int(test[0])]


def draw(n, rng):
    return rng.integers(2, size=(n, 1))


PARTS = [
    kernels.RBF([1.0, 2.0]).bounded(length_scale=(0.1, 10.0)),
    kernels.Matern(1.5).fixed(),
    kernels.RationalQuadratic(1.0, ard=True),
    kernels.Periodic(2.0),
    kernels.Linear(),
    kernels.Polynomial(3),
    kernels.Cosine(),
    kernels.ChiSquared(0.5),
    kernels.AdditiveChiSquared(),
    kernels.Categorical(),
    kernels.Columns(kernels.RBF(), [0, "b"]),
    kernels.Constant(2.0),
    kernels.White(1e-3),
    kernels.Scaled(kernels.RBF(), 2.0),
    kernels.RBF() + kernels.Linear(),
    kernels.RBF() * kernels.Linear(),
    kernels.Function(product),
    kernels.Spectrum(2),
    kernels.Subsequence(2, normalize=False),
    kernels.SubsetTree(0.3),
    kernels.WeisfeilerLehman(1),
    kernels.ShortestPath(),
    kernels.Graph("CCO", [(0, 1), (1, 2)]),
    features.Identity(),
    features.Polynomial(3).fit(X),
    features.Radial(4).fit(X),
    features.Arctan(3).fit(X),
    features.Heaviside(3).fit(X),
    features.KernelColumns(product).fit(X),
    features.LearnedArctan(2),
    features.LearnedRadial(2),
    likelihoods.Normal(0.5),
    likelihoods.StudentT(1.0, 4.0),
    likelihoods.Gamma(2.0),
    likelihoods.Beta(20.0),
    likelihoods.Ordinal([1, 2, 3], [1.0], "probit"),
    likelihoods.LogNormal(0.5),
    likelihoods.NegativeBinomial(2.0),
    likelihoods.Poisson(),
    likelihoods.Bernoulli(),
    likelihoods.Categorical(3),
    priors.Flat(),
    priors.Normal(2.0),
    priors.Sparse(1.0),
    trees.Columns().adapt_to(X),
    trees.Differences().adapt_to(X),
    trees.Projections().adapt_to(X),
    trees.Orientations(4).adapt_to(X),
    trees.Function(answer, draw),
]
BASES = (kernels.Kernel, features.Features, likelihoods.Likelihood, likelihoods.Coupled)
BASES += (priors.Prior, trees.Family)


def public_parts():
    for room in (kernels, features, likelihoods, priors, trees):
        for name in room.__all__:
            thing = getattr(room, name)
            if isinstance(thing, type) and issubclass(thing, BASES):
                yield thing


def test_every_public_part_is_in_the_table():
    concrete = {part for part in public_parts() if not inspect.isabstract(part)}
    assert concrete <= {type(part) for part in PARTS} | set(BASES) | {kernels.Stationary}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: repr(part).partition(" at 0x")[0][:60])
def test_a_part_comes_back_as_it_was(part, tmp_path):
    own = (product, answer, draw)
    persistence.save(part, tmp_path / "part", classes=own)
    loaded = persistence.load(tmp_path / "part", classes=own)
    assert_same(part, loaded)
    if isinstance(part, features.Features) and hasattr(part, "n_features_in_"):
        np.testing.assert_array_equal(part.transform(X), loaded.transform(X))
