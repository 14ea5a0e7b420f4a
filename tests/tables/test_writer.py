"""What is written is read back equal, whole or not at all."""

import datetime
import gzip
import io
import os
import sys

import hypothesis
import hypothesis.strategies as st
import polars as pl
import polars.testing
import pytest
from support.effort import draws

from posterity import tables

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".jsonl", ".ndjson.gz", ".parquet", ".pq")
NASTY = st.text(st.sampled_from('a,;|" \t#é\n\r\\\u2028\ufeffNx^=0.\x01'), max_size=5)


@hypothesis.given(
    st.lists(st.tuples(st.none() | NASTY, st.none() | NASTY), min_size=1, max_size=8),
    st.sampled_from(SUFFIXES),
)
@hypothesis.settings(
    deadline=None,
    max_examples=draws(200, least=10),
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
def test_texts_and_missing_ones_come_back_as_they_were(tmp_path, rows, suffix):
    schema = {"first": pl.String, "second, of two": pl.String}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    path = tmp_path / f"t{suffix}"
    assert tables.write_batches(path, [frame[:2], frame[2:]]) == len(rows)
    pl.testing.assert_frame_equal(tables.read(path), frame)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_column_comes_back_with_its_missing_and_empty_texts(suffix, tmp_path):
    frame = pl.DataFrame({"only": [None, "", "x", None]}, schema={"only": pl.String})
    tables.write_batches(tmp_path / f"t{suffix}", [frame])
    pl.testing.assert_frame_equal(tables.read(tmp_path / f"t{suffix}"), frame)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_typed_formats_keep_types_and_every_digit(suffix, tmp_path):
    frame = pl.DataFrame({"f": [0.1, 1e300, None, -1 / 3], "i": [1, 2**62, None, -5]})
    tables.write_batches(tmp_path / f"t{suffix}", frame.iter_slices(2))
    pl.testing.assert_frame_equal(tables.read(tmp_path / f"t{suffix}"), frame, check_exact=True)


def test_numbers_in_text_keep_every_digit(tmp_path):
    values = [0.1, 1e300, -1 / 3, 5e-324, 123456789.123456789]
    tables.write_batches(tmp_path / "t.csv", [pl.DataFrame({"f": values, "g": values})])
    assert [float(text) for text in tables.read(tmp_path / "t.csv")["f"]] == values


def test_dates_are_written_as_iso(tmp_path):
    frame = pl.DataFrame({"d": [datetime.date(2024, 2, 3)], "n": [1]})
    tables.write_batches(tmp_path / "t.csv", [frame])
    assert tables.read(tmp_path / "t.csv")["d"].to_list() == ["2024-02-03"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_table_without_rows_can_be_written(suffix, tmp_path):
    path = tmp_path / f"t{suffix}"
    assert tables.write_batches(path, [pl.DataFrame(schema={"x": pl.String})]) == 0
    assert path.exists()
    if suffix != ".jsonl":  # which has no place for names without rows
        assert tables.read(path).schema == {"x": pl.String}
    assert tables.write_batches(path, []) == 0


def test_parts_of_parquet_take_a_common_type(tmp_path):
    frames = [pl.DataFrame({"x": [1, 2]}), pl.DataFrame({"x": [2.5]})]
    assert tables.write_batches(tmp_path / "t.parquet", frames) == 3
    assert tables.read(tmp_path / "t.parquet")["x"].to_list() == [1.0, 2.0, 2.5]


def test_same_rows_give_the_same_packed_bytes(tmp_path):
    frame = pl.DataFrame({"x": [1, 2]})
    for name in ("a.csv.gz", "b.csv.gz"):
        tables.write_batches(tmp_path / name, [frame])
    packed = (tmp_path / "a.csv.gz").read_bytes()
    assert packed == (tmp_path / "b.csv.gz").read_bytes()
    assert packed[4:8] == bytes(4)  # no time of writing
    assert gzip.decompress(packed) == b"x\n1\n2\n"


def test_standard_output_is_csv_or_what_is_asked_for(monkeypatch):
    for format, expected in ((None, b"x,y\n1,a\n"), ("jsonl", b'{"x":1,"y":"a"}\n')):
        out = io.TextIOWrapper(io.BytesIO())
        monkeypatch.setattr(sys, "stdout", out)
        assert tables.write_batches("-", [pl.DataFrame({"x": [1], "y": "a"})], format=format) == 1
        assert out.buffer.getvalue() == expected


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("failure", [KeyboardInterrupt, RuntimeError])
def test_interrupted_writing_leaves_what_was_there(suffix, failure, tmp_path):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(b"before")

    def batches():
        yield pl.DataFrame({"x": [1]})
        raise failure

    with pytest.raises(failure):
        tables.write_batches(path, batches())
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("t.xlsx", "has no known format"),
        ("t", "no known format"),
        ("t.gz", "no known format"),
        ("t.parquet.gz", "remove .gz"),
        ("absent/t.csv", "there is no folder"),
        ("folder.csv", "is a folder"),
    ],
)
def test_places_that_cannot_be_written_are_refused_before_any_row(name, words, tmp_path):
    (tmp_path / "folder.csv").mkdir()

    def batches():
        raise AssertionError("a row was asked for")
        yield

    with pytest.raises(tables.TableError, match=words):
        tables.write_batches(tmp_path / name, batches())
    assert os.listdir(tmp_path) == ["folder.csv"]


def test_failures_of_the_system_are_sentences(tmp_path):
    def batches():
        yield pl.DataFrame({"x": [1]})
        raise OSError(28, "No space left on device")

    with pytest.raises(tables.TableError, match=r"t.csv cannot be written: No space left"):
        tables.write_batches(tmp_path / "t.csv", batches())


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_batches_of_other_columns_are_refused(suffix, tmp_path):
    frames = [pl.DataFrame({"x": [1]}), pl.DataFrame({"y": [1]})]
    with pytest.raises(ValueError, match="must have the same columns"):
        tables.write_batches(tmp_path / f"t{suffix}", frames)
    with pytest.raises(ValueError, match="format"):
        tables.write_batches(tmp_path / "t.csv", frames, format="xlsx")


def test_format_can_be_given_against_the_name(tmp_path):
    tables.write_batches(tmp_path / "rows", [pl.DataFrame({"x": [1], "y": [2]})], format="tsv")
    assert (tmp_path / "rows").read_bytes() == b"x\ty\n1\t2\n"
