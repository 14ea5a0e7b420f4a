"""Strict JSON: no duplicate keys, no NaN, no long numbers, no deep nesting."""

import json
from typing import Any, NoReturn

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
