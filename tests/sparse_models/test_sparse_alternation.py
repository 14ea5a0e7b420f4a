"""The textbook's alternation: what it ends at, and that it only goes up."""

import dataclasses

import fixed_point
import numpy as np
import pytest
import sparse_support
from fixed_point_models import LaplaceObjective, NormalObjective
from support.for_each import for_each

from posterity import designs, likelihoods, priors
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import sequential as sparse_sequential

NOISE = {"learned": None, "known": np.array([0.16, 0.3])}


def sparse_set(n=60, m=9, n_outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = 1.0 + rng.normal(size=(n, m))
    w = np.zeros((m, n_outputs))
    w[[1, 4, 5]] = rng.normal(size=(3, n_outputs)) + 1.0
    return X, X @ w + 0.4 * rng.normal(size=(n, n_outputs)), rng.integers(1, 4, n).astype(float)


def sinc(n=100, length_scale=0.5, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-10.0, 10.0, n)
    K = np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / length_scale**2)
    return K, (np.sinc(x / np.pi) + 0.1 * rng.normal(size=n))[:, None]


def rows(name, n=80, seed=0):
    """Columns, what was observed, and its likelihood."""
    rng = np.random.default_rng(seed)
    X = 0.5 + rng.normal(size=(n, 6))
    a = 1.5 * X[:, 0] - 1.5 * X[:, 3]
    several = np.column_stack([a, 1.5 * X[:, 1], np.zeros(n)]) + rng.gumbel(size=(n, 3))
    return X, *{
        "bernoulli": (rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-a)), likelihoods.Bernoulli()),
        "poisson": (rng.poisson(np.exp(0.4 * a)), likelihoods.Poisson()),
        "student": (a + 0.3 * rng.standard_t(3.0, n), likelihoods.StudentT(3.0, 0.3)),
        "softmax": (np.argmax(several, axis=1), likelihoods.Categorical(3)),
    }[name]


def candidates(X, weights=None, centred=True, **kwargs):
    return designs.CandidateColumns.from_columns(
        designs.MatrixColumnSource(X), weights, centred=centred, **kwargs
    )


def normal(X, Y, weights=None, *, centred=True, nu=0.0, **kwargs):
    return sparse_support.alternate_normal(
        candidates(X, weights, centred),
        Y,
        weights,
        centred=centred,
        prior=priors.Sparse(nu),
        **kwargs,
    )


def laplace(X, y, likelihood, weights=None, *, offset=True, nu=0.0, **kwargs):
    targets = RowTargets.from_observations(y.astype(float), weights, likelihood, offset=offset)
    return sparse_support.alternate_laplace(
        candidates(X, weights, offset), targets, offset=offset, prior=priors.Sparse(nu), **kwargs
    )


def dense_objective(X, Y, chosen, h, *, centred, noise_variance, nu):
    """log N(Y | 0, sigma2 (I + Z Z^T / h)) of all contrasts of the rows, and the penalty."""
    N = len(Y)
    Q = np.linalg.qr(np.column_stack([np.ones(N), np.eye(N)[:, 1:]]))[0][:, int(centred) :]
    Z = Q.T @ ((X[:, chosen.places] - chosen.center) / chosen.scale)
    n = Q.shape[1]
    C = np.eye(n) + (Z / h) @ Z.T
    value = 0.5 * nu * np.sum(np.log(h) - h + 1.0)
    for k, y in enumerate((Q.T @ Y).T):
        squares = y @ np.linalg.solve(C, y)
        sigma2 = squares / n if noise_variance is None else noise_variance[k]
        log_det = np.linalg.slogdet(C)[1] + n * np.log(2.0 * np.pi * sigma2)
        value -= 0.5 * (log_det + squares / sigma2)
    return value


def slopes(f, h, step=1e-4):
    """Central differences in log h."""
    found = np.empty(len(h))
    for m in range(len(h)):
        up, down = h.copy(), h.copy()
        up[m] *= np.exp(step)
        down[m] *= np.exp(-step)
        found[m] = (f(up) - f(down)) / (2.0 * step)
    return found


@for_each("noise", NOISE)
@for_each("n_outputs", [1, 2])
@for_each("centred", [True, False])
@for_each("nu", [0.0, 0.8])
def test_the_end_is_a_stationary_point_of_the_dense_evidence(noise, n_outputs, centred, nu):
    X, Y, counts = sparse_set(n_outputs=n_outputs)
    given = NOISE[noise] if NOISE[noise] is None else NOISE[noise][:n_outputs]
    found = normal(
        X, Y, counts, centred=centred, nu=nu, noise_variance=given, tol=1e-13, max_iter=20_000
    )
    repeated = np.repeat(np.arange(len(X)), counts.astype(int))

    def objective(h):
        kinds = {"centred": centred, "noise_variance": given, "nu": nu}
        return dense_objective(X[repeated], Y[repeated], found, h, **kinds)

    assert found.converged
    assert {1, 4, 5} <= set(found.places)
    assert found.value == pytest.approx(objective(found.precision), rel=1e-10)
    np.testing.assert_allclose(slopes(objective, found.precision), 0.0, atol=1e-5)


