"""Objects of other libraries that are restored by a constructor.

Only the constructors of this table are used; they validate their arguments.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import sklearn
from scipy import interpolate, stats
from sklearn.isotonic import IsotonicRegression
from sklearn.utils import Bunch

from posterity.persistence.errors import FileError

_WRONG = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError)
_FROZEN = type(stats.norm(0.0, 1.0)), type(stats.randint(0, 1))
_NAMES = """beta cauchy chi2 expon exponnorm gamma halfcauchy halfnorm invgamma laplace loggamma
    logistic lognorm loguniform norm pareto powerlaw reciprocal t triang truncexpon truncnorm
    uniform weibull_min binom geom nbinom poisson randint"""
_DISTRIBUTIONS = frozenset(_NAMES.split())


class _ForeignKind(NamedTuple):
    """How objects of some types are decomposed and restored."""

    types: tuple[type, ...]
    take_apart: Callable[[Any], list[Any]]
    make: Callable[..., Any]


def find_kind(value: Any) -> str | None:
    """Return the kind of a foreign object; None for all others."""
    if type(value) in _FROZEN and not _is_scipy_distribution(value.dist):
        return None
    return next((name for name, kind in _KINDS.items() if type(value) in kind.types), None)


def take_apart(value: Any) -> list[Any]:
    """Return the parts of an object of a known kind."""
    return _KINDS[str(find_kind(value))].take_apart(value)


def make_object(name: Any, parts: list[Any]) -> Any:
    """Build an object from its parts; raise FileError if they are invalid."""
    if not isinstance(name, str) or name not in _KINDS:
        raise FileError(f"model.json describes an unknown kind of object: {name!r:.80}.")
    try:
        return _KINDS[name].make(*parts)
    except _WRONG as error:
        raise FileError(f"model.json describes an invalid {name}: {error}") from error


def restore_derived_state(value: Any, parts: dict[str, Any]) -> None:
    """Restore state that scikit-learn does not store."""
    if type(value) is IsotonicRegression:
        try:
            value.__setstate__({**parts, "_sklearn_version": sklearn.__version__})
        except _WRONG as error:
            raise FileError(f"The file contains an invalid curve: {error}") from error


def _take_masked(value: Any) -> list[Any]:
    return [np.asarray(value.data), np.ma.getmaskarray(value), value.fill_value]


def _make_masked(data: Any, mask: Any, fill_value: Any) -> Any:
    if type(data) is not np.ndarray or type(mask) is not np.ndarray or mask.dtype != np.bool_:
        raise TypeError("it needs an array and a mask.")
    if data.shape != mask.shape:
        raise ValueError("the mask has a different shape.")
    return np.ma.MaskedArray(data, mask=mask, fill_value=fill_value)


def _is_scipy_distribution(dist: Any) -> bool:
    """Return whether this is a distribution of SciPy."""
    return dist.name in _DISTRIBUTIONS and type(dist) is type(getattr(stats, dist.name))


def _take_frozen(value: Any) -> list[Any]:
    return [value.dist.name, list(value.args), dict(value.kwds)]


def _make_frozen(name: Any, args: Any, kwds: Any) -> Any:
    if name not in _DISTRIBUTIONS:
        raise ValueError(f"{name!r:.40} is not a supported distribution.")
    if not all(isinstance(number, numbers.Real) for number in (*args, *kwds.values())):
        raise TypeError("its parameters are not numbers.")
    return getattr(stats, name)(*args, **kwds)


def _take_spline(value: Any) -> list[Any]:
    return [value.t, value.c, value.k, value.extrapolate, value.axis]


def _make_spline(t: Any, c: Any, k: Any, extrapolate: Any, axis: Any) -> Any:
    if extrapolate not in (True, False, "periodic"):
        raise ValueError(f"extrapolate={extrapolate!r:.40}.")
    return interpolate.BSpline(t, c, k, extrapolate, axis)


_KINDS = {
    "bunch": _ForeignKind((Bunch,), lambda value: [dict(value)], lambda named: Bunch(**named)),
    "distribution": _ForeignKind(_FROZEN, _take_frozen, _make_frozen),
    "masked array": _ForeignKind((np.ma.MaskedArray,), _take_masked, _make_masked),
    "spline": _ForeignKind((interpolate.BSpline,), _take_spline, _make_spline),
}
