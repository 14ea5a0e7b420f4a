"""The numbers of a kernel: declared as fields, tuned in log space, held or bounded by name."""

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from posterity.arrays import Array

Value: TypeAlias = float | tuple[float, ...]
"""A parameter: one number, or one per column."""

ASIDE = {"aside": True}
"""Metadata of a field that is neither an argument nor a parameter: printed otherwise, or not."""

_WIDE = (1e-5, 1e5)


@dataclass(frozen=True)
class Range:
    """The start of the search for a parameter, and its limits; natural units."""

    start: Value
    lower: Value
    upper: Value


def positive(
    default: Value | None = None,
    *,
    neutral: float = 1.0,
    bounds: tuple[float, float] = _WIDE,
    per_column: bool = False,
) -> Any:
    """A field for a number above zero that estimators may tune.

    Parameters
    ----------
    default : float, optional
        None: started from the data by estimators, ``neutral`` where the kernel is simply called.
    neutral : float, default=1.0
        What an unset parameter stands for.
    bounds : (float, float)
        Between what it is tuned where nothing better is known.
    per_column : bool, default=False
        Whether there may also be one number for each column.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from posterity import kernels
    >>> @dataclass(frozen=True)
    ... class Triangle(kernels.Kernel):
    ...     width: float | None = kernels.positive()
    ...
    ...     def _block(self, X, Z):
    ...         return np.maximum(0.0, 1.0 - abs(X - Z.T) / self.width)
    >>> Triangle(2.0)(np.array([[0.0], [1.0]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    about = {"positive": True, "neutral": neutral, "bounds": bounds, "per_column": per_column}
    return field(default=default, metadata=about)


def by_column(name: str) -> Any:
    """A field that says whether an unset parameter is tuned for each column by itself.

    A parameter that is given for each column says so itself, and leaves it False.
    """
    return field(default=False, metadata={"of": name})


def check_value(value: Any, where: str, *, per_column: bool = True) -> Value | None:
    """The value as a float or a tuple of floats, if all are above zero and finite."""
    if value is None:
        return None
    if not per_column and not isinstance(value, numbers.Real):
        raise ValueError(f"{where}={value!r} must be one number.")
    if isinstance(value, numbers.Real):
        numbers_given: tuple[float, ...] = (float(value),)
    else:
        array = np.asarray(value)
        if array.ndim != 1 or not array.size or array.dtype.kind not in "biuf":
            raise ValueError(f"{where}={value!r} must be a number, or one number a column.")
        is_ready = isinstance(value, tuple) and {*map(type, value)} == {float}
        numbers_given = value if is_ready else tuple(array.astype(np.float64).tolist())
    for v in numbers_given:
        if not 0.0 < v < math.inf:
            raise ValueError(f"{where}={value!r} must be finite and greater than zero.")
    return numbers_given[0] if isinstance(value, numbers.Real) else numbers_given


def check_flag(value: Any, where: str) -> bool:
    """The value, if it is True or False: a number in its place may be meant for another."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{where}={value!r} must be True or False.")
    return bool(value)


def count_numbers(value: Value) -> int:
    """The number of values of a parameter."""
    return len(value) if isinstance(value, tuple) else 1


def list_numbers(value: Value) -> list[float]:
    """The numbers of a parameter."""
    return list(value) if isinstance(value, tuple) else [value]


def shape_like(numbers_given: Array, like: Value) -> Value:
    """The numbers as a parameter of the same form."""
    if isinstance(like, tuple):
        return tuple(float(v) for v in numbers_given)
    return float(numbers_given[0])


def label_numbers(name: str, value: Value) -> list[str]:
    """Return the name of the parameter, with a column number if it has one value per column."""
    if isinstance(value, tuple):
        return [f"{name}[{d}]" for d in range(len(value))]
    return [name]


def spread_like(value: Value, like: Value) -> Value:
    """One number for each of another's; more than one must be as many."""
    if isinstance(like, tuple) and not isinstance(value, tuple):
        return (value,) * len(like)
    if isinstance(value, tuple) and not isinstance(like, tuple):
        return float(np.exp(np.mean(np.log(value))))
    return value


def clip_value(value: Value, limits: tuple[float, float]) -> Value:
    """The nearest value between the limits."""
    return shape_like(np.clip(list_numbers(value), *limits), value)


def write_value(value: Any, short: bool) -> str:
    """A value as one would type it; three digits where ``short``."""
    if isinstance(value, tuple):
        return "[" + ", ".join(write_value(v, short) for v in value) + "]"
    if isinstance(value, float) and short:
        return f"{value:.3g}"
    return repr(value)


def logs(values: Sequence[float]) -> Array:
    """The natural logarithms of numbers, as an array."""
    return np.log(np.asarray(values, dtype=np.float64))


def range_about(variance: float) -> Range:
    """The range of a variance of which no more is known than that of the whole."""
    return Range(variance, 1e-6 * variance, 1e6 * variance)


def check_limits(name: str, pair: tuple[float, float]) -> tuple[float, float]:
    """Bounds as given, if they are an interval of positive numbers."""
    lower, upper = (float(v) for v in pair)
    if not 0.0 < lower <= upper < np.inf:
        raise ValueError(f"bounds of {name} must be 0 < lower <= upper; got {pair!r}.")
    return lower, upper


def ranges_within(
    value: Value, low: Value, high: Value, limits: tuple[float, float] | None
) -> list[tuple[float, float]]:
    """(lower, upper) of each number; a start that was given is never outside by default."""
    if limits is not None:
        return [limits] * count_numbers(value)
    triples = zip(*(list_numbers(v) for v in (value, low, high)), strict=True)
    return [(min(lo, 1e-2 * v), max(hi, 1e2 * v)) for v, lo, hi in triples]


def names_below(asked: Mapping[str, str], at: str) -> dict[str, str]:
    """Names a child of this place should look for; a path to one parameter wins over its name."""
    anywhere = {name: original for name, original in asked.items() if "__" not in name}
    paths = ((n.removeprefix(f"{at}__"), n, original) for n, original in asked.items())
    return anywhere | {below: original for below, n, original in paths if below != n}


def last_name(name: str) -> str:
    """A parameter's name without the path to it."""
    return name.rpartition("__")[2]
