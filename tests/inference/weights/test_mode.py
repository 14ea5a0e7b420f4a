"""The mode of weights: where Newton ends, how it gets there, and what has no end."""

from dataclasses import replace

import numpy as np
import pytest
from support.for_each import for_each

from posterity import designs, likelihoods
from posterity.inference.weights import few_hessians, mode
from posterity.inference.weights import problem as weight_problem
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import PosteriorObjective, WeightProblem
from posterity.inference.weights.targets import RowTargets


def rows(n=60, m=3, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    Z = np.hstack([rng.normal(size=(n, m)), np.ones((n, 1))])
    A = Z[:, :m] @ rng.normal(size=(m, n_classes)) + rng.gumbel(size=(n, n_classes))
    return Z, np.argmax(A, axis=1).astype(float)


def problem_of(Z, y, *, precision=0.0, weights=None, likelihood=None):
    C = int(y.max()) + 1
    plain = likelihoods.Bernoulli() if C == 2 else likelihoods.Categorical(C)
    t = RowTargets.from_observations(y, weights, likelihood or plain, offset=True)
    design = Z if isinstance(Z, designs.Design) else designs.Dense(Z)
    offset = t.offset_precision if precision else np.zeros((t.n_outputs, t.n_outputs))
    return WeightProblem(design, t, WeightPrior(precision, design.n_columns, offset))


each_count = pytest.mark.parametrize("n_classes", [2, 3, 4])


@each_count
@for_each("precision", [0.0, 0.5])
def test_the_gradient_vanishes_at_the_end(n_classes, precision):
    Z, y = rows(n_classes=n_classes)
    problem = problem_of(Z, y, precision=precision)
    found, t = mode.find_mode(problem), problem.targets
    assert found.converged
    assert not found.separable
    slope = Z.T @ t.slope(t.latents(Z @ found.W)) - problem.prior.multiply_precision(found.W)
    assert np.max(np.abs(slope)) < 1e-10
    assert found.largest_slope < 1e-10
    log_p = t.likelihood.log_prob(y, t.latents(Z @ found.W))
    value = np.sum(log_p) - problem.quadratic(found.W)
    assert found.value == pytest.approx(value, rel=1e-12)


@for_each(
    "likelihood",
    [likelihoods.StudentT(0.05, 1.5), likelihoods.Normal(0.1), likelihoods.Gamma(50.0)],
)
def test_every_step_climbs(likelihood):
    rng = np.random.default_rng(0)
    Z = np.hstack([rng.normal(size=(40, 2)), np.ones((40, 1))])
    y = np.exp(Z @ [1.0, -2.0, 0.5] + 0.3 * rng.standard_t(1.5, size=40))
    problem = problem_of(Z, y, precision=1e-3, likelihood=likelihood)
    values = [mode.find_mode(problem, max_iter=k).value for k in range(1, 16)]
    assert np.all(np.diff(values) >= -1e-9)
    assert mode.find_mode(problem).converged


@each_count
def test_steps_climb_where_whole_newton_steps_would_overshoot(n_classes):
    problem = problem_of(*rows(n_classes=n_classes))
    start = 30.0 * np.random.default_rng(1).normal(size=problem.shape)
    values = [mode.find_mode(problem, start, max_iter=k).value for k in range(1, 9)]
    assert np.all(np.diff(values) >= -1e-9)
    np.testing.assert_allclose(
        mode.find_mode(problem, start).W, mode.find_mode(problem).W, atol=1e-8
    )


@each_count
def test_the_hessian_is_that_of_the_value(n_classes):
    problem = problem_of(*rows(n_classes=n_classes), precision=0.3)
    passes = PosteriorObjective(problem, hessian=True, surely_positive=False)
    x = np.random.default_rng(2).normal(size=problem.shape).reshape(-1)
    passes.value(x)
    H, step = passes.H.copy(), 1e-6
    for i, e in enumerate(step * np.eye(len(x))):
        slope = (passes.value(x + e) - passes.value(x - e)) / (2 * step)
        assert passes.gradient(x)[i] == pytest.approx(slope, rel=1e-6, abs=1e-6)
        row = (passes.gradient(x + e) - passes.gradient(x - e)) / (2 * step)
        np.testing.assert_allclose(H[i], row, rtol=1e-6, atol=1e-6)


def test_weighted_gram_is_a_sum_of_kronecker_products():
    rng = np.random.default_rng(0)
    Z, h = rng.normal(size=(7, 3)), rng.normal(size=(7, 2, 2))
    h = h + h.transpose(0, 2, 1)
    expected = sum(np.kron(np.outer(z, z), hn) for z, hn in zip(Z, h, strict=True))
    np.testing.assert_allclose(weight_problem.weighted_gram(designs.Dense(Z), h), expected)


@pytest.fixture
def dear(monkeypatch):
    """Every Hessian is dear, and samples are small."""
    monkeypatch.setattr(few_hessians, "_EXPENSIVE", 0.0)
    monkeypatch.setattr(few_hessians, "_SAMPLED_ROWS", 150)
    monkeypatch.setattr(few_hessians, "_ROWS_A_WEIGHT", 20)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_approach_of_very_many_weights_ends_at_the_same_weights(n_classes, dear, monkeypatch):
    """A Kronecker product stands for the Hessian of the sample, and L-BFGS for BFGS."""
    problem = problem_of(*rows(1500, 4, n_classes), precision=0.0)
    by_hessian = mode.find_mode(problem)
    monkeypatch.setattr(few_hessians, "_MOST_KEPT", 0)
    monkeypatch.setattr(few_hessians._HessianPreconditioner, "from_sample", None)
    near = mode.find_mode(problem, exactly=False)
    assert "gradient" in near.stop_reason
    np.testing.assert_allclose(near.W, by_hessian.W, atol=2e-5)


@each_count
@pytest.mark.parametrize("precision", [0.0, 2.0])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_approach_by_a_sample_ends_at_the_same_weights(n_classes, precision, weighted, request):
    Z, y = rows(1500, 4, n_classes)
    weights = np.random.default_rng(5).uniform(0.2, 3.0, 1500) if weighted else None
    problem = problem_of(Z, y, precision=precision, weights=weights)
    assert not few_hessians.is_expensive(problem)
    newtons = mode.find_mode(problem)
    request.getfixturevalue("dear")
    assert few_hessians.is_expensive(problem)
    exact = mode.find_mode(problem)
    near = mode.find_mode(problem, exactly=False)
    assert exact.n_iter <= 3  # of Newton: it began next to the mode
    assert "gradient" in near.stop_reason  # L-BFGS had the last word
    np.testing.assert_allclose(exact.W, newtons.W, atol=1e-10)
    np.testing.assert_allclose(near.W, newtons.W, atol=2e-5)
    assert near.value == pytest.approx(newtons.value, abs=1e-7)


@each_count
@pytest.mark.parametrize("known", [True, False])
def test_few_hessians_end_where_newton_does(n_classes, known, monkeypatch):
    """From zero, or from the mode under another prior and with the factor of its Hessian."""
    Z, y = rows(400, 6, n_classes)
    other, problem = (problem_of(Z, y, precision=p) for p in (30.0, 0.5))
    newtons, before = mode.find_mode(problem), LaplaceFit.from_problem(other)
    monkeypatch.setattr(few_hessians, "_EXPENSIVE", 0.0)
    monkeypatch.setattr(few_hessians, "_MANY_WEIGHTS", 1)
    hessians = count_hessians(monkeypatch)
    found = mode.find_mode(problem, *((before.weights.W, before.L) if known else ()))
    assert found.converged
    assert len(hessians) <= (2 if known else 3)
    np.testing.assert_allclose(found.W, newtons.W, atol=1e-10)
    np.testing.assert_allclose(found.hessian, newtons.hessian, rtol=1e-6)
    assert found.value == pytest.approx(newtons.value, rel=1e-13)


def count_hessians(monkeypatch):
    formed, gram = [], weight_problem.weighted_gram
    monkeypatch.setattr(
        weight_problem, "weighted_gram", lambda *args: (formed.append(1), gram(*args))[1]
    )
    return formed


@pytest.mark.parametrize("exactly", [True, False])
def test_rows_that_are_streamed_are_all_heard(dear, exactly):
    """A sample may say where to begin, never where to end."""
    Z, y = rows(1500)
    streamed = designs.Streamed(designs.Chunks.from_arrays(Z, rows=200))
    found = mode.find_mode(problem_of(streamed, y), exactly=exactly)
    np.testing.assert_allclose(found.W, mode.find_mode(problem_of(Z, y)).W, atol=1e-10)


@each_count
@pytest.mark.parametrize("exactly", [True, False])
def test_the_approach_sees_what_has_no_end(dear, n_classes, exactly):
    """A column that is there in one class only; and classes that a line tells apart."""
    Z, y = rows(1500, 3, n_classes)
    Z[:, 1] = (y == 1.0) & (np.arange(1500) % 20 == 0)
    assert mode.find_mode(problem_of(Z, y), exactly=exactly).separable
    apart = np.hstack([y[:, None] == np.arange(n_classes), Z[:, :1], np.ones((1500, 1))])
    assert mode.find_mode(problem_of(apart.astype(float), y), exactly=exactly).separable


def test_dependent_columns_share_the_shortest_weights():
    Z, y = rows(200)
    plain = mode.find_mode(problem_of(Z, y))
    twice = mode.find_mode(problem_of(np.hstack([Z[:, :3], np.zeros((200, 2)), Z]), y))
    assert twice.dependent
    assert not plain.dependent
    assert twice.value == pytest.approx(plain.value, abs=1e-10)
    half = plain.W[:3] / 2.0
    np.testing.assert_allclose(twice.W[:3], half, atol=1e-10)
    np.testing.assert_allclose(twice.W[5:8], half, atol=1e-10)
    np.testing.assert_array_equal(np.abs(twice.W[3:5]) < 1e-12, True)


@for_each("seed", range(8))
@for_each("n_classes", [2, 3])
def test_all_indicators_of_a_category_and_an_offset_share_the_shortest_weights(seed, n_classes):
    """Rounding may let a factorisation pass that has no meaning."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, 300).astype(float)
    Z = np.hstack([rng.normal(size=(300, 3)) @ rng.normal(size=(3, 6)), np.ones((300, 1))])
    Z[:, :4] = np.eye(4)[rng.integers(0, 4, 300)] - 0.25 + 0.1 * Z[:, 4:5]
    found = mode.find_mode(problem_of(Z, y))
    idle = np.linalg.svd(Z)[2][np.linalg.matrix_rank(Z) :]
    assert len(idle) > 0
    assert found.dependent
    np.testing.assert_allclose(idle @ found.W, 0.0, atol=1e-10)


@each_count
def test_rows_of_weight_zero_do_not_decide_what_is_separable(n_classes):
    _, y = rows(60, n_classes=n_classes)
    apart = np.hstack([y[:, None] == np.arange(n_classes), np.ones((60, 1))]).astype(float)
    apart[:4, :2] = apart[:4, 1::-1]  # these rows contradict the others
    weights = np.where(np.arange(60) < 4, 0.0, 1.0)
    assert not mode.find_mode(problem_of(apart[:, 1:], y)).separable or n_classes > 2
    assert mode.find_mode(problem_of(apart, y, weights=weights)).separable


def test_what_is_bounded_by_a_prior_is_not_called_separable():
    Z, y = rows(30)
    Z[:, 0] = 2.0 * y - 1.0
    found = mode.find_mode(problem_of(Z, y, precision=1e-6))
    assert found.converged
    assert not found.separable
    assert mode.find_mode(problem_of(Z, y)).separable


def test_a_search_that_is_cut_short_says_so():
    found = mode.find_mode(problem_of(*rows()), max_iter=1)
    assert not found.converged
    assert "1 Newton steps were not enough" in found.stop_reason


def test_the_prior_is_a_precision_that_is_added():
    prior = WeightPrior(2.0, 3, np.array([[5.0, 1.0], [1.0, 4.0]]))
    full = np.diag([2.0, 2.0, 2.0, 2.0, 0.0, 0.0])
    full[4:, 4:] = [[5.0, 1.0], [1.0, 4.0]]
    W = np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(prior.multiply_precision(W).reshape(-1), full @ W.reshape(-1))
    np.testing.assert_allclose(prior.add_precision(np.zeros((6, 6))), full)
    assert prior.log_determinant(2) == pytest.approx(np.linalg.slogdet(full)[1])
    free = replace(prior, precision=0.0, offset_precision=np.zeros((2, 2)))
    assert free.is_flat
    assert free.log_determinant(2) == 0.0


@for_each("kind", [few_hessians._HessianPreconditioner, few_hessians._KroneckerPreconditioner])
def test_gradients_follow_weights_into_other_coordinates(kind):
    problem = problem_of(*rows(300, 4, 4), precision=0.5)
    rng = np.random.default_rng(0)
    U, G = rng.standard_normal((2, *problem.shape))
    shape = kind.from_sample(problem, 0.1 * rng.standard_normal(problem.shape), total=3000.0)
    assert np.sum(shape.weights(U) * G) == pytest.approx(np.sum(U * shape.gradient(G)), rel=1e-10)


def test_the_hessian_of_a_sample_is_scaled_to_all_rows():
    problem = problem_of(*rows(300, 4, 3), precision=0.5)
    W = np.zeros(problem.shape)
    passes = weight_problem.PosteriorObjective(problem, hessian=True, surely_positive=False)
    H = passes.hessian(W.reshape(-1))
    L = few_hessians._HessianPreconditioner.from_sample(problem, W, total=300.0).L
    np.testing.assert_allclose(L @ L.T, H, rtol=1e-6, atol=1e-6)
    prior = problem.prior.add_precision(np.zeros_like(H))
    ten = few_hessians._HessianPreconditioner.from_sample(problem, W, total=3000.0).L
    np.testing.assert_allclose(ten @ ten.T, 10.0 * (H - prior) + prior, rtol=1e-6, atol=1e-5)
