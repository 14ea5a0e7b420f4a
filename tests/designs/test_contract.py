"""Every design answers the four questions as plain NumPy does."""

import itertools
import operator

import numpy as np
import polars as pl
import pytest
from support.for_each import for_each

from posterity import designs
from posterity.designs import base

N, M = 23, 4


def dense(Z, folder):
    return designs.Dense(Z)


def chunked_arrays(Z, folder):
    return designs.Streamed(designs.Chunks.from_arrays(Z, rows=5))


def chunked_function(Z, folder):
    """Blocks of uneven size and a number of rows that only a pass tells."""
    cuts = [0, *(cut for cut in (1, 7, 9) if cut < len(Z)), len(Z)]

    def batches():
        for start, stop in itertools.pairwise(cuts):
            yield Z[start:stop], None

    return designs.Streamed(designs.Chunks.from_iterable(batches))


def chunked_parquet(Z, folder):
    """Two files, with a block that begins in one and ends in the other."""
    frame = pl.DataFrame(Z, schema=[f"z{j}" for j in range(Z.shape[1])])
    half = (len(Z) + 1) // 2
    frame[:half].write_parquet(folder / "a.parquet", row_group_size=4)
    frame[half:].write_parquet(folder / "b.parquet")
    return designs.Streamed(designs.Chunks.from_parquet(folder, target=None, rows=5))


def chunked_mapped(Z, folder):
    """Columns made on the way: the last column of Z is left out and computed anew."""
    chunks = designs.Chunks.from_arrays(np.hstack([Z, 2.0 * Z]), rows=6)
    return designs.Streamed(chunks.map(lambda X: X[:, Z.shape[1] :] - X[:, : Z.shape[1]]))


def standardized(Z, folder):
    """Scales that are powers of two, so that no digit is lost."""
    scale = 2.0 ** np.arange(Z.shape[1])
    return designs.Standardized(designs.Dense(Z * scale), 0.0 * scale, scale, offset=False)


def selected(Z, folder):
    """Every second column of twice as many, in another order."""
    places = 2 * np.arange(Z.shape[1])[::-1]
    wide = np.full((len(Z), 2 * Z.shape[1]), 7.0)
    wide[:, places] = Z
    return designs.Streamed(designs.Chunks.from_arrays(wide, rows=5)).select_columns(places)


def on_dask(Z, folder):
    """Uneven partitions, one of them empty, with columns made where they are."""
    da = pytest.importorskip("dask.array")
    half = len(Z) // 2
    X = da.from_array(2.0 * Z, chunks=((half, 0, len(Z) - half), (Z.shape[1],)))
    return designs.Streamed(designs.Partitions.from_collections(X).map(lambda block: 0.5 * block))


CASES = [
    dense,
    chunked_arrays,
    chunked_function,
    chunked_parquet,
    chunked_mapped,
    standardized,
    selected,
    on_dask,
]
SIZES = [(N, M), (1, M), (N, 1), (5, M), (3, 7)]


@pytest.fixture(params=CASES, ids=lambda case: case.__name__)
def make(request, tmp_path):
    return lambda Z: request.param(Z, tmp_path)


@pytest.fixture(params=SIZES, ids=str)
def Z(request):
    return np.random.default_rng(0).standard_normal(request.param)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_every_concrete_design_is_among_the_cases(tmp_path):
    made = {type(case(np.ones((N, M)), tmp_path)) for case in CASES}
    assert set(_subclasses(designs.Design)) == made


def _subclasses(kind):
    for child in kind.__subclasses__():
        if child.__module__.startswith("posterity."):
            yield child
        yield from _subclasses(child)


def test_size_is_that_of_the_matrix(make, Z):
    design = make(Z)
    assert (design.n_rows, design.n_columns) == Z.shape


@for_each("tail", [(), (1,), (3,), (0,)])
def test_products_are_those_of_the_matrix(make, Z, rng, tail):
    design = make(Z)
    w, r = rng.standard_normal((Z.shape[1], *tail)), rng.standard_normal((Z.shape[0], *tail))
    for product, expected in [
        (design.matvec(w), Z @ w),
        (design @ w, Z @ w),
        (design.rmatvec(r), Z.T @ r),
    ]:
        assert product.shape == expected.shape
        np.testing.assert_allclose(product, expected, rtol=1e-12, atol=1e-13)


