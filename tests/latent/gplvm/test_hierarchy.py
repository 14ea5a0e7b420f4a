"""Latent spaces of parts under one root, beside dense densities and differences."""

import dataclasses

import numpy as np
import pytest
from scipy import stats
from support.for_each import for_each
from support.latents import with_variance

from posterity import kernels
from posterity.latent.gplvm import hierarchy, placements, search, terms
from posterity.latent.gplvm.descent import Descent
from posterity.latent.gplvm.hierarchy import Levels
from posterity.latent.gplvm.trajectories import TrajectoryPrior

N = 25
LEVELS = Levels(2, (2, 1))
COLUMNS = (np.array([0, 3, 1, 5]), np.array([4, 2, 6]))


def motions(n=N, seed=0):
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 6.0, n)
    F = np.column_stack([np.sin(t), np.cos(t), np.sin(2 * t), np.cos(2 * t)])
    Y = F @ rng.normal(size=(4, 7)) + 0.05 * rng.normal(size=(n, 7))
    return Y - Y.mean(axis=0)


def parts(Y):
    return [Y[:, columns] for columns in COLUMNS]


def standard(R):
    return terms.StandardNormalPrior()


def moving(R):
    return TrajectoryPrior(kernels.RBF(3.0), np.log([[0.5, 30.0]]), np.arange(N), np.zeros(N, int))


def plan(prior=standard, max_iter=30, **changes):
    given = {
        "levels": LEVELS,
        "names": ("a", "b"),
        "kernel": kernels.Scaled(kernels.RBF(1.0)),
        "root_kernel": kernels.RBF(0.7),
        "noise_variance": None,
        "node_noise": 1e-2,
        "prior": prior,
        "max_iter": max_iter,
    }
    return hierarchy.HierarchyPlan(**(given | changes))


def learned(Y, prior=standard, **changes):
    with pytest.warns(match="30 L-BFGS"):
        return hierarchy.fit_hierarchy(plan(prior, **changes), parts(Y), np.random.default_rng(0))


@pytest.fixture(scope="module")
def fitted():
    return learned(motions())


@pytest.fixture(scope="module")
def descent(fitted):
    return Descent.from_hierarchy(fitted, COLUMNS)


def central(f, x, h=1e-5):
    return np.array([(f(x + step) - f(x - step)) / (2 * h) for step in h * np.eye(len(x))])


def normal(Y, K, noise):
    return stats.multivariate_normal(np.zeros(len(K)), K + noise * np.eye(len(K))).logpdf(Y.T).sum()


@for_each("prior", [standard, moving])
def test_log_posterior_is_the_sum_of_dense_densities(prior):
    Y = motions()
    model = learned(Y, prior)
    X = model.found.X
    expected = 0.0
    pairs = zip(model.leaves, model.leaf_numbers, LEVELS.parts, parts(Y), strict=True)
    for leaf, own, at, Y_part in pairs:
        kernel, noise = leaf.read_parameters(own)
        expected += normal(Y_part, kernel(X[:, at]), noise)
    kernel = model.node.kernel.with_theta(model.node_numbers)
    expected += normal(X[:, 2:], kernel(X[:, :2]), 1e-2)
    if prior is standard:
        expected += stats.norm.logpdf(X[:, :2]).sum()
    else:
        K = model.prior.kernel_at(model.prior_numbers)(np.arange(float(N))[:, None])
        expected += normal(X[:, :2], 0.999 * K, 1e-3)
    R = X[:, :2]
    C = R - R.mean(axis=0)
    expected += 0.5 * (N - 4) * np.linalg.slogdet(C.T @ C / N)[1]  # of the volume
    assert model.found.log_posterior == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("missing", [False, True])
