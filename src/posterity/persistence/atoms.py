"""Encode atomic values in model.json.

JSON values are written as they are: null, true, 64-bit integers, finite floats, strings. Other
values are objects with one key for their kind: {"float": "nan"}, {"int": "1f..."}, {"bytes":
"00ff"}.
"""

from __future__ import annotations

import math
import re
import types
from typing import Any

import numpy as np

from posterity.persistence.errors import FileError

_WIDE = 1 << 63
_MAX_HEX = 4096  # maximum number of hexadecimal digits
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_PYTHON = (bool, int, float, str, object)
_NUMPY = (np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32)
_NUMPY_TOO = (np.uint64, np.float16, np.float32, np.float64, np.str_, np.object_, np.number)
_TYPES: dict[str, type] = {kind.__name__: kind for kind in _PYTHON}
_TYPES |= {f"numpy.{kind.__name__}": kind for kind in (*_NUMPY, *_NUMPY_TOO)}
_UFUNCS: dict[str, np.ufunc] = {
    ufunc.__name__: ufunc
    for ufunc in (
        *(np.absolute, np.arcsinh, np.cbrt, np.exp, np.expm1, np.log, np.log10, np.log1p),
        *(np.log2, np.sign, np.sqrt, np.square, np.tanh),
    )
}
_SCALAR = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<c(8|16)|\|S\d{1,7}|<U\d{1,7}")
_COMPLEX = ("<c8", "<c16")
_ITEMS = {"b": bool, "i": int, "u": int, "f": float, "c": complex, "S": bytes, "U": str}
_INT = re.compile(rf"-?[0-9a-f]{{1,{_MAX_HEX}}}", re.ASCII)
_NAMES = {kind: name for name, kind in _TYPES.items()}


def is_atom(value: Any) -> bool:
    """Return whether a value is atomic."""
    plain = value is None or type(value) in (bool, int, float, str, bytes, slice)
    kinds = np.generic | np.dtype | np.ufunc | type | types.FunctionType
    return plain or isinstance(value, kinds)


def encode_atom(value: Any) -> Any:
    """Encode an atomic value that :func:`explain_refusal` accepts as JSON."""
    if value is None or isinstance(value, bool) or type(value) is str:
        return value
    if isinstance(value, np.generic):
        return _encode_scalar(value)
    if isinstance(value, int):
        return value if -_WIDE <= value < _WIDE else {"int": _format_hex(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    return {"ufunc": value.__name__} if isinstance(value, np.ufunc) else {"type": _NAMES[value]}


def explain_refusal(value: Any) -> str:
    """Return why an atomic value cannot be written, or "" if it can."""
    if isinstance(value, np.generic | np.dtype):
        dtype = np.dtype(value) if isinstance(value, np.dtype) else value.dtype
        text = dtype.newbyteorder("<").str
        allowed = _SCALAR.fullmatch(text) or (isinstance(value, np.dtype) and text == "|O")
        return "" if allowed else f"of NumPy's type {dtype}"
    if isinstance(value, type):
        return "" if value in _NAMES else f"a class, {value.__qualname__}"
    if isinstance(value, np.ufunc):
        known = _UFUNCS.get(value.__name__) is value
        return "" if known else f"a function, {value.__name__}"
    if isinstance(value, types.FunctionType):
        return f"a function, {value.__qualname__}"
    if isinstance(value, int) and abs(value) >> (4 * _MAX_HEX):
        return "a number with too many digits"
    if isinstance(value, slice):
        ends = (value.start, value.stop, value.step)
        plain = all(end is None or type(end) is int for end in ends)
        return "" if plain else "a slice with bounds that are not integers"
    return ""


def decode_atom(value: Any) -> Any:
    """Decode an atomic value of model.json."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict) and len(value) == 1:
        ((kind, content),) = value.items()
        if kind in _DECODERS:
            try:
                return _DECODERS[kind](content)
            except (ValueError, TypeError, LookupError, OverflowError) as error:
                raise FileError(f"model.json contains an invalid value: {value!r:.80}.") from error
    raise FileError(f"model.json contains a value of unknown kind: {value!r:.80}.")


def _encode_scalar(value: np.generic) -> Any:
    dtype = value.dtype.newbyteorder("<")
    number = value.item()
    pair = [number.real, number.imag] if isinstance(number, complex) else [number]
    return {"scalar": [dtype.str, *(encode_atom(part) for part in pair)]}


def _format_hex(value: int) -> str:
    return f"{value:x}"


def _decode_integer(content: str) -> int:
    if not _INT.fullmatch(content):
        raise ValueError("not an integer")
    return int(content, 16)


def _decode_scalar(content: list[Any]) -> Any:
    kind, *parts = content
    if not isinstance(kind, str) or not _SCALAR.fullmatch(kind):
        raise ValueError("not a scalar type")
    values = [decode_atom(part) for part in parts]
    item = complex(*values) if kind in _COMPLEX else _only(values)
    if type(item) is not _ITEMS[kind[1]]:
        raise ValueError("the value is not of the type")
    found = np.dtype(kind).type(item)
    if encode_atom(found) != {"scalar": content}:
        raise ValueError("the value is not of the type")
    return found


def _only(values: list[Any]) -> Any:
    (value,) = values
    return value


def _decode_dtype(content: str) -> np.dtype[Any]:
    if not isinstance(content, str) or not (_SCALAR.fullmatch(content) or content == "|O"):
        raise ValueError("not an array type")
    return np.dtype(content)


def _decode_slice(content: list[Any]) -> slice:
    if len(content) != 3 or not all(end is None or type(end) is int for end in content):
        raise ValueError("no slice")
    return slice(*content)


_DECODERS: dict[str, Any] = {
    "float": lambda content: _NOT_FINITE[content],
    "int": _decode_integer,
    "bytes": bytes.fromhex,
    "scalar": _decode_scalar,
    "dtype": _decode_dtype,
    "type": lambda content: _TYPES[content],
    "ufunc": lambda content: _UFUNCS[content],
    "slice": _decode_slice,
}
