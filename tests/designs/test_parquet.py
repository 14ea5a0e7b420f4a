"""Parquet files give the rows and the columns that were asked for, whatever their layout."""

import threading

import numpy as np
import polars as pl
import pytest

from posterity.designs import Chunks, parquet


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    columns = {name: rng.standard_normal(103) for name in "abcy"}
    return pl.DataFrame(columns).with_columns(
        k=pl.Series(rng.integers(0, 9, 103)), w=pl.Series(rng.uniform(size=103))
    )


def read(chunks):
    X, y, weight = zip(*(block.parts for block in chunks), strict=True)
    return (
        np.vstack(X),
        None if y[0] is None else np.concatenate(y),
        None if weight[0] is None else np.concatenate(weight),
    )


@pytest.mark.parametrize("group", [1, 10, 103])
@pytest.mark.parametrize("rows", [1, 9, 50, 1000])
def test_rows_are_those_of_the_file(frame, tmp_path, group, rows):
    file = tmp_path / "one.parquet"
    frame.write_parquet(file, row_group_size=group)
    chunks = Chunks.from_parquet(file, target="y", sample_weight="w", rows=rows)
    X, y, weight = read(chunks)
    assert chunks.feature_names == ("a", "b", "c", "k")
    assert (chunks.target_names, chunks.n_rows, chunks.n_features) == (("y",), 103, 4)
    np.testing.assert_array_equal(X, frame.select("a", "b", "c", "k").to_numpy())
    np.testing.assert_array_equal(y, frame["y"].to_numpy())
    np.testing.assert_array_equal(weight, frame["w"].to_numpy())
    assert [len(b) for b in chunks] == [min(rows, 103 - i) for i in range(0, 103, rows)]


def test_reads_of_whole_pages_are_cut_into_blocks(frame, tmp_path, monkeypatch):
    file = tmp_path / "one.parquet"
    frame.write_parquet(file)
    monkeypatch.setattr(parquet, "_PAGE_ROWS", 30)
    chunks = Chunks.from_parquet(file, target="y", rows=7)
    spans, read_span = [], parquet.ParquetRows._read_span
    monkeypatch.setattr(
        parquet.ParquetRows,
        "_read_span",
        lambda self, span: spans.append(span) or read_span(self, span),
    )
    assert [len(block) for block in chunks] == [7] * 14 + [5]
    assert [len(span) for span in spans] == [28, 28, 28, 19]
    np.testing.assert_array_equal(read(chunks)[1], frame["y"].to_numpy())


def test_wide_rows_are_read_in_less_than_a_page(frame, tmp_path, monkeypatch):
    file = tmp_path / "one.parquet"
    frame.write_parquet(file)
    monkeypatch.setattr(parquet, "_READ_VALUES", 6 * 20)
    chunks = Chunks.from_parquet(file, target="y", rows=10)
    monkeypatch.setattr(
        parquet,
        "read_ahead",
        lambda read, spans: (_assert_short(span) or read(span) for span in spans),
    )
    np.testing.assert_array_equal(read(chunks)[1], frame["y"].to_numpy())


def _assert_short(span):
    assert len(span) <= 20


@pytest.fixture
def folder(frame, tmp_path):
    """Files of 40, 0, 3 and 60 rows, the last with its columns in another order and type."""
    frame[:40].write_parquet(tmp_path / "a.parquet")
    frame[:0].write_parquet(tmp_path / "b.parquet")
    frame[40:43].write_parquet(tmp_path / "c.parquet")
    last = frame[43:].select(reversed(frame.columns)).with_columns(pl.col("k").cast(pl.Int8))
    last.write_parquet(tmp_path / "d.parquet")
    (tmp_path / "notes.txt").write_text("not a table")
    return tmp_path


def test_a_folder_a_pattern_and_a_list_are_the_same_rows(frame, folder):
    for path in (folder, str(folder), str(folder / "*.parquet"), sorted(folder.glob("*.parquet"))):
        chunks = Chunks.from_parquet(path, target="y", rows=11)
        X, y, _ = read(chunks)
        assert chunks.n_rows == 103
        np.testing.assert_array_equal(X, frame.select("a", "b", "c", "k", "w").to_numpy())
        np.testing.assert_array_equal(y, frame["y"].to_numpy())


def test_any_range_may_cross_files(frame, folder):
    chunks = Chunks.from_parquet(folder, target="y", rows=11)
    for start, stop in [(0, 40), (39, 41), (40, 43), (42, 44), (43, 103), (10, 100), (5, 5)]:
        found = [value for block in chunks.read_rows(start, stop) for value in block.y]
        np.testing.assert_array_equal(found, frame["y"][start:stop].to_numpy())


def test_a_range_beyond_the_end_stops_there(folder):
    chunks = Chunks.from_parquet(folder, target="y", rows=11)
    assert [len(block) for block in chunks.read_rows(90, 999)] == [11, 2]


def test_columns_come_in_the_order_asked_for(frame, tmp_path):
    frame.write_parquet(tmp_path / "one.parquet")
    path = tmp_path / "one.parquet"
    chunks = Chunks.from_parquet(path, target=["y", "a"], features=["k", "b"])
    X, y, weight = read(chunks)
    assert (chunks.feature_names, chunks.target_names) == (("k", "b"), ("y", "a"))
    np.testing.assert_array_equal(X, frame.select("k", "b").to_numpy())
    np.testing.assert_array_equal(y, frame.select("y", "a").to_numpy())
    assert weight is None
    assert read(Chunks.from_parquet(path, target=["y"]))[1].shape == (103, 1)
    without = Chunks.from_parquet(path, target=None)
    assert (read(without)[1], without.target_names) == (None, None)


