"""Strict JSON (no duplicate keys, NaN, long numbers or deep nesting), and atomic values in it.

JSON values are written as they are: null, true, 64-bit integers, finite floats, strings. Other
values are objects with one key for their kind: {"float": "nan"}, {"int": "1f..."}, {"bytes":
"00ff"}.
"""

from __future__ import annotations

import json
import math
import re
import types
from typing import Any, NoReturn

import numpy as np

from posterity.persistence.errors import FileError

MAX_BRACKETS = 4_000_000
_MAX_DIGITS = 20  # digits of a 64-bit integer with sign


def write_json(value: Any) -> bytes:
    """Serialize a value to deterministic ASCII bytes."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def read_json(text: bytes, name: str) -> Any:
    """Parse JSON; raise FileError with the member name if it is invalid.

    Examples
    --------
    >>> read_json(b'{"a": 1, "a": 2}', "model.json")
    Traceback (most recent call last):
        ...
    posterity.persistence.errors.FileError: model.json has the key 'a' twice.
    """
    # Brackets are counted before parsing, including those in strings.
    if text.count(b"{") + text.count(b"[") > MAX_BRACKETS:
        raise FileError(f"{name} contains more than {MAX_BRACKETS:,} objects.")

    def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [key for key, _ in pairs]
            repeated = next(key for key in names if names.count(key) > 1)
            raise FileError(f"{name} has the key {repeated!r:.60} twice.")
        return found

    try:
        return json.loads(
            text.decode("utf-8"),
            object_pairs_hook=without_repetition,
            parse_int=_parse_integer,
            parse_constant=_refuse_constant,
        )
    except FileError:
        raise
    except RecursionError:
        raise FileError(f"{name} is nested too deeply.") from None
    except ValueError as error:
        raise FileError(f"{name} is not valid: {error}.") from error


def _parse_integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


_WIDE = 1 << 63
_MAX_HEX = 4096  # maximum number of hexadecimal digits
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_NUMPY = """bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 str_
    object_ number"""
_TYPES: dict[str, type] = {kind.__name__: kind for kind in (bool, int, float, str, object)}
_TYPES |= {f"numpy.{kind.__name__}": kind for kind in (getattr(np, n) for n in _NUMPY.split())}
_UFUNC_NAMES = "absolute arcsinh cbrt exp expm1 log log10 log1p log2 sign sqrt square tanh"
_UFUNCS: dict[str, np.ufunc] = {name: getattr(np, name) for name in _UFUNC_NAMES.split()}
_SCALAR = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<c(8|16)|\|S\d{1,7}|<U\d{1,7}")
_INT = re.compile(rf"-?[0-9a-f]{{1,{_MAX_HEX}}}", re.ASCII)
_NAMES = {kind: name for name, kind in _TYPES.items()}


def is_atom(value: Any) -> bool:
    """Return whether a value is atomic."""
    plain = value is None or type(value) in (bool, int, float, str, bytes, slice)
    kinds = np.generic | np.dtype | np.ufunc | type | types.FunctionType
    return plain or isinstance(value, kinds)


def encode_atom(value: Any) -> Any:
    """Encode an atomic value as JSON; raise ValueError with its name if a file cannot have it."""
    if value is None or isinstance(value, bool) or type(value) is str:
        return value
    if isinstance(value, np.generic | np.dtype):
        return _encode_numpy(value)
    if isinstance(value, int):
        return value if -_WIDE <= value < _WIDE else {"int": _format_hex(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, slice):
        return {"slice": _check_ends([value.start, value.stop, value.step])}
    return _encode_named(value)


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


def _encode_numpy(value: Any) -> Any:
    """Encode a number or text of NumPy, or the type of an array."""
    is_type = isinstance(value, np.dtype)
    dtype = value if is_type else value.dtype
    kind = dtype.newbyteorder("<").str
    if not (_SCALAR.fullmatch(kind) or (is_type and kind == "|O")):
        raise ValueError(f"of NumPy's type {dtype}")
    if is_type:
        return {"dtype": value.str}
    number = value.item()
    pair = [number.real, number.imag] if isinstance(number, complex) else [number]
    return {"scalar": [kind, *(encode_atom(part) for part in pair)]}


def _encode_named(value: Any) -> dict[str, str]:
    """Encode a class of Python or NumPy, or a function of NumPy, by its name."""
    if isinstance(value, type) and value in _NAMES:
        return {"type": _NAMES[value]}
    if isinstance(value, np.ufunc) and _UFUNCS.get(value.__name__) is value:
        return {"ufunc": value.__name__}
    kind = "class" if isinstance(value, type) else "function"
    raise ValueError(f"a {kind}, {getattr(value, '__qualname__', value.__name__)}")


def _format_hex(value: int) -> str:
    if abs(value) >> (4 * _MAX_HEX):
        raise ValueError("a number with too many digits")
    return f"{value:x}"


def _check_ends(ends: list[Any]) -> list[Any]:
    """Return the three ends of a slice, which must be integers or None."""
    if len(ends) != 3 or not all(end is None or type(end) is int for end in ends):
        raise ValueError("a slice with bounds that are not integers")
    return ends


def _decode_integer(content: str) -> int:
    if not _INT.fullmatch(content):
        raise ValueError("not an integer")
    return int(content, 16)


def _decode_scalar(content: list[Any]) -> Any:
    """Decode a number or text of NumPy; one that would be written otherwise is refused."""
    dtype = _decode_dtype(content[0])
    values = [decode_atom(part) for part in content[1:]]
    found = dtype.type(complex(*values) if dtype.kind == "c" else values[0])
    if dtype.hasobject or json.dumps(encode_atom(found)) != json.dumps({"scalar": content}):
        raise ValueError("the value is not of the type")
    return found


def _decode_dtype(content: str) -> np.dtype[Any]:
    if not isinstance(content, str) or not (_SCALAR.fullmatch(content) or content == "|O"):
        raise ValueError("not an array type")
    return np.dtype(content)


_DECODERS: dict[str, Any] = {
    "float": lambda content: _NOT_FINITE[content],
    "int": _decode_integer,
    "bytes": bytes.fromhex,
    "scalar": _decode_scalar,
    "dtype": _decode_dtype,
    "type": lambda content: _TYPES[content],
    "ufunc": lambda content: _UFUNCS[content],
    "slice": lambda content: slice(*_check_ends(content)),
}
