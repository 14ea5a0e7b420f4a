"""What a fit leaves: one record, and reports of how its search ended."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from posterity import distributions, kernels, optimize
from posterity.arrays import Array, DeviceArray, namespace

RECORD = "_fitted"


class FittedAttribute:
    """A public attribute that reads a field of the record of the last fit.

    ``kernel_ = FittedAttribute()`` shows the field ``kernel`` of the record in ``_fitted``, and
    ``FittedAttribute("search.n_iter")`` a field of a part of it. Before a fit, and where the record
    has no such field or None there, the model has no such attribute. A fit assigns a new record, so
    that nothing of an earlier one is left.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> class Model:
    ...     slope_ = FittedAttribute()
    >>> model = Model()
    >>> hasattr(model, "slope_")
    False
    >>> model._fitted = SimpleNamespace(slope=2.0)
    >>> model.slope_
    2.0
    """

    def __init__(self, path: str | None = None) -> None:
        self._path = path

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        self._get = operator.attrgetter(self._path or name.removesuffix("_"))

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        try:
            value = self._get(vars(model)[RECORD])
        except (KeyError, AttributeError):
            value = None
        if value is None:
            raise AttributeError(
                f"This {type(model).__name__} has no {self._name}: it is not fitted, or its fit "
                "has no such value."
            )
        return value

    def __set__(self, model: Any, value: Any) -> None:
        raise AttributeError(f"{self._name} is a result of fit and cannot be set.")


def is_fitted(model: Any) -> bool:
    """Whether a fit has left its record."""
    return RECORD in vars(model)


def find_center(dist: distributions.Univariate) -> Array:
    """The means of a distribution; the medians where it has none, as a Student-t of one degree."""
    mean = dist.mean()
    return np.where(np.isnan(mean), dist.median(), mean) if np.isnan(mean).any() else mean


_NO_NOISE = ("noise_variance (lower)", "scale (lower)", "shape (upper)")
_TAILS = ("degrees_of_freedom (lower)", "degrees_of_freedom (upper)")
_NATURAL = ("prior_variance (lower)", *_NO_NOISE, *_TAILS)
"""Weights of zero; noise that is lost in rounding; the heaviest tails, and those of a normal."""
_SHARE = 0.1**2  # of the variance of the targets
_PLACES = (0.29, 0.5, 0.77, 1.0)  # along a column, so that no period fits between them all
_ROWS = 8


class LearnedKernel(Protocol):
    """A kernel whose parameters a search has found."""

    @property
    def kernel(self) -> kernels.Kernel:
        """With every parameter set or learned."""

    @property
    def optimum(self) -> optimize.Optimum:
        """Where the search ended, and why."""

    @property
    def probes(self) -> Array:
        """The log evidence that the first steps from each start reached."""


@dataclass(frozen=True)
class SearchReport:
    """How the parameters of one kernel were found, or those of one for each output."""

    stop_reason: str
    n_iter: int
    at_bounds: tuple[str, ...]
    restarts_log_evidence: Array
    irrelevant_inputs: list[Any]  # names or positions of columns

    @classmethod
    def from_searches(
        cls,
        learned: Sequence[LearnedKernel],
        rows: Any,
        variances: Sequence[float],
        columns: Sequence[Any],
    ) -> SearchReport:
        """Report searches whose functions have these variances; warn of bounds reached."""
        found = [report_kernel_bounds(one.optimum, one.kernel) for one in learned]
        probes = [one.probes for one in learned]
        idle = [
            find_irrelevant_columns(one.kernel, rows, v)
            for one, v in zip(learned, variances, strict=True)
        ]
        return cls(
            "; ".join(dict.fromkeys(one.optimum.stop_reason for one in learned)),
            max(1, *(one.optimum.n_iter for one in learned)),  # a start was evaluated in any case
            tuple(dict.fromkeys(label for labels in found for label in labels)),
            probes[0] if len(probes) == 1 else np.array(probes),
            [columns[d] for d in idle[0] if all(d in of_one for of_one in idle)],
        )


def report_kernel_bounds(found: optimize.BoundedResult, *given: kernels.Kernel) -> tuple[str, ...]:
    """``at_bounds_`` of a model with kernels, after a warning for each bound that cuts it off."""
    return optimize.report_bounds(
        found,
        natural=(*_NATURAL, *_limits_of_kernels(found, given)),
        advice="Give the kernel wider bounds, as in kernel.bounded(length_scale=(1e-3, 1e3)), or "
        "hold the parameter at a value with kernel.fixed().",
    )


def report_weight_bounds(found: optimize.BoundedResult) -> tuple[str, ...]:
    """``at_bounds_`` of a model with weights, after a warning for each bound that cuts it off."""
    return optimize.report_bounds(
        found, natural=_NATURAL, advice="Give it a value, or transform columns and targets."
    )


def _limits_of_kernels(
    found: optimize.BoundedResult, given: tuple[kernels.Kernel, ...]
) -> Iterator[str]:
    """Ends that kernels have by themselves: straight lines, white noise; an RBF, for the shape.

    Parts of a model may have noise each. A decay above one does not exist, whatever is given.
    """
    by_hand = tuple(name for kernel in given for name in kernel.bounded_names)
    for bound in found.bounds_reached:
        is_limit = "length_scale" in bound.name or bound.label.endswith("shape (upper)")
        no_decay = bound.label.endswith("decay (upper)") and bound.value >= 1.0
        no_noise = bound.label.endswith(tuple(f"__{label}" for label in _NO_NOISE))
        if no_decay or no_noise or (is_limit and not bound.name.endswith(by_hand)):
            yield bound.label


def find_irrelevant_columns(kernel: kernels.Kernel, X: Any, variance: float) -> list[int]:
    """Columns along which the function is expected to change by a tenth of the targets at most.

    What it may change by tells, not its length scale: a straight line is a very long and very
    large RBF. Rows that are not vectors have no columns.
    """
    if isinstance(X, list):
        return []
    n, D = X.shape
    some = kernels.rows.select_rows(X, np.unique(np.linspace(0, n - 1, _ROWS).astype(np.intp)))
    return [d for d in range(D) if _change(kernel, X, some, d) < _SHARE * variance]


def _change(kernel: kernels.Kernel, X: DeviceArray, some: DeviceArray, d: int) -> float:
    """The largest expected square of a difference that moving along column d makes."""
    xp = namespace(X)
    low, high = xp.min(X[:, d]), xp.max(X[:, d])
    is_d = xp.zeros_like(some[0, :])
    is_d[d] = 1.0
    rest = some * (1.0 - is_d)
    start, *stops = (rest + (low + f * (high - low)) * is_d for f in (0.0, *_PLACES))
    return max(_difference(kernel, start, stop) for stop in stops)


def _difference(kernel: kernels.Kernel, A: DeviceArray, B: DeviceArray) -> float:
    """The largest variance of f(a) - f(b) over pairs of rows, without what is white."""
    xp = namespace(A)
    k_a, k_b, k_ab = (xp.linalg.diagonal(kernel(x, z)) for x, z in ((A, A), (B, B), (A, B)))
    return float(xp.max(k_a + k_b - 2.0 * k_ab))
