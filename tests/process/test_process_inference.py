"""``inference=`` of processes: each approximation against quadrature over the latent values."""

import itertools

import numpy as np
import pytest
from support.for_each import for_each

from posterity import GaussianProcessClassifier, GaussianProcessRegressor, kernels, likelihoods
from posterity.process import (
    InducingPosterior,
    ProcessPosterior,
    SitePosterior,
    SoftmaxPosterior,
)

KERNEL = (1.5 * kernels.RBF(1.0)).fixed()
X = np.array([[-1.0], [0.0], [1.3]])
QUERIES = np.array([[-0.5], [0.6], [3.0]])
CASES = {
    "counts": (likelihoods.Poisson(), np.array([0.0, 1.0, 4.0])),
    "amounts": (likelihoods.Gamma(2.0), np.array([0.3, 1.0, 5.0])),
    "outliers": (likelihoods.StudentT(0.4, 4.0), np.array([0.1, -0.2, 2.5])),
    "classes": (likelihoods.Bernoulli(), np.array([0.0, 1.0, 1.0])),
}
# The largest error of a mean, in posterior standard deviations, of a standard deviation, relative,
# and of the log evidence: what each approximation is known for on these rows, and little more.
TOLERANCES = {
    ("counts", "laplace"): (0.3, 0.1, 0.1),
    ("counts", "propagation"): (0.01, 0.01, 0.005),
    ("counts", "variational"): (0.05, 0.05, 0.1),
    ("amounts", "laplace"): (0.3, 0.1, 0.1),
    ("amounts", "propagation"): (0.01, 0.01, 0.005),
    ("amounts", "variational"): (0.05, 0.05, 0.1),
    ("outliers", "laplace"): (0.2, 0.25, 0.5),
    ("outliers", "propagation"): (0.03, 0.03, 0.02),
    ("outliers", "variational"): (0.2, 0.25, 0.5),
    ("classes", "laplace"): (0.3, 0.1, 0.1),
    ("classes", "propagation"): (0.01, 0.01, 0.005),
}


