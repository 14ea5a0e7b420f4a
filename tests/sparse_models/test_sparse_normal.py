"""Columns chosen by evidence in normal noise: against dense formulas, and what must not matter."""

import numpy as np
import pytest
from scipy import special, stats
from scipy.spatial import distance
from sparse_support import select_normal
from support.for_each import for_each

from posterity import designs, kernels, priors
from posterity.sparse import normal as sparse_normal
from posterity.sparse import normal_columns
from posterity.sparse import sequential as sparse_sequential
from posterity.sparse.problem import SparseProblem

CLASSICAL, STUDENT = priors.Sparse(), priors.Sparse(1.0)


def chosen_of(Z, Y, weights=None, *, centred=True, limit_bytes=2**29, **how):
    """From the columns of a matrix."""
    source = designs.CandidateColumns.from_columns(
        designs.MatrixColumnSource(Z), weights, centred=centred, limit_bytes=limit_bytes
    )
    outputs = Y if Y.ndim == 2 else Y[:, None]
    how.setdefault("prior", CLASSICAL)
    return select_normal(source, outputs, weights, centred=centred, **how)


def smooth(rng, N=60, K=1):
    """Columns of a kernel, and outputs that some of them explain."""
    X = np.sort(rng.uniform(-3.0, 3.0, size=(N, 1)), axis=0)
    Z = kernels.RBF(0.8)(X)
    signal = np.column_stack([np.sin((k + 1.0) * X[:, 0]) for k in range(K)])
    return Z, signal + 0.2 * rng.normal(size=(N, K))


def rugged(rng, N=120):
    """Columns of a kernel that are much alike: many maxima."""
    X = rng.random((N, 3))
    y = 5.0 * np.sin(3.0 * X[:, 0] * X[:, 1]) + X[:, 2] + 0.3 * rng.normal(size=N)
    return kernels.RBF(0.7)(X), y


def standardised(Z, weights, centred):
    w = weights / weights.sum()
    center = w @ Z if centred else np.zeros(Z.shape[1])
    return (Z - center) / np.sqrt(w @ (Z - center) ** 2)


def dense_value(Z, y, chosen, *, centred, noise_variance=None):
    """log N(y | 0, C) of one output, with the offset integrated out, noise at its best."""
    N, used = len(y), standardised(Z, np.ones(len(y)), centred)[:, chosen.places]
    V = np.eye(N) + used / chosen.precision @ used.T
    basis = np.eye(N)
    if centred:  # of the space orthogonal to ones, in which a flat offset cannot be seen
        basis = np.linalg.svd(np.ones((1, N)))[2][1:].T
    C, r = basis.T @ V @ basis, basis.T @ y
    best = r @ np.linalg.solve(C, r) / len(r) if noise_variance is None else noise_variance
    return stats.multivariate_normal(np.zeros(len(r)), best * C).logpdf(r)


@for_each("centred", [True, False])
@for_each("noise_variance", [None, 0.09])
def test_the_value_is_the_dense_log_density(centred, noise_variance):
    Z, Y = smooth(np.random.default_rng(0))
    known = None if noise_variance is None else np.array([noise_variance])
    found = chosen_of(Z, Y, centred=centred, noise_variance=known)
    assert 2 <= len(found.places) < 15
    assert found.converged
    dense = dense_value(Z, Y[:, 0], found, centred=centred, noise_variance=noise_variance)
    assert found.value == pytest.approx(dense, abs=1e-6)


def test_the_value_is_no_smaller_beside_any_single_change():
    Z, Y = smooth(np.random.default_rng(1))
    found = chosen_of(Z, Y, tol=1e-6)
    full = np.full(Z.shape[1], np.inf)
    full[found.places] = found.precision
    for j in range(Z.shape[1]):
        for h in (1e-2, 1.0, 30.0, 1e3, np.inf):
            changed = full.copy()
            changed[j] = h
            i = np.flatnonzero(np.isfinite(changed))
            other = sparse_normal._to_chosen(
                sparse_normal.SearchPoint(_columns(Z, Y, i, changed[i]), 0.0, 0), 0.0, True
            )
            assert dense_value(Z, Y[:, 0], other, centred=True) <= found.value + 1e-4


def _columns(Z, Y, places, h):
    source = designs.CandidateColumns.from_columns(designs.MatrixColumnSource(Z), centred=True)
    targets = sparse_normal.NormalTargets.from_outputs(Y, None, centred=True, noise_variance=None)
    return normal_columns.WorkingColumns.from_block(source.take_columns(places), h, targets)


