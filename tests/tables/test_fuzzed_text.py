"""Damaged text is read or refused with a sentence: no other exception, no hang, nothing written."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from support import hostile_tables

from posterity import tables

N_ROUNDS, PER_ROUND = 20, 100
ORIGINALS = {
    "plain.csv": b"x,y,colour\n" + b"".join(b"%d,%.3f,red\n" % (i, i / 7) for i in range(12)),
    "quoted.csv": b'name,"a, b",note\n"K ""x"" y",1,"two\nlines"\n"",2,\nz,,"q"\n' * 2,
    "semicolon.csv": "größe;preis;tag\n1,5;2,25;2024-01-02\n-3,0;;2024-02-03\n".encode() * 3,
    "windows.csv": "stadt,wert\r\nKöln,3\r\nZürich,4\r\n".encode("cp1252") * 3,
    "wide.tsv": b"\t".join(b"c%d" % i for i in range(40)) + b"\n" + b"\t".join([b"7"] * 40) + b"\n",
    "sixteen.csv": "a,b\n1,ü\n2,\u20ac\n".encode("utf-16"),
    "lines.jsonl": b'{"x": 1, "s": "a"}\n{"x": 2.5, "t": null}\n{"x": -3, "s": "\\u00fc"}\n',
}
PIECES = [
    *(b'"', b'""', b"\0", b"\n", b"\r\n", b"\r", b",", b";", b"\t", b"|", b" ", b"#", b"x^"),
    *(
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xff",
        b"\xc3",
        b"\xe2\x82",
        b"\x1f\x8b",
        b"PAR1",
        b"{",
        b"[",
    ),
    *(b'"' * 101, b"," * 300, b"9" * 5000, b"\n" * 200, b"sep=;\n", b' "', b'" ', b'\\"'),
]


def flipped(data: bytearray, rng: np.random.Generator) -> None:
    for at in rng.integers(len(data), size=rng.integers(1, 6)):
        data[at] ^= 1 << rng.integers(8)


def cut(data: bytearray, rng: np.random.Generator) -> None:
    start, stop = np.sort(rng.integers(len(data) + 1, size=2))
    if rng.random() < 0.5:
        del data[start:]
    else:
        del data[start:stop]


def inserted(data: bytearray, rng: np.random.Generator) -> None:
    for _ in range(rng.integers(1, 4)):
        at = rng.integers(len(data) + 1)
        data[at:at] = PIECES[rng.integers(len(PIECES))]


def doubled(data: bytearray, rng: np.random.Generator) -> None:
    start, stop = np.sort(rng.integers(len(data) + 1, size=2))
    at = rng.integers(len(data) + 1)
    data[at:at] = data[start:stop]


def random_bytes(data: bytearray, rng: np.random.Generator) -> None:
    start, stop = np.sort(rng.integers(len(data) + 1, size=2))
    data[start:stop] = rng.bytes(int(rng.integers(1, 40)))


MUTATIONS: tuple[Callable[[bytearray, np.random.Generator], None], ...] = (
    flipped,
    cut,
    inserted,
    doubled,
    random_bytes,
)


def mutated(rng: np.random.Generator) -> tuple[str, bytes]:
    """A damaged original under its own name or under another."""
    names = list(ORIGINALS)
    name = names[rng.integers(len(names))]
    data = bytearray(ORIGINALS[name])
    for _ in range(rng.integers(1, 4)):
        if data:
            MUTATIONS[rng.integers(len(MUTATIONS))](data, rng)
    if rng.random() < 0.1:
        return f"{name}.gz", gzip.compress(bytes(data), 1)[: rng.integers(5, 400)]
    return ("unnamed" if rng.random() < 0.2 else name), bytes(data)


def refusal(path: Path) -> str | None:
    """The sentence with which a file is refused, if it is."""
    try:
        source = tables.open_source(path)
        frames = list(source.batches(5))
    except tables.TableError as error:
        return str(error)
    assert all(tuple(frame.columns) == source.columns for frame in frames)
    assert sum(frame.height for frame in frames) == source.read().n_rows
    return None


@pytest.mark.full(but=3)
@pytest.mark.parametrize("seed", range(N_ROUNDS))
def test_damaged_text_is_read_or_refused_with_a_sentence(seed, tmp_path):
    rng = np.random.default_rng(seed)
    said = []
    for _ in range(PER_ROUND):
        name, data = mutated(rng)
        path = tmp_path / name
        path.write_bytes(data)
        said.append(refusal(path))
        assert path.read_bytes() == data
        path.unlink()
    assert os.listdir(tmp_path) == []
    sentences = [sentence for sentence in said if sentence is not None]
    assert 10 < len(sentences) < 90  # both happen: the damage is neither too light nor too heavy
    assert all(sentence.endswith(".") and len(sentence) < 600 for sentence in sentences)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("capfd")  # polars writes of its panics to standard error
def test_damaged_parquet_is_read_or_refused_with_a_sentence(seed, tmp_path):
    rng = np.random.default_rng(seed)
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"x": [1.5, None, 3.0] * 9, "s": ["a", "b", None] * 9}).write_parquet(path)
    original = path.read_bytes()
    for _ in range(25):
        data = bytearray(original)
        MUTATIONS[rng.integers(len(MUTATIONS))](data, rng)
        path.write_bytes(b"PAR1" + bytes(data)[4:])
        assert (refusal(path) or ".").endswith(".")


@pytest.mark.full(but=1)
@pytest.mark.parametrize("seed", range(3))
def test_no_row_or_column_of_a_wrong_table_is_lost_in_silence(seed, tmp_path):
    for n in range(25):
        hostile_tables.check_table(np.random.default_rng((seed, n)), tmp_path)


@pytest.mark.full(but=1)
@pytest.mark.parametrize("seed", range(3))
def test_every_row_of_an_odd_file_is_read_or_the_file_is_refused(seed, tmp_path):
    outcomes = [
        hostile_tables.check_file(np.random.default_rng((seed, n)), tmp_path) for n in range(15)
    ]
    assert "read" in outcomes
