"""Files of every kind are read as they mean, and bad ones are refused by line and reason."""

import csv
import gzip
import io
import math
import os
import re
import sys
import threading

import hypothesis
import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from support.effort import draws
from support.for_each import for_each

from posterity import tables
from posterity.tables import delimited, headers, json_lines, records, streams

PLAIN = b"x,y\n1,a\n2,b\n"
ROWS = [("1", "a"), ("2", "b")]


def packed(data: bytes) -> bytes:
    """The gzip of data, without the time: names of tests are made of it."""
    return gzip.compress(data, mtime=0)


@pytest.fixture
def file(tmp_path):
    """Puts bytes under a name and gives the path."""

    def put(data: bytes | str, name: str = "table.csv"):
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return put


@pytest.fixture
def small_pieces(monkeypatch):
    """Makes every reader cut its file into many pieces."""
    monkeypatch.setattr(streams, "PIECE", 7)


def complaint(path, **arguments) -> str:
    with pytest.raises(tables.TableError) as caught:
        tables.read(path, **arguments)
    message = str(caught.value)
    assert message[0].isupper() or message.startswith(("/", "standard"))
    assert message.endswith(".")
    return message


# What is read


@pytest.mark.parametrize(
    "data",
    [
        PLAIN,
        b"x,y\n1,a\n2,b",
        b"x,y\r\n1,a\r\n2,b\r\n",
        b"x,y\r1,a\r2,b\r",
        b"\xef\xbb\xbfx,y\n1,a\n2,b\n",
        "x,y\n1,a\n2,b\n".encode("utf-16"),
        b"\xfe\xff" + "x,y\n1,a\n2,b\n".encode("utf-16-be"),
        b"x;y\n1;a\n2;b\n",
        b"x|y\n1|a\n2|b\n",
        b"x\ty\n1\ta\n2\tb\n",
        b"sep=;\r\nx;y\r\n1;a\r\n2;b\r\n",
        b"# made by a logger, v1, today\n# second\nx,y\n1,a\n2,b\n",
        b"\n\nx,y\n\n1,a\n  \n2,b\n\n\n",
        b'"x","y"\n"1","a"\n"2","b"\n',
        b'x, "y"\n1, "a"\n2, "b" \n',
        packed(PLAIN),
        packed(b"x,y\n1,a\n") + packed(b"2,b\n") + b"\0" * 20,
    ],
)
@pytest.mark.parametrize("name", ["table.csv", "table"])
def test_every_way_to_write_a_small_table_reads_the_same(data, name, file):
    frame = tables.read(file(data, name))
    assert frame.columns == ["x", "y"]
    assert frame.rows() == ROWS
    assert set(frame.dtypes) == {pl.String}


def test_cells_keep_text_nulls_and_empty_texts_apart(file):
    frame = tables.read(file('a,b,c\n,"",x\n 1 ,"q ""q""\nz, t",#no remark\n'))
    assert frame.rows() == [(None, "", "x"), (" 1 ", 'q "q"\nz, t', "#no remark")]


def test_quotes_that_do_not_open_a_cell_are_ordinary(file):
    frame = tables.read(file('a,b\n5" pipe,1\nthe "best",2\n"x"y,3\n'))
    assert frame.rows() == [('5" pipe', "1"), ('the "best"', "2"), ("xy", "3")]


def test_lines_in_windows_encoding_are_read_among_utf8_ones(file):
    data = "name,n\nKöln,1\n".encode() + "Zürich,2\n".encode("cp1252") + b"\x81,3\n"
    source = tables.open_source(file(data))
    assert source.encoding == "cp1252"
    assert any("Windows-1252" in note for note in source.notes)
    assert source.read().frame["name"].to_list() == ["Köln", "Zürich", "\ufffd"]


def test_lines_in_windows_encoding_are_read_beyond_what_was_looked_at(file, monkeypatch):
    monkeypatch.setattr(streams, "HEAD", 20)
    source = tables.open_source(file(b"name,n\n" + b"a,1\n" * 20 + b"Z\xfcrich,2\n"))
    assert source.encoding == "utf-8"
    assert source.read().frame["name"][-1] == "Z\u00fcrich"