@for_each("weighted, at_once", [(True, False), (False, False), (True, True)])
def test_sparsity_and_quality_are_those_of_the_dense_formulas(weighted, at_once):
    rng = np.random.default_rng(2)
    Z_raw, Y_raw = smooth(rng, N=40, K=3)
    w = rng.uniform(0.2, 3.0, size=40) if weighted else np.ones(40)
    weights = w if weighted else None
    source = designs.CandidateColumns.from_columns(
        designs.MatrixColumnSource(Z_raw), weights, centred=True
    )
    targets = sparse_normal.NormalTargets.from_outputs(
        Y_raw, weights, centred=True, noise_variance=np.ones(3)
    )
    view = normal_columns.BlockProducts(next(source.blocks()), targets, at_once=at_once)
    Z, Y = standardised(Z_raw, w, True), Y_raw - w @ Y_raw / w.sum()
    empty = normal_columns.WorkingColumns.from_block(
        source.take_columns(np.arange(0)), np.ones(0), targets
    )
    view.gains(empty, normal_columns.NoiseModel.for_learning(3), SparseProblem(CLASSICAL))
    for places in ([3, 20], [20, 31, 3], [5]):  # products that were kept serve in any order
        h = np.arange(1.0, 1.0 + len(places))
        columns = normal_columns.WorkingColumns.from_block(
            source.take_columns(np.array(places)), h, targets
        )
        used = Z[:, places]
        C = np.diag(1.0 / w) + used / h @ used.T
        solved = np.linalg.solve(C, np.hstack([Z, Y]))
        S, Q, E = view.sparsity_and_quality(columns)
        np.testing.assert_allclose(S, np.sum(Z * solved[:, :40], axis=0), rtol=1e-9)  # [TF 2003]
        np.testing.assert_allclose(Q, Z.T @ solved[:, 40:], atol=1e-9)
        np.testing.assert_allclose(E, np.sum(Y * solved[:, 40:], axis=0), rtol=1e-9)
        np.testing.assert_allclose(columns.A, used.T @ (w[:, None] * used), rtol=1e-9)
        np.testing.assert_allclose(view.products(columns), used.T @ (w[:, None] * Z), atol=1e-9)
        joined = Z[:, [*places, 7, 30]]
        A = view.join_columns(columns, np.array([7, 30])).A
        np.testing.assert_allclose(A, joined.T @ (w[:, None] * joined), atol=1e-9)


@pytest.mark.parametrize("limit_bytes", [2**29, 120 * 8 * 30])
@pytest.mark.parametrize("degrees_of_freedom", [0.0, 0.5])
def test_the_value_never_decreases_on_the_way(limit_bytes, degrees_of_freedom, monkeypatch):
    monkeypatch.setattr(sparse_normal, "_SHORTLIST", 3)
    Z, y = rugged(np.random.default_rng(3))
    Y = np.column_stack([y, np.roll(y, 1)])
    source = designs.CandidateColumns.from_columns(
        designs.MatrixColumnSource(Z), centred=True, limit_bytes=limit_bytes
    )
    targets = sparse_normal.NormalTargets.from_outputs(Y, None, centred=True, noise_variance=None)
    search = sparse_normal._NormalSearch(
        source, targets, SparseProblem(priors.Sparse(degrees_of_freedom), max_iter=100)
    )
    noise = normal_columns.NoiseModel.for_learning(2)
    start = search.start(None, noise)
    values = [start.value, *(p.value for p in search.path(start, noise, 1e-3))]
    assert len(values) > 2
    assert np.all(np.diff(values) > 0.0)


def test_reheats_never_lower_the_value():
    Z, y = rugged(np.random.default_rng(4))
    values = [chosen_of(Z, y, reheats=n).value for n in range(5)]
    assert np.all(np.diff(values) >= 0.0)
    assert values[-1] > values[0] + 1.0


def test_units_of_columns_and_outputs_do_not_matter():
    rng = np.random.default_rng(5)
    Z, Y = smooth(rng, K=2)
    shift, scale = rng.normal(size=60), 10.0 ** rng.uniform(-6, 6, size=60)
    a = chosen_of(Z, Y)
    b = chosen_of(shift + scale * Z, np.array([7.0, -3.0]) + np.array([1e5, 1e-4]) * Y)
    np.testing.assert_array_equal(a.places, b.places)
    np.testing.assert_allclose(a.precision, b.precision, rtol=1e-4)
    np.testing.assert_allclose(b.scale, scale[b.places] * a.scale, rtol=1e-9)
    assert b.value == pytest.approx(a.value - 59.0 * np.log(1e5 * 1e-4), abs=1e-4)


