"""Read a file or standard input in pieces, decompressed and with UTF-16 as UTF-8.

At most one piece is in memory. Standard input is copied to a temporary file while it is read, so
that it can be read again. TableError is raised if reading fails.
"""

import codecs
import contextlib
import os
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

import polars as pl

from posterity.tables import columns

PIECE = 1 << 21  # size of a piece in bytes
_PACKED = 1 << 16  # bytes decompressed at once
_GZIP = 31  # zlib's code for gzip headers
GZIP_MAGIC = b"\x1f\x8b"


class TextLayout(Protocol):
    """How text is converted before it is split into cells."""

    def convert(self, pieces: Iterable[bytes], name: str) -> Iterator[bytes]: ...


class Origin(Protocol):
    """A source of bytes that can be read repeatedly from the start."""

    def pieces(self) -> Iterator[bytes]: ...


@dataclass(frozen=True)
class FileOrigin:
    """A file on disk."""

    path: Path

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of the file."""
        with convert_system_errors(str(self.path)), open(self.path, "rb", buffering=0) as file:
            while piece := file.read(PIECE):
                yield piece


@dataclass(frozen=True)
class PipeOrigin:
    """A pipe that can be read once, copied to a temporary file as it is read."""

    once: IO[bytes]
    kept: IO[bytes] = field(default_factory=tempfile.TemporaryFile)

    def __post_init__(self) -> None:
        weakref.finalize(self, self.kept.close)

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes from the start: stored ones first, then new ones."""
        offset = 0
        while piece := self._read_piece(offset):
            yield piece
            offset += len(piece)

    def _read_piece(self, offset: int) -> bytes:
        """Return the next bytes at an offset."""
        with convert_system_errors("standard input"):
            self.kept.seek(offset)
            if known := self.kept.read(PIECE):
                return known
            new = self.once.read(PIECE)
            self.kept.write(new)
            return new


@dataclass(frozen=True)
class Stream:
    """Text or binary content with its compression and encoding.

    Attributes
    ----------
    name : str
        Name for messages.
    origin : Origin
        Source of the bytes.
    compressed : bool
        Whether the bytes are gzip-compressed.
    encoding : str
        "utf-16" is converted to UTF-8; other encodings are passed through.
    old_line_ends : bool
        Whether lines end in a single carriage return.
    layout : TextLayout or None
        How text that blanks align is converted to text with tabs; None if it is not.
    """

    name: str
    origin: Origin
    compressed: bool = False
    encoding: str = "utf-8"
    old_line_ends: bool = False
    layout: "TextLayout | None" = None

    def pieces(self) -> Iterator[bytes]:
        """Yield the decompressed bytes without byte-order mark."""
        found = self.origin.pieces()
        unpacked = _decompress(found, self.name) if self.compressed else found
        unmarked = _strip_byte_order_mark(unpacked)
        plain = _convert_utf16(unmarked) if self.encoding == "utf-16" else unmarked
        lines = (p.replace(b"\r", b"\n") for p in plain) if self.old_line_ends else plain
        return lines if self.layout is None else self.layout.convert(lines, self.name)

    def read_head(self, size: int) -> bytes:
        """Return the first ``size`` bytes, or all if there are fewer."""
        found = bytearray()
        for piece in self.pieces():
            found += piece
            if len(found) >= size:
                break
        return bytes(found[:size])


def open_origin(path: str | os.PathLike[str]) -> Origin:
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


def join_pieces(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Join pieces to a size of at least ``size`` bytes, except for the last."""
    waiting: list[bytes] = []
    n_waiting = 0
    for piece in pieces:
        waiting.append(piece)
        n_waiting += len(piece)
        if n_waiting >= size:
            yield b"".join(waiting)
            waiting, n_waiting = [], 0
    if rest := b"".join(waiting):
        yield rest


@contextlib.contextmanager
def convert_system_errors(name: str) -> Iterator[None]:
    """Convert operating system errors to TableError."""
    try:
        yield
    except FileNotFoundError as error:
        raise columns.TableError(f"There is no file {name}; check the name.") from error
    except IsADirectoryError as error:
        raise columns.TableError(f"{name} is a folder; name a file in it.") from error
    except PermissionError as error:
        raise columns.TableError(f"No permission to read {name}.") from error
    except OSError as error:
        raise columns.TableError(f"{name} cannot be read: {error.strerror or error}.") from error


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


def _decompress(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Decompress gzip data of one or several members in bounded pieces."""
    unpacker = zlib.decompressobj(_GZIP)
    begun = False
    for packed in _split_pieces(pieces, _PACKED):
        rest = packed
        while rest:
            if unpacker.eof:
                unpacker, rest = zlib.decompressobj(_GZIP), rest.lstrip(b"\0")  # padding
                begun = bool(rest)
                continue
            begun = True
            yield _decompress_piece(unpacker, rest, name)
            rest = unpacker.unused_data or unpacker.unconsumed_tail
    if begun and not unpacker.eof:
        raise columns.TableError(f"The gzip data of {name} is truncated. Copy the file again.")


def _decompress_piece(unpacker: "zlib._Decompress", packed: bytes, name: str) -> bytes:
    """Decompress at most one piece of a member."""
    try:
        return unpacker.decompress(packed, PIECE)
    except zlib.error as error:
        raise columns.TableError(
            f"{name} is not a valid gzip file ({error}); compress it again, or use the "
            "uncompressed file."
        ) from error


def _split_pieces(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Split pieces to a size of at most ``size`` bytes."""
    for piece in pieces:
        yield from (piece[at : at + size] for at in range(0, len(piece), size))


def _convert_utf16(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Convert UTF-16 with a byte-order mark to UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
    for piece in pieces:
        yield decoder.decode(piece).encode()
    yield decoder.decode(b"", final=True).encode()


def _strip_byte_order_mark(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Remove a UTF-8 byte-order mark."""
    begun = b""
    found = iter(pieces)
    for piece in found:
        begun += piece
        if len(begun) >= len(codecs.BOM_UTF8):
            break
    yield begun.removeprefix(codecs.BOM_UTF8)
    yield from found


_REFUSALS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, MemoryError)


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