def test_gradients_agree_with_differences(fitted, missing):
    Y = motions()
    if missing:
        Y[3:6, 2] = np.nan
        Y[7, COLUMNS[1]] = np.nan
    model = learned(Y) if missing else fitted
    named = zip(model.leaves, LEVELS.parts, strict=True)
    judges = [hierarchy.ChildNode(leaf, at, "part") for leaf, at in named]
    root = hierarchy.ChildNode(model.prior, LEVELS.root, "root")
    problem = search.LatentPointProblem(
        (*judges, model.node, root), placements.FreePlacement(N, 5), 1
    )
    objective = problem.objective()
    x = problem.pack(model.found.X) + 0.01 * np.random.default_rng(1).normal(size=5 * N + 7)
    numeric = central(lambda z: objective(z)[0], x)
    np.testing.assert_allclose(objective(x)[1], numeric, rtol=1e-5, atol=1e-4)


def test_the_curvature_of_the_node_is_that_of_moves_of_its_residual(fitted):
    node, X = fitted.node, fitted.found.X
    kernel, R, J = node.kernel.with_theta(fitted.node_numbers), X[:, :2], X[:, 2:]
    C = kernel(R) + 1e-2 * np.eye(N)
    a = np.linalg.solve(C, J)
    rng = np.random.default_rng(0)
    dX = rng.normal(size=X.shape)
    h = 1e-6 * dX[:, :2]
    moved = (kernel(R + h, R) @ a - kernel(R - h, R) @ a) / 2e-6
    off = dX[:, 2:] - moved
    H = np.zeros((N, 5, N, 5))
    node.add_curvature(H, X, fitted.node_numbers)
    A = H.reshape(5 * N, 5 * N)
    np.testing.assert_allclose(A, A.T, atol=1e-9 * np.abs(A).max())
    np.testing.assert_allclose(
        dX.ravel() @ A @ dX.ravel(), np.sum(off * np.linalg.solve(C, off)), rtol=1e-5
    )


def test_a_term_adds_its_curvature_to_columns_that_it_sees():
    within = hierarchy.ChildNode(terms.StandardNormalPrior(), slice(1, 3), "root")
    H, X = np.zeros((4, 5, 4, 5)), np.zeros((4, 5))
    within.add_curvature(H, X, within.start)
    np.testing.assert_array_equal(H.reshape(20, 20), np.diag(np.tile([0.0, 1.0, 1.0, 0.0, 0.0], 4)))


def test_a_term_does_not_move_columns_that_it_does_not_see():
    within = hierarchy.ChildNode(terms.StandardNormalPrior(), slice(1, 3), "root")
    X = np.random.default_rng(0).normal(size=(4, 5))
    value, dX, own = within(X, within.start)
    assert value == pytest.approx(stats.norm.logpdf(X[:, 1:3]).sum())
    np.testing.assert_array_equal(dX[:, [0, 3, 4]], 0.0)
    np.testing.assert_array_equal(dX[:, 1:3], -X[:, 1:3])
    assert own.shape == (0,)


def test_numbers_are_called_by_part(fitted):
    problem_names = hierarchy.ChildNode(fitted.leaves[0], slice(2, 4), "a").names
    assert problem_names == ["a__variance", "a__kernel__length_scale", "a__noise_variance"]
    assert fitted.node.names == ["root__length_scale"]


def test_the_noise_of_the_node_is_held(fitted):
    assert len(fitted.node_numbers) == 1  # the length scale
    assert fitted.node.outputs(fitted.found.X).noise_variance == 1e-2


def test_a_given_noise_is_not_learned():
    model = learned(motions(), noise_variance=0.02)
    assert [
        leaf.read_parameters(own)[1]
        for leaf, own in zip(model.leaves, model.leaf_numbers, strict=True)
    ] == [
        0.02,
        0.02,
    ]


def test_the_search_starts_at_components_of_variance_one():
    X = hierarchy.start_hierarchy(parts(motions()), LEVELS, np.random.default_rng(0))
    assert X.shape == (N, 5)
    np.testing.assert_allclose(np.mean(X**2, axis=0), 1.0)


def test_a_part_that_never_varies_is_no_obstacle():
    Y = motions()
    Y[:, COLUMNS[1]] = 0.0
    assert np.isfinite(learned(Y).found.log_posterior)


def rows_with_gaps():
    Y = motions(seed=0)[[2, 9, 15, 20]] + 0.02
    Y[1, COLUMNS[1]] = np.nan
    Y[2, [0, 4]] = np.nan
    Y[3] = np.nan
    return Y


