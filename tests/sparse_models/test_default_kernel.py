"""The default kernel: length scales of a process, and the price of what noise would earn."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats
from sparse_support import latent_engine, normal_engine
from support.for_each import for_each

from posterity import kernels, likelihoods
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import default_kernel, kernel_search, vector_prices


def waves(n=60, D=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.7, 1.7, (n, D))
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=n), rng


def log_posterior(X, y, weights, lengths, prior_mean=None):
    """The largest over variance and noise of the evidence of a process, by SciPy; and the prior."""
    C = kernels.RBF(tuple(np.broadcast_to(lengths, X.shape[1])))(X)

    def minus(x):
        variance, noise = np.exp(x)
        return -stats.multivariate_normal.logpdf(
            y, np.zeros(len(y)), variance * C + np.diag(noise / weights)
        )

    best = -optimize.minimize(minus, np.log([1.0, 0.1]), method="Nelder-Mead").fun
    if prior_mean is None:
        return best
    return best + np.sum(stats.norm.logpdf(np.log(lengths), prior_mean, default_kernel._SPREAD))


def test_length_scales_are_those_of_the_largest_posterior_of_a_process():
    X, y, _ = waves(30, 2)
    weights = np.ones(30)
    y = (y - y.mean()) / y.std()
    shared, each = default_kernel.learn_length_scales(X, y[:, None], weights)
    highest = log_posterior(X, y, weights, shared.length_scale)
    mean = np.log(shared.length_scale)
    top = log_posterior(X, y, weights, np.array(each.length_scale), mean)
    for factor in (0.8, 1.25):
        assert log_posterior(X, y, weights, factor * shared.length_scale) < highest
        for column in range(2):
            moved = np.array(each.length_scale)
            moved[column] *= factor
            assert log_posterior(X, y, weights, moved, mean) < top + 0.02


def test_a_row_of_weight_two_is_two_rows_of_a_process():
    X, y, _ = waves(25, 2)
    weights = np.where(np.arange(25) < 8, 2.0, 1.0)
    often = np.repeat(np.arange(25), weights.astype(int))
    one = default_kernel.learn_length_scales(X, y[:, None], weights)
    other = default_kernel.learn_length_scales(X[often], y[often, None])
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a.length_scale, b.length_scale, rtol=0.05)


@for_each(("n", "D", "n_kernels"), [(20, 1, 1), (5, 5, 1), (20, 2, 2)])
def test_columns_have_lengths_of_their_own_where_there_are_more_rows(n, D, n_kernels):
    X, y, _ = waves(n, max(2, D))
    assert len(default_kernel.learn_length_scales(X[:, :D], y[:, None])) == n_kernels


def test_noise_is_priced_by_the_number_of_unlike_columns():
    rng = np.random.default_rng(0)
    Z, w = rng.normal(size=(40, 3)), rng.uniform(0.5, 2.0, 40)
    Z /= np.sqrt(w @ Z**2 / w.sum())
    n_rows = (w @ Z**2) ** 2 / (w @ Z**4)  # that each column speaks for
    each = 1.0 + np.log(w.sum() / n_rows)
    assert vector_prices.price_noise(Z, w, np.ones(3)) == pytest.approx(each.sum())
    own = np.array([[1.0, 2.0], [np.inf, 1.0], [np.inf, np.inf]])
    assert vector_prices.price_noise(Z, w, own) == pytest.approx(2.0 * each[0] + each[1])


def test_the_criterion_is_the_evidence_less_prices():
    X, y, rng = waves()
    found = default_kernel.learn_default_kernel(normal_engine(X, y, rng), rng=rng)
    K = found.kernel(X, X[found.chosen.places])
    kurtosis = stats.kurtosis(K, axis=0, fisher=False)
    price = np.sum(1.0 + np.log(kurtosis)) + (len(found.kernel.theta) - 1)
    assert found.criterion == pytest.approx(found.chosen.value - price)
    assert found.kernel.length_scale[2] > 3.0 * found.kernel.length_scale[0]


@pytest.mark.full
@for_each(
    "likelihood", [likelihoods.Bernoulli(), likelihoods.Categorical(3), likelihoods.Poisson()]
)
def test_any_likelihood_asks_for_lengths_like_those_of_values(likelihood):
    X, y, rng = waves(150)
    codes = np.digitize(y, [0.0, 0.6][: 1 if likelihood == likelihoods.Bernoulli() else 2])
    targets = RowTargets.from_observations(codes.astype(float), None, likelihood, offset=True)
    found = default_kernel.learn_default_kernel(latent_engine(X, targets, rng), rng=rng)
    lengths = np.broadcast_to(found.kernel.length_scale, 3)
    assert 0.3 < lengths[0] < 5.0
    assert len(found.chosen.places)


def test_targets_that_do_not_vary_leave_no_vector():
    X, _, rng = waves(20)
    found = default_kernel.learn_default_kernel(normal_engine(X, np.full(20, 0.1), rng), rng=rng)
    assert not len(found.chosen.places)


def test_many_rows_choose_the_width_on_a_part_of_them(monkeypatch):
    monkeypatch.setattr(default_kernel, "_FEW_ROWS", 40)
    monkeypatch.setattr(default_kernel, "_PROCESS_ROWS", 30)
    monkeypatch.setattr(default_kernel, "MANY_ROWS", 50)
    X, y, rng = waves(60, 2)
    found = default_kernel.learn_default_kernel(normal_engine(X, y, rng), rng=rng)
    assert np.max(found.chosen.places) >= 0
    assert found.chosen.value == pytest.approx(
        normal_engine(X, y, rng).select(found.kernel, None, coarse=False)[0].value
    )


def test_a_search_ends_where_vectors_earn_far_less_than_they_cost_and_nowhere_else():
    """As each row of noise of its own would become a vector, for a third of a nat."""
    X, y, rng = waves(80)
    noise = rng.normal(size=80)
    chosen = {}
    for must_earn in (False, True):
        for name, targets, length in (("wave", y, 1.0), ("noise", noise, 0.3)):
            engine = normal_engine(X, targets, rng)
            engine = replace(engine, problem=replace(engine.problem, must_earn=must_earn))
            chosen[name, must_earn] = engine.select(kernels.RBF(length), None, coarse=False)[0]
    np.testing.assert_array_equal(chosen["wave", True].places, chosen["wave", False].places)
    np.testing.assert_array_equal(chosen["wave", True].precision, chosen["wave", False].precision)
    assert len(chosen["noise", True].places) < len(chosen["noise", False].places)
    for found in (chosen["noise", True], chosen["noise", False]):
        none = kernel_search.fit_nothing(engine, kernels.RBF(0.3))[0]
        assert vector_prices.is_hopeless(found.value - none.value, len(found.places))