def test_numbers_of_any_type_become_float64(tmp_path):
    frame = pl.DataFrame({"flag": [True, False], "small": [1, 2], "y": [0.5, 1.5]})
    frame.cast({"small": pl.UInt8, "y": pl.Float32}).write_parquet(tmp_path / "t.parquet")
    X, y, _ = read(Chunks.from_parquet(tmp_path / "t.parquet", target="y"))
    np.testing.assert_array_equal(X, [[1.0, 1.0], [0.0, 2.0]])
    assert X.dtype == y.dtype == np.float64


@pytest.mark.parametrize(("value", "problem"), [(None, "NaN"), (np.nan, "NaN"), (np.inf, "inf")])
def test_a_missing_value_is_named_by_column_and_row(frame, folder, value, problem):
    bad = frame[40:43].with_columns(b=pl.Series([0.0, value, 0.0], dtype=pl.Float64))
    bad.write_parquet(folder / "c.parquet")
    with pytest.raises(ValueError, match=f"column 'b', row 41 is {problem}"):
        read(Chunks.from_parquet(folder, target="y", rows=11))


def test_a_missing_target_or_whole_number_is_named_too(tmp_path):
    file = tmp_path / "t.parquet"
    pl.DataFrame({"a": [1, 2, 3], "y": [1, None, 3]}).write_parquet(file)
    with pytest.raises(ValueError, match="target 'y', row 1 is NaN"):
        read(Chunks.from_parquet(file, target="y"))
    with pytest.raises(ValueError, match="column 'y', row 1 is NaN"):
        read(Chunks.from_parquet(file, target="a"))


def test_columns_that_cannot_be_used_are_named_with_what_to_do(frame, tmp_path):
    file = tmp_path / "one.parquet"
    frame.with_columns(city=pl.lit("Ulm")).write_parquet(file)
    with pytest.raises(
        ValueError, match=r"'city' of one.parquet has type String.*features=\[...\]"
    ):
        Chunks.from_parquet(file, target="y")
    with pytest.raises(ValueError, match=r"column 'city' of one.parquet has type String"):
        Chunks.from_parquet(file, target="city", features=["a"])
    with pytest.raises(ValueError, match=r"one.parquet has no column 'z'; its columns are a, b, c"):
        Chunks.from_parquet(file, target="z")
    with pytest.raises(ValueError, match="column 'y' is named twice"):
        Chunks.from_parquet(file, target="y", features=["a", "y"])
    for given in ({"features": []}, {"features": ["a"], "target": []}):
        with pytest.raises(ValueError, match="is empty; name at least one column"):
            Chunks.from_parquet(file, **{"target": "y", **given})


def test_a_file_that_lacks_a_column_is_named(frame, folder):
    frame[40:43].drop("b").write_parquet(folder / "c.parquet")
    with pytest.raises(ValueError, match=r"c.parquet has no column 'b'"):
        Chunks.from_parquet(folder, target="y")


def test_paths_without_files_or_rows_are_refused(frame, tmp_path):
    for path in (tmp_path, tmp_path / "x.parquet", str(tmp_path / "*.pq"), []):
        with pytest.raises(FileNotFoundError, match="no Parquet file was found at"):
            Chunks.from_parquet(path, target="y")
    frame[:0].write_parquet(tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match=r"empty.parquet .*have no rows"):
        Chunks.from_parquet(tmp_path, target="y")


def readers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("read-ahead")]


def test_a_caller_that_stops_early_leaves_no_thread_behind(folder):
    blocks = iter(Chunks.from_parquet(folder, target="y", rows=2))
    next(blocks)
    assert readers()
    blocks.close()
    assert not readers()


def test_an_error_while_reading_is_raised_and_leaves_no_thread_behind(folder, monkeypatch):
    monkeypatch.setattr(parquet, "_PAGE_ROWS", 10)
    blocks = iter(Chunks.from_parquet(folder, target="y", rows=10))
    next(blocks)
    (folder / "d.parquet").unlink()
    with pytest.raises(FileNotFoundError):
        list(blocks)
    assert not readers()


def test_two_passes_may_run_at_once(frame, folder):
    chunks = Chunks.from_parquet(folder, target="y", rows=9)
    for one, other in zip(chunks, chunks.map(np.negative), strict=True):
        np.testing.assert_array_equal(one.X, -other.X)


def test_results_read_ahead_come_in_order():
    assert list(parquet.read_ahead(lambda i: i * i, range(20))) == [i * i for i in range(20)]
    assert list(parquet.read_ahead(abs, [])) == []


def test_the_next_read_begins_while_the_caller_has_this_one():
    begun = [threading.Event() for _ in range(3)]
    results = parquet.read_ahead(lambda i: begun[i].set() or i, range(3))
    assert next(results) == 0
    assert begun[1].wait(timeout=5)
    assert not begun[2].is_set()
    results.close()


def test_an_error_of_a_read_is_raised_at_its_turn():
    results = parquet.read_ahead(lambda i: 1 // i, [1, 0, 1])
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_the_thread_ends_with_the_generator():
    before = threading.active_count()
    results = parquet.read_ahead(abs, range(3))
    next(results)
    results.close()
    assert threading.active_count() == before
