"""Array members in the NPY format, of plain numbers and text only."""

from __future__ import annotations

import io
import math
import re
import tokenize
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from posterity.persistence.archive import Member, MemberReader
from posterity.persistence.errors import FileError

_PLAIN = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<c(8|16)|\|S[1-9]\d{0,6}|<U[1-9]\d{0,6}")
_IN_RECORDS = re.compile(r"\|[iu]1|<[iu][248]|<f[248]")
_PADDING = re.compile(r"\|V\d{1,3}")
_MAX_HEADER, _MAX_AXES = 1 << 16, 32
_WRONG = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
_VERSIONS: dict[tuple[int, int], Callable[..., Any]] = {
    (1, 0): npy_format.read_array_header_1_0,
    (2, 0): npy_format.read_array_header_2_0,
    (3, 0): npy_format.read_array_header_2_0,  # the same, for names of fields beyond Latin-1
}
_PIECE = 1 << 24  # bytes
_LAST_CHARACTER = 0x10FFFF


def make_member(name: str, array: NDArray[Any], where: str) -> Member:
    """Return the member of an array; ``where`` is its path in the model for errors."""
    dtype = array.dtype.newbyteorder("<")
    if _explain_refusal(dtype):
        raise FileError(
            f"{where} is an array of type {array.dtype}, which a model file cannot contain: use "
            "integers, floats of at most 64 bits, booleans or text."
        )
    header = _make_header(array, dtype)

    def pieces() -> Iterator[bytes | memoryview]:
        yield header
        yield from _write_contents(array, dtype)

    return Member(name, len(header) + array.size * dtype.itemsize, pieces)


def read_array(reader: MemberReader) -> NDArray[Any]:
    """Read the array of a member, after checking the member's size."""
    dtype, fortran, shape = _read_header(reader)
    count = math.prod(shape)
    if count * dtype.itemsize != reader.left:
        raise FileError(
            f"{reader.name} should contain {count:,} values of {dtype.itemsize} bytes, but has "
            f"{reader.left:,} bytes."
        )
    try:
        array = np.empty(shape, dtype, order="F" if fortran else "C")
    except ValueError as error:
        raise FileError(f"{reader.name} has an invalid shape: {error}.") from error
    if count:
        reader.fill(_view_bytes(array))
    _check_values(array, reader.name)
    return array


def _write_contents(array: NDArray[Any], dtype: np.dtype[Any]) -> Iterator[memoryview]:
    """Yield the bytes of an array."""
    if array.size:
        memory = _view_bytes(_make_contiguous(array, dtype))
        yield from (memory[i : i + _PIECE] for i in range(0, memory.nbytes, _PIECE))


def _make_contiguous(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a contiguous array, without a copy if possible."""
    order: Literal["F", "C"] = "F" if _is_fortran(array) else "C"
    if dtype.names is None:
        return np.asarray(array, dtype, order=order)
    records = np.zeros(array.shape, dtype, order=order)  # nothing stray between the fields
    for name in dtype.names:
        records[name] = array[name]
    return records


def _view_bytes(array: NDArray[Any]) -> memoryview:
    """Return the memory of a contiguous array as bytes."""
    flat: Any = array.reshape(-1, order="F" if _is_fortran(array) else "C")
    return memoryview(flat.view(np.uint8))


def _is_fortran(array: NDArray[Any]) -> bool:
    """Return whether an array is in column-major order, also as a view.

    Rounding of products depends on the memory order, so a loaded model keeps it.
    """
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return not array.flags.c_contiguous
    return array.ndim > 1 and all(np.diff(np.abs(array.strides)) >= 0)


def _make_header(array: NDArray[Any], dtype: np.dtype[Any]) -> bytes:
    buffer = io.BytesIO()
    fields = {
        "descr": npy_format.dtype_to_descr(dtype),
        "fortran_order": _is_fortran(array),
        "shape": array.shape,
    }
    npy_format.write_array_header_1_0(buffer, fields)
    return buffer.getvalue()


def _read_header(reader: MemberReader) -> tuple[np.dtype[Any], bool, tuple[int, ...]]:
    """Read type, order and shape from the header."""
    stream: Any = reader  # which has what NumPy asks of a file
    try:
        version = npy_format.read_magic(stream)
        if version not in _VERSIONS:
            raise FileError(f"{reader.name} is not in the NPY format.")
        shape, fortran, dtype = _VERSIONS[version](stream, max_header_size=_MAX_HEADER)
    except FileError:
        raise
    except (*_WRONG, tokenize.TokenError) as error:
        reason = (str(error).splitlines() or ["out of memory"])[0].rstrip(".")
        said = f"{reader.name} has a header that cannot be read: {reason:.200}."
        raise FileError(said) from error
    if why := _explain_refusal(dtype):
        raise FileError(f"{reader.name} contains values of type {dtype!r:.80}, {why}.")
    if len(shape) > _MAX_AXES or not all(type(n) is int and 0 <= n < 2**62 for n in shape):
        raise FileError(f"{reader.name} has an invalid shape.")
    return dtype, fortran, shape


def _explain_refusal(dtype: np.dtype[Any]) -> str:
    """Return why a type of NumPy is not supported, or ""."""
    descr: Any = npy_format.dtype_to_descr(dtype)
    if isinstance(descr, str):
        return "" if _PLAIN.fullmatch(descr) else "which a model file cannot contain"
    if not dtype.itemsize:
        return "which does not describe values"
    if not all(len(part) == 2 and isinstance(part[1], str) for part in descr):
        return "which does not describe records"
    plain = all(
        _IN_RECORDS.fullmatch(kind) or (not name and _PADDING.fullmatch(kind))
        for name, kind in descr
    )
    return "" if plain else "which has a part that is not a number"


def _check_values(array: NDArray[Any], name: str) -> None:
    """Raise for invalid booleans and characters, which NumPy does not check."""
    if array.dtype.kind == "b" and array.size and int(array.view(np.uint8).max()) > 1:
        raise FileError(f"{name} contains invalid booleans.")
    if array.dtype.kind == "U" and array.size:
        codes = np.frombuffer(_view_bytes(array), dtype="<u4")
        if int(codes.max()) > _LAST_CHARACTER:
            raise FileError(f"{name} contains invalid characters.")
