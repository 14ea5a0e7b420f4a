"""Find the members of a ZIP file of the plain kind that model files are.

Members are stored uncompressed, one after another from the first byte, followed by the directory.
Every byte belongs to exactly one member or header. Any other ZIP file raises an error before more
than its directory is read.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

from posterity.persistence.errors import FileError

MAX_MEMBERS = 100_000
_MAX_NAME = 64
_MAX_DIRECTORY = MAX_MEMBERS * (46 + _MAX_NAME + 28)
_LOCAL, _ENTRY = struct.Struct("<4s5H3L2H"), struct.Struct("<4s6H3L5H2L")
_END, _LOCATOR = struct.Struct("<4s4H2LH"), struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_FULL = 0xFFFFFFFF  # "see the longer field"
_STORED, _ENCRYPTED = 0, 1


@dataclass(frozen=True)
class MemberPlace:
    """Offset, size and CRC-32 of a member."""

    start: int
    size: int
    crc: int


class _Entry(NamedTuple):
    """A member as listed in the directory."""

    name: str
    size: int
    header: int  # where its own header begins
    crc: int


def find_members(file: BinaryIO, n_bytes: int) -> dict[str, MemberPlace]:
    """Return the members of an open file by name, in file order."""
    start, size, stop = _find_directory(file, n_bytes)
    entries = _read_entries(_read_bytes(file, start, size))
    found: dict[str, MemberPlace] = {}
    position = 0
    for entry in entries:
        if entry.name in found:
            raise FileError(f"The file has two members named {entry.name!r}.")
        if entry.header != position:
            raise FileError(f"The member {entry.name!r} does not begin where the last one ended.")
        begin = _find_content(file, entry, start)
        position = begin + entry.size
        found[entry.name] = MemberPlace(begin, entry.size, entry.crc)
    if position != start or start + size != stop:
        raise FileError("The file holds bytes that belong to no member.")
    return found


def _find_directory(file: BinaryIO, n_bytes: int) -> tuple[int, int, int]:
    """Return the start, size and end record of the directory."""
    stop = n_bytes - _END.size
    head = _read_bytes(file, 0, 4) if n_bytes >= 4 else b""
    end = _END.unpack(_read_bytes(file, stop, _END.size)) if stop >= 0 else (b"",)
    if head != b"PK\x03\x04":
        raise FileError("This is not a model file: its first bytes are different.")
    if end[0] != b"PK\x05\x06" or end[-1] != 0:
        raise FileError("The file is truncated or has extra bytes at the end.")
    if stop >= _LOCATOR.size + _END64.size:
        locator = _LOCATOR.unpack(_read_bytes(file, stop - _LOCATOR.size, _LOCATOR.size))
        if locator[0] == b"PK\x06\x07":
            return _find_directory64(file, stop - _LOCATOR.size - _END64.size)
    _, disk, first_disk, here, total, size, start, _ = end
    return _check_directory(
        start, size, stop, total, one_file=(disk, first_disk, here) == (0, 0, total)
    )


def _find_directory64(file: BinaryIO, stop: int) -> tuple[int, int, int]:
    """Return the same for ZIP64 files."""
    fields = _END64.unpack(_read_bytes(file, stop, _END64.size))
    if fields[0] != b"PK\x06\x06":
        raise FileError("The file is truncated: the end of its directory is missing.")
    _, _, _, _, disk, first_disk, here, total, size, start = fields
    return _check_directory(
        start, size, stop, total, one_file=(disk, first_disk, here) == (0, 0, total)
    )


def _check_directory(
    start: int, size: int, stop: int, total: int, *, one_file: bool
) -> tuple[int, int, int]:
    if not one_file or start + size > stop:
        raise FileError("The directory of the file is invalid: the file is damaged.")
    if total > MAX_MEMBERS or size > _MAX_DIRECTORY:
        raise FileError(f"The file has more than {MAX_MEMBERS:,} members.")
    return start, size, stop


def _read_entries(directory: bytes) -> list[_Entry]:
    """Yield the entries of the directory."""
    found, at = [], 0
    while at < len(directory):
        if len(directory) - at < _ENTRY.size:
            raise FileError("The directory of the file ends inside an entry.")
        fields = _ENTRY.unpack_from(directory, at)
        n_name, n_extra, n_comment = fields[10:13]
        after = at + _ENTRY.size + n_name
        name = directory[at + _ENTRY.size : after]
        found.append(_read_entry(fields, name, directory[after : after + n_extra]))
        at = after + n_extra + n_comment
    if at != len(directory):
        raise FileError("The directory of the file ends inside an entry.")
    return found


def _read_entry(fields: tuple[Any, ...], name: bytes, extra: bytes) -> _Entry:
    """Parse one directory entry, which must be a plain one."""
    signature, _, _, flags, method, _, _, crc, packed, size, _, _, n_comment = fields[:13]
    said = _decode_name(name)
    if signature != b"PK\x01\x02" or n_comment:
        raise FileError("The directory of the file is damaged.")
    if flags & _ENCRYPTED:
        raise FileError(f"The member {said!r} is encrypted; members of model files are not.")
    if method != _STORED:
        raise FileError(f"The member {said!r} is compressed; members of model files are not.")
    if flags:
        raise FileError(f"The member {said!r} has flags that model files do not use.")
    longer = _read_zip64_fields(extra, (size, packed, fields[-1]))
    if longer[0] != longer[1]:
        raise FileError(f"The member {said!r} has conflicting sizes.")
    return _Entry(said, longer[0], longer[2], crc)


def _read_zip64_fields(extra: bytes, short: tuple[int, int, int]) -> list[int]:
    """Return sizes and offset, from the ZIP64 extra field where needed."""
    missing = sum(value == _FULL for value in short)
    if len(extra) != (4 + 8 * missing if missing else 0):
        raise FileError("The directory of the file holds fields that model files do not use.")
    if not missing:
        return list(short)
    kind, length, *values = struct.unpack(f"<2H{missing}Q", extra)
    if (kind, length) != (1, 8 * missing):
        raise FileError("The directory of the file holds fields that model files do not use.")
    rest = iter(values)
    return [next(rest) if value == _FULL else value for value in short]


def _find_content(file: BinaryIO, entry: _Entry, limit: int) -> int:
    """Return the offset of the content; the header must match the directory."""
    if entry.header + _LOCAL.size + len(entry.name) + entry.size > limit:
        raise FileError(f"The member {entry.name!r} is said to be larger than the file.")
    header = _LOCAL.unpack(_read_bytes(file, entry.header, _LOCAL.size))
    signature, _, flags, method, *_, n_name, n_extra = header
    begin = entry.header + _LOCAL.size + n_name + n_extra
    name = _read_bytes(file, entry.header + _LOCAL.size, len(entry.name))
    if (signature, flags, method) != (b"PK\x03\x04", 0, _STORED) or (
        n_name != len(entry.name) or name != entry.name.encode("ascii")
    ):
        raise FileError(f"The member {entry.name!r} has a header that differs from the directory.")
    if begin + entry.size > limit:
        raise FileError(f"The member {entry.name!r} is said to be larger than the file.")
    return begin


def _decode_name(name: bytes) -> str:
    if len(name) > _MAX_NAME or not name.isascii():
        raise FileError(
            f"The file has a member named {name[:40]!r}, which is not valid in a model file."
        )
    return name.decode("ascii")


def _read_bytes(file: BinaryIO, start: int, size: int) -> bytes:
    file.seek(start)
    found = file.read(size)
    if len(found) < size:
        raise FileError("The file ends too early: it was truncated while it was read.")
    return found
