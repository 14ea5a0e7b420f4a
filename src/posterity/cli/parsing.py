"""Values of options, read from text."""

import re
from typing import Any

import typer

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(text: str | float) -> float:
    """Parse a duration such as 60s, 2m, 1.5h or plain 90 into seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([smh]?)", str(text).strip().lower())
    if not match or float(match[1]) <= 0.0:
        raise typer.BadParameter(f"{text!r} is not a duration; use, for example, 60s, 2m or 1h.")
    return float(match[1]) * _SECONDS[match[2]]


def parse_gap(text: str | int) -> int | str:
    """Parse a gap: a number of times, or a length of time such as 7d."""
    from posterity.comparison.holdout import parse_gap

    try:
        return parse_gap(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def parse_cost(text: Any) -> tuple[float, float]:
    """Parse the costs of a false alarm and of a miss, such as 1:20."""
    from posterity.comparison.flagging import parse_cost

    try:
        return parse_cost(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def parse_row_limit(text: str | int) -> int | None:
    """Parse a number of rows; return None for all."""
    if str(text).strip().lower() == "all":
        return None
    digits = str(text).replace(",", "").replace("_", "")
    if not digits.isdecimal() or int(digits) < 1:
        raise typer.BadParameter(
            f"{text!r} is not a number of rows; use, for example, 100000, or all."
        )
    return int(digits)


def parse_quantile_levels(text: str) -> tuple[float, ...]:
    """Parse comma-separated levels between 0 and 1."""
    try:
        levels = tuple(float(part) for part in text.split(","))
    except ValueError:
        levels = ()
    if not levels or not all(0.0 < level < 1.0 for level in levels):
        raise typer.BadParameter(
            f"{text!r} is not a list of levels between 0 and 1, such as 0.05,0.5,0.95."
        )
    return tuple(sorted(set(levels)))


def format_value(value: Any) -> str:
    """Format a value as the text of an option that is parsed to it.

    Examples
    --------
    >>> from posterity.cli import parsing
    >>> [parsing.format_value(value) for value in (None, 90.0, (1.0, 20.0), "town")]
    ['all', '90', '1:20', 'town']
    """
    match value:
        case None:
            return "all"
        case float():
            return f"{value:.15g}"
        case tuple():
            return ":".join(f"{part:.15g}" for part in value)
    return str(value)