@for_each("nu", [0.0, 0.5])
def test_the_end_is_the_fixed_point_of_the_textbook(nu):
    """[P8 8.36] with [P8 8.37], [P8 8.38], in noise of variance 1."""
    X, Y, _ = sparse_set()
    found = normal(X, Y / 0.4, nu=nu, centred=False, noise_variance=np.ones(1), tol=1e-13)
    Z, h = X[:, found.places] / found.scale, found.precision
    Sigma = np.linalg.inv(Z.T @ Z + np.diag(h))
    mu = Sigma @ Z.T @ (Y[:, 0] / 0.4)
    new = (1.0 - h * np.diagonal(Sigma) + nu) / (mu**2 + nu)
    np.testing.assert_allclose(new, h, rtol=1e-4)


@for_each("nu", [0.0, 1.0])
def test_the_objective_never_falls_in_normal_noise(nu):
    K, Y = sinc(n=60, length_scale=1.0)
    values = [normal(K, Y, nu=nu, tol=1e-9, max_iter=i).value for i in range(1, 40)]
    assert np.all(np.diff(values) >= -1e-9)


@pytest.mark.parametrize("name", ["bernoulli", "poisson", "student", "softmax"])
def test_the_objective_never_falls_for_any_likelihood(name):
    X, y, likelihood = rows(name)
    ends = [laplace(X, y, likelihood, tol=1e-9, max_iter=i)[0] for i in range(1, 10)]
    assert np.all(np.diff([end.value for end in ends]) >= -1e-8)


def test_a_step_too_long_is_shortened():
    X, Y, _ = sparse_set()
    model = normal_model(X, Y)
    end = fixed_point.climb_precisions(model, 1e-10, 5000)[0]
    state = model.evaluate_at(1.1 * end.h, None)
    long = dataclasses.replace(state, step=4.0 * np.sign(state.step))
    assert model.evaluate_at(state.h * np.exp(long.step), None).value < state.value - 1.0
    moved = fixed_point._move_precisions(model, long)
    assert state.value < moved.value <= end.value


def test_columns_whose_removal_together_costs_too_much_do_not_all_go():
    X, Y, _ = sparse_set()
    model = normal_model(X, Y)
    state = fixed_point.climb_precisions(model, 1e-10, 5000)[0]
    worthless = dataclasses.replace(state, worth=np.where(np.isfinite(state.h), -1.0, np.inf))
    assert fixed_point._drop_columns(model, worthless, np.inf).value >= state.value - 1e-9


