"""Tables and files that are wrong in every way that people and programs find.

Each is read, or refused with a sentence; no row is lost in silence. Many more than the tests try:

    PYTHONPATH=tests python -m support.hostile_tables 5000 1000
"""

import csv
import gzip
import io
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from support.workbooks import write_workbook

from posterity import BayesianLinearRegression, RandomForestClassifier, tables
from posterity.comparison.baseline import constant_baseline

CELLS = [
    *("", " ", "NA", "n/a", "k.A.", "unknown", "?", "-", "--", "inf", "-inf", "Infinity", "nan"),
    *("1e400", "-1e309", "1e-320", "-999", "9999", "007", "0012", "54 kg", "119 lb", "134.0F"),
    *("12 %", "(1,234)", "($5.00)", "()", "(", "$", "$1,000", "\u20ac5", "1.234,5", "1,234.5"),
    *("12,34", "--5", "+-3", "1e", "e5", ".", ",", "0x1F", "1_000", "\u0663", "\u00bd", "\u221e"),
    *("2020-01-02", "02.01.2020", "13/14/2020", "1/2/20", "31 Feb 2020", "25:61", "20200230"),
    *("9007199254740993", "9" * 30, "-" + "9" * 400, "true", "TRUE", "Yes", "yes ", "NO", "no"),
    *(
        "a\tb",
        "two\nlines",
        "\r",
        'say "hi"',
        "'",
        "a,b;c|d",
        "x" * 3000,
        "\u00fc\u00df",
        "\U0001f600",
    ),
    *(
        "\u200b",
        "\ufeff",
        "\u202e",
        "=1+1",
        "<b>",
        "\\",
        "\x01",
        "the cat sat on the mat",
        "[1, 2]",
    ),
]
SEPARATORS = [",", ";", "\t", "|"]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "cp1252", "utf-16-le", "utf-32", "latin-1"]


