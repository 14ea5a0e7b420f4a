"""Detect the format of a file from its name and first bytes."""

import codecs
import dataclasses
import os
import re
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from posterity.tables import columns, records, streams

Format: TypeAlias = Literal["csv", "parquet", "jsonl", "excel"]

HEAD = 1 << 20  # bytes used to detect the format
SEPARATORS = (",", ";", "\t", "|")
RECORDS_LOOKED_AT = 200
_OF_FORMAT: dict[Format, str] = {
    "csv": ".csv .tsv .tab .txt .data",
    "parquet": ".parquet .pq",
    "jsonl": ".jsonl .ndjson .json",
    "excel": ".xlsx .xlsm .xlsb .xls .ods",
}
_SUFFIXES = {suffix: kind for kind, suffixes in _OF_FORMAT.items() for suffix in suffixes.split()}
_PARQUET = b"PAR1"
_STRANGERS = {
    b"PK\x03\x04": "a ZIP archive (.npz files are)",
    b"%PDF": "a PDF document",
    b"\x89HDF": "an HDF5 file",
    b"SQLite format 3": "an SQLite database",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"ARROW1": "an Arrow or Feather file",
    b"\x93NUMPY": "a NumPy array",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"<!doctype html": "a web page",
    b"<html": "a web page",
    b"<?xml": "an XML file",
}
_ZIP, _OLD_WORKBOOK = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_IN_WORKBOOKS = (b"[Content_Types].xml", b"xl/", b"opendocument.spreadsheet")
_BLANK_SEPARATED = re.compile(rb"[^\n]+\n[-+.\d]+( [-+.\deE]+)+\r?\n[^\n]")  # names, then numbers
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def open_stream(path: str | os.PathLike[str]) -> streams.Stream:
    """Open a path as a stream, decompressed, with its detected encoding."""
    name = "standard input" if os.fspath(path) == "-" else os.fspath(path)
    if re.match(r"[a-zA-Z][a-zA-Z0-9+]+://", os.fspath(path)):
        raise columns.TableError(
            f"{name} is a URL, and posterity does not download files: fetch it first, or pipe it "
            f"in, as in: curl -L {name} | posterity ... -"
        )
    raw = streams.Stream(name, streams.open_origin(path))
    packed = raw.read_head(2) == streams.GZIP_MAGIC
    if Path(path).suffix.lower() == ".gz" and not packed and raw.read_head(1):
        raise columns.TableError(
            f"{name} ends in .gz but is not gzip-compressed; remove .gz from its name."
        )
    return dataclasses.replace(raw, compressed=packed)


def find_format_of_name(path: str | os.PathLike[str]) -> Format | None:
    """Return the format implied by a file name, if any."""
    return _SUFFIXES.get(strip_gz(path).suffix.lower())


def strip_gz(path: str | os.PathLike[str]) -> Path:
    """Return the file name without .gz."""
    return Path(path).with_suffix("") if Path(path).suffix.lower() == ".gz" else Path(path)


def detect_format(head: bytes, stream: streams.Stream, promised: Format | None) -> Format:
    """Return the format of the first bytes; raise for unsupported formats."""
    if not head:
        raise columns.TableError(f"{stream.name} is empty: it has no header line.")
    if _is_workbook(head):
        return "excel"
    for magic, kind in _STRANGERS.items():
        if head[: len(magic)].lower() == magic.lower():
            raise columns.TableError(
                f"{stream.name} is {kind}, which is not supported: save the table as CSV, "
                "Parquet or JSON lines."
            )
    if head.startswith(_PARQUET):
        return "parquet"
    if promised == "parquet":
        raise columns.TableError(
            f"{stream.name} is not a Parquet file: it does not begin with the bytes PAR1."
        )
    if promised == "excel":
        raise columns.TableError(
            f"{stream.name} is not a workbook, whatever its name: save the table as CSV."
        )
    return promised or ("jsonl" if head.lstrip()[:1] == b"{" else "csv")


def _is_workbook(head: bytes) -> bool:
    """Return whether bytes are the start of an Excel or OpenDocument workbook."""
    if head.startswith(_OLD_WORKBOOK):
        return True
    return head.startswith(_ZIP) and any(mark in head for mark in _IN_WORKBOOKS)


def detect_encoding(stream: streams.Stream, head: bytes) -> streams.Stream:
    """Return the stream with the detected encoding and line endings."""
    encoding = "utf-16" if head[:2] in _UTF16 else "utf-8"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        encoding = encoding if encoding == "utf-16" else "cp1252"
    found = dataclasses.replace(stream, encoding=encoding)
    text = found.read_head(HEAD)
    return dataclasses.replace(found, old_line_ends=b"\r" in text and b"\n" not in text)


def refuse_binary(text: bytes, name: str, line: int) -> None:
    """Raise if there is a NUL byte; ``line`` is the number of the first line."""
    if (at := text.find(b"\0")) >= 0:
        at_line = line + text.count(b"\n", 0, at)
        raise columns.TableError(
            f"Line {at_line} of {name} contains a NUL byte: the file is not text, is damaged, or "
            "is UTF-16 without a byte-order mark; save it as UTF-8 text."
        )


def detect_separator(head: bytes) -> str | None:
    """Return the separator with the most regular number of cells, or None."""
    scores = {candidate: _measure_evenness(head, candidate) for candidate in SEPARATORS}
    best = max(scores, key=lambda candidate: scores[candidate])
    if scores[best] > (0.0, 0):
        return best
    return " " if _BLANK_SEPARATED.match(head) and _measure_evenness(head, " ")[0] == 1.0 else None


def is_delimited(head: bytes) -> bool:
    """Return whether a separator gives every record the same number of cells."""
    return any(_measure_evenness(head, candidate)[0] == 1.0 for candidate in SEPARATORS)


def count_cells(text: bytes, separator: str) -> np.ndarray:
    """Return the number of cells of the first records."""
    return records.find_records(text, separator).n_cells[:RECORDS_LOOKED_AT]


def _measure_evenness(head: bytes, candidate: str) -> tuple[float, int]:
    """Return the fraction of records with the typical number of cells, and that number."""
    found = count_cells(head, candidate)
    if not found.size:
        return 0.0, 0
    typical = {int(found[0]), int(np.sort(found)[found.size // 2])} - {1}
    return max(((float(np.mean(found == n)), n) for n in typical), default=(0.0, 0))