@for_each("centred", [True, False])
def test_a_weight_of_two_is_a_row_twice(centred):
    rng = np.random.default_rng(6)
    Z, Y = smooth(rng, N=30, K=2)
    weights = rng.integers(1, 4, size=30)
    again = np.repeat(np.arange(30), weights)
    a = chosen_of(Z, Y, weights.astype(float), centred=centred)
    b = chosen_of(Z[again], Y[again], centred=centred)
    np.testing.assert_array_equal(np.sort(a.places), np.sort(b.places))
    assert a.value == pytest.approx(b.value, abs=1e-6)


def test_of_equal_columns_one_is_chosen():
    rng = np.random.default_rng(7)
    Z = rng.normal(size=(50, 4))
    y = Z @ [2.0, 0.0, 1.0, 0.0] + 0.1 * rng.normal(size=50)
    twice = np.hstack([Z, 3.0 - 2.0 * Z])
    found = chosen_of(twice, y)
    assert {0, 2} <= set(found.places % 4)
    assert len(set(found.places % 4)) == len(found.places)
    assert found.value == pytest.approx(chosen_of(Z, y).value, abs=1e-3)


def test_a_sparse_truth_is_recovered():
    rng = np.random.default_rng(8)
    Z = rng.normal(size=(200, 60))
    y = 4.0 + Z[:, [17, 23, 50]] @ [3.0, -2.0, 1.5] + 0.01 * rng.normal(size=200)
    for noise_variance in (None, np.array([1e-4])):
        found = chosen_of(Z, y, prior=STUDENT, noise_variance=noise_variance)
        assert {17, 23, 50} <= set(found.places)
        assert len(found.places) <= 5


def test_a_truth_without_noise_is_recovered():
    rng = np.random.default_rng(9)
    Z = rng.normal(size=(40, 10))
    found = chosen_of(Z, Z[:, 3] - 2.0 * Z[:, 7])
    assert {3, 7} <= set(found.places)
    assert np.isfinite(found.value)


@for_each("limit_bytes", [2**29, 200 * 8 * 16])
@for_each("orthogonal", [True, False])
def test_without_signal_nothing_is_kept(limit_bytes, orthogonal):
    rng = np.random.default_rng(10)
    Z, y = rng.normal(size=(200, 40)), rng.normal(size=200)
    beside = np.column_stack([np.ones(200), *([Z] if orthogonal else [])])
    y -= beside @ np.linalg.lstsq(beside, y, rcond=None)[0]
    found = chosen_of(Z, y, limit_bytes=limit_bytes, prior=CLASSICAL if orthogonal else STUDENT)
    assert len(found.places) == len(found.precision) == len(found.scale) == 0
    assert "no weights" in found.stop_reason
    assert found.converged
    spread = np.mean(y**2) * 200.0 / 199.0
    assert found.value == pytest.approx(-0.5 * 199.0 * (np.log(2.0 * np.pi * spread) + 1.0))


@for_each("centred", [True, False])
@for_each("N", [2, 3])
def test_very_few_rows_are_enough(N, centred):
    X = np.arange(float(N))[:, None]
    for y in (np.arange(float(N)), np.array([1.0, -1.0, 1.0])[:N]):
        found = chosen_of(kernels.RBF(1.0)(X), y, centred=centred)
        assert np.isfinite(found.value)
        assert len(found.places) <= N


def test_outputs_that_do_not_vary_say_nothing():
    Z, Y = smooth(np.random.default_rng(11))
    alone = chosen_of(Z, Y)
    beside = chosen_of(Z, np.hstack([Y, np.full((60, 1), 0.3)]))
    np.testing.assert_array_equal(alone.places, beside.places)
    assert beside.value == pytest.approx(alone.value)
    nothing = chosen_of(Z, np.full(60, 0.3))
    assert len(nothing.places) == 0
    assert nothing.value == 0.0


def test_equal_outputs_are_one_output():
    rng = np.random.default_rng(12)
    Z = rng.normal(size=(60, 8))
    Y = Z[:, :3] @ rng.normal(size=(3, 1)) + rng.normal(size=(60, 1))
    one = chosen_of(Z, Y, tol=1e-6)
    three = chosen_of(Z, np.repeat(Y, 3, axis=1), tol=3e-6)
    np.testing.assert_array_equal(one.places, three.places)
    np.testing.assert_allclose(one.precision, three.precision, rtol=1e-3)
    assert three.value == pytest.approx(3.0 * one.value, rel=1e-9)


