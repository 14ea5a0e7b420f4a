"""Candidate columns are standardised alike, wherever they are and however they are read."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import designs, kernels

FAR = 1e7  # from the origin, in units of the spread


def raw_columns(rng, N=50, M=40):
    return rng.normal(size=M) + rng.uniform(0.1, 9.0, size=M) * rng.normal(size=(N, M))


def gathered(source):
    """Every column of an epoch, in order of number."""
    blocks = list(source.blocks())
    order = np.argsort(np.concatenate([block.places for block in blocks]))
    Z = np.hstack([block.copy_to_host() for block in blocks])[:, order]
    center = np.concatenate([block.center for block in blocks])[order]
    scale = np.concatenate([block.scale for block in blocks])[order]
    return Z, center, scale


@for_each("limit_bytes", [2**29, 50 * 8 * 20])
@for_each("weighted", [True, False])
def test_columns_have_weighted_mean_zero_and_mean_square_one(limit_bytes, weighted):
    rng = np.random.default_rng(0)
    raw, w = raw_columns(rng), rng.uniform(0.1, 3.0, size=50) if weighted else np.ones(50)
    source = designs.CandidateColumns.from_columns(
        designs.MatrixColumnSource(raw),
        w if weighted else None,
        centred=True,
        limit_bytes=limit_bytes,
    )
    assert source.is_held == (limit_bytes == 2**29)
    assert (source.n_rows, source.n_columns) == (50, 40)
    Z, center, scale = gathered(source)
    np.testing.assert_allclose(w @ Z, 0.0, atol=1e-12)
    np.testing.assert_allclose(w @ Z**2, w.sum())
    np.testing.assert_allclose(center + scale * Z, raw)


def test_columns_that_are_not_centred_keep_their_origin():
    raw = raw_columns(np.random.default_rng(1))
    Z, center, scale = gathered(
        designs.CandidateColumns.from_columns(designs.MatrixColumnSource(raw), centred=False)
    )
    assert not center.any()
    np.testing.assert_allclose(Z, raw / np.sqrt(np.mean(raw**2, axis=0)))
    np.testing.assert_allclose(scale, np.sqrt(np.mean(raw**2, axis=0)))


def test_the_raw_columns_are_left_alone():
    raw = raw_columns(np.random.default_rng(2))
    before = raw.copy()
    gathered(designs.CandidateColumns.from_columns(designs.MatrixColumnSource(raw), centred=True))
    np.testing.assert_array_equal(raw, before)


@for_each("value", [0.0, 1.0, 0.1, -1e9, 1e-200])
def test_a_column_that_does_not_vary_is_known(value):
    rng = np.random.default_rng(3)
    raw = np.column_stack([np.full(1000, value), rng.normal(size=1000)])
    weights = rng.uniform(0.1, 2.0, size=1000)
    source = designs.CandidateColumns.from_columns(
        designs.MatrixColumnSource(raw), weights, centred=True
    )
    block = next(source.blocks())
    assert block.varies.tolist() == [False, True]
    assert not block.copy_to_host()[:, 0].any()
    assert block.scale[0] == 1.0


def test_a_column_far_from_the_origin_varies():
    z = np.random.default_rng(4).normal(size=1000)
    source = designs.CandidateColumns.from_columns(
        designs.MatrixColumnSource(FAR + z[:, None]), centred=True
    )
    block = next(source.blocks())
    assert block.varies[0]
    np.testing.assert_allclose(block.copy_to_host()[:, 0], (z - z.mean()) / z.std(), atol=1e-6)


def test_without_an_offset_a_constant_is_a_column_like_others():
    raw = np.column_stack([np.full(5, 3.0), np.zeros(5)])
    block = next(
        designs.CandidateColumns.from_columns(
            designs.MatrixColumnSource(raw), centred=False
        ).blocks()
    )
    assert block.varies.tolist() == [True, False]
    np.testing.assert_allclose(block.copy_to_host()[:, 0], 1.0)


def test_a_stream_shows_every_column_once_an_epoch_in_a_new_order():
    raw = raw_columns(np.random.default_rng(5))

    def make(seed):
        return designs.CandidateColumns.from_columns(
            designs.MatrixColumnSource(raw),
            centred=True,
            rng=np.random.default_rng(seed),
            limit_bytes=50 * 8 * 20,
        )

    source = make(0)
    epochs = [[b.places.tolist() for b in source.blocks()] for _ in range(2)]
    assert all(len(places) <= 20 for epoch in epochs for places in epoch)
    assert len(epochs[0]) > 1
    assert all(sorted(j for places in epoch for j in places) == list(range(40)) for epoch in epochs)
    assert epochs[0] != epochs[1]
    assert epochs[0] == [b.places.tolist() for b in make(0).blocks()]


def test_a_held_block_is_kept():
    source = designs.CandidateColumns.from_columns(
        designs.MatrixColumnSource(raw_columns(np.random.default_rng(6))), centred=True
    )
    assert next(source.blocks()) is next(source.blocks())


@for_each("limit_bytes", [2**29, 50 * 8 * 20])
def test_chosen_columns_are_those_of_the_blocks(limit_bytes):
    raw = raw_columns(np.random.default_rng(7))
    raw[:, 9] = 2.0
    source = designs.CandidateColumns.from_columns(
        designs.MatrixColumnSource(raw), centred=True, limit_bytes=limit_bytes
    )
    Z, center, scale = gathered(source)
    places = np.array([31, 2, 9])
    block = source.take_columns(places)
    np.testing.assert_array_equal(block.places, places)
    np.testing.assert_allclose(block.copy_to_host(), Z[:, places], atol=1e-13)
    np.testing.assert_allclose(block.center, center[places])
    np.testing.assert_allclose(block.scale, scale[places])
    assert block.varies.tolist() == [True, True, False]
    assert source.take_columns(np.empty(0, dtype=np.intp)).copy_to_host().shape == (50, 0)


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
def test_products_are_those_of_numpy_and_stay_on_the_host(library):
    there = pytest.importorskip(library)
    rng = np.random.default_rng(8)
    raw, R, w = raw_columns(rng, N=300), rng.normal(size=(300, 3)), rng.normal(size=300)
    source = designs.CandidateColumns.from_columns(
        designs.MatrixColumnSource(there.asarray(raw)), centred=True
    )
    block = next(source.blocks())
    assert type(block.Z) is type(there.asarray(raw))
    Z = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    for ours, known in [
        (block.copy_to_host(), Z),
        (block.project(R), Z.T @ R),
        (block.squares(w), w @ Z**2),
        (block.select_columns(np.array([4, 0])), Z[:, [4, 0]]),
        (source.take_columns(np.array([7])).copy_to_host(), Z[:, [7]]),
    ]:
        assert type(ours) is np.ndarray
        np.testing.assert_allclose(ours, known, atol=1e-10)


def test_large_blocks_are_standardised_slice_by_slice():
    raw = np.random.default_rng(9).normal(3.0, 2.0, size=(2000, 150))  # more than one slice
    block = next(
        designs.CandidateColumns.from_columns(
            designs.MatrixColumnSource(raw), centred=True
        ).blocks()
    )
    np.testing.assert_allclose(block.copy_to_host(), (raw - raw.mean(axis=0)) / raw.std(axis=0))
    w = np.arange(2000.0)
    np.testing.assert_allclose(block.squares(w), w @ block.copy_to_host() ** 2)


def test_kernel_columns_are_those_of_the_kernel():
    rng = np.random.default_rng(10)
    X, C, kernel = rng.normal(size=(20, 3)), rng.normal(size=(7, 3)), kernels.RBF(1.3)
    own, other = designs.KernelColumnSource(kernel, X), designs.KernelColumnSource(kernel, X, C)
    assert (own.n_rows, own.n_columns, other.n_rows, other.n_columns) == (20, 20, 20, 7)
    np.testing.assert_allclose(own.block(np.array([3, 11])), kernel(X)[:, [3, 11]])
    np.testing.assert_allclose(other.block(np.array([6, 0])), kernel(X, C)[:, [6, 0]])


def test_kernel_columns_of_objects():
    words = ["green", "greens", "red", "reed"]
    kernel = kernels.Spectrum(2)
    columns = designs.KernelColumnSource(kernel, words)
    assert (columns.n_rows, columns.n_columns) == (4, 4)
    np.testing.assert_allclose(columns.block(np.array([2, 0])), kernel(words)[:, [2, 0]])


def test_kernel_columns_of_a_device_stay_there():
    torch = pytest.importorskip("torch")
    X = np.random.default_rng(11).normal(size=(12, 2))
    columns = designs.KernelColumnSource(kernels.RBF(1.0), torch.asarray(X))
    block = columns.block(np.array([5, 1]))
    assert type(block) is torch.Tensor
    np.testing.assert_allclose(block.numpy(), kernels.RBF(1.0)(X)[:, [5, 1]])


def test_columns_of_whole_numbers_become_real():
    columns = designs.MatrixColumnSource(np.array([[1, 2], [3, 5]]))
    assert columns.block(np.array([1])).dtype == np.float64


@for_each("bad", [np.nan, np.inf, 1e200])
def test_a_column_that_is_not_finite_is_named(bad):
    raw = np.ones((4, 6))
    raw[2, 3] = bad
    source = designs.CandidateColumns.from_columns(designs.MatrixColumnSource(raw), centred=True)
    with pytest.raises(ValueError, match="candidate column 3 contains NaN or infinity"):
        next(source.blocks())


def test_of_no_columns_there_is_no_block():
    none = designs.CandidateColumns.from_columns(
        designs.MatrixColumnSource(np.empty((3, 0))), centred=True
    )
    assert list(none.blocks()) == []
    assert none.take_columns(np.empty(0, dtype=np.intp)).copy_to_host().shape == (3, 0)
