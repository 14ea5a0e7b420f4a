"""Format durations and file sizes for people."""

_UNITS = ("B", "kB", "MB", "GB")


def format_duration(seconds: float) -> str:
    """Format a duration with the most readable unit."""
    if seconds < 0.0995:
        return f"{1e3 * seconds:.2g} ms"
    return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"


def format_size(n_bytes: int) -> str:
    """Format a number of bytes with the most readable unit."""
    value = float(n_bytes)
    for unit in _UNITS[:-1]:
        if value < 999.5:
            return f"{value:.3g} {unit}"
        value /= 1000.0
    return f"{value:.3g} {_UNITS[-1]}"
