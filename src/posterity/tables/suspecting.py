"""Columns that a model had better not read: identifiers, copies, answers in disguise."""

import hashlib
import re
from collections.abc import Callable, Iterable

import numpy as np
import polars as pl

from posterity.arrays import Array
from posterity.tables import fitting, texts
from posterity.tables.columns import Column
from posterity.tables.looking import Look

_IDENTIFIER = re.compile(
    r"(?:^|[\W_])(?:ids?|idx|index|key|uuid|guid|row|rowid|rownum|rownames?|obs|serial|nr|no)$|^unnamed|^$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"[a-z](?:Id|ID|Key|Index|Nr|No)$")
_TIME = re.compile(r"^(?:t|x|time|step|second|minute|hour|day|week|month|quarter|year)s?$", re.I)
_LONG = 30  # letters of a text that is written, not chosen
_CODE = 3  # digits of a code; months and days are filled to two
_FEW = 20  # rows below which an exact relation may be chance
_MANY = 100  # different values whose order is the target's by no chance, nor by a close relation
_RARELY_EQUAL = 0.5  # of the distinct rows have a number of their own
_SHARE_OF_COPIES = 0.02  # of the rows, below which copies change no score
_SOME = 2000  # rows that an exact relation must hold in before all are looked at


def useless(look: Look) -> str | None:
    """Why a column says nothing, whatever the target: no value in it, or one value only."""
    if not look.n_present:
        return "it has no value in any row"
    if look.column.n_distinct == 1 and not look.column.n_missing:
        return "it has the same value in every row"
    return None


def identifying(look: Look) -> str | None:
    """Why a column only names its rows."""
    return _text_trouble(look) if look.labels is not None else _number_trouble(look)


def are_codes(cells: pl.Series) -> bool:
    """Whether texts of digits are all of one length, filled with zeros, like postal codes."""
    if not texts.is_text(cells):
        return False
    some = texts.some(cells)
    lengths = some.str.len_chars()
    even = lengths.n_unique() == 1 and lengths[0] >= _CODE
    return bool(even and some.str.contains(r"^\d+$").all() and some.str.starts_with("0").any())


def resembling(look: Look, target: Look, is_class: bool) -> str | None:
    """Why a column is the target in disguise."""
    both = pl.DataFrame({"x": look.series(), "y": target.series()}).drop_nulls()
    tests: list[Callable[[pl.DataFrame], str | None]] = [_equal] if both.height >= 5 else []
    if both.height >= _FEW and (is_class or look.numbers is not None):
        tests.append(_one_to_one if is_class else _on_a_curve)
    if both.height >= _FEW and look.labels is not None:
        tests.append(_determining)
    whys = (test(both) for test in tests if test(both.head(_SOME)))  # few rows refute cheaply
    return next((why for why in whys if why), None)


def fingerprint(look: Look) -> bytes:
    """The same for two columns whose values are the same in every row."""
    values = look.series()
    numbers = look.numbers if look.numbers is not None else values.hash().to_numpy()
    missing = values.is_null().to_numpy()
    exact = np.where(missing, 0, numbers) + 0  # -0.0 becomes 0.0
    digest = hashlib.blake2b(look.column.kind.encode(), digest_size=16)
    digest.update(exact.tobytes())
    digest.update(missing.tobytes())
    return digest.digest()


def named_like_identifier(name: str) -> bool:
    """Whether the name of a column says that it numbers things."""
    return bool(_IDENTIFIER.search(name.strip()) or _CAMEL.search(name.strip()))


def _text_trouble(look: Look) -> str | None:
    assert look.labels is not None
    n, n_distinct = look.n_present, look.column.n_distinct
    if n_distinct <= max(0.5 * n, 2):
        few = n_distinct > 50 and not len(fitting.frequent(look.labels))
        return "none of its texts comes often enough to learn from" if few else None
    length = float(look.labels.str.len_chars().mean() or 0.0)  # type: ignore[arg-type]
    if length > _LONG:
        return "it is free text, different in almost every row"
    if n_distinct == n:
        return "it has a text of its own in every row, like an identifier"
    return "its texts are different in most rows" if n >= _FEW else None


def _number_trouble(look: Look) -> str | None:
    unique = look.are_whole() and look.column.n_distinct == look.n_present > 2
    if not unique or look.column.n_missing:
        return None
    if named_like_identifier(look.column.name):
        return "it numbers the rows, like an identifier"
    assert look.numbers is not None
    counts = look.numbers[0] in (0.0, 1.0) and np.all(np.diff(look.numbers) == 1.0)
    if counts and not _TIME.match(look.column.name.strip()):
        return "it counts the rows"
    return None


def _equal(both: pl.DataFrame) -> str | None:
    same = both["x"].dtype == both["y"].dtype and bool((both["x"] == both["y"]).all())
    return "it is equal to the target" if same else None


def _on_a_curve(both: pl.DataFrame) -> str | None:
    """Numbers that are the target in other units, or rise with it without exception."""
    x, y = both["x"].to_numpy(), both["y"].to_numpy()
    if both["x"].n_unique() < 5 or both["y"].n_unique() < 5:
        return None
    u, v = _unit(x), _unit(y)
    if 1.0 - abs(float(u @ v)) < 1e-9:
        return "it is the target in other units"
    if both["x"].n_unique() < _MANY:
        return None
    ranks = [both[name].rank("dense").cast(pl.Float64).to_numpy() for name in ("x", "y")]
    same = np.array_equal(ranks[0], ranks[1])
    turned = np.array_equal(ranks[0], ranks[1].max() + 1.0 - ranks[1])
    return "it rises or falls with the target without exception" if same or turned else None


def _unit(x: Array) -> Array:
    """Centred values with a sum of squares of 1."""
    mean, scale = fitting.location(x)
    return (x - mean) / (scale * np.sqrt(len(x)))


def _one_to_one(both: pl.DataFrame) -> str | None:
    """Values that name the classes."""
    n_pairs = both.n_unique()
    equal = n_pairs == both["x"].n_unique() == both["y"].n_unique()
    return "each of its values stands for one value of the target" if equal else None


def _determining(both: pl.DataFrame) -> str | None:
    """Labels that many rows share, and that always come with the same target."""
    n_levels = both["x"].n_unique()
    many = both.height >= 30 and both.height >= 5 * n_levels
    exact = many and both.n_unique() == n_levels
    return "its labels determine the target in every row" if exact else None


def copies(rows: pl.DataFrame, inputs: Iterable[Column]) -> int:
    """How many rows repeat another to the last cell, where that can hardly be chance.

    Rows of labels and of small numbers are often equal; a number that is different in most rows
    is there once in each.
    """
    n_distinct = rows.n_unique()
    is_one_of_many = any(
        column.kind != "category" and column.n_distinct > _RARELY_EQUAL * n_distinct
        for column in inputs
    )
    n_copies = rows.height - n_distinct
    return n_copies if is_one_of_many and n_copies > _SHARE_OF_COPIES * rows.height else 0