def test_one_column_of_some_use_among_many_of_none_is_found():
    """All together, columns are better without any effect."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40))
    Y = 0.5 * X[:, [7]] + rng.normal(size=(60, 1))
    model = normal_model(X, Y)
    start = fixed_point._share_precision(model)
    assert model.evaluate_at(1e3 * start.h, None).value > start.value
    assert 7 in normal(X, Y).places


def normal_model(X, Y, nu=0.0, noise_variance=None):
    Z = candidates(X).take_columns(np.arange(X.shape[1])).copy_to_host()
    return NormalObjective.from_columns(
        Z, Y, None, centred=True, noise_variance=noise_variance, prior=priors.Sparse(nu)
    )


def laplace_model(name):
    X, y, likelihood = rows(name)
    targets = RowTargets.from_observations(y.astype(float), None, likelihood, offset=True)
    Z = candidates(X).take_columns(np.arange(X.shape[1])).copy_to_host()
    return LaplaceObjective(Z, targets, True, priors.Sparse())


def models():
    X, Y, _ = sparse_set(n_outputs=2)
    return {
        "learned noise": lambda: normal_model(X, Y),
        "known noise": lambda: normal_model(X, Y, noise_variance=NOISE["known"]),
        "bernoulli": lambda: laplace_model("bernoulli"),
        "poisson": lambda: laplace_model("poisson"),
        "softmax": lambda: laplace_model("softmax"),
    }


@pytest.mark.parametrize("name", models())
def test_what_columns_offer_is_the_derivative_of_the_evidence_where_they_are_out(name):
    """In 1 / h at zero, by a one-sided difference of second order."""
    model = models()[name]()
    M = len(model.even_precisions())
    h = np.where(np.arange(M) < 2, 3.0, np.inf)
    state = model.evaluate_at(h, None)
    s, u = model.offers_of_excluded(state)
    np.testing.assert_array_equal(s[:2], 0.0)
    for m in range(2, M):
        t = 1e-4 / s[m]
        values = [
            model.evaluate_at(np.where(np.arange(M) == m, 1.0 / (i * t), h), None).value
            for i in (1, 2)
        ]
        difference = (4.0 * values[0] - values[1] - 3.0 * state.value) / (2.0 * t)
        expected = 0.5 * (u[m] - model.n_outputs * s[m])
        assert difference == pytest.approx(expected, rel=1e-3, abs=1e-3 * s[m])


@pytest.mark.parametrize("name", models())
def test_a_step_goes_the_way_the_evidence_rises_and_ends_where_it_does_not(name):
    model = models()[name]()
    h = np.exp(np.random.default_rng(1).normal(size=len(model.even_precisions())))
    state = model.evaluate_at(h, None)
    rise = slopes(lambda x: model.evaluate_at(x, None).value, h)
    np.testing.assert_array_equal(np.sign(state.step), np.sign(rise))


@for_each("noise", NOISE)
@for_each("nu", [0.0, 1.0])
def test_the_worth_of_a_column_is_what_its_removal_costs(noise, nu):
    X, Y, _ = sparse_set(n_outputs=2)
    model = normal_model(X, Y, nu, NOISE[noise])
    h = np.linspace(0.5, 40.0, X.shape[1])
    state = model.evaluate_at(h, None)
    for m in range(len(h)):
        without = model.evaluate_at(np.where(np.arange(len(h)) == m, np.inf, h), None)
        assert state.worth[m] == pytest.approx(state.value - without.value, abs=1e-9)


def test_the_worth_of_a_column_of_several_weights():
    """Exact where the curvature is the same everywhere, as it nearly is for tiny weights."""
    model = laplace_model("softmax")
    h = np.full(model.Z.shape[1], 1e6)
    state = model.evaluate_at(h, None)
    for m in range(len(h)):
        without = model.evaluate_at(np.where(np.arange(len(h)) == m, np.inf, h), None)
        assert state.worth[m] == pytest.approx(state.value - without.value, rel=1e-2, abs=1e-8)


@for_each("name", ["bernoulli", "poisson", "student", "softmax"])
@for_each("nu", [0.0, 0.8])
def test_the_end_is_a_stationary_point_of_laplaces_evidence(name, nu):
    X, y, likelihood = rows(name)
    found, fit = laplace(X, y, likelihood, nu=nu, tol=1e-9, max_iter=5000)
    Z = np.column_stack([(X[:, found.places] - found.center) / found.scale, np.ones(len(X))])

    def objective(h):
        targets = fit.problem.targets
        prior = WeightPrior(h, Z.shape[1], targets.offset_precision)
        value = LaplaceFit.from_problem(
            WeightProblem(designs.Dense(Z), targets, prior)
        ).log_evidence
        return value + 0.5 * nu * np.sum(np.log(h) - h + 1.0)

    assert found.converged
    assert {0, 3} <= set(found.places)
    assert found.value == pytest.approx(objective(found.precision), rel=1e-9)
    np.testing.assert_allclose(slopes(objective, found.precision, 1e-3), 0.0, atol=1e-3)


def test_it_ends_where_no_single_column_could_add_anything():
    """Some that went have to come back for that."""
    K, Y = sinc()
    found = normal(K, Y, tol=1e-10, max_iter=20_000)
    Z = candidates(K).take_columns(np.arange(len(K))).copy_to_host()
    R = Y - Y.mean()
    moments = sparse_sequential.Moments.from_products(
        Z.T @ Z, Z.T @ R, kind=sparse_sequential.LEARNED, E=np.sum(R * R, axis=0), n=len(K) - 1.0
    )
    h = np.full(len(K), np.inf)
    h[found.places] = found.precision
    assert sparse_sequential.evidence(moments, h) == pytest.approx(found.value, rel=1e-10)
    more = sparse_sequential.maximise_evidence(moments, h, priors.Sparse(), tol=1e-7)
    assert more.gained < 1e-5


@for_each("nu", [0.0, 1.0])
def test_units_of_columns_and_outputs_change_nothing(nu):
    X, Y, _ = sparse_set(n_outputs=2)
    units = 10.0 ** np.linspace(-6.0, 6.0, X.shape[1])
    one, other = normal(X, Y, nu=nu), normal(X * units + 3.0 * units, 1e-3 * Y - 7.0, nu=nu)
    np.testing.assert_array_equal(one.places, other.places)
    np.testing.assert_allclose(one.precision, other.precision, rtol=1e-6)
    assert other.value == pytest.approx(one.value + 2 * 59 * np.log(1e3), rel=1e-9)


def test_units_of_columns_change_nothing_for_classes():
    X, y, likelihood = rows("softmax")
    units = 10.0 ** np.linspace(-6.0, 6.0, X.shape[1])
    (one, _), (other, _) = laplace(X, y, likelihood), laplace(X * units, y, likelihood)
    np.testing.assert_array_equal(one.places, other.places)
    np.testing.assert_allclose(one.precision, other.precision, rtol=1e-4)


def test_weights_are_repetitions():
    X, y, likelihood = rows("bernoulli")
    counts = np.random.default_rng(5).integers(1, 4, len(X))
    often = np.repeat(np.arange(len(X)), counts)
    weighed, _ = laplace(X, y, likelihood, counts.astype(float), tol=1e-8)
    repeated, _ = laplace(X[often], y[often], likelihood, tol=1e-8)
    np.testing.assert_array_equal(weighed.places, repeated.places)
    np.testing.assert_allclose(weighed.precision, repeated.precision, rtol=1e-4)
    assert weighed.value == pytest.approx(repeated.value, rel=1e-8)


def test_outputs_that_are_the_same_are_like_one():
    X, Y, _ = sparse_set()
    one, three = normal(X, Y, tol=1e-10), normal(X, np.repeat(Y, 3, axis=1), tol=1e-10)
    np.testing.assert_array_equal(one.places, three.places)
    np.testing.assert_allclose(one.precision, three.precision, rtol=1e-2)
    assert three.value == pytest.approx(3.0 * one.value, rel=1e-8)


def test_columns_that_are_the_same_are_chosen_once():
    X, Y, _ = sparse_set()
    twice = np.column_stack([X, -2.0 * X, np.ones(len(X))])
    one, other = normal(X, Y), normal(twice, Y)
    np.testing.assert_array_equal(one.places, other.places)
    assert one.value == pytest.approx(other.value, rel=1e-12)


def test_columns_that_do_not_fit_in_memory_together_make_no_difference():
    X, Y, _ = sparse_set()
    streamed = sparse_support.alternate_normal(
        candidates(X, limit_bytes=1), Y, None, centred=True, prior=priors.Sparse()
    )
    np.testing.assert_array_equal(streamed.places, normal(X, Y).places)


@for_each("offset", [True, False])
def test_nothing_is_kept_where_there_is_nothing_to_explain(offset):
    X = np.sin(np.outer(np.arange(1.0, 41.0), np.arange(1.0, 5.0)))
    y = np.tile([1.0, 1.0, 0.0, 0.0], 10)
    X -= np.outer(y - 0.5, 4.0 * (y - 0.5) @ X / 40.0)  # no column says anything of y
    found, fit = laplace(X, y, likelihoods.Bernoulli(), offset=offset)
    assert found.places.size == 0
    assert fit.weights.W.shape == (int(offset), 1)
    assert found.value == pytest.approx(fit.log_evidence)
    assert normal(X, y[:, None]).places.size == 0


def test_an_output_that_does_not_vary_is_left_out():
    X, Y, _ = sparse_set()
    beside = np.column_stack([Y, np.full(len(Y), 0.1)])
    assert normal(X, beside).value == pytest.approx(normal(X, Y).value, rel=1e-12)
    assert normal(X, beside[:, 1:]).places.size == 0


@for_each("nu", [0.0, 1.0])
def test_two_rows_are_enough(nu):
    found = normal(np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([[0.0], [1.0]]), nu=nu)
    assert np.isfinite(found.value)
    classes, _ = laplace(np.array([[1.0], [3.0]]), np.arange(2.0), likelihoods.Bernoulli(), nu=nu)
    assert np.isfinite(classes.value)


def test_a_perfect_fit_ends():
    X, _, _ = sparse_set()
    found = normal(X, X[:, [1]] - 2.0 * X[:, [4]])
    assert np.isfinite(found.value)
    assert {1, 4} <= set(found.places)


def test_classes_that_can_be_told_apart_end_with_finite_weights():
    X, _, _ = rows("bernoulli")
    found, fit = laplace(X, X[:, 0] > 0.3, likelihoods.Bernoulli())
    assert found.converged
    assert 0 in found.places
    assert np.all(np.isfinite(fit.weights.W))


def test_the_limit_of_iterations_is_told():
    found = normal(*sinc(), max_iter=2)
    assert not found.converged
    assert found.n_iter == 2
    assert "limit" in found.stop_reason