def exactly(likelihood, y, n_nodes=60):
    """Mean and deviation of the function at the queries, and the log evidence, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    L = np.linalg.cholesky(KERNEL(X))
    F = np.array(list(itertools.product(nodes, repeat=3))) @ L.T
    w = np.prod(list(itertools.product(weights / weights.sum(), repeat=3)), axis=1)
    p = w * np.exp(np.sum(likelihood.log_prob(y, F), axis=1))
    A = np.linalg.solve(KERNEL(X), KERNEL(X, QUERIES))  # (3, n)
    means, rest = F @ A, KERNEL.diag(QUERIES) - np.sum(KERNEL(X, QUERIES) * A, axis=0)
    mean = p @ means / p.sum()
    return mean, np.sqrt(p @ (means - mean) ** 2 / p.sum() + rest), np.log(p.sum())


def fitted(name, inference, **options):
    likelihood, y = CASES[name]
    model = GaussianProcessRegressor(
        KERNEL, mean="zero", likelihood=likelihood, inference=inference, **options
    )
    return model.fit(X, y)


def errors(name, inference):
    """Of means in posterior deviations, of deviations relative, of the log evidence."""
    mean, std, evidence = exactly(*CASES[name])
    model = fitted(name, inference)
    latent = model.predict_latent(QUERIES)
    return (
        np.max(np.abs(latent.mean() - mean) / std),
        np.max(np.abs(latent.standard_deviation() / std - 1.0)),
        abs(model.log_evidence_ - evidence),
    )


@pytest.mark.full
@for_each(("name", "inference"), TOLERANCES)
def test_an_approximation_is_as_near_to_quadrature_as_it_is_known_for(name, inference):
    found = errors(name, inference)
    assert np.all(np.array(found) < TOLERANCES[name, inference]), found


@pytest.mark.full(but=1)
@pytest.mark.parametrize("name", CASES)
def test_propagation_is_nearer_than_laplace(name):
    assert np.all(np.array(errors(name, "propagation")) < errors(name, "laplace"))


@for_each(
    ("name", "inference", "found"),
    [
        ("counts", "auto", "variational"),
        ("counts", "laplace", "laplace"),
        ("counts", "propagation", "propagation"),
        ("counts", "variational", "variational"),
        ("outliers", "auto", "variational"),
        ("outliers", "laplace", "laplace"),
        ("outliers", "propagation", "propagation"),
        ("outliers", "variational", "variational"),
        ("classes", "auto", "propagation"),
        ("classes", "laplace", "laplace"),
    ],
)
def test_the_word_chooses_the_posterior(name, inference, found):
    posterior = fitted(name, inference).posterior_
    assert (type(posterior), posterior.inference) == (SitePosterior, found)


def test_the_words_of_normal_noise():
    y = np.array([0.1, -0.2, 2.5])
    for word in ("auto", "exact"):
        model = GaussianProcessRegressor(KERNEL, 0.1, inference=word).fit(X, y)
        assert type(model.posterior_) is ProcessPosterior
    for word in ("auto", "variational"):
        model = GaussianProcessRegressor(KERNEL, 0.1, inference=word, inducing_points=2).fit(X, y)
        assert type(model.posterior_) is InducingPosterior


def test_parameters_are_learned_by_the_evidence_of_propagation():
    rng = np.random.default_rng(0)
    rows = np.sort(rng.uniform(-3.0, 3.0, size=(25, 1)), axis=0)
    y = rng.poisson(np.exp(1.0 + np.sin(2.0 * rows[:, 0])))
    kernel = kernels.Scaled(kernels.RBF())
    options = {"likelihood": likelihoods.Poisson(), "n_restarts": 0, "inference": "propagation"}
    best = GaussianProcessRegressor(kernel, **options).fit(rows, y)
    for factor in (0.8, 1.25):
        moved = best.kernel_.with_theta(best.kernel_.theta + np.log([factor, 1.0])).fixed()
        other = GaussianProcessRegressor(moved, **options).fit(rows, y)
        assert other.log_evidence_ < best.log_evidence_


def test_weights_are_repetitions_for_propagation():
    likelihood, y = CASES["counts"]
    model = GaussianProcessRegressor(
        KERNEL, likelihood=likelihood, inference="propagation", mean="zero"
    )
    once = model.fit(X, y, sample_weight=[1.0, 2.0, 1.0]).predict(QUERIES)
    again = model.fit(X[[0, 1, 1, 2]], y[[0, 1, 1, 2]]).predict(QUERIES)
    np.testing.assert_allclose(once, again, rtol=1e-6)
    with pytest.raises(ValueError, match="whole numbers"):
        model.fit(X, y, sample_weight=[1.0, 0.5, 1.0])


@for_each(
    ("options", "says"),
    [
        ({"inference": "laplace"}, "under normal noise the posterior is exact"),
        ({"inference": "variational"}, "under normal noise the posterior is exact"),
        ({"inference": "exact", "inducing_points": 2}, "variational bound"),
        ({"inference": "guess"}, "must be one of 'auto', 'exact'"),
        ({"inference": "exact", "likelihood": likelihoods.Poisson()}, "only under normal noise"),
        ({"inference": "guess", "likelihood": likelihoods.Poisson()}, "must be one of 'auto'"),
        (
            {"inference": "variational", "likelihood": likelihoods.Normal(1.0)},
            "Normal does not have",
        ),
        (
            {"inference": "propagation", "likelihood": likelihoods.Poisson(), "inducing_points": 2},
            "cannot use inducing points",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(options, says):
    with pytest.raises(ValueError, match=says):
        GaussianProcessRegressor(KERNEL, **options).fit(X, [0.0, 1.0, 4.0])


def test_points_are_conditioned_by_the_approximation_asked_for():
    at_rows = {"inducing_points": X}
    for name in ("counts", "outliers"):
        for word in ("laplace", "variational"):
            through, all_rows = fitted(name, word, **at_rows), fitted(name, word)
            np.testing.assert_allclose(
                through.predict_latent(QUERIES).mean(),
                all_rows.predict_latent(QUERIES).mean(),
                atol=1e-4,
            )


def test_classifiers_take_the_same_words():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 1))
    three = np.digitize(rows[:, 0], [-0.5, 0.5])
    model = GaussianProcessClassifier(KERNEL, inference="variational").fit(rows, three)
    assert type(model.posterior_) is SoftmaxPosterior
    assert model.posterior_.inference == "variational"
    with pytest.raises(ValueError, match="Bernoulli does not have"):
        GaussianProcessClassifier(KERNEL, inference="variational").fit(rows, three > 0)
    with pytest.raises(ValueError, match="only under normal noise"):
        GaussianProcessClassifier(KERNEL, inference="exact").fit(rows, three)
    with pytest.raises(ValueError, match="for two classes"):
        GaussianProcessClassifier(KERNEL, inference="propagation").fit(rows, three)