def test_first_cell_that_looks_packed_is_read_as_text(file):
    assert tables.read(file(b"a,b\nx^,1\nx\x01,2\n")).rows() == [("x^", "1"), ("x\x01", "2")]


def test_single_column_keeps_blank_lines_as_missing(file):
    assert tables.read(file("value\n1\n\n3\n")).rows() == [("1",), (None,), ("3",)]


@pytest.mark.parametrize(("n_rows", "n_columns"), [(0, 3), (1, 1), (2, 300), (40, 2)])
def test_shape_is_that_of_the_file(n_rows, n_columns, file):
    lines = [",".join(f"c{i}" for i in range(n_columns)), *[",".join(["7"] * n_columns)] * n_rows]
    sample = tables.open_source(file("\n".join(lines) + "\n")).read()
    assert sample.frame.shape == (n_rows, n_columns)
    assert sample.n_rows == n_rows


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("n_rows", [1, 3, 50_000])
def test_pieces_and_batches_do_not_change_what_is_read(n_rows, file):
    data = 'name,n\n"two\nlines",1\n\nÜber,2\n5" x,3\n'.encode() * 5
    body = data[: data.index(b"\n") + 1] + data.replace(b"name,n\n", b"")
    expected = [("two\nlines", "1"), ("Über", "2"), ('5" x', "3")] * 5
    for path in (file(body), file(packed(body), "t.csv.gz")):
        batches = list(tables.open_source(path).batches(n_rows))
        assert max(batch.height for batch in batches) <= n_rows
        assert pl.concat(batches).rows() == expected


def by_definition(text: str, separator: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))


@hypothesis.given(
    st.lists(
        st.lists(st.text(st.sampled_from('a,;" \t#é\n\r'), max_size=6), min_size=3, max_size=3),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n"]),
)
@hypothesis.settings(
    deadline=None,
    max_examples=draws(150, least=10),
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
def test_quoted_text_is_read_as_the_csv_module_reads_it(file, rows, separator, end):
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator=end)
    writer.writerows([["first", "second", "third"], *rows])
    frame = tables.read(file(text.getvalue()), separator=separator)
    assert [list(row) for row in frame.rows()] == by_definition(text.getvalue(), separator)[1:]


CELL = re.compile(r' *"(?>(?:[^"]|"")*)"[^,\n]*|(?! *")[^,\n]*')


@hypothesis.given(st.text(st.sampled_from('ab,"\n \r'), max_size=40))
@hypothesis.settings(deadline=None, max_examples=draws(400, least=10))
def test_records_end_where_the_grammar_of_cells_ends_them(text):
    ends, n_cells, at, n = [], [], 0, 1
    while (cell := CELL.match(text, at)) and cell.end() < len(text):
        at = cell.end() + 1
        if text[cell.end()] == "\n":
            ends.append(at)
            n_cells.append(n)
        n = n + 1 if text[cell.end()] == "," else 1
    found = records.find_records(text.encode(), ",")
    assert found.ends.tolist() == ends
    assert found.n_cells.tolist() == n_cells


@hypothesis.given(st.text(st.sampled_from('ab,"\n '), max_size=30))
@hypothesis.settings(deadline=None, max_examples=draws(300, least=10))
def test_odd_records_are_quoted_anew_without_changing_their_cells(text):
    data = text.encode()
    found = records.find_records(data, ",")
    for i in range(len(found)):
        cells = records.split_cells(data[found.start(i) : found.start(i + 1)], ",")
        anew = records.format_record(cells, ",")
        again = records.find_records(anew, ",")
        assert len(cells) == found.n_cells[i] == again.n_cells[0]
        assert not again.odd[0]
        assert records.split_cells(anew, ",") == cells


@hypothesis.given(
    st.lists(
        st.lists(st.text(st.sampled_from('ab" \r'), max_size=5), min_size=3, max_size=3),
        min_size=1,
        max_size=4,
    )
)
@hypothesis.settings(
    deadline=None,
    max_examples=draws(200, least=10),
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
def test_unquoted_text_is_read_as_the_grammar_of_cells_reads_it(file, rows):
    body = "".join(",".join(row) + "\n" for row in rows).encode()
    found = records.find_records(body, ",")
    hypothesis.assume(found.n_cells.tolist() == [3] * len(rows))
    expected = [
        tuple(
            None if cell is None else cell.decode()
            for cell in records.split_cells(body[start:end], ",")
        )
        for start, end in zip([0, *found.ends.tolist()], found.ends.tolist(), strict=False)
    ]
    assert tables.read(file(b"x,y,z\n" + body)).rows() == expected


# Headers


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("a,b,a,a_2,a", ("a", "b", "a_3", "a_2", "a_4")),
        ("a,,b,", ("a", "Unnamed_2", "b", "Unnamed_4")),
        (",Unnamed_1,", ("Unnamed_1_2", "Unnamed_1", "Unnamed_3")),
        (' a , "b c",\u00fc', ("a", "b c", "\u00fc")),
        ("#id,x,y", ("#id", "x", "y")),
        ("1,2,c", ("1", "2", "c")),
        ('"two\nlines",b', ("two lines", "b")),
    ],
)
def test_names_of_columns_are_those_of_the_header_made_different(line, names, file):
    source = tables.open_source(file(f"{line}\n{',' * (len(names) - 1)}\n"))
    assert source.columns == names
    assert source.read().frame.rows() == [(None,) * len(names)]


