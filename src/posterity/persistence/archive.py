"""The model file: a manifest with the size and hash of every member, then the members.

The file is a ZIP of the plainest kind: members are stored uncompressed, one after another from the
first byte, followed by the directory, so that every byte belongs to exactly one member or header.
``zipfile`` reads the directory; any other kind is refused before more than that is read. Only
members in the manifest are read, and each is checked against its size and hash.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

from posterity import files
from posterity.persistence import strict_json
from posterity.persistence.errors import FileError

FORMAT, FORMAT_VERSION = "posterity", 1
MANIFEST = "manifest.json"
MAX_MEMBERS = 100_000
_MAX_MANIFEST = 32 << 20
_MAX_NAME = 64
_MAX_DIRECTORY = MAX_MEMBERS * (46 + _MAX_NAME + 28)
_LOCAL = struct.Struct("<4s5H3L2H")  # the header before the contents of a member
_END, _END64 = 22, 22 + 20 + 56  # bytes at the end of a file, and of one that is large
_NAMES = re.compile(r"model\.json|arrays/(0|[1-9][0-9]{0,5})\.npy", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # equal models give equal files
_UNIX, _MODE = 3, 0o600 << 16
_OVERHEAD = _LOCAL.size + 46  # bytes of a member's own header and of its entry in the directory
_PIECE = 1 << 20  # size of a block that is read and discarded
_LARGE = (1 << 31) - 1  # larger members need ZIP64 fields

Pieces: TypeAlias = Callable[[], Iterator[bytes | memoryview]]


@dataclass(frozen=True)
class Member:
    """A member to write: its size is known, its bytes are generated on demand."""

    name: str
    size: int
    pieces: Pieces


def write(file: BinaryIO, header: dict[str, Any], members: Sequence[Member]) -> None:
    """Write a model file."""
    _check_number(members)
    manifest = _make_manifest(header, members, [_compute_hash(member) for member in members])
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for member in (manifest, *members):
            info = zipfile.ZipInfo(member.name, _FIRST_DAY)
            info.create_system, info.external_attr, info.file_size = _UNIX, _MODE, member.size
            with archive.open(info, "w") as place:
                for piece in member.pieces():
                    place.write(piece)


def compute_size(header: dict[str, Any], members: Sequence[Member]) -> int:
    """Return the number of bytes of the file, to within 100 if a member exceeds 2 GiB."""
    _check_number(members)
    manifest = _make_manifest(header, members, ["0" * 64] * len(members))
    return _END + sum(
        _OVERHEAD + 2 * len(member.name) + member.size + (48 if member.size > _LARGE else 0)
        for member in (manifest, *members)
    )


@dataclass(frozen=True)
class MemberPlace:
    """Offset, size and CRC-32 of a member."""

    start: int
    size: int
    crc: int


@dataclass(frozen=True)
class Archive:
    """An open model file whose manifest and sizes were checked."""

    manifest: dict[str, Any]
    n_bytes: int
    _file: BinaryIO
    _places: dict[str, MemberPlace]

    @property
    def sizes(self) -> dict[str, int]:
        """Size of each member in bytes."""
        return {name: place.size for name, place in self._places.items()}

    @property
    def n_arrays(self) -> int:
        """Number of array members."""
        return len(self._places) - 2

    @contextlib.contextmanager
    def open_member(self, name: str) -> Iterator[MemberReader]:
        """Open a member for reading; its hash is checked at the end."""
        reader = MemberReader(self._file, name, self._places[name])
        yield reader
        if reader.left:
            raise FileError(f"{name} is {reader.left} bytes too long.")
        if reader.hash.hexdigest() != self.manifest["members"][name]["sha256"]:
            raise FileError(
                f"{name} is damaged or was changed: its hash differs from the manifest."
            )

    def verify(self) -> None:
        """Check the hash of every member, in bounded memory."""
        for name in self.manifest["members"]:
            with self.open_member(name) as reader:
                while reader.left:
                    reader.read(min(reader.left, _PIECE))


class MemberReader:
    """Sequential reader of one member."""

    def __init__(self, file: BinaryIO, name: str, place: MemberPlace) -> None:
        self.name, self.left, self.hash = name, place.size, hashlib.sha256()
        self._file, self._position = file, place.start

    def read(self, n: int, /) -> bytes:
        """Read the next n bytes."""
        found = bytearray(min(n, self.left))  # limits memory if the size is wrong
        self.fill(memoryview(found), n)
        return bytes(found)

    def fill(self, memory: memoryview, n: int | None = None) -> None:
        """Read the next n bytes into existing memory."""
        if (memory.nbytes if n is None else n) > self.left:
            raise FileError(f"{self.name} is shorter than its header says.")
        self._file.seek(self._position)
        filled = 0
        while filled < memory.nbytes:
            count = self._file.readinto(memory[filled:])  # type: ignore[attr-defined]
            if not count:
                raise FileError(f"{self.name} ends too early: the file is truncated.")
            filled += count
        self.hash.update(memory)
        self._position, self.left = self._position + filled, self.left - filled


@contextlib.contextmanager
def open_archive(path: str | os.PathLike[str]) -> Iterator[Archive]:
    """Open a model file, checking its manifest and member sizes.

    Errors raised while it is open name the file.
    """
    place = files.check_path(path)
    try:
        if not stat.S_ISREG(os.stat(place).st_mode):
            raise FileError("This is not a file.")
        with place.open("rb") as file:
            yield _read_archive(file)
    except FileError as error:
        raise FileError(f"{place}: {error}") from error


def _read_archive(file: BinaryIO) -> Archive:
    n_bytes = os.fstat(file.fileno()).st_size
    places = _find_members(file, n_bytes)
    manifest = _read_manifest(file, places)
    _check_members(manifest, places)
    return Archive(manifest, n_bytes, file, places)


def _find_members(file: BinaryIO, n_bytes: int) -> dict[str, MemberPlace]:
    """Return the members of an open file by name, in file order."""
    _check_ends(file, n_bytes)
    try:
        directory = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, struct.error) as error:
        raise FileError("The directory of the file is invalid: the file is damaged.") from error
    found: dict[str, MemberPlace] = {}
    position, limit = 0, directory.start_dir
    for entry in directory.infolist():
        name = entry.filename
        if entry.header_offset != position:
            raise FileError(f"The member {name!r:.80} does not begin where the last one ended.")
        _check_entry(entry)
        if name in found:
            raise FileError(f"The file has two members named {name!r}.")
        begin = _find_content(file, entry, limit)
        position = begin + entry.file_size
        found[name] = MemberPlace(begin, entry.file_size, entry.CRC)
    if position != limit:
        raise FileError("The file holds bytes that belong to no member.")
    return found


def _check_ends(file: BinaryIO, n_bytes: int) -> None:
    """Check the first and the last bytes, and that the directory does not cost much memory."""
    if n_bytes < 4 or _read_bytes(file, 0, 4) != b"PK\x03\x04":
        raise FileError("This is not a model file: its first bytes are different.")
    start = max(0, n_bytes - _END64)
    end = _read_bytes(file, start, n_bytes - start).rjust(_END64, b"\0")
    if end[-_END : 4 - _END] != b"PK\x05\x06" or end[-2:] != b"\0\0":
        raise FileError("The file is truncated or has extra bytes at the end.")
    is_large = end[:4] == b"PK\x06\x06" and end[56:60] == b"PK\x06\x07"
    size = int.from_bytes(end[40:48] if is_large else end[-10:-6], "little")
    if size > _MAX_DIRECTORY:
        raise FileError(f"The file has more than {MAX_MEMBERS:,} members.")


def _check_entry(entry: zipfile.ZipInfo) -> None:
    """Check that a member is a plain one, as its entry in the directory says."""
    name, size, packed = entry.orig_filename, entry.file_size, entry.compress_size
    if len(name) > _MAX_NAME or not name.isascii() or "\0" in name:
        raise FileError(f"The file has a member named {name[:40]!r}, which no model file has.")
    if entry.flag_bits & 1:
        raise FileError(f"The member {name!r} is encrypted; members of model files are not.")
    if entry.compress_type != zipfile.ZIP_STORED:
        raise FileError(f"The member {name!r} is compressed; members of model files are not.")
    if entry.flag_bits:
        raise FileError(f"The member {name!r} has flags that model files do not use.")
    longer = ((size, packed), (size, packed, entry.header_offset), (entry.header_offset,))
    known = [struct.pack(f"<2H{len(n)}Q", 1, 8 * len(n), *n) for n in longer]  # ZIP64 fields
    if entry.comment or entry.extra not in (b"", *known):
        raise FileError("The directory of the file holds fields that model files do not use.")
    if size != packed:
        raise FileError(f"The member {name!r} has conflicting sizes.")


def _find_content(file: BinaryIO, entry: zipfile.ZipInfo, limit: int) -> int:
    """Return the offset of the content; the header must match the directory."""
    name = entry.filename.encode("ascii")
    after_name = entry.header_offset + _LOCAL.size + len(name)
    if after_name + entry.file_size > limit:
        raise FileError(f"The member {entry.filename!r} is said to be larger than the file.")
    header = _read_bytes(file, entry.header_offset, after_name - entry.header_offset)
    signature, _, flags, method, *_, n_name, n_extra = _LOCAL.unpack(header[: _LOCAL.size])
    plain = (signature, flags, method, n_name) == (b"PK\x03\x04", 0, 0, len(name))
    if not plain or header[_LOCAL.size :] != name:
        raise FileError(
            f"The member {entry.filename!r} has a header that differs from the directory."
        )
    if after_name + n_extra + entry.file_size > limit:
        raise FileError(f"The member {entry.filename!r} is said to be larger than the file.")
    return after_name + n_extra


def _read_bytes(file: BinaryIO, start: int, size: int) -> bytes:
    file.seek(start)
    found = file.read(size)
    if len(found) < size:
        raise FileError("The file ends too early: it was truncated while it was read.")
    return found


def _read_manifest(file: BinaryIO, places: dict[str, MemberPlace]) -> dict[str, Any]:
    """Read the manifest, if the format version is supported."""
    if next(iter(places), None) != MANIFEST:
        raise FileError("This is not a model file: its first member is not manifest.json.")
    place = places[MANIFEST]
    if place.size > _MAX_MANIFEST:
        raise FileError(f"manifest.json has {place.size:,} bytes, more than allowed.")
    text = MemberReader(file, MANIFEST, place).read(place.size)
    if zlib.crc32(text) != place.crc:
        raise FileError("manifest.json is damaged: its checksum is wrong.")
    manifest = strict_json.read_json(text, MANIFEST)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise FileError("This is a ZIP file, but not a posterity model.")
    version = manifest.get("format_version")
    if type(version) is not int or version < 1:
        raise FileError(f"manifest.json gives the format version as {version!r:.40}.")
    if version > FORMAT_VERSION:
        raise FileError(
            f"The file was written by a newer posterity (format {version}; this one reads up to "
            f"{FORMAT_VERSION}): upgrade with pip install -U posterity."
        )
    return manifest


def _check_members(manifest: dict[str, Any], places: dict[str, MemberPlace]) -> None:
    """Check that the manifest and the members of the file agree."""
    announced = manifest.get("members")
    if not isinstance(announced, dict):
        raise FileError("manifest.json does not say which members the file has.")
    for name in places:
        if name != MANIFEST and (name not in announced or not _NAMES.fullmatch(name)):
            raise FileError(f"The file has a member named {name!r}, which is not in the manifest.")
    expected = ["model.json", *(f"arrays/{i}.npy" for i in range(len(announced) - 1))]
    for name in (*expected, *announced):
        if name not in places or name not in announced:
            raise FileError(f"The member {name!r:.60} is missing from the file.")
    for name, said in announced.items():
        _check_member(name, said, places[name].size)


def _check_member(name: str, said: Any, size: int) -> None:
    if not isinstance(said, dict) or set(said) != {"size", "sha256"}:
        raise FileError(f"manifest.json does not say the size and the hash of {name}.")
    if type(said["size"]) is not int or said["size"] != size:
        raise FileError(f"{name} has {size:,} bytes, but the manifest says {said['size']!r:.40}.")
    if not isinstance(said["sha256"], str) or not _HASH.fullmatch(said["sha256"]):
        raise FileError(f"manifest.json gives no hash for {name}.")


def _make_manifest(
    header: dict[str, Any], members: Sequence[Member], hashes: Sequence[str]
) -> Member:
    announced = {
        member.name: {"size": member.size, "sha256": digest}
        for member, digest in zip(members, hashes, strict=True)
    }
    text = strict_json.write_json(
        {"format": FORMAT, "format_version": FORMAT_VERSION, **header, "members": announced}
    )
    return Member(MANIFEST, len(text), lambda: iter((text,)))


def _compute_hash(member: Member) -> str:
    digest = hashlib.sha256()
    for piece in member.pieces():
        digest.update(piece)
    return digest.hexdigest()


def _check_number(members: Sequence[Member]) -> None:
    if len(members) >= MAX_MEMBERS:
        raise FileError(
            f"The model holds {len(members) - 1:,} arrays, but a file can hold at most "
            f"{MAX_MEMBERS - 2:,}: join arrays of equal length."
        )
