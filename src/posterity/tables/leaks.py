"""Detect columns that should not be inputs: identifiers, copies, and target leaks."""

import hashlib
import re
from collections.abc import Callable, Iterable

import numpy as np
import polars as pl
from scipy import stats

from posterity.arrays import Array
from posterity.tables import encoding, label_parts
from posterity.tables.column_types import ParsedColumn
from posterity.tables.columns import Column

_IDENTIFIER = re.compile(
    r"(?:^|[\W_])(?:ids?|idx|index|key|uuid|guid|row|rowid|rownum|rownames?|obs|serial|nr|no)$|^unnamed|^$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"[a-z](?:Id|ID|Key|Index|Nr|No)$")
_TIME = re.compile(r"^(?:t|x|time|step|second|minute|hour|day|week|month|quarter|year)s?$", re.I)
COUNTS = "it counts the rows, and tells nothing of the target"
_SURE = 0.01  # probability of such differences between stretches of rows by chance
_WORDS = 3  # mean number of words of free text
_LONG = 30  # mean number of characters of free text
_FEW = 20  # number of rows below which an exact relation may be a coincidence
_MANY = 100  # distinct values above which a monotonic relation is not a coincidence
_RARELY_EQUAL = 0.5  # fraction of distinct values among the distinct rows
_SHARE_OF_COPIES = 0.02  # fraction of rows below which duplicates do not affect scores
_SOME = 2000  # rows in which an exact relation is tested first


def find_uninformative(look: ParsedColumn) -> str | None:
    """Return why a column carries no information, or ""."""
    if not look.n_present:
        return "it has no values"
    if look.column.n_distinct == 1 and not look.column.n_missing:
        return "it has the same value in every row"
    return None


def find_identifier(look: ParsedColumn) -> str | None:
    """Return why a column is an identifier, or ""."""
    if look.column.kind == "text":
        return None
    return _check_text(look) if look.labels is not None else _check_numbers(look)


def is_free_text(look: ParsedColumn) -> bool:
    """Return whether labels are texts of several words, mostly distinct, that share words."""
    if (
        look.labels is None
        or look.n_present < _FEW
        or look.column.n_distinct <= 0.5 * look.n_present
    ):
        return False
    n_words = look.labels.str.count_matches(r"\S+").mean()
    several = n_words is not None and float(n_words) >= _WORDS  # type: ignore[arg-type]
    return several and len(label_parts.count_words(look.labels)[0]) >= label_parts.FEWEST_WORDS


def follows_rows(look: ParsedColumn, target: ParsedColumn) -> bool:
    """Return whether the target varies along the rows, which the column counts.

    The target is compared between ten stretches of rows, by its ranks or by its classes.
    """
    values = target.series()
    n = len(values)
    stretch = np.arange(n) * min(10, n // 5) // n if n >= 10 else np.zeros(n, dtype=np.int64)
    seen = values.is_not_null().to_numpy()
    groups = [values.filter(pl.Series(seen & (stretch == g))) for g in np.unique(stretch)]
    if len(groups) < 2 or any(len(group) < 2 for group in groups):
        return False
    if target.numbers is not None:
        ranks = values.rank().to_numpy()
        p = stats.f_oneway(*(ranks[seen & (stretch == g)] for g in np.unique(stretch))).pvalue
    else:
        both = pl.DataFrame({"g": stretch, "y": values}).drop_nulls()
        counts = both.pivot("y", index="g", values="y", aggregate_function="len").drop("g")
        p = stats.chi2_contingency(counts.fill_null(0).to_numpy()).pvalue
    return bool(p < _SURE)


def find_leak(look: ParsedColumn, target: ParsedColumn, is_class: bool) -> str | None:
    """Return why a column determines the target, or ""."""
    both = pl.DataFrame({"x": look.series(), "y": target.series()}).drop_nulls()
    tests: list[Callable[[pl.DataFrame], str | None]] = (
        [_check_equality] if both.height >= 5 else []
    )
    if both.height >= _FEW and (is_class or look.numbers is not None):
        tests.append(_check_one_to_one if is_class else _check_monotonicity)
    if both.height >= _FEW and look.labels is not None:
        tests.append(_check_determination)
    whys = (test(both) for test in tests if test(both.head(_SOME)))  # test a few rows first
    return next((why for why in whys if why), None)


def hash_values(look: ParsedColumn) -> bytes:
    """Return a hash that is equal for columns with equal values."""
    values = look.series()
    numbers = look.numbers if look.numbers is not None else values.hash().to_numpy()
    missing = values.is_null().to_numpy()
    exact = np.where(missing, 0, numbers) + 0  # -0.0 becomes 0.0
    digest = hashlib.blake2b(look.column.kind.encode(), digest_size=16)
    digest.update(exact.tobytes())
    digest.update(missing.tobytes())
    return digest.digest()


def counts_rows(look: ParsedColumn) -> bool:
    """Return whether numbers count the rows, from 0 or 1."""
    x = look.numbers
    return bool(x is not None and len(x) > 2 and x[0] in (0.0, 1.0) and np.all(np.diff(x) == 1.0))


def is_named_like_identifier(name: str) -> bool:
    """Return whether a column is named like an identifier."""
    return bool(_IDENTIFIER.search(name.strip()) or _CAMEL.search(name.strip()))


def _check_text(look: ParsedColumn) -> str | None:
    assert look.labels is not None
    n, n_distinct = look.n_present, look.column.n_distinct
    if n_distinct <= max(0.5 * n, 2):
        few = n_distinct > 50 and not len(encoding.select_frequent_levels(look.labels))
        return "no value is frequent enough to learn from" if few else None
    length = float(look.labels.str.len_chars().mean() or 0.0)  # type: ignore[arg-type]
    if length > _LONG:
        return "it is free text, different in almost every row"
    if n_distinct == n:
        return "it has a different text in every row, like an identifier"
    return "its values are different in most rows" if n >= _FEW else None


def _check_numbers(look: ParsedColumn) -> str | None:
    unique = look.are_whole() and look.column.n_distinct == look.n_present > 2
    if not unique or look.column.n_missing:
        return None
    if is_named_like_identifier(look.column.name):
        return "it numbers the rows, like an identifier"
    assert look.numbers is not None
    return COUNTS if counts_rows(look) and not _TIME.match(look.column.name.strip()) else None


def _check_equality(both: pl.DataFrame) -> str | None:
    same = both["x"].dtype == both["y"].dtype and bool((both["x"] == both["y"]).all())
    return "it is equal to the target" if same else None


def _check_monotonicity(both: pl.DataFrame) -> str | None:
    """Return whether numbers are a linear or strictly monotonic function of the target."""
    x, y = both["x"].to_numpy(), both["y"].to_numpy()
    if both["x"].n_unique() < 5 or both["y"].n_unique() < 5:
        return None
    u, v = _scale_to_unit_length(x), _scale_to_unit_length(y)
    if 1.0 - abs(float(u @ v)) < 1e-9:
        return "it is the target in other units"
    if both["x"].n_unique() < _MANY:
        return None
    ranks = [both[name].rank("dense").cast(pl.Float64).to_numpy() for name in ("x", "y")]
    same = np.array_equal(ranks[0], ranks[1])
    turned = np.array_equal(ranks[0], ranks[1].max() + 1.0 - ranks[1])
    return "it is a strictly monotonic function of the target" if same or turned else None


def _scale_to_unit_length(x: Array) -> Array:
    """Centre values and scale them to unit length."""
    mean, scale = encoding.compute_mean_and_scale(x)
    return (x - mean) / (scale * np.sqrt(len(x)))


def _check_one_to_one(both: pl.DataFrame) -> str | None:
    """Return whether values and classes correspond one to one."""
    n_pairs = both.n_unique()
    equal = n_pairs == both["x"].n_unique() == both["y"].n_unique()
    return "each of its values corresponds to one value of the target" if equal else None


def _check_determination(both: pl.DataFrame) -> str | None:
    """Return whether repeated labels determine the target in every row."""
    n_levels = both["x"].n_unique()
    many = both.height >= 30 and both.height >= 5 * n_levels
    exact = many and both.n_unique() == n_levels
    return "its labels determine the target in every row" if exact else None


def count_duplicates(rows: pl.DataFrame, inputs: Iterable[Column]) -> int:
    """Count duplicate rows, if they are unlikely to be a coincidence.

    Rows of labels and of small integers are often equal by chance, so a numeric column with mostly
    distinct values is required.
    """
    n_distinct = rows.n_unique()
    is_one_of_many = any(
        column.kind != "category" and column.n_distinct > _RARELY_EQUAL * n_distinct
        for column in inputs
    )
    n_copies = rows.height - n_distinct
    return n_copies if is_one_of_many and n_copies > _SHARE_OF_COPIES * rows.height else 0