def test_many_outputs_share_their_columns():
    rng = np.random.default_rng(13)
    Z = rng.normal(size=(80, 50))
    W = np.zeros((50, 63))
    W[[4, 30]] = rng.normal(size=(2, 63))
    weights = rng.uniform(0.5, 2.0, size=80)
    Y = Z @ W + 0.1 * rng.normal(size=(80, 63))
    found = chosen_of(Z, Y, weights, prior=STUDENT)
    assert sorted(found.places) == [4, 30]


def test_streamed_columns_lead_as_high_as_held_ones():
    rng = np.random.default_rng(14)
    Z = rng.normal(size=(200, 60))
    y = Z[:, :5] @ np.ones(5) + 0.5 * rng.normal(size=200)
    held = chosen_of(Z, y, prior=STUDENT)
    streamed = chosen_of(Z, y, prior=STUDENT, limit_bytes=200 * 8 * 16)
    assert streamed.value == pytest.approx(held.value, abs=0.05)
    assert set(range(5)) <= set(streamed.places) == set(held.places)
    np.testing.assert_allclose(streamed.center, Z.mean(axis=0)[streamed.places])


def test_a_start_is_improved_and_never_worsened():
    Z, Y = smooth(np.random.default_rng(15))
    first = chosen_of(Z, Y)
    again = chosen_of(Z, Y, start=first)
    assert again.value >= first.value - 1e-9
    other = chosen_of(np.hstack([Z[:, :59], np.ones((60, 1))]), Y, start=first)
    assert 59 not in other.places


def test_max_iter_is_kept_and_told():
    Z, Y = smooth(np.random.default_rng(16))
    found = chosen_of(Z, Y, max_iter=1)
    assert (found.n_iter, found.converged) == (1, False)
    assert "max_iter" in found.stop_reason


def test_arrays_of_a_device_give_the_same():
    torch = pytest.importorskip("torch")
    Z, Y = smooth(np.random.default_rng(17), K=2)
    for limit_bytes in (2**29, 60 * 8 * 30):
        a = chosen_of(Z, Y, limit_bytes=limit_bytes)
        b = chosen_of(torch.asarray(Z), Y, limit_bytes=limit_bytes)
        np.testing.assert_array_equal(a.places, b.places)
        assert a.value == pytest.approx(b.value, abs=1e-6)


def test_gains_told_are_gains_made():
    Z, Y = smooth(np.random.default_rng(18))
    columns = _columns(Z, Y, np.array([10, 40]), np.array([0.5, 2.0]))
    source = designs.CandidateColumns.from_columns(designs.MatrixColumnSource(Z), centred=True)
    targets = sparse_normal.NormalTargets.from_outputs(Y, None, centred=True, noise_variance=None)
    view = normal_columns.BlockProducts(next(source.blocks()), targets)
    noise = normal_columns.NoiseModel.for_learning(1)
    gains = view.gains(columns, noise, SparseProblem(CLASSICAL))
    assert gains[10] == gains[40] == 0.0
    best = int(np.argmax(gains))
    working = view.join_columns(columns, np.array([best]))
    moments = noise.moments(working, targets)
    now = sparse_sequential.evidence(moments, working.h)
    grid = [
        sparse_sequential.evidence(moments, np.array([0.5, 2.0, h])) - now
        for h in np.geomspace(1e-4, 1e4, 2000)
    ]
    assert gains[best] == pytest.approx(max(grid), abs=1e-3)


@for_each("seed", range(3))
def test_columns_that_explain_only_together_are_found(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-5.0, 5.0, size=(80, 2))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=80)
    square = distance.cdist(X, X, "sqeuclidean")
    Z = special.xlogy(square, square)  # bent like a thin plate
    told = chosen_of(Z, y, noise_variance=np.array([0.01]))
    from_truth = chosen_of(Z, y, start=told)
    assert chosen_of(Z, y).value > from_truth.value - 10.0


def test_a_start_in_hardly_any_noise_finds_nothing_in_noise():
    rng = np.random.default_rng(0)
    Z, y = kernels.RBF(1.0)(rng.uniform(-5.0, 5.0, size=(80, 1))), rng.normal(size=80)
    none = chosen_of(Z, y, max_iter=0)
    assert chosen_of(Z, y).value < none.value + 10.0


def test_the_noise_that_is_learned_is_never_less_than_rounding():
    Z = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    targets = sparse_normal.NormalTargets.from_outputs(Z, None, centred=True, noise_variance=None)
    block = next(
        designs.CandidateColumns.from_columns(designs.MatrixColumnSource(Z), centred=True).blocks()
    )
    columns = normal_columns.WorkingColumns.from_block(block, np.array([1e-300]), targets)
    least = sparse_sequential.LEAST_NOISE * targets.E / targets.n
    np.testing.assert_allclose(columns.noise_variance(targets), least)