def test_many_repeated_names_are_numbered_without_end():
    names = headers.make_names_unique(["x", ""] * 20_000)
    assert len(set(names)) == 40_000


def test_first_line_of_numbers_is_a_row(file):
    source = tables.open_source(file("1,2.5,-3e4\n4,5,6\n"))
    assert source.columns == ("column_1", "column_2", "column_3")
    assert "column_1 to column_3" in source.notes[0]
    assert source.read().frame.rows() == [("1", "2.5", "-3e4"), ("4", "5", "6")]


def test_lines_above_the_names_are_left_out(file):
    for title in ("Report of today\n", "Report\n\nof, today\n", "5,3\r\n\r\n"):
        source = tables.open_source(file(f"{title}a,b,c,d\n1,2,3,4\n5,6,7,8\n\n"))
        assert source.columns == ("a", "b", "c", "d")
        assert source.read().frame.height == 2
        assert "skipped" in source.notes[0]


@pytest.mark.parametrize("title", ["# made by hand\n\n", "Report\n\n", "# a\n\n# b\r\n \r\n"])
def test_a_title_over_two_columns_is_no_name_of_rows(title, file):
    source = tables.open_source(file(f"{title}a,b\n1,2\n3,4\n5,6\n"))
    assert source.columns == ("a", "b")
    assert source.read().frame.rows() == [("1", "2"), ("3", "4"), ("5", "6")]


def test_rows_with_one_cell_more_than_names_have_names_themselves(file):
    source = tables.open_source(file("x,y\nr1,1,2\nr2,3,4\n"))
    assert source.columns == ("Unnamed_1", "x", "y")
    assert "row names" in source.notes[0]
    assert source.read().frame.row(1) == ("r2", "3", "4")


def test_blanks_separate_numbers_under_names(file):
    assert tables.read(file("x y\n1 2.5\n-3 4e5\n")).rows() == [("1", "2.5"), ("-3", "4e5")]
    assert tables.read(file("a text\nof words\nin lines\n")).columns == ["a text"]


def test_notes_say_what_was_decided(file):
    source = tables.open_source(file("# log\na;a\n1,5;2\n"))
    assert source.separator == ";"
    assert [note.split()[0] for note in source.notes] == ["Cells", "Lines", "Blank", "Numbers"]
    assert "decimal comma" in source.notes[-1]
    assert tables.open_source(file(PLAIN)).notes == ()


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a;b\n1,5;2,5\n3,5;4,5\n", ";"),
        ("name,text\nx,a;b;c\ny,d;e\n", ","),
        ('a;b\n"x,y";2\n', ";"),
        ("a|b,c|d\n1|2|3\n4|5|6\n", "|"),
        ("single\nx\n", ","),
    ],
)
def test_separator_is_the_one_that_cuts_evenly(text, separator, file):
    assert tables.open_source(file(text)).separator == separator


