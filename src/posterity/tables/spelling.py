"""Find labels that are one word in several spellings."""

import polars as pl

from posterity.tables import texts

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
