"""Parse texts as numbers: grouped digits, decimal commas, brackets, currency signs and units."""

import re

import polars as pl

_CURRENCY = r"[$\x{20AC}\x{A3}\x{A5}]"
_GROUPED = r"\d{1,3}(?:X\d{3})+|\d{1,3}(?:\s\d{3})+|\d{1,3}(?:['\x{2019}]\d{3})+|\d+"
_SUFFIX = r"[\p{L}%\x{B0}\x{2030}\x{20AC}\x{A3}\x{A5}$][\p{L}\p{No}%/.^ ]{0,14}[23]?"
_MINUS = r"^\x{2212}"
_BRACKETS = r"^\(\s*([^()+-]*\d[^()]*)\)$"


def parse_numerals(texts: pl.Series, style: str = "", unit: str = "") -> pl.Series:
    """Parse texts as numbers, null where a text is not a number.

    Without a unit, a currency sign or a percent sign is ignored; with one, only this unit is.

    Examples
    --------
    >>> import polars as pl
    >>> parse_numerals(pl.Series(["1,234.5", "(12)", "3 kg"])).to_list()
    [1234.5, -12.0, None]
    >>> parse_numerals(pl.Series(["3 kg", "4", "5 lb"]), unit="kg").to_list()
    [3.0, 4.0, None]
    """
    group, point = _marks(style)
    bare = _strip_unit(_resolve_signs(texts), unit)
    regular = bare.str.contains(rf"^{_numeral(style)}$")
    joined = bare.str.replace_all(rf"{group}|\s|['\x{{2019}}]", "").str.replace(point, ".")
    return joined.cast(pl.Float64, strict=False).set(~regular, None)


def count_units(texts: pl.Series, style: str = "") -> dict[str, int]:
    """Return the units written beside numbers, most frequent first, and how often.

    Spellings that differ by case are one unit.

    Examples
    --------
    >>> import polars as pl
    >>> count_units(pl.Series(["54 kg", "61 KG", "62 kg", "119 lb", "70"]))
    {'kg': 3, 'lb': 1}
    """
    pattern = (
        rf"^[+-]?\s*(?<before>{_CURRENCY})?\s*[+-]?(?<digits>{_numeral(style)})"
        rf"\s*(?<after>{_SUFFIX})?$"
    )
    found = _resolve_signs(texts).str.extract_groups(pattern).struct.unnest()
    written = found.filter(pl.col("digits").str.contains(r"\d")).select(
        unit=pl.coalesce("before", pl.col("after").str.strip_chars(" "))
    )
    counts = written.drop_nulls().with_columns(folded=pl.col("unit").str.to_lowercase())
    spelt = counts.group_by("folded", "unit").len().sort("len", "unit", descending=[True, False])
    units = (
        spelt.group_by("folded", maintain_order=True)
        .agg(pl.col("unit").first(), pl.col("len").sum())
        .sort("len", "unit", descending=[True, False])
    )
    return dict(zip(units["unit"].to_list(), units["len"].to_list(), strict=True))


def has_brackets(texts: pl.Series) -> bool:
    """Return whether a text is a number in brackets, as negative amounts in accounts."""
    return bool(texts.str.contains(_BRACKETS).any())


def _marks(style: str) -> tuple[str, str]:
    """Return the patterns of the mark between thousands and of the decimal mark."""
    return ("\\.", ",") if style else (",", "\\.")


def _numeral(style: str) -> str:
    """Return the pattern of a number with an optional sign."""
    group, point = _marks(style)
    return rf"[+-]?(?:{_GROUPED.replace('X', group)})?(?:{point}\d*)?(?:[eE][+-]?\d+)?"


def _resolve_signs(texts: pl.Series) -> pl.Series:
    """Write minus signs and brackets as a hyphen."""
    return texts.str.replace(_MINUS, "-").str.replace(_BRACKETS, "-${1}")


def _strip_unit(texts: pl.Series, unit: str) -> pl.Series:
    """Remove the unit beside a number."""
    before = re.escape(unit) if unit else _CURRENCY
    after = re.escape(unit) if unit else rf"(?:%|{_CURRENCY})"
    return texts.str.replace(rf"(?i)^([+-]?)\s*{before}\s*", "${1}").str.replace(
        rf"(?i)\s*{after}$", ""
    )