def test_separator_can_be_given(file):
    assert tables.read(file('a b c\n "x" 5"\n'), separator=" ").rows() == [(None, "x", '5"')]
    assert tables.read(file("a b\n1 2\n"), separator=" ").rows() == [("1", "2")]
    assert tables.read(file("a\tb;c\n1\t2\n", "t.tsv")).columns == ["a", "b;c"]


@pytest.mark.parametrize("separator", ["", ",,", '"', "\n", "\u00e9", "\0", "1", "a", "."])
def test_separators_that_cannot_be_are_refused(separator, file):
    with pytest.raises(ValueError, match="separator"):
        tables.open_source(file(PLAIN), separator=separator)


def test_formats_and_sizes_that_cannot_be_are_refused(file):
    with pytest.raises(ValueError, match="format"):
        tables.open_source(file(PLAIN), format="xlsx")
    source = tables.open_source(file(PLAIN))
    with pytest.raises(ValueError, match="n_rows"):
        next(source.batches(0))
    with pytest.raises(ValueError, match="max_rows"):
        source.read(0)


# What is refused


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"\n \n\r\n", "blank"),
        (b"a,b\n1,2\n3\n", "Line 3 of .* has 1 cell but the header has 2: separate empty"),
        (b'a,b\n"x\ny",2\n\n3,4,5\n', "Line 5 of .* has 3 cells .* quotes"),
        (b"a,b\n1,2\n# end of file\n", "Line 3 .* comment"),
        (b'a,b\n"x \\"y, z\\"",2\n', "Line 2 .* twice"),
        (b'a,b\n1,2\n"x,3\n4,5\n', "begins on line 3 of .* quote is not closed"),
        (b'a,b\n"x,3\n4,5\n6,"y"\n', "Line 2 .* spans 3 lines"),
        (b'a,"b\n1,2\n', "The header on line 1"),
        (b"a,b\n1,2\n3,\x00\n", "Line 3 of .* NUL"),
        ("a,b\n1,2\n".encode("utf-16-le"), "Line 1 .* UTF-16"),
        (b"PK\x03\x04rest", "ZIP archive"),
        (b"\xd0\xcf\x11\xe0rest", "cannot be read as a workbook"),
        (b"<!DOCTYPE html><p>", "web page"),
        (b"PAR1 and no more", "damaged or truncated"),
        (packed(PLAIN * 99)[:-20], "truncated"),
        (packed(PLAIN)[:-8] + b"wrongsum", "not a valid gzip"),
    ],
)
def test_bad_files_are_refused_by_line_and_reason(data, words, file):
    message = complaint(file(data))
    assert re.search(words, message), message
    assert "table.csv" in message


@pytest.mark.usefixtures("small_pieces")
def test_lines_are_counted_over_pieces(file):
    data = b'a,b\n"x\ny",2\n' + b"1,2\n" * 50 + b"1,2,3\n"
    assert "Line 54 " in complaint(file(data))
    assert "Line 54 " in complaint(file(packed(data)))
    assert "Line 54 " in complaint(file(data.replace(b"1,2,3", b"1,\0")))
    assert "line 54 " in complaint(file(data.replace(b"1,2,3", b'1,"x')))


def test_records_beyond_the_limit_are_refused(file, monkeypatch):
    monkeypatch.setattr(delimited, "MAX_RECORD", 100)
    monkeypatch.setattr(streams, "PIECE", 60)
    assert "line 2 of" in complaint(file(b'a,b\n"' + b"x" * 300 + b'",1\n'))
    monkeypatch.setattr(json_lines, "MAX_LINE", 100)
    assert "Line 2 of" in complaint(file(b'{"a": 1}\n{"a": "' + b"x" * 300 + b'"}\n', "t.jsonl"))


