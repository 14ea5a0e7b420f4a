"""Bounds of a search: which variables they hold, and which of them they cut off.

Bounded variables are logarithms of positive parameters, and the function is minus a log evidence,
so that slopes at a bound are nats for e times the parameter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn import exceptions

from posterity import callers
from posterity.arrays import Array

CUT_OFF = 0.5
"""Nats for e times a parameter from which a bound counts as one that cuts a search off.

The widest prior of a scale in common use, the half-Cauchy, falls by half a nat for e times the
variance. Under it the maximum of a slower rise lies inside the bounds: the data do not insist.
"""


class ConvergenceWarning(exceptions.ConvergenceWarning):
    """An iteration stopped before it met its tolerance, or at a bound that cut it off.

    Examples
    --------
    >>> issubclass(ConvergenceWarning, exceptions.ConvergenceWarning)
    True
    """


@dataclass(frozen=True)
class ReachedBound:
    """A parameter that a search left at one of its bounds.

    Examples
    --------
    >>> bound = ReachedBound("prior_variance", "upper", 1e4, rise=3.0)
    >>> bound.label, bound.cuts_off
    ('prior_variance (upper)', True)
    >>> print(bound)
    prior_variance ended at its upper bound, 10000, beyond which the log evidence still rises (by 3
    for e times the value).
    """

    name: str
    end: str  # "lower" or "upper"
    value: float  # of the parameter itself
    rise: float  # of the log evidence beyond the bound, in nats for e times the parameter

    @property
    def label(self) -> str:
        """The name of the bound in ``at_bounds_``."""
        return f"{self.name} ({self.end})"

    @property
    def cuts_off(self) -> bool:
        """Whether the evidence rises beyond the bound; otherwise the bound limits the model."""
        return self.rise > CUT_OFF

    def __str__(self) -> str:
        times = "e times the value" if self.end == "upper" else "the value divided by e"
        return (
            f"{self.name} ended at its {self.end} bound, {self.value:.6g}, beyond which the log "
            f"evidence still rises (by {self.rise:.3g} for {times})."
        )


class BoundedResult(Protocol):
    """The result of a search between bounds."""

    @property
    def bounds_reached(self) -> tuple[ReachedBound, ...]:
        """The parameters that ended at a bound."""


def find_reached_bounds(
    x: Array,
    gradient: Array,
    bounds: Sequence[tuple[float, float]] | None,
    names: Sequence[str] | None,
) -> tuple[ReachedBound, ...]:
    """The parameters that ended at a bound, from their logs and the gradient of minus the evidence.

    Examples
    --------
    >>> find_reached_bounds(np.zeros(1), np.array([-2.0]), [(-1.0, 0.0)], ["length_scale"])
    (ReachedBound(name='length_scale', end='upper', value=1.0, rise=2.0),)
    """
    if bounds is None:
        return ()
    called = names if names is not None else [f"parameter {i}" for i in range(len(x))]
    return tuple(_iterate_reached(x, gradient, bounds, called))


def _iterate_reached(
    x: Array, gradient: Array, bounds: Sequence[tuple[float, float]], names: Sequence[str]
) -> Iterator[ReachedBound]:
    for name, value, slope, (low, high) in zip(names, x, gradient, bounds, strict=True):
        parameter = float(np.exp(np.clip(value, -_LARGEST_LOG, _LARGEST_LOG)))
        if value == low:
            yield ReachedBound(name, "lower", parameter, float(slope))
        if value == high:
            yield ReachedBound(name, "upper", parameter, float(-slope))


_LARGEST_LOG = 700.0  # whose exponential is a number


def report_bounds(
    found: BoundedResult, *, natural: Sequence[str] = (), advice: str = "Give it a value instead."
) -> tuple[str, ...]:
    """The labels of all bounds reached, after one warning for each that cuts the search off.

    Parameters
    ----------
    found : BoundedResult
        The result of a search over logarithms.
    natural : sequence of str
        Labels of bounds that are limits of the model or of arithmetic, such as "noise_variance
        (lower)": there is nothing to do about them, and nothing to warn of.
    advice : str
        What to do, a sentence.

    Warns
    -----
    ConvergenceWarning
        For a bound beyond which the log evidence still rises by more than ``CUT_OFF``.

    Examples
    --------
    >>> from posterity import optimize
    >>> best = optimize.minimise_bfgs(lambda x: (x @ x, 2 * x), np.ones(1), bounds=[(-1.0, 2.0)])
    >>> report_bounds(best)
    ()
    """
    for bound in found.bounds_reached:
        if bound.cuts_off and bound.label not in natural:
            callers.warn_caller(f"{bound} {advice}", ConvergenceWarning)
    return tuple(bound.label for bound in found.bounds_reached)


def is_held_by_bound(x: Array, g: Array, low: Array, high: Array) -> NDArray[np.bool_]:
    """Mask of variables at a bound that the value falls beyond, given the gradient g."""
    return ((x <= low) & (g > 0.0)) | ((x >= high) & (g < 0.0))