def test_row_log_posterior_is_the_sum_of_its_densities(descent):
    Y, X = rows_with_gaps(), descent.X[[2, 9, 15, 20]] + 0.1
    value, _ = descent.log_posterior(X, Y)
    expected = stats.norm.logpdf(X[:, :2]).sum(axis=1)
    mean, variance = with_variance(descent.node.latent(X[:, :2]))
    of_node = stats.norm.logpdf(X[:, 2:], mean, np.sqrt(variance + 1e-2))
    placeholder = stats.norm.logpdf(X[:, 2:])
    gone = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 0], [1, 1, 1]], dtype=bool)
    expected += np.where(gone, placeholder, of_node).sum(axis=1)
    for leaf, columns, at in zip(descent.leaves, COLUMNS, LEVELS.parts, strict=True):
        f, v = with_variance(leaf.latent(X[:, at]))
        density = stats.norm.logpdf(Y[:, columns], f, np.sqrt(v + leaf.noise_variance))
        expected += np.nansum(density, axis=1)
    constant = 0.5 * np.log(2 * np.pi) * (2 + gone.sum(axis=1))
    np.testing.assert_allclose(value, expected + constant, rtol=1e-8)


def test_row_gradients_agree_with_differences(descent):
    Y, X = rows_with_gaps(), descent.X[[2, 9, 15, 20]] + 0.1
    _, slope = descent.log_posterior(X, Y)
    for i in range(len(Y)):
        numeric = central(lambda x, i=i: descent.log_posterior(x[None], Y[[i]])[0][0], X[i])
        np.testing.assert_allclose(slope[i], numeric, rtol=1e-5, atol=1e-5)


def test_located_points_are_maxima(descent):
    Y = rows_with_gaps()[[0, 2]]
    X, S = descent.locate(Y)
    value, slope = descent.log_posterior(X, Y)
    step = np.linalg.cholesky(S)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", S, slope), 0.0, atol=1e-3)
    for q in range(X.shape[1]):
        for sign in (-1.0, 1.0):
            assert np.all(descent.log_posterior(X + sign * step[:, :, q], Y)[0] < value)


def test_covariance_is_that_of_the_curvature(descent):
    Y = rows_with_gaps()[[0]]
    X, S = descent.locate(Y)
    rows = [
        (descent.log_posterior(X + h, Y)[1] - descent.log_posterior(X - h, Y)[1])[0] / 2e-5
        for h in 1e-5 * np.eye(5)
    ]
    np.testing.assert_allclose(S[0] @ -np.array(rows), np.eye(5), atol=1e-3)


def test_a_part_that_was_not_seen_has_no_say_in_the_root(descent):
    Y = rows_with_gaps()[[1]]
    X, _ = descent.locate(Y)
    moved = X.copy()
    moved[:, 4] += 3.0
    a, b = (descent.log_posterior(Z, Y)[1][:, :4] for Z in (X, moved))
    np.testing.assert_allclose(a, b, atol=1e-9)


def test_a_part_that_was_not_seen_is_where_an_unsure_root_says(descent):
    X, S = descent.locate(rows_with_gaps()[[1]])
    rng = np.random.default_rng(0)
    R = rng.multivariate_normal(X[0, :2], S[0, :2, :2], 20_000)
    f, v = with_variance(descent.node.latent(R))
    assert X[0, 4] == pytest.approx(f[:, 2].mean(), abs=0.02)
    assert S[0, 4, 4] == pytest.approx(v[:, 2].mean() + f[:, 2].var() + 1e-2, rel=0.2)
    assert S[0, 4, 4] > v[:, 2].mean() + 1e-2


def test_a_row_without_outputs_is_where_the_prior_is(descent):
    X, S = descent.locate(rows_with_gaps()[[3]])
    np.testing.assert_allclose(X[0, :2], 0.0, atol=1e-5)
    np.testing.assert_allclose(S[0, :2, :2], np.eye(2), atol=1e-5)


def test_where_a_row_is_does_not_depend_on_its_company(descent):
    Y = rows_with_gaps()
    together, alone = descent.locate(Y)[0], descent.locate(Y[[2]])[0]
    np.testing.assert_allclose(together[[2]], alone, atol=1e-5)