def test_wrong_separator_is_named_with_the_right_one(file):
    message = complaint(file("a;b\n1;2\n"), separator=",")
    assert "'a;b'" in message
    assert "separated by ';'" in message


def test_paths_that_are_no_files_are_refused(tmp_path, file):
    assert "no file" in complaint(tmp_path / "absent.csv")
    assert "folder" in complaint(tmp_path)
    with pytest.raises(tables.TableError, match="does not download"):
        tables.open_source("https://example.org/table.csv")
    assert "remove .gz from its name" in complaint(file(PLAIN, "table.csv.gz"))
    assert "PAR1" in complaint(file(PLAIN, "table.parquet"))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may read all")
def test_files_without_permission_are_refused(file):
    path = file(PLAIN)
    path.chmod(0)
    assert "permission" in complaint(path)


@for_each(
    ("error", "words"),
    [
        (OSError(5, "Input/output error"), r"a.csv cannot be read: Input/output error\."),
        (PermissionError(13, "Permission denied"), "No permission to read"),
    ],
)
def test_failures_of_the_system_are_sentences(error, words):
    with pytest.raises(tables.TableError, match=words), streams.convert_system_errors("a.csv"):
        raise error


def test_panics_of_polars_are_sentences(file, monkeypatch):
    def panic(*arguments, **options):
        raise pl.exceptions.PanicException("called unwrap on None")

    path = file(PLAIN)
    monkeypatch.setattr(pl, "read_csv", panic)
    assert "called unwrap" in complaint(path)


def test_rows_that_polars_loses_are_noticed(file, monkeypatch):
    path = file(PLAIN)
    monkeypatch.setattr(pl, "read_csv", lambda *_, **__: pl.DataFrame({"0": ["1"], "1": ["a"]}))
    assert "1 rows, but 2 were counted" in complaint(path)


# Standard input and pipes


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("data", [PLAIN, packed(PLAIN)])
def test_standard_input_can_be_read_again(data, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    source = tables.open_source("-")
    partly = next(source.batches(1))
    assert partly.rows() == ROWS[:1]
    assert source.read().frame.rows() == source.read().frame.rows() == ROWS


def test_standard_input_may_be_parquet(monkeypatch):
    file = io.BytesIO()
    pl.DataFrame({"x": [1, 2]}).write_parquet(file)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.getvalue())))
    assert tables.read("-").rows() == [(1,), (2,)]


@pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
def test_named_pipe_is_read_like_a_file(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(PLAIN,))
    writer.start()
    assert tables.read(path).rows() == ROWS
    writer.join()


# JSON lines


@pytest.mark.usefixtures("small_pieces")
def test_json_lines_have_the_union_of_keys_and_common_types(file):
    text = (
        '{"i": 1, "f": 1, "m": 1, "b": true}\n\n'
        '{"f": 2.5, "m": "x", "n": null}\n'
        '{"i": 3, "m": true, "late": "\u00fc", "big": 99999999999999999999}'
    )
    frame = tables.read(file(text, "t.jsonl"))
    expected = dict(i=pl.Int64, f=pl.Float64, m=pl.String, b=pl.Boolean, n=pl.String)
    assert frame.schema == expected | {"late": pl.String, "big": pl.Float64}
    assert frame.rows()[0] == (1, 1.0, "1", True, None, None, None)
    assert frame.rows()[1] == (None, 2.5, "x", None, None, None, None)
    assert frame.rows()[2] == (3, None, "true", None, None, "\u00fc", 1e20)


def test_numbers_and_texts_that_do_not_fit_are_kept_as_well_as_can_be(file):
    text = '{"x": -1%s, "s": "\\ud800 \\u0000"}\n{"x": NaN, "s": ""}' % ("0" * 400)
    (x, s), (y, _) = tables.read(file(text, "t.jsonl")).rows()
    assert (x, s) == (-math.inf, "? \0")
    assert math.isnan(y)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1}\n{"a": [1, 2]}\n', "Line 2 of .* under the key 'a'"),
        ('{"a": {"b": 1}}\n', "Line 1 of .* list or an object"),
        ('{"a": 1}\n\n{"a": 1\n', "Line 3 of .* is not JSON"),
        ('[{"a": 1}]\n', "Line 1 of .* is a list, not an object"),
        ("3\n", "single value"),
        ("{}\n{}\n", "no columns"),
        ("[" * 100_000, "Line 1 of .* cannot be parsed"),
        ('{"a": 1%s}' % ("0" * 5000), "Line 1 of .* cannot be parsed"),
        ('{"a": 1}\n\0\n', "Line 2 of .* NUL"),
    ],
)
def test_bad_json_lines_are_refused_by_line_and_reason(text, words, file):
    assert re.search(words, complaint(file(text, "t.jsonl")))