def make_table(rng: np.random.Generator) -> tuple[list[str], list[list[str]]]:
    """Return names and rows of a table of texts with some wrong cells."""
    n, d = int(rng.choice([2, 3, 12, 40, 120])), int(rng.integers(1, 7))
    kinds: list[Callable[[int], list[str]]] = [
        lambda n: [f"{v:.3f}" for v in rng.normal(size=n)],
        lambda n: [str(v) for v in rng.integers(0, 9, n)],
        lambda n: [str(v) for v in range(1, n + 1)],
        lambda n: [str(2**60 + v) for v in rng.integers(0, 50, n)],
        lambda n: rng.choice(["red", "Red", "blue ", "BLUE", "x"], n).tolist(),
        lambda n: [f"town {v}" for v in rng.integers(0, 200, n)],
        lambda n: [f"2020-{1 + v % 12:02}-{1 + v % 28:02}" for v in rng.integers(0, 99, n)],
        lambda n: [f"{v:.1f} kg" for v in rng.normal(70.0, 9.0, n)],
        lambda n: [
            f"the {w} cat sat on mat {v}"
            for w, v in zip(rng.choice(["old", "big"], n), range(n), strict=True)
        ],
        lambda n: [CELLS[i] for i in rng.integers(len(CELLS), size=n)],
        lambda n: [""] * n,
        lambda n: ["same"] * n,
    ]
    columns = [kinds[rng.integers(len(kinds))](n) for _ in range(d)]
    target = kinds[rng.choice([0, 1, 4, 4, 9])](n)
    rows = [list(row) for row in zip(*columns, target, strict=True)]
    for _ in range(int(rng.integers(0, max(2, n * d // 8)))):
        rows[rng.integers(n)][rng.integers(d + 1)] = CELLS[rng.integers(len(CELLS))]
    names = rng.choice(["x", "id", "", " a ", "date", "size", "nr"], d).tolist()
    return [*names, "y"], rows


def format_table(
    names: list[str], rows: list[list[str]], rng: np.random.Generator
) -> tuple[str, str]:
    """Return the text of a table as CSV, and its separator."""
    separator = str(rng.choice(SEPARATORS))
    text = io.StringIO()
    quoting = csv.QUOTE_ALL if rng.random() < 0.3 else csv.QUOTE_MINIMAL
    ends = str(rng.choice(["\n", "\r\n"]))
    csv.writer(text, delimiter=separator, quoting=quoting, lineterminator=ends).writerows(
        [names, *rows]
    )
    return text.getvalue(), separator


def check_table(rng: np.random.Generator, folder: Path) -> str:
    """Read a wrong table, fit and predict; return what happened."""
    names, rows = make_table(rng)
    text, _ = format_table(names, rows, rng)
    path = folder / "table.csv"
    path.write_bytes(text.encode())
    try:
        frame = tables.open_source(path).read().frame
    except tables.TableError as error:
        return f"refused by the reader: {check_sentence(error)}"
    # A row of one empty cell is a blank line, and a blank line is no row.
    n_blank = sum(not any(cell.strip(" ") for cell in row) and len(row) == 1 for row in rows)
    if frame.height != len(rows) - n_blank or frame.width != len(names):
        raise AssertionError(f"{frame.shape} were read of {len(rows)} rows, {len(names)} columns")
    return use_frame(frame, frame.columns[-1], rng)


def use_frame(frame: pl.DataFrame, target: str, rng: np.random.Generator) -> str:
    """Infer, fit and predict; the rows that are used and those that are named are all rows."""
    words = ("-999", "inf", "-inf", "1e400", "-1e309", "\u221e") if rng.random() < 0.5 else ()
    try:
        schema = tables.infer(frame, target, missing=words)
        said = tables.describe_schema(schema, frame)
        model = tables.TableModel(choose_estimator(schema, rng), schema).fit(frame)
    except tables.TableError as error:
        return f"refused: {check_sentence(error)}"
    check_counts(model, frame, said)
    answers = tables.append_predictions(model, frame, prefix="predicted")
    if answers.height != frame.height:
        raise AssertionError("predictions were lost")
    return f"{schema.task}, {model.n_left_out_} rows without a target"


def check_counts(model: tables.TableModel, frame: pl.DataFrame, said: list[str]) -> None:
    """Refuse a model that lost rows, columns or missing values that its sentences do not name."""
    schema, left_out = model.schema, model.n_left_out_
    if model.n_rows_ + left_out != frame.height:
        raise AssertionError("rows were lost")
    if left_out and f" {left_out:,} more without a target" not in said[0]:
        raise AssertionError(f"{left_out} rows are not named in: {said[0]}")
    listed = {column.name for column in schema.inputs} | {drop.name for drop in schema.dropped}
    if listed | {schema.target} != set(frame.columns):
        raise AssertionError("columns were lost")
    X = model.encode_inputs(frame)
    known = np.isnan(X).any() and tables.accepts_missing(model.estimator)
    if not (np.isfinite(X).all() or known):
        raise AssertionError("an encoded number is not finite")
    for column in schema.inputs:
        part = next(part for part in model.encoder_.parts_ if part.name == column.name)
        values = part.read(frame[column.name])
        n_missing = values.null_count() if isinstance(values, pl.Series) else np.isnan(values).sum()
        if n_missing != column.n_missing:
            raise AssertionError(f"{column.name}: {n_missing} missing, {column.n_missing} named")


def choose_estimator(schema: tables.Schema, rng: np.random.Generator) -> Any:
    if rng.random() < 0.9:
        return constant_baseline(schema)
    if schema.task == "regression":
        return BayesianLinearRegression()
    return RandomForestClassifier(n_estimators=3, random_state=0)


def check_file(rng: np.random.Generator, folder: Path) -> str:
    """Read an odd file; return what happened."""
    name, data, n_rows = make_file(rng, folder)
    path = folder / name
    path.write_bytes(data)
    try:
        source = tables.open_source(path)
        counts = [batch.height for batch in source.batches(int(rng.choice([50, 777, 5000])))]
    except tables.TableError as error:
        return f"refused: {check_sentence(error)}"
    finally:
        path.unlink()
    if n_rows is not None and sum(counts) != n_rows:
        raise AssertionError(f"{sum(counts)} of {n_rows} rows of {name}: {data[:300]!r}")
    return "read"


def make_file(rng: np.random.Generator, folder: Path) -> tuple[str, bytes, int | None]:
    """Return a file name, its bytes, and the number of rows, None if that is open to doubt."""
    n = int(rng.choice([0, 1, 2, 30, 400, 20_000], p=[0.1, 0.1, 0.15, 0.4, 0.2, 0.05]))
    d = int(rng.choice([2, 3, 5, 30, 400])) if n <= 400 else 3
    values = [[f"{v:.3g}" for v in row] for row in rng.normal(size=(n, d))]
    names = [f"c{i}" for i in range(d)]
    form = int(rng.integers(10))
    if form == 0:
        return make_aligned(names, values, rng)
    if form == 1:
        return make_workbook(names, values, folder)
    if form == 2:
        lines = [f'{{"a": {row[0]}, "b": "{row[1]}"}}' for row in values]
        return "rows.jsonl", "\n".join(lines).encode(), n if n else None
    text, expected = vary_text(format_table(names, values, rng)[0], n, form, rng)
    encoding = str(rng.choice(ENCODINGS, p=[0.4, 0.1, 0.15, 0.1, 0.1, 0.05, 0.1]))
    data = text.encode(encoding, errors="replace")
    if rng.random() < 0.1:
        return "table.csv.gz", gzip.compress(data), expected
    return str(rng.choice(["table.csv", "table.txt", "table", "table.data"])), data, expected


def vary_text(text: str, n: int, form: int, rng: np.random.Generator) -> tuple[str, int | None]:
    """Return the text in another form, and the number of rows that it has then."""
    if form == 3:
        return damage_lines(text, rng), None
    if form == 4:
        return text.rstrip("\r\n"), n
    if form == 5:
        return text.replace("\r\n", "\n").replace("\n", "\r"), n
    if form == 6:
        return f"# written by a program\n\n{text}\n\n", n
    return ("Title of the table\n" + text, n if n > 3 else None) if form == 7 else (text, n)


def make_workbook(
    names: list[str], values: list[list[str]], folder: Path
) -> tuple[str, bytes, int | None]:
    """Return an Excel workbook of a few columns."""
    path = folder / "book.xlsx"
    rows = [[float(v) for v in row[:3]] for row in values[:400]]
    write_workbook(path, {"one": [list(names[:3]), *rows]})
    data = path.read_bytes()
    path.unlink()
    return "book.xlsx", data, len(rows)


def make_aligned(
    names: list[str], values: list[list[str]], rng: np.random.Generator
) -> tuple[str, bytes, int | None]:
    """Return a file whose columns are aligned by blanks, some cells empty."""
    width = 12
    rows = [[cell if rng.random() < 0.97 else "" for cell in row] for row in values]
    lines = ["".join(f"{cell:>{width}}" for cell in row) for row in [names, *rows]]
    n_rows = sum(any(row) for row in rows)  # a blank line is no row
    return "aligned.txt", "\n".join(lines).encode(), None if n_rows < 3 else n_rows


def damage_lines(text: str, rng: np.random.Generator) -> str:
    """Return the text with characters in wrong places."""
    characters = list(text)
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(len(characters) + 1))
        characters[at:at] = str(rng.choice(['"', "\n", ",", ";", "\x00", "\t", "\r", "\ufffd"]))
    return "".join(characters)


def check_sentence(error: Exception) -> str:
    """Return the kind of a refusal, which must be a sentence of bearable length."""
    text = str(error)
    if not text.endswith((".", "?", "...", " -")) or len(text) > 700:
        raise AssertionError(f"not a sentence: {text!r}")
    return " ".join(word for word in text.split()[-5:] if word.isalpha())


def main(n_tables: int, n_files: int) -> None:
    """Try many, and count what happened."""
    for check, n in ((check_table, n_tables), (check_file, n_files)):
        found: Counter[str] = Counter()
        slowest = 0.0
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(n):
                start = time.process_time()
                try:
                    outcome = check(np.random.default_rng(seed), Path(folder))
                except Exception as error:
                    outcome = f"WRONG {seed}: {type(error).__name__}: {str(error)[:300]}"
                    print(outcome, flush=True)
                slowest = max(slowest, time.process_time() - start)
                found[outcome.split(":")[0].split(",")[0].split(" ")[0]] += 1
        print(check.__name__, dict(found), f"slowest {slowest:.2f} s", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