def test_outputs_at_root_points_average_over_the_parts(descent):
    R = np.array([[0.3, -0.2]])
    mean, variance = descent.outputs(R)
    rng = np.random.default_rng(0)
    f, v = with_variance(descent.node.latent(R))
    J = f + np.sqrt(v + 1e-2) * rng.normal(size=(20_000, 3))
    for leaf, columns, at in zip(descent.leaves, COLUMNS, ((0, 2), (2, 3)), strict=True):
        g, s = with_variance(leaf.latent(J[:, slice(*at)]))
        np.testing.assert_allclose(mean[0, columns], g.mean(axis=0), atol=0.05)
        spread = s.mean(axis=0) + g.var(axis=0) + leaf.noise_variance
        np.testing.assert_allclose(variance[0, columns], spread, rtol=0.2)


def test_a_moving_root_has_the_variance_of_its_process():
    kernel = 4.0 * kernels.RBF(3.0)
    held = kernel.fixed()
    prior = TrajectoryPrior(held, np.empty((0, 2)), np.arange(N), np.zeros(N, int))
    model = learned(motions(), lambda R: prior)
    assert Descent.from_hierarchy(model, COLUMNS).root_variance == pytest.approx(4.0)


def test_starts_are_weighed_by_noise_of_their_columns_and_by_the_root(descent):
    half = dataclasses.replace(descent, root_variance=0.5)
    places = half._candidates()
    np.testing.assert_allclose(places.cost, 2.0 * np.sum(descent.X[:, :2] ** 2, axis=1))
    for leaf, columns, at in zip(descent.leaves, COLUMNS, LEVELS.parts, strict=True):
        f, v = with_variance(leaf.latent(descent.X[:, at]))
        np.testing.assert_array_equal(places.noise_variance[columns], leaf.noise_variance)
        np.testing.assert_allclose(places.f[:, columns], f)
        np.testing.assert_allclose(places.w[:, columns], 1.0 / (v + leaf.noise_variance))


def path_prior(times, groups, length=2.0):
    return TrajectoryPrior(kernels.RBF(length).fixed(), np.empty((0, 2)), times, groups)


def test_rows_of_a_motion_are_at_the_summit_of_all_together(descent):
    Y = rows_with_gaps()[[0, 2]]
    prior = path_prior(np.array([0.0, 2.5]), np.zeros(2, int))
    X, S = descent.locate_along(Y, prior, prior.start)
    _, slope = descent.log_posterior(X, Y)
    R = X[:, :2]
    slope[:, :2] += R + prior(R, prior.start)[1]  # the motion, in place of a standard normal
    np.testing.assert_allclose(np.einsum("nij,nj->ni", S, slope), 0.0, atol=1e-2)
    alone, _ = descent.locate(Y)
    assert np.linalg.norm(R[0] - R[1]) < np.linalg.norm(alone[0, :2] - alone[1, :2])


def test_rows_of_a_motion_that_ties_nothing_are_where_each_is_by_itself(descent):
    Y = rows_with_gaps()
    prior = path_prior(100.0 * np.arange(4), np.array([0, 0, 1, 1]))
    X, S = descent.locate_along(Y, prior, prior.start)
    X_alone, S_alone = descent.locate(Y)
    np.testing.assert_allclose(X, X_alone, atol=5e-3)
    np.testing.assert_allclose(S, S_alone, atol=5e-3)


def test_a_long_motion_is_taken_apart(monkeypatch, descent):
    Y = rows_with_gaps()[:3]
    whole, first = path_prior(np.arange(3.0), np.zeros(3, int)), path_prior(np.arange(2.0), [0, 0])
    monkeypatch.setattr("posterity.latent.gplvm.trajectories.AT_ONCE", 2 * 5)
    X, S = descent.locate_along(Y, whole, whole.start)
    X_first, S_first = descent.locate_along(Y[:2], first, first.start)
    np.testing.assert_allclose(X[:2], X_first, atol=1e-3)
    np.testing.assert_allclose(S[:2], S_first, atol=1e-3)