@for_each("kind", ["none", "positive", "with zeros", "of both signs"])
def test_gram_is_the_weighted_product_and_exactly_symmetric(make, Z, rng, kind):
    weights = {
        "none": None,
        "positive": rng.uniform(0.5, 2.0, len(Z)),
        "with zeros": rng.integers(0, 3, len(Z)).astype(float),
        "of both signs": rng.standard_normal(len(Z)),
    }[kind]
    G = make(Z).gram(weights)
    expected = Z.T @ np.diag(np.ones(len(Z)) if weights is None else weights) @ Z
    np.testing.assert_allclose(G, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(G, G.T)


def test_rows_are_those_of_the_matrix(make, Z):
    design, n = make(Z), len(Z)
    for start, stop in [(0, n), (0, 0), (n, n), (n // 2, n // 2), (0, 1), (n - 1, n), (n // 3, n)]:
        found = design.rows(start, stop)
        assert found.shape == (stop - start, Z.shape[1])
        np.testing.assert_array_equal(found, Z[start:stop])


def test_blocks_cover_every_row_once_and_in_order(make, Z):
    stop = 0
    for rows, block in make(Z).blocks():
        assert rows.start == stop
        np.testing.assert_array_equal(block, Z[rows])
        stop = rows.stop
    assert stop == len(Z)


def test_questions_of_the_wrong_shape_are_refused_with_both_sizes(make):
    design = make(np.ones((N, M)))
    with pytest.raises(ValueError, match=rf"w has shape \({N},\) but the design has {M} columns"):
        design.matvec(np.ones(N))
    with pytest.raises(ValueError, match=rf"r has shape \({M},\) but the design has {N} rows"):
        design.rmatvec(np.ones(M))
    with pytest.raises(ValueError, match=rf"weights has shape \({M},\) .* {N} rows"):
        design.gram(np.ones(M))
    with pytest.raises(ValueError, match=r"w has shape \(\) but"):
        design.matvec(np.float64(1.0))


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (3, 2), (0, N + 1), (N + 1, N + 1)])
def test_rows_that_are_not_there_are_refused(make, start, stop):
    with pytest.raises(IndexError, match=f"rows {start} to {stop} .* {N} rows"):
        make(np.ones((N, M))).rows(start, stop)


def test_selected_columns_are_those_of_the_matrix(make, Z, rng):
    places = rng.permutation(Z.shape[1])[: Z.shape[1] // 2 + 1]
    chosen = make(Z).select_columns(places)
    assert (chosen.n_rows, chosen.n_columns) == (len(Z), len(places))
    np.testing.assert_array_equal(chosen.rows(0, len(Z)), Z[:, places])


def test_totals_are_sums_over_all_rows(make, Z, rng):
    design, w = make(Z), rng.standard_normal(Z.shape[1])

    def terms(part):
        r = (part @ w) ** 2
        return [float(np.sum(r)), part.rmatvec(r)]

    value, gradient = design.sum_over_parts(terms)
    np.testing.assert_allclose(value, np.sum((Z @ w) ** 2), rtol=1e-12)
    np.testing.assert_allclose(gradient, Z.T @ (Z @ w) ** 2, rtol=1e-12, atol=1e-13)


def test_chosen_rows_are_a_design_in_memory(make, Z):
    places = np.arange(0, len(Z), 2)
    chosen, (values,) = make(Z).take_rows(places, np.arange(len(Z)))
    np.testing.assert_array_equal(values, places)
    assert chosen.in_memory
    np.testing.assert_array_equal(chosen.rows(0, len(places)), Z[places])


def test_totals_that_are_joined_stay_as_they_are():
    """A task of a cluster that is run again must find what it found before."""
    a = [np.ones((2, 2)), designs.Minimum(3.0)]
    b = [np.full((2, 2), 2.0), designs.Minimum(-1.0)]
    total = base.add_terms(a, b)
    np.testing.assert_array_equal(total[0], np.full((2, 2), 3.0))
    assert total[1].value == -1.0
    np.testing.assert_array_equal(a[0], np.ones((2, 2)))


@for_each("kind", ["chunks", "partitions"])
def test_answers_of_none_are_left_out_and_refused_if_there_are_no_others(kind):
    X, w = np.arange(6.0).reshape(3, 2), np.array([0.0, 1.0, 0.0])
    rows = designs.Chunks.from_arrays(X, None, w, rows=1)
    if kind == "partitions":
        da = pytest.importorskip("dask.array")
        far = da.from_array(X, chunks=(1, 2)), None, da.from_array(w, chunks=1)
        rows = designs.Partitions.from_collections(*far)

    def add_up(block):
        return float(block.X.sum()) if block.sample_weight.all() else None

    assert rows.reduce(add_up, operator.add) == 5.0
    with pytest.raises(ValueError, match=f"the {kind} hold no rows of positive weight"):
        rows.reduce(lambda block: None, operator.add)
