"""Find words and numbers that stand for a missing value."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.tables import texts
from posterity.tables.texts import ParsedNumbers

_WORDS = {
    *("unknown", "unk", "unbekannt", "inconnu", "desconocido", "sconosciuto", "onbekend"),
    *("undefined", "undetermined", "k.a.", "ka", "tbd", "tba", "tbc", "nodata", "nd", "n.d."),
    *("n.b.", "o.a.", "...", "*", "**", "***", "---", "#value!", "#div/0!", "#ref!", "#name?"),
    *("#null!", "#num!", "#error!", "#n/v"),
    *("not available", "not applicable", "not known", "not recorded", "not measured", "no data"),
    *("no answer", "no value", "nicht bekannt", "keine angabe", "k. a.", "k.a", "n. d.", "\u2026"),
    *("non disponible", "no disponible", "<null>", "(null)", "[null]", "(missing)", "(blank)"),
}
_CODES = (-32768.0, 32767.0, 65535.0, -2147483648.0, 2147483647.0, -1e20, 1e20, -1e30, 1e30)
_FEWEST = 3  # rows with a number before it is repeated
_NEAR, _FAR = 0.5, 5.0  # gap to the other values, in units of their range
_DISTINCT = 5  # other values, distinct, that a range needs


def find_words(cells: pl.Series, odd: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the words for a missing value among the unreadable cells.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> find_words(pl.Series(["1", "k.A.", "2", "Unknown", "low"]), np.array([0, 1, 0, 1, 1]) > 0)
    ('Unknown', 'k.A.')
    """
    distinct = list_odd_texts(cells, odd)
    return tuple(text for text in distinct if text.lower() in _WORDS)


def list_odd_texts(cells: pl.Series, odd: NDArray[np.bool_]) -> list[str]:
    """Return the distinct unreadable texts, most frequent first."""
    some = texts.strip_whitespace(cells.filter(pl.Series(odd, dtype=pl.Boolean))).alias("text")
    counts = some.value_counts(name="count").sort("count", "text", descending=[True, False])
    return counts["text"].to_list()


def accept_words(cells: pl.Series, values: ParsedNumbers, words: tuple[str, ...]) -> ParsedNumbers:
    """Return the values with the cells that hold one of the words as missing, not unreadable."""
    absent = texts.remove_words(cells, words).is_null().to_numpy()
    return ParsedNumbers(values.numbers, values.odd & ~absent)


def find_sentinel(numbers: Array) -> float | None:
    """Return a repeated number far outside the others, which may stand for a missing value.

    Numbers such as -999 need a gap of half the range of the others, any number five times it.

    Examples
    --------
    >>> import numpy as np
    >>> find_sentinel(np.array([3.5, -999.0, 7.0, 9.5, 1.0, -999.0, 4.0, 2.0, -999.0]))
    -999.0
    """
    values, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    if len(values) < _DISTINCT + 1:
        return None
    for at, others in ((0, values[1:]), (len(values) - 1, values[:-1])):
        gap = float(np.min(np.abs(others - values[at]))) / float(np.ptp(others))
        known = _is_made_of_nines(values[at]) or values[at] in _CODES
        if counts[at] >= _FEWEST and gap >= (_NEAR if known else _FAR):
            return float(values[at])
    return None


def _is_made_of_nines(value: float) -> bool:
    return bool(abs(value) < texts.EXACT and set(f"{abs(value):.0f}") == {"9"} and abs(value) >= 99)
