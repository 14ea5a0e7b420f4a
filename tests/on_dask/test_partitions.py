"""Partitions are looked at on the workers only, and say what they hold."""

import operator

import dask_rows
import numpy as np
import pytest

from posterity import designs

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")


@pytest.fixture(autouse=True)
def here():
    """Without a cluster, in this very thread."""
    with dask.config.set(scheduler="synchronous"):
        yield


class Computed(dask.callbacks.Callback):
    """How often Dask was asked to compute, and how many tasks it ran."""

    def __init__(self):
        self.times = self.tasks = 0

    def _start(self, dsk):
        self.times += 1

    def _pretask(self, key, dsk, state):
        self.tasks += 1


def test_nothing_is_read_before_it_is_asked_for():
    with Computed() as computed:
        rows = dask_rows.as_frames(dask_rows.measured())
        partitions = designs.Partitions.from_collections(*rows.parts).map(np.square)
        assert partitions.n_features == 3
        assert partitions.feature_names == dask_rows.NAMES[:3]
    assert computed.times == 0


def test_rows_are_counted_once_where_they_are_not_known():
    partitions = designs.Partitions.from_collections(
        *dask_rows.as_frames(dask_rows.measured()).parts
    )
    with Computed() as computed:
        assert partitions.n_rows == partitions.n_rows == 400
    assert computed.times == 1
    assert partitions.lengths == dask_rows.chunks(400)


def test_blocks_are_told_where_they_begin():
    rows = dask_rows.measured()
    partitions = designs.Partitions.from_collections(*dask_rows.as_frames(rows).parts)
    firsts = partitions.with_row_numbers().reduce(lambda block: [block.first_row], operator.add)
    assert firsts == [0, 140, 180, 280]  # the empty one has nothing to say


def test_answers_are_merged_in_the_order_of_rows():
    X = da.from_array(np.arange(400.0).reshape(-1, 1), chunks=7)
    found = designs.Partitions.from_collections(X).reduce(
        lambda block: [block.X[0, 0]], operator.add
    )
    assert found == list(range(0, 400, 7))


def test_chosen_rows_are_those_and_no_other_partition_is_made():
    X = np.random.default_rng(0).normal(size=(90, 2))
    partitions = designs.Partitions.from_collections(da.from_array(X, chunks=(10, 2)))
    places = np.array([3, 4, 15, 19])
    with Computed() as few:
        np.testing.assert_array_equal(partitions.take_rows(places).X, X[places])
    with Computed() as all_rows:
        partitions.take_rows(np.arange(90))
    assert few.tasks < all_rows.tasks / 3


def test_a_sample_has_no_row_twice_and_brings_targets():
    X = np.arange(200.0).reshape(-1, 1)
    far = [da.from_array(part, chunks=33) for part in (X, 2.0 * X[:, 0], X[:, 0] + 1.0)]
    block = designs.Partitions.from_collections(*far).sample(50, np.random.default_rng(0))
    assert len(np.unique(block.X)) == 50
    np.testing.assert_array_equal(block.y, 2.0 * block.X[:, 0])
    np.testing.assert_array_equal(block.sample_weight, block.X[:, 0] + 1.0)
    everything = designs.Partitions.from_collections(*far).sample(500, np.random.default_rng(0))
    np.testing.assert_array_equal(everything.X, X)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 1, 3, 2], dtype=np.int32),
        np.array(["b", "a", "b", "c"]),
        np.array([True, False]),
    ],
    ids=["whole", "text", "truth"],
)
def test_classes_are_tallied_with_their_type(labels):
    y = np.resize(labels, 40)
    w = np.arange(40.0)
    w[y == labels[-1]] = 0.0  # a class that does not count is none
    X = da.zeros((40, 1), chunks=9)
    rows = designs.Partitions.from_collections(
        X, da.from_array(y, chunks=9), da.from_array(w, chunks=9)
    )
    values, counts = rows.count_targets()
    expected = np.unique(y[w > 0.0])
    assert values.dtype == y.dtype
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_allclose(counts, [w[y == value].sum() for value in expected])


@pytest.mark.parametrize("nothing", [None, pd.NA, float("nan")], ids=str)
def test_a_row_without_a_class_is_named(nothing):
    table = pd.DataFrame({"a": np.arange(6.0), "kind": ["x", "y", "x", "y", nothing, "x"]})
    frame = dd.from_pandas(table.astype({"kind": object}), npartitions=2, sort=False)
    with pytest.raises(ValueError, match="partition 1, row 1 has no class"):
        designs.Partitions.from_collections(frame[["a"]], frame["kind"]).count_targets()


def test_partitions_that_do_not_match_are_refused():
    rows = dask_rows.measured()
    far = dask_rows.as_frames(rows)
    with pytest.raises(ValueError, match="y has 2 partitions, but the rows have 5"):
        designs.Partitions.from_collections(far.X, da.from_array(rows.y, chunks=200))
    with pytest.raises(ValueError, match="y has 399 rows, but X has 400"):
        designs.Partitions.from_collections(
            da.from_array(rows.X, chunks=(100, 3)), da.from_array(rows.y[1:], chunks=100)
        )


def test_no_rows_at_all_are_refused():
    with pytest.raises(ValueError, match="hold no rows"):
        designs.Partitions.from_collections(da.zeros((0, 2), chunks=(0, 2))).reduce(
            len, operator.add
        )


def test_a_design_leaves_its_rows_behind_when_it_travels():
    import pickle

    X = da.ones((40, 3), chunks=(10, 3))
    design = designs.Streamed(designs.Partitions.from_collections(X))
    travelled = pickle.loads(pickle.dumps(design))
    assert (travelled.n_rows, travelled.n_columns) == (0, 3)
    assert len(pickle.dumps(design)) < 500


def test_what_inputs_and_targets_are_made_of_is_made_once():
    made = []

    def make(block_id=(0, 0)):
        made.append(block_id)
        return np.full((5, 2), float(block_id[0]))

    X = da.map_blocks(make, chunks=((5, 5, 5), (2,)), dtype=float, meta=np.empty((0, 0)))
    y = (X[:, 0] - 1.0) * 2.0
    partitions = designs.Partitions.from_collections(X, y, abs(y) + 1.0)
    assert partitions.reduce(lambda block: float(block.y.sum()), operator.add) == 0.0
    assert len([one for one in made if one is not None]) == 3