def test_json_lines_without_a_telling_name_are_recognised(file):
    assert tables.open_source(file('{"a": 1}\n', "rows")).format == "jsonl"
    assert tables.open_source(file(b'{"a": 1}\n', "rows"), format="csv").format == "csv"


# Parquet


def test_parquet_keeps_its_types_and_leaves_out_what_is_nested(tmp_path):
    path = tmp_path / "t.pq"
    frame = pl.DataFrame(
        {
            "x": [1, 2, None],
            "c": pl.Series(["u", "v", "u"], dtype=pl.Categorical),
            "d": pl.Series([1, 2, 3]).cast(pl.Decimal(10, 2)),
            "l": [[1], [2], []],
            "raw": [b"1", b"2", b"3"],
        }
    )
    frame.write_parquet(path, row_group_size=2)
    source = tables.open_source(path)
    assert source.columns == ("x", "c", "d")
    assert "'l', 'raw'" in source.notes[0]
    batches = list(source.batches(2))
    assert [batch.height for batch in batches] == [2, 1]
    assert batches[0].dtypes == [pl.Int64, pl.String, pl.Float64]
    assert source.read().frame.rows() == [(1, "u", 1.0), (2, "v", 2.0), (None, "u", 3.0)]


def test_parquet_of_nested_columns_only_is_refused(tmp_path):
    pl.DataFrame({"l": [[1]]}).write_parquet(tmp_path / "t.parquet")
    assert "no columns of" in complaint(tmp_path / "t.parquet")


def test_parquet_without_rows_keeps_its_types(tmp_path):
    pl.DataFrame(schema={"x": pl.Int64}).write_parquet(tmp_path / "t.parquet")
    assert tables.read(tmp_path / "t.parquet").schema == {"x": pl.Int64}


# Samples


def test_sample_is_in_file_order_without_repeats_and_the_same_for_a_seed(file):
    path = file("i\n" + "".join(f"{i}\n" for i in range(1000)))
    source = tables.open_source(path)
    sample = source.read(100, seed=3)
    rows = [int(text) for text in sample.frame["i"]]
    assert sample.n_rows == 1000
    assert len(rows) == 100
    assert rows == sorted(set(rows)) == sample.positions.tolist()
    assert source.read(100, seed=3).frame.equals(sample.frame)
    assert not source.read(100, seed=4).frame.equals(sample.frame)
    assert source.read(1000).frame.equals(source.read().frame)


def test_sample_does_not_depend_on_how_the_file_is_cut(file, monkeypatch):
    source = tables.open_source(file("i\n" + "".join(f"{i}\n" for i in range(500))))
    whole = [source.read(7, seed=seed).frame for seed in range(10)]
    monkeypatch.setattr(streams, "PIECE", 40)
    for seed, frame in enumerate(whole):
        assert source.read(7, seed=seed).frame.equals(frame)


def test_every_row_is_as_likely_to_be_sampled(file):
    n, size, n_seeds = 60, 15, 400
    source = tables.open_source(file("i\n" + "".join(f"{i}\n" for i in range(n))))
    taken = np.zeros(n)
    for seed in range(n_seeds):
        taken[[int(text) for text in source.read(size, seed=seed).frame["i"]]] += 1
    p = size / n
    chi2 = np.sum((taken - n_seeds * p) ** 2) / (n_seeds * p * (1 - p))
    assert 25 < chi2 < 110  # 59 degrees of freedom: beyond these once in 10,000
