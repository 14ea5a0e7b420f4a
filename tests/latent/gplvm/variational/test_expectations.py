"""Averages of kernels over normal inputs, beside quadrature; adjoints, beside differences."""

from dataclasses import replace

import numpy as np
import pytest

from posterity import kernels
from posterity.latent.gplvm.variational import (
    cubature,
    expectations,
    radial,
    radial_rows,
    statistics,
)
from posterity.latent.gplvm.variational.statistics import NormalPoints, Weighting

N, M, Q, G = 5, 4, 2, 3

CLOSED = [
    kernels.RBF(0.9),
    2.0 * kernels.RBF([0.8, 1.3]),
    kernels.Linear(0.7),
    0.6 * kernels.Linear([0.3, 1.2]),
    kernels.Constant(0.4),
    kernels.Linear(0.7) + 0.2 + kernels.White(0.1),
    kernels.RBF(0.9) + 0.5,
    0.5 * (1.5 * kernels.RBF([0.8, 1.3]) + kernels.Linear([0.3, 1.2]) + 0.3) + kernels.White(0.1),
    kernels.RBF(0.9).fixed() + 0.7 * kernels.Linear([0.3, 1.2]).fixed() + kernels.Constant(2.0),
    (2.0 * kernels.RBF([0.8, 1.3])).fixed("variance") + kernels.Linear(1.0) + kernels.Linear(0.2),
]
BY_POINTS = [
    kernels.Matern(1.2, smoothness=2.5),
    kernels.RBF(1.0) * kernels.Linear(0.5) + kernels.White(0.3),
    kernels.RBF(0.5) + 2.0 * kernels.RBF([1.0, 3.0]),
    kernels.Polynomial(3, offset=0.5),
]


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.0, 1.0, (G, N))
    weights[0, 1], weights[1, :3] = 0.0, 0.0
    m, Z = rng.standard_normal((N, Q)), rng.standard_normal((M, Q))
    return NormalPoints(m, rng.uniform(0.05, 0.6, (N, Q)), Z, weights)


@pytest.fixture
def given():
    rng = np.random.default_rng(1)
    H = rng.standard_normal((G, M, M))
    return Weighting(rng.standard_normal(G), rng.standard_normal((N, M)), H + H.transpose(0, 2, 1))


def by_quadrature(kernel, points, n_nodes=90):
    """psi0 (N,), psi1 (N, M) and psi2 (N, M, M), row by row, over a grid of nodes."""
    x, w = np.polynomial.hermite_e.hermegauss(n_nodes)
    nodes = np.stack([a.ravel() for a in np.meshgrid(x, x)], axis=1)
    mass = np.outer(w, w).ravel() / np.sum(w) ** 2
    zero, one, two = [], [], []
    for m, S in zip(points.m, points.S, strict=True):
        X = m + np.sqrt(S) * nodes
        K = kernel(X, points.Z)
        zero.append(mass @ kernel.diag(X))
        one.append(mass @ K)
        two.append((K * mass[:, None]).T @ K)
    return np.array(zero), np.array(one), np.array(two)


def linear_function(kernel, points, given):
    s = expectations.compute_statistics(kernel, points)
    return given.psi0 @ s.psi0 + np.sum(given.psi1 * s.psi1) + np.sum(given.psi2 * s.psi2)


