"""What holds for every kernel of strings, trees and graphs."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity.kernels.graphs import Graph, ShortestPath, WeisfeilerLehman
from posterity.kernels.strings import Spectrum, Subsequence
from posterity.kernels.trees import SubsetTree

RNG = np.random.default_rng(0)
STRINGS = ["".join(RNG.choice(list("acgt"), size=n)) for n in RNG.integers(0, 25, size=20)] + ["a"]


def grown(depth):
    label = "AB"[RNG.integers(2)]
    if depth == 0:
        return (label, "xyz"[RNG.integers(3)])
    return (label, *(grown(depth - 1) for _ in range(RNG.integers(1, 4))))


TREES = [grown(depth % 4) for depth in range(20)]
GRAPHS = [
    Graph(
        RNG.integers(2, size=n),
        [(i, j) for i in range(n) for j in range(i) if RNG.random() < 0.3],
    )
    for n in RNG.integers(0, 10, size=20)
] + [Graph("")]

CASES = [
    (Spectrum(2), STRINGS),
    (Subsequence(3, 0.4), STRINGS),
    (Subsequence(2, 1.0), STRINGS),
    (SubsetTree(0.4), TREES),
    (SubsetTree(1.0), TREES),
    (WeisfeilerLehman(2), GRAPHS),
    (ShortestPath(), GRAPHS),
]
ALL = pytest.mark.parametrize(("kernel", "rows"), CASES, ids=lambda part: str(part)[:25])
DECAYING = pytest.mark.parametrize(
    ("kernel", "rows"), [CASES[1], CASES[3]], ids=["strings", "trees"]
)
NORMALIZE = pytest.mark.parametrize("normalize", [True, False])


@ALL
@NORMALIZE
def test_matrix_is_symmetric_and_positive_semi_definite(kernel, rows, normalize):
    K = kernel.with_params(normalize=normalize)(rows)
    np.testing.assert_array_equal(K, K.T)
    eigenvalues = np.linalg.eigvalsh(K)
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]


@ALL
@NORMALIZE
def test_blocks_are_parts_of_the_matrix(kernel, rows, normalize):
    settled = kernel.with_params(normalize=normalize)
    K = settled(rows)
    np.testing.assert_allclose(settled(rows[:7], rows[5:]), K[:7, 5:], rtol=1e-14)
    np.testing.assert_allclose(settled.diag(rows), np.diag(K), rtol=1e-14)


@ALL
def test_normalising_divides_by_the_self_similarities(kernel, rows):
    raw, K = kernel.with_params(normalize=False)(rows), kernel(rows)
    d = np.diag(raw)
    i, j = np.nonzero(np.multiply.outer(d, d))
    np.testing.assert_allclose(K[i, j], raw[i, j] / np.sqrt(d[i] * d[j]), rtol=1e-13)
    np.testing.assert_array_equal(np.diag(K), 1.0)
    np.testing.assert_array_equal(kernel.diag(rows), 1.0)


@for_each(
    ("kernel", "with_features", "without"),
    [
        (Spectrum(3), "abc", ["", "ab"]),
        (Subsequence(3), "abc", ["", "ab"]),
        (WeisfeilerLehman(), Graph("C"), [Graph(""), Graph("")]),
        (ShortestPath(), Graph("CC", [(0, 1)]), [Graph("C"), Graph("NN")]),
    ],
    ids=lambda part: str(part)[:25],
)
def test_rows_without_features_are_like_each_other_only(kernel, with_features, without):
    expected = np.array([[1, 0, 0], [0, 1, 1], [0, 1, 1]])
    np.testing.assert_array_equal(kernel([with_features, *without]), expected)
    np.testing.assert_array_equal(kernel([with_features, *without], without), expected[:, 1:])
    raw = kernel.with_params(normalize=False)
    np.testing.assert_array_equal(raw(without, [with_features, *without]), 0.0)
    np.testing.assert_array_equal(raw.diag(without), 0.0)


@ALL
def test_no_rows_give_an_empty_block(kernel, rows):
    assert kernel([], rows).shape == (0, len(rows))
    assert kernel(rows, []).shape == (len(rows), 0)
    assert kernel([]).shape == (0, 0)
    assert kernel.diag([]).shape == (0,)


@pytest.mark.full(but=1)
@DECAYING
@NORMALIZE
def test_derivative_in_decay_agrees_with_central_differences(kernel, rows, normalize):
    k = kernel.with_params(normalize=normalize)
    h = 1e-5
    above, below = (k.with_theta(k.theta + step) for step in (h, -h))
    for Z in (None, rows[4:9]):
        K = k(rows, Z)
        G = RNG.normal(size=K.shape)
        expected = np.sum(G * (above(rows, Z) - below(rows, Z))) / (2.0 * h)
        scale = np.sum(abs(G) * K)
        tangent = k.tangent(rows, Z)
        np.testing.assert_array_equal(tangent.value, K)
        np.testing.assert_allclose(tangent.parameters(G), [expected], atol=1e-9 * scale)
    g = RNG.normal(size=len(rows))
    expected = g @ (above.diag(rows) - below.diag(rows)) / (2.0 * h)
    np.testing.assert_allclose(k.diag_pullback(rows, g), [expected], rtol=1e-8, atol=1e-12)


@DECAYING
def test_derivative_exists_at_the_largest_decay(kernel, rows):
    G = RNG.normal(size=(len(rows), len(rows)))
    one = kernel.with_params(decay=1.0)
    below, further = (kernel.with_params(decay=np.exp(-h))(rows) for h in (1e-5, 2e-5))
    expected = np.sum(G * (1.5 * one(rows) - 2.0 * below + 0.5 * further)) / 1e-5
    np.testing.assert_allclose(one.pullback(rows, None, G), [expected], rtol=1e-4)


@DECAYING
def test_decay_is_tuned_up_to_one(kernel, rows):
    for each in (kernel, kernel.with_params(decay=1.0), kernel.bounded(decay=(0.2, 5.0))):
        started, bounds = each.search_start(rows)
        assert started.decay == each.decay
        assert bounds[0, 0] <= started.theta[0] <= bounds[0, 1] == 0.0
        assert each.with_theta(bounds[:, 1])(rows).shape == (len(rows), len(rows))


@DECAYING
def test_a_held_decay_is_no_parameter(kernel, rows):
    held = kernel.fixed("decay")
    assert held.names == []
    assert held.pullback(rows, None, held(rows)).shape == (0,)
    assert held.diag_pullback(rows, np.ones(len(rows))).shape == (0,)


@ALL
def test_counts_have_no_parameters_and_rows_no_derivatives(kernel, rows):
    K = kernel(rows)
    assert kernel.pullback(rows, None, K).shape == (len(kernel.theta),)
    assert kernel.diag_pullback(rows, np.ones(len(rows))).shape == (len(kernel.theta),)
    with pytest.raises(ValueError, match=f"{type(kernel).__name__} has no derivative in its"):
        kernel.pullback_inputs(rows, None, K)


@ALL
def test_rows_are_not_turned_into_vectors(kernel, rows):
    assert not kernel.takes_vectors
    scaled = 2.0 * kernel + 1.0
    assert not scaled.takes_vectors
    np.testing.assert_allclose(scaled(rows), 2.0 * kernel(rows) + 1.0, rtol=1e-15)
    np.testing.assert_allclose(scaled.diag(rows), 3.0)


@ALL
def test_representation_makes_the_same_kernel(kernel, rows):
    names = {type(k).__name__: type(k) for k, _ in CASES}
    for each in (kernel, kernel.with_params(normalize=False)):
        assert eval(repr(each), names) == each


@for_each("kind", [Subsequence, SubsetTree])
@for_each("decay", [1.1, 0.0, -0.5, [0.1, 0.2], np.nan])
def test_decay_is_a_number_above_zero_and_at_most_one(kind, decay):
    with pytest.raises(ValueError, match="decay"):
        kind(decay=decay)


@ALL
def test_normalize_is_a_truth_value(kernel, rows):
    with pytest.raises(ValueError, match=r"normalize='yes' must be True or False\."):
        kernel.with_params(normalize="yes")


def test_what_is_no_list_is_refused():
    with pytest.raises(ValueError, match=r"^X is a number; Spectrum takes a list of strings\.$"):
        Spectrum()(3)
