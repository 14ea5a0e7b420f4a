"""Read a file or standard input in pieces, decompressed and with UTF-16 as UTF-8.

At most one piece is in memory. Standard input is copied to a temporary file while it is read, so
that it can be read again. TableError is raised if reading fails.
"""

import codecs
import contextlib
import dataclasses
import gzip
import io
import os
import re
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, Protocol, TypeAlias

import polars as pl

from posterity.tables import columns

PIECE = 1 << 21  # size of a piece in bytes
GZIP_MAGIC = b"\x1f\x8b"
_REFUSALS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, MemoryError)


class TextLayout(Protocol):
    """Conversion of text before it is split into cells."""

    def convert(self, pieces: Iterable[bytes], name: str) -> Iterator[bytes]: ...


@dataclass(frozen=True)
class FileOrigin:
    """A file on disk."""

    path: Path

    def open(self) -> IO[bytes]:
        """Open the file at its start."""
        return open(self.path, "rb", buffering=0)


@dataclass(frozen=True)
class PipeOrigin:
    """A pipe that can be read once, copied to a temporary file as it is read."""

    once: IO[bytes]
    kept: IO[bytes] = field(default_factory=tempfile.TemporaryFile)

    def __post_init__(self) -> None:
        weakref.finalize(self, self.kept.close)

    def open(self) -> IO[bytes]:
        """Return a file of all bytes: stored ones first, then new ones."""
        return io.BufferedReader(_PipeReader(self))


class _PipeReader(io.RawIOBase):
    """A reader of a pipe from its start."""

    def __init__(self, pipe: PipeOrigin) -> None:
        self._pipe, self._offset = pipe, 0

    def readable(self) -> bool:
        return True

    def readinto(self, memory: Any) -> int:
        """Read the next bytes into memory; keep those that are new."""
        self._pipe.kept.seek(self._offset)
        found = self._pipe.kept.read(len(memory))
        if not found:
            found = self._pipe.once.read(len(memory))
            self._pipe.kept.write(found)
        memory[: len(found)] = found
        self._offset += len(found)
        return len(found)


@dataclass(frozen=True)
class Stream:
    """Text or binary content with its compression and encoding.

    Attributes
    ----------
    name : str
        Name for messages.
    origin : FileOrigin or PipeOrigin
        Source of the bytes.
    compressed : bool
        Whether the bytes are gzip-compressed.
    encoding : str
        "utf-16" is converted to UTF-8; other encodings are passed through.
    old_line_ends : bool
        Whether lines end in a single carriage return.
    layout : TextLayout or None
        Conversion of text that blanks align to text with tabs, if any.
    """

    name: str
    origin: FileOrigin | PipeOrigin
    compressed: bool = False
    encoding: str = "utf-8"
    old_line_ends: bool = False
    layout: TextLayout | None = None

    def pieces(self) -> Iterator[bytes]:
        """Yield the decompressed bytes without byte-order mark."""
        unmarked = _strip_byte_order_mark(self._read())
        plain = _convert_utf16(unmarked) if self.encoding == "utf-16" else unmarked
        lines = (p.replace(b"\r", b"\n") for p in plain) if self.old_line_ends else plain
        return lines if self.layout is None else self.layout.convert(lines, self.name)

    def _read(self) -> Iterator[bytes]:
        """Yield the bytes, decompressed; every piece but the last is full."""
        with convert_system_errors(self.name), self.origin.open() as raw:
            file: Any = gzip.GzipFile(fileobj=raw) if self.compressed else raw
            while piece := file.read(PIECE):
                yield piece

    def read_head(self, size: int) -> bytes:
        """Return the first ``size`` bytes, or all if there are fewer."""
        found = bytearray()
        for piece in self.pieces():
            found += piece
            if len(found) >= size:
                break
        return bytes(found[:size])


def open_origin(path: str | os.PathLike[str]) -> FileOrigin | PipeOrigin:
    """Return the source of a path; "-" is standard input."""
    place = Path(path)
    if os.fspath(path) == "-":
        return PipeOrigin(sys.stdin.buffer)
    with convert_system_errors(str(place)):
        mode = place.stat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return FileOrigin(place)
        pipe = open(place, "rb")  # noqa: SIM115 - read later; closed when the last reader is gone
        found = PipeOrigin(pipe)
        weakref.finalize(found, pipe.close)
        return found


@contextlib.contextmanager
def convert_system_errors(name: str) -> Iterator[None]:
    """Convert errors of the operating system and of gzip to TableError."""
    try:
        yield
    except FileNotFoundError as error:
        raise columns.TableError(f"There is no file {name}; check the name.") from error
    except IsADirectoryError as error:
        raise columns.TableError(f"{name} is a folder; name a file in it.") from error
    except PermissionError as error:
        raise columns.TableError(f"No permission to read {name}.") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise columns.TableError(
            f"{name} is not a valid gzip file ({error}); compress it again, or use the "
            "uncompressed file."
        ) from error
    except EOFError as error:
        raise columns.TableError(
            f"The gzip data of {name} is truncated. Copy the file again."
        ) from error
    except OSError as error:
        raise columns.TableError(f"{name} cannot be read: {error.strerror or error}.") from error


@contextlib.contextmanager
def convert_polars_errors(name: str) -> Iterator[None]:
    """Raise TableError with the file name if polars fails."""
    try:
        yield
    except _REFUSALS as error:
        reason = (str(error).strip() or "no reason given").splitlines()[0].rstrip(".")
        raise columns.TableError(
            f"{name} cannot be read; it may be damaged or truncated ({reason}). Save it again."
        ) from error


@contextlib.contextmanager
def write_to_disk(stream: Stream) -> Iterator[Path]:
    """Yield a path with the decompressed bytes, for readers that need random access."""
    if isinstance(stream.origin, FileOrigin) and not stream.compressed:
        yield stream.origin.path
        return
    with tempfile.NamedTemporaryFile(prefix="posterity-") as file:
        for piece in stream.pieces():
            file.write(piece)
        file.flush()
        yield Path(file.name)


def _convert_utf16(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Convert UTF-16 with a byte-order mark to UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
    for piece in pieces:
        yield decoder.decode(piece).encode()
    yield decoder.decode(b"", final=True).encode()


def _strip_byte_order_mark(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Remove a UTF-8 byte-order mark."""
    yield next(pieces, b"").removeprefix(codecs.BOM_UTF8)
    yield from pieces


Format: TypeAlias = Literal["csv", "parquet", "jsonl", "excel"]

HEAD = 1 << 20  # bytes used to detect the format
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
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def open_stream(path: str | os.PathLike[str]) -> Stream:
    """Open a path as a stream, decompressed, with its detected encoding."""
    name = "standard input" if os.fspath(path) == "-" else os.fspath(path)
    if re.match(r"[a-zA-Z][a-zA-Z0-9+]+://", os.fspath(path)):
        raise columns.TableError(
            f"{name} is a URL, and posterity does not download files: fetch it first, or pipe it "
            f"in, as in: curl -L {name} | posterity ... -"
        )
    raw = Stream(name, open_origin(path))
    packed = raw.read_head(2) == GZIP_MAGIC
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


def detect_format(head: bytes, stream: Stream, promised: Format | None) -> Format:
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


def detect_encoding(stream: Stream, head: bytes) -> Stream:
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


def decode_text(text: bytes) -> str:
    """Decode bytes as UTF-8, or else as Windows-1252."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("cp1252", errors="replace")
