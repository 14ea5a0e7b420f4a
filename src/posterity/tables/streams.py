"""The bytes of a file or of standard input, in pieces: unpacked, and as UTF-8 where it was UTF-16.

Nothing here holds more than a piece in memory. Standard input is copied to a temporary file as it
is read, so that it can be read again; what cannot be read raises TableError with the reason.
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

from posterity.tables import columns

PIECE = 1 << 21  # bytes of a piece
_PACKED = 1 << 16  # bytes unpacked at once: what a small member leaves over is copied
_GZIP = 31  # zlib's sign for a gzip header around the data
GZIP_MAGIC = b"\x1f\x8b"


class Origin(Protocol):
    """Where bytes come from: they can be asked for again from the start."""

    def pieces(self) -> Iterator[bytes]: ...


@dataclass(frozen=True)
class Place:
    """A file."""

    path: Path

    def pieces(self) -> Iterator[bytes]:
        """The bytes of the file, as they lie there."""
        with readable(str(self.path)), open(self.path, "rb", buffering=0) as file:
            while piece := file.read(PIECE):
                yield piece


@dataclass(frozen=True)
class Replay:
    """Something that can be read once, such as a pipe, kept in a temporary file as it is read."""

    once: IO[bytes]
    kept: IO[bytes] = field(default_factory=tempfile.TemporaryFile)

    def __post_init__(self) -> None:
        weakref.finalize(self, self.kept.close)

    def pieces(self) -> Iterator[bytes]:
        """The bytes from the start: kept ones first, then new ones."""
        offset = 0
        while piece := self._piece(offset):
            yield piece
            offset += len(piece)

    def _piece(self, offset: int) -> bytes:
        """What comes at an offset, at which this or an earlier reading has arrived."""
        with readable("standard input"):
            self.kept.seek(offset)
            if known := self.kept.read(PIECE):
                return known
            new = self.once.read(PIECE)
            self.kept.write(new)
            return new


@dataclass(frozen=True)
class Stream:
    """Text, or the bytes of another format, from somewhere.

    Attributes
    ----------
    name : str
        What a person calls it.
    origin : Origin
        Where the bytes come from.
    compressed : bool
        Whether they are packed with gzip.
    encoding : str
        "utf-16" is turned into UTF-8; anything else is passed on as it is.
    old_line_ends : bool
        Whether lines end in a carriage return alone.
    """

    name: str
    origin: Origin
    compressed: bool = False
    encoding: str = "utf-8"
    old_line_ends: bool = False

    def pieces(self) -> Iterator[bytes]:
        """The unpacked bytes, a byte-order mark left out."""
        found = self.origin.pieces()
        unpacked = _unpacked(found, self.name) if self.compressed else found
        unmarked = _without_mark(unpacked)
        plain = _from_utf16(unmarked) if self.encoding == "utf-16" else unmarked
        return (p.replace(b"\r", b"\n") for p in plain) if self.old_line_ends else plain

    def head(self, size: int) -> bytes:
        """The first bytes, ``size`` of them or all there are."""
        found = bytearray()
        for piece in self.pieces():
            found += piece
            if len(found) >= size:
                break
        return bytes(found[:size])


def origin(path: str | os.PathLike[str]) -> Origin:
    """Where the bytes of a path come from, "-" being standard input."""
    place = Path(path)
    if os.fspath(path) == "-":
        return Replay(sys.stdin.buffer)
    with readable(str(place)):
        mode = place.stat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return Place(place)
        pipe = open(place, "rb")  # noqa: SIM115 - read later; closed when the last reader is gone
        found = Replay(pipe)
        weakref.finalize(found, pipe.close)
        return found


def gathered(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in pieces of at least ``size``, but for the last."""
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
def readable(name: str) -> Iterator[None]:
    """Turn what the system says of a file that cannot be read into a sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise columns.TableError(f"There is no file {name}; check the name.") from error
    except IsADirectoryError as error:
        raise columns.TableError(f"{name} is a folder; name a file in it.") from error
    except PermissionError as error:
        raise columns.TableError(f"{name} may not be read: permission is missing.") from error
    except OSError as error:
        raise columns.TableError(f"{name} cannot be read: {error.strerror or error}.") from error


@contextlib.contextmanager
def on_disk(stream: Stream) -> Iterator[Path]:
    """A path at which the unpacked bytes lie, for readers that jump about in a file."""
    if isinstance(stream.origin, Place) and not stream.compressed:
        yield stream.origin.path
        return
    with tempfile.NamedTemporaryFile(prefix="posterity-") as file:
        for piece in stream.pieces():
            file.write(piece)
        file.flush()
        yield Path(file.name)


def _unpacked(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Undo gzip, of one or several members, a bounded piece at a time."""
    unpacker = zlib.decompressobj(_GZIP)
    begun = False
    for packed in _cut(pieces, _PACKED):
        rest = packed
        while rest:
            if unpacker.eof:
                unpacker, rest = zlib.decompressobj(_GZIP), rest.lstrip(b"\0")  # padding
                begun = bool(rest)
                continue
            begun = True
            yield _unpacked_piece(unpacker, rest, name)
            rest = unpacker.unused_data or unpacker.unconsumed_tail
    if begun and not unpacker.eof:
        raise columns.TableError(
            f"{name} ends in the middle of its gzip data: it was cut short. Copy it again."
        )


def _unpacked_piece(unpacker: "zlib._Decompress", packed: bytes, name: str) -> bytes:
    """What comes next of a member; at most a piece, however much it would swell."""
    try:
        return unpacker.decompress(packed, PIECE)
    except zlib.error as error:
        raise columns.TableError(
            f"{name} is not a sound gzip file ({error}); pack it again, or give the unpacked file."
        ) from error


def _cut(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in pieces of at most ``size``."""
    for piece in pieces:
        yield from (piece[at : at + size] for at in range(0, len(piece), size))


def _from_utf16(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """UTF-8 of UTF-16 that opens with its byte-order mark."""
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
    for piece in pieces:
        yield decoder.decode(piece).encode()
    yield decoder.decode(b"", final=True).encode()


def _without_mark(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same without the byte-order mark that some programs put before UTF-8."""
    begun = b""
    found = iter(pieces)
    for piece in found:
        begun += piece
        if len(begun) >= len(codecs.BOM_UTF8):
            break
    yield begun.removeprefix(codecs.BOM_UTF8)
    yield from found
