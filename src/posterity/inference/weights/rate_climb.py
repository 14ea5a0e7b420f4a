"""The climb to the nearest normal where averages have no limit, as those of exp(a) have none.

The average of exp(a) is exp(mean + variance / 2): where rows hold no event, Laplace's variance is
that of the prior, and the average over it is absurd. So a climb begins with a narrower normal. A
wider one with the same mean expects more events, and the mean has to fall as the variance grows:
each step moves both, by the equations of [OA 2.10] and how the slope in the mean changes with the
variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from posterity import callers, optimize

TOLERANCE = 1e-4  # nats in all, of which the mean is known to 0.01 standard deviations
MAX_STEPS = 200
_FASTER, _SLOWER = 1.5, 0.5  # of the pace, after a step that gained and one that did not


class NormalCandidate(Protocol):
    """A normal during the search, with its expected likelihood and derivatives."""

    @property
    def bound(self) -> float:
        """A lower bound of log p(y)."""

    @property
    def expected_gain(self) -> float:
        """Expected gain of a full step in nats, to second order."""

    def with_less_variance(self) -> Self:
        """Return a normal of the same mean with less variance."""

    def step_towards_best(self, pace: float) -> Self:
        """Step part of the way to the normal that averages over this one imply."""

    def step_mean(self, pace: float) -> Self:
        """Step part of the way to the best mean for this covariance."""


P = TypeVar("P", bound=NormalCandidate)


@dataclass(frozen=True)
class ClimbEnd(Generic[P]):
    """Where a climb ended, and why."""

    place: P
    n_steps: int
    stop_reason: str
    converged: bool


def climb_rate_bound(
    start: P, *, least: float = TOLERANCE, max_steps: int = MAX_STEPS
) -> ClimbEnd[P]:
    """Step until a further one promises to gain less than ``least`` nats.

    Warns with ``optimize.ConvergenceWarning`` where ``max_steps`` do not suffice.
    """
    at, pace, n_steps = _narrow_until_best(start), 1.0, 0
    while not at.expected_gain < least and n_steps < max_steps:
        at, pace = _take_step(at, pace)
        n_steps += 1
    converged = at.expected_gain < least
    reason = f"after {n_steps} steps another one promises to gain {at.expected_gain:.1g} nats"
    if not converged:
        callers.warn_caller(
            f"the nearest normal was not found: {reason}", optimize.ConvergenceWarning
        )
    return ClimbEnd(at, n_steps, reason, converged)


def _take_step(at: P, pace: float) -> tuple[P, float]:
    """Return the next normal and the next pace.

    From the best mean for its covariance a short enough step always gains: where one does not
    gain, the mean goes there first.
    """
    both = at.step_towards_best(pace)
    if both.bound > at.bound:
        return both, min(1.0, _FASTER * pace)
    alone = (at.step_mean(share) for share in (1.0, pace))
    return next((place for place in alone if place.bound > at.bound), at), _SLOWER * pace


def _narrow_until_best(place: P) -> P:
    """Return the first of ever narrower normals whose bound is above that of the next."""
    following = place.with_less_variance()
    while following.bound >= place.bound:
        place, following = following, following.with_less_variance()
    return place
