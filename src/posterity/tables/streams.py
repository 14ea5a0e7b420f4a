"""Read a file or standard input in pieces, decompressed and with UTF-16 as UTF-8.

At most one piece is in memory. Standard input is copied to a temporary file while it is read, so
that it can be read again. TableError is raised if reading fails.
"""

import codecs
import contextlib
import gzip
import io
import os
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

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
