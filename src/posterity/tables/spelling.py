"""Spellings of labels: their order, those of one word, and words for missing values."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.tables import texts
from posterity.tables.texts import ParsedNumbers


def sort_labels(labels: pl.Series) -> tuple[str, ...]:
    """Sort distinct labels, numbers by value and text alphabetically."""
    distinct = labels.drop_nulls().unique().sort()
    sizes = distinct.cast(pl.Float64, strict=False)
    by_size = not sizes.is_null().any() and not sizes.is_nan().any()
    ordered = distinct.gather(sizes.arg_sort()) if by_size else distinct
    return tuple(ordered.to_list())


_ABSENT = {
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
    return tuple(text for text in distinct if text.lower() in _ABSENT)


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


_LETTERS = frozenset("ynjtfmw")  # yes, no, ja, true, false, male or man, woman
_SHOWN = 3


def find_spellings(labels: pl.Series) -> tuple[str, ...]:
    """Return the most frequent spelling of each label that is spelt in several ways.

    Spellings of one word are lower case, upper case, or capitals at the start of words; others,
    such as ``aB`` and ``Ab``, may be codes. A single letter is a word only in answers such as y/N.

    Examples
    --------
    >>> import polars as pl
    >>> find_spellings(pl.Series(["Yes", "No", "NO", "no", "No", "aB", "Ab"]))
    ('No',)
    """
    counts = labels.drop_nulls().alias("label").value_counts(name="count")
    folded = counts.with_columns(folded=pl.col("label").str.to_lowercase())
    several = folded.filter(pl.col("folded").is_duplicated())
    if several.is_empty():
        return ()
    several = several.sort("count", "label", descending=[True, False])
    groups = several.group_by("folded", maintain_order=True).agg("label")
    return tuple(
        written[0]
        for word, written in groups.sort("folded").iter_rows()
        if _is_word(word) and all(map(_is_regular, written))
    )


def describe_merging(
    cells: pl.Series, labels: pl.Series, spellings: tuple[str, ...], undo: str
) -> tuple[str, ...]:
    """Return the sentence that says which labels were merged; none if no label was."""
    merged = texts.merge_spellings(labels, spellings)
    said = [*_describe_blanks(cells, labels, merged), *_describe_case(labels, spellings, undo)]
    return (f"In {cells.name!r}, " + ", and ".join(said) + ".",) if said else ()


def _describe_blanks(cells: pl.Series, labels: pl.Series, merged: pl.Series) -> list[str]:
    """Describe labels that became equal without the blanks around them."""
    if not texts.is_text(cells):
        return []
    raw = cells.cast(pl.String).filter(labels.is_not_null())
    n = int((raw != labels.drop_nulls()).sum())
    if not n or raw.n_unique() == merged.drop_nulls().n_unique():
        return []
    return [f"blanks around {n:,} {'label is' if n == 1 else 'labels are'} ignored"]


def _describe_case(labels: pl.Series, spellings: tuple[str, ...], undo: str) -> list[str]:
    """Describe the labels that differ by case only."""
    if not spellings:
        return []
    distinct = labels.drop_nulls().unique().sort().to_list()
    shown = []
    for one in spellings[:_SHOWN]:
        others = [repr(o) for o in distinct if o.lower() == one.lower() and o != one]
        shown.append(f"{' and '.join(others[:_SHOWN])} as {one!r}")
    more = f" and {len(spellings) - _SHOWN} more" if len(spellings) > _SHOWN else ""
    return [f"labels that differ only by case are read as one: {', '.join(shown)}{more} ({undo})"]


def _is_word(word: str) -> bool:
    letters = [character for character in word if character.isalpha()]
    return len(letters) > 1 or word in _LETTERS


def _is_regular(label: str) -> bool:
    sentence = label[:1].upper() + label[1:].lower()
    return label in (label.lower(), label.upper(), label.title(), sentence)
