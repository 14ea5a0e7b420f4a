"""What estimators say of parameters that a search left at a bound."""

from __future__ import annotations

from collections.abc import Iterator

from posterity import kernels, optimize

_NO_NOISE = ("noise_variance (lower)", "scale (lower)", "shape (upper)")
_TAILS = ("degrees_of_freedom (lower)", "degrees_of_freedom (upper)")
_NATURAL = ("prior_variance (lower)", *_NO_NOISE, *_TAILS)
"""Weights of zero; noise that is lost in rounding; the heaviest tails, and those of a normal."""


def report_kernel_bounds(found: optimize.Bounded, *given: kernels.Kernel) -> tuple[str, ...]:
    """``at_bounds_`` of a model with kernels, after a warning for each bound that cuts it off."""
    return optimize.report_bounds(
        found,
        natural=(*_NATURAL, *_limits_of_kernels(found, given)),
        advice="Give the kernel wider bounds, as in kernel.bounded(length_scale=(1e-3, 1e3)), or "
        "hold the parameter at a value with kernel.fixed().",
    )


def report_weight_bounds(found: optimize.Bounded) -> tuple[str, ...]:
    """``at_bounds_`` of a model with weights, after a warning for each bound that cuts it off."""
    return optimize.report_bounds(
        found, natural=_NATURAL, advice="Give it a value, or transform columns and targets."
    )


def _limits_of_kernels(found: optimize.Bounded, given: tuple[kernels.Kernel, ...]) -> Iterator[str]:
    """Ends that kernels have by themselves: straight lines, white noise; an RBF, for the shape."""
    by_hand = tuple(name for kernel in given for name in kernel.bounded_names)
    for bound in found.bounds_reached:
        is_limit = "length_scale" in bound.name or bound.label.endswith("shape (upper)")
        if is_limit and not bound.name.endswith(by_hand):
            yield bound.label
