"""Format numbers with a sensible number of digits."""

import math

MINUS, TIMES, PLUS_MINUS = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}", "\N{PLUS-MINUS SIGN}"
DASH, ELLIPSIS = "\N{EN DASH}", "\N{HORIZONTAL ELLIPSIS}"
_SPACE = "\N{NARROW NO-BREAK SPACE}"
_SUPERSCRIPTS = str.maketrans(
    "0123456789-", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b"
)
_PLAIN_FROM, _PLAIN_TO = 1e-4, 1e7  # magnitudes outside are written with a power of ten
_UNITS = ("B", "kB", "MB", "GB", "TB")


def format_short(value: float | None, digits: int = 3) -> str:
    """Format a number with this many significant digits; a dash for None and NaN.

    Examples
    --------
    >>> from posterity.report import numbers
    >>> [numbers.format_short(x) for x in (0.0, 1234.6, 0.012345, 12.0)]
    ['0', '1235', '0.0123', '12']
    """
    if value is None or math.isnan(value):
        return DASH
    if math.isinf(value):
        return "\N{INFINITY}" if value > 0.0 else MINUS + "\N{INFINITY}"
    if value == 0.0:
        return "0"
    if not _PLAIN_FROM <= abs(value) < _PLAIN_TO:
        return _format_scientific(value, digits)
    text = format_fixed(value, digits - 1 - _exponent(value, digits))
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_fixed(value: float, decimals: int) -> str:
    """Format a number with this many decimals, and separated thousands from five digits on.

    Examples
    --------
    >>> from posterity.report import numbers
    >>> numbers.format_fixed(2.0, 1), numbers.format_fixed(2.6, -2)
    ('2.0', '3')
    """
    text = f"{abs(value):.{max(0, decimals)}f}"
    whole, dot, rest = text.partition(".")
    if len(whole) > 4:
        whole = f"{int(whole):,}".replace(",", _SPACE)
    negative = value < 0.0 and any(c in "123456789" for c in text)
    return (MINUS if negative else "") + whole + dot + rest


def format_with_error(value: float, error: float) -> tuple[str, str]:
    """Format a number and its standard error, both to the second digit of the error.

    Examples
    --------
    >>> from posterity.report import numbers
    >>> numbers.format_with_error(1.23456, 0.0123), numbers.format_with_error(1234.6, 210.0)
    (('1.235', '0.012'), ('1235', '210'))
    """
    if not (math.isfinite(value) and math.isfinite(error) and error > 0.0):
        return format_short(value), format_short(error)
    if not _PLAIN_FROM <= error < _PLAIN_TO or abs(value) >= _PLAIN_TO:
        return format_short(value, 4), format_short(error, 2)
    decimals = 1 - _exponent(error, 2)
    return format_fixed(value, decimals), format_fixed(error, decimals)


def join_with_error(value: float, error: float) -> str:
    """Format a number and its standard error as one text."""
    return f" {PLUS_MINUS} ".join(format_with_error(value, error))


def format_count(n: int) -> str:
    """Format a whole number with separated thousands."""
    return format_fixed(float(n), 0)


def format_percent(share: float | None, decimals: int = 0) -> str:
    """Format a share in per cent.

    Examples
    --------
    >>> from posterity.report import numbers
    >>> numbers.format_percent(0.913).replace("\\N{NARROW NO-BREAK SPACE}", " ")
    '91 %'
    """
    if share is None or math.isnan(share):
        return DASH
    return format_fixed(100.0 * share, decimals) + _SPACE + "%"


def format_bytes(n_bytes: int | None) -> str:
    """Format a number of bytes with the most readable unit."""
    if n_bytes is None:
        return DASH
    power = min(int(math.log(max(n_bytes, 1), 1000.0) + 1e-9), len(_UNITS) - 1)
    return format_short(n_bytes / 1000.0**power, 2 if n_bytes < 10 * 1000.0**power else 3) + (
        _SPACE + _UNITS[power]
    )


def format_plural(n: int, one: str, many: str | None = None) -> str:
    """Format a count with its noun in singular or plural."""
    return f"{format_count(n)} {one if n == 1 else many or one + 's'}"


def clip_text(text: str, length: int) -> str:
    """Truncate a long text with an ellipsis."""
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1].rstrip() + ELLIPSIS


def _exponent(value: float, digits: int) -> int:
    """Return the decimal exponent of a number after rounding to this many digits."""
    return int(f"{abs(value):.{digits - 1}e}".partition("e")[2])


def format_power_of_ten(exponent: int) -> str:
    """Format a power of ten as a factor."""
    return f"{TIMES}{_SPACE}10{str(exponent).translate(_SUPERSCRIPTS)}"


def _format_scientific(value: float, digits: int) -> str:
    mantissa, _, exponent = f"{abs(value):.{digits - 1}e}".partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return (MINUS if value < 0.0 else "") + mantissa + _SPACE + format_power_of_ten(int(exponent))