def assert_slopes_are_those_of_differences(kernel, points, given):
    slopes = expectations.pull_back(kernel, points, given)
    assert np.sum(slopes.value) == pytest.approx(linear_function(kernel, points, given), rel=1e-12)
    places = {"m": points.m, "S": points.S, "Z": points.Z, "theta": kernel.theta}
    for name, here in places.items():
        differences = np.zeros_like(here)
        for at in np.ndindex(here.shape):
            step = np.zeros_like(here)
            step[at] = 1e-6

            def moved(x, name=name):
                if name == "theta":
                    return linear_function(kernel.with_theta(x), points, given)
                return linear_function(kernel, replace(points, **{name: x}), given)

            differences[at] = (moved(here + step) - moved(here - step)) / 2e-6
        np.testing.assert_allclose(getattr(slopes, name), differences, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kernel", CLOSED, ids=str)
def test_closed_forms_are_the_integrals(kernel, points):
    assert statistics.read_kernel(kernel, Q) is not None
    s = expectations.compute_statistics(kernel, points)
    zero, one, two = by_quadrature(kernel, points)
    np.testing.assert_allclose(s.psi0, points.weights @ zero, rtol=1e-12)
    np.testing.assert_allclose(s.psi1, one, rtol=0.0, atol=1e-11)
    psi2 = np.tensordot(points.weights, two, axes=1)
    np.testing.assert_allclose(s.psi2, psi2, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("kernel", CLOSED + BY_POINTS, ids=str)
def test_adjoints_are_differences(kernel, points, given):
    assert_slopes_are_those_of_differences(kernel, points, given)


@pytest.mark.parametrize("kernel", [CLOSED[7], BY_POINTS[0]], ids=str)
def test_the_value_of_a_row_is_its_own(kernel, points, given):
    """Row by row, <given, averages of that row>: what the bound of one new row is made of."""
    values = expectations.pull_back(kernel, points, given).value
    for n in range(N):
        row = NormalPoints(points.m[[n]], points.S[[n]], points.Z, points.weights[:, [n]])
        alone = linear_function(kernel, row, replace(given, psi1=given.psi1[[n]]))
        assert values[n] == pytest.approx(alone, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("kernel", BY_POINTS, ids=str)
def test_other_kernels_are_averaged_over_points(kernel, points):
    assert statistics.read_kernel(kernel, Q) is None
    near = replace(points, S=1e-3 * points.S)
    s, (zero, one, two) = expectations.compute_statistics(kernel, near), by_quadrature(kernel, near)
    np.testing.assert_allclose(s.psi0, near.weights @ zero, rtol=1e-5)
    np.testing.assert_allclose(s.psi1, one, rtol=0.0, atol=3e-6)
    psi2 = np.tensordot(near.weights, two, axes=1)
    np.testing.assert_allclose(s.psi2, psi2, rtol=1e-4, atol=1e-5)


def test_points_are_exact_where_averages_are_of_third_degree(points, given):
    kernel = kernels.Linear([0.3, 1.2]) + 0.3
    exact, by_points = (
        expectations.compute_statistics(kernel, points),
        cubature.compute_statistics(kernel, points),
    )
    for name in ("psi0", "psi1", "psi2"):
        np.testing.assert_allclose(getattr(by_points, name), getattr(exact, name), rtol=1e-12)
    one = expectations.pull_back(kernel, points, given)
    two = cubature.pull_back(kernel, points, given)
    for name in ("value", "m", "S", "Z", "theta"):
        np.testing.assert_allclose(getattr(two, name), getattr(one, name), rtol=1e-9, atol=1e-10)


def test_sure_points_have_plain_kernels(points):
    kernel = CLOSED[7]
    sure = replace(points, S=np.full((N, Q), 1e-14))
    s, K = expectations.compute_statistics(kernel, sure), kernel(points.m, points.Z)
    np.testing.assert_allclose(s.psi1, K, rtol=1e-10)
    squares = np.einsum("gn,na,nb->gab", points.weights, K, K)
    np.testing.assert_allclose(s.psi2, squares, rtol=1e-9)


def test_neither_threads_nor_memory_order_change_a_bit(points, given, monkeypatch):
    kernel = CLOSED[1]
    monkeypatch.setattr(radial, "_PAIRS", 2 * M * (M + 1) // 2)  # two rows a block
    one = expectations.pull_back(kernel, points, given)
    frozen = np.asfortranarray(points.m)
    frozen.flags.writeable = False
    two = expectations.pull_back(kernel, replace(points, m=frozen, n_jobs=3), given)
    for name in ("value", "m", "S", "Z", "theta"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    psi2 = [expectations.compute_statistics(kernel, replace(points, n_jobs=n)).psi2 for n in (1, 3)]
    np.testing.assert_array_equal(*psi2)


def test_blocks_add_up(points, given, monkeypatch):
    kernel = CLOSED[1]
    whole = expectations.pull_back(kernel, points, given)
    psi2 = expectations.compute_statistics(kernel, points).psi2
    monkeypatch.setattr(radial, "_PAIRS", 1)
    apart = expectations.pull_back(kernel, points, given)
    for name in ("value", "m", "S", "Z", "theta"):
        np.testing.assert_allclose(getattr(apart, name), getattr(whole, name), rtol=1e-12)
    np.testing.assert_allclose(
        expectations.compute_statistics(kernel, points).psi2, psi2, rtol=1e-13
    )


def test_many_rows_come_in_few_blocks(points, monkeypatch):
    monkeypatch.setattr(radial, "_PAIRS", 1)
    monkeypatch.setattr(radial, "_BLOCKS", 2)
    seen = radial._over_rows(lambda rows: rows, points)
    assert seen == [slice(0, 3), slice(3, 5)]
    nothing = replace(points, m=points.m[:0], S=points.S[:0], weights=points.weights[:, :0])
    assert expectations.compute_statistics(CLOSED[1], nothing).psi1.shape == (0, M)


def test_kernels_are_read_as_parts():
    read = statistics.read_kernel(
        0.5 * (3.0 * kernels.RBF(2.0) + kernels.Linear([1.0, 2.0]) + 4.0), 2
    )
    assert (read.signal, read.offset, read.white) == (1.5, 2.0, 0.0)
    np.testing.assert_array_equal(read.lengths, [2.0, 2.0])
    np.testing.assert_array_equal(read.slopes, [0.5, 1.0])
    assert statistics.read_kernel(kernels.RBF(1.0) + kernels.RBF(2.0), 2) is None
    assert statistics.read_kernel(kernels.RBF(1.0) * kernels.Linear(2.0), 2) is None
    with pytest.raises(TypeError, match="never read"):
        statistics.gather_gradient(kernels.Matern(1.0), read)


def test_exponentials_are_right_to_the_last_digit():
    rng = np.random.default_rng(0)
    x = -np.concatenate([[0.0], rng.uniform(0.0, 1e-3, 500), rng.uniform(0.0, 708.0, 5000)])
    y = x.copy()
    radial_rows.exponentiate(y, np.empty_like(y))
    np.testing.assert_allclose(y, np.exp(x), rtol=4.5e-16, atol=0.0)
    assert y[0] == 1.0


def test_exponentials_far_below_are_next_to_nothing():
    y = np.array([-709.0, -1e5, -np.inf])
    radial_rows.exponentiate(y, np.empty_like(y))
    assert np.all((y >= 0.0) & (y < 1e-307))
