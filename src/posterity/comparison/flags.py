"""Score models of two classes by the rows that they flag, and by what their mistakes cost."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import scoring, tables
from posterity.arrays import Array
from posterity.comparison import row_scores
from posterity.comparison.results import HeldOut, Result, TwoClassScores
from posterity.scoring import decisions

_EVEN = 0.5  # threshold without costs, at which the more probable class is predicted
_SURE = 2.0  # standard errors of a significant difference


@dataclass(frozen=True)
class Flagging:
    """The class of two whose rows are flagged, and the costs of mistakes.

    Parameters
    ----------
    positive : str, optional
        Class whose rows should be flagged. None: the second one in the order of the classes, such
        as 1 of 0 and 1, or "yes" of "no" and "yes".
    cost : (float, float), optional
        Costs of a false alarm, which is a flagged row of the other class, and of a miss, which is
        a row of the positive class that is not flagged. Rows are flagged from the probability on
        at which that costs less on average, FALSE_ALARM / (FALSE_ALARM + MISS). None: from 0.5 on.

    Examples
    --------
    >>> from posterity import comparison
    >>> comparison.Flagging("ill", cost=(1.0, 19.0)).threshold
    0.05
    """

    positive: str | None = None
    cost: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.cost is not None:
            decisions.check_cost(self.cost)

    @property
    def threshold(self) -> float:
        """Probability of the positive class from which rows are flagged."""
        return _EVEN if self.cost is None else scoring.cost_threshold(self.cost)

    def check_classes(self, classes: Sequence[str], target: str) -> None:
        """Refuse what needs two classes for a target that has another number of them.

        Examples
        --------
        >>> from posterity import comparison
        >>> comparison.Flagging(cost=(1.0, 20.0)).check_classes(("no", "yes"), "ill")
        """
        asked = [
            name
            for name, value in (("--cost", self.cost), ("--positive", self.positive))
            if value is not None
        ]
        if asked and len(classes) != 2:
            found = f"has {len(classes)} classes" if classes else "is a number"
            raise tables.TableError(
                f"{' and '.join(asked)} {'needs' if len(asked) == 1 else 'need'} a target of two "
                f"classes, but {target!r} {found}. Leave the option out, or make a target of two "
                "classes."
            )
        if self.positive is not None and self.positive not in classes:
            raise tables.TableError(
                f"{self.positive!r} is not a class of {target!r}; --positive must be "
                f"{classes[0]!r} or {classes[1]!r}."
            )

    def find_code(self, classes: Sequence[str]) -> int:
        """Return the position of the positive class among two."""
        return 1 if self.positive is None else list(classes).index(self.positive)


def parse_cost(text: Any) -> tuple[float, float]:
    """Return the costs of a false alarm and of a miss from a text such as "1:20".

    Examples
    --------
    >>> parse_cost("1:20")
    (1.0, 20.0)
    """
    if isinstance(text, tuple):
        return decisions.check_cost(text)
    number = r"\s*(\d+(?:\.\d*)?|\.\d+)\s*"
    match = re.fullmatch(f"{number}:{number}", text)
    if match is None or not all(0.0 < float(part) < np.inf for part in match.groups()):
        raise ValueError(
            f"{text!r} is not FALSE_ALARM:MISS, the costs of the two mistakes; use two positive "
            "numbers, for example 1:20 where a miss costs 20 times as much as a false alarm."
        )
    return float(match[1]), float(match[2])


def score_two_classes(held_out: HeldOut, flagging: Flagging) -> TwoClassScores | None:
    """Return the scores of two classes; None for numbers, or if the classes are more."""
    if held_out.probabilities is None or len(held_out.classes) != 2:
        return None
    p, y = np.clip(held_out.probabilities, 0.0, 1.0), held_out.y
    code, level = flagging.find_code(held_out.classes), flagging.threshold
    costs = _compute_costs(held_out, flagging)
    return TwoClassScores(
        positive=held_out.classes[code],
        threshold=level,
        brier=scoring.brier(p, y),
        precision=scoring.precision(p, y, level, positive=code),
        recall=scoring.recall(p, y, level, positive=code),
        roc_area=scoring.roc_area(p, y),
        flagged=float(np.mean(p[:, code] >= level)),
        expected_cost=None if costs is None else float(np.mean(costs)),
        cost_error=None if costs is None else row_scores.standard_error(costs, held_out.clusters),
    )


def add_two_class_scores(results: Sequence[Result], flagging: Flagging) -> tuple[Result, ...]:
    """Add the scores of two classes to each result.

    The cost of a model with fewer folds is that of a complete one and the mean difference over the
    rows that both predicted, as its log score is.
    """
    most = max(len(one.held_out.rows) for one in results)
    standard = next(one for one in results if len(one.held_out.rows) == most)
    return tuple(_add_scores(one, standard, flagging) for one in results)


def describe_costs(family: Sequence[Result], chosen: Result, flagging: Flagging) -> list[str]:
    """Write in a sentence from which probability rows are flagged, and what that costs."""
    if flagging.cost is None:
        return []
    found, trivial = _get_scores(chosen), _compute_trivial_costs(chosen.held_out, flagging)
    least = min(family, key=lambda one: (_get_scores(one).expected_cost, one is not chosen))
    more, error = _compute_more(chosen.held_out, least.held_out, flagging)
    cheaper = f"; {least.name!r} costs {format_with_error(more, error)} less"
    none, every = (format_amount(value, 3) for value in trivial)
    false_alarm, miss = (format_amount(value, 6) for value in flagging.cost)
    better = found.expected_cost < min(trivial)
    return [
        f"With costs of {false_alarm} for a false alarm and {miss} for a miss, flag rows whose "
        f"probability of {found.positive!r} is at least {found.threshold:.3g}: that costs "
        f"{format_with_error(found.expected_cost, found.cost_error)} per row and flags "
        f"{100.0 * found.flagged:.3g} % of the rows (to flag none would cost {none}, all {every}"
        f"{'' if better else ', which is no more'}){cheaper if more > _SURE * error else ''}."
    ]


def format_with_error(value: float, error: float) -> str:
    """Format a cost and its standard error.

    Examples
    --------
    >>> format_with_error(0.2143, 0.031), format_with_error(1234.0, 53.0)
    ('0.214 +- 0.03', '1,230 +- 50')
    """
    return f"{format_amount(value, 3)} +- {format_amount(error, 1)}"


def format_amount(value: float, digits: int) -> str:
    """Format an amount with this many significant digits, and large ones without a power of ten."""
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 10.0**digits else f"{rounded:.{digits}g}"


def _add_scores(one: Result, standard: Result, flagging: Flagging) -> Result:
    found = score_two_classes(one.held_out, flagging)
    complete = len(one.held_out.rows) == len(standard.held_out.rows)
    if found is None or flagging.cost is None or complete:
        return replace(one, two_classes=found)
    usual: Any = _compute_costs(standard.held_out, flagging)
    more, _ = _compute_more(one.held_out, standard.held_out, flagging)
    cost = float(np.mean(usual)) + more
    return replace(one, two_classes=replace(found, expected_cost=cost))


def _compute_more(held_out: HeldOut, other: HeldOut, flagging: Flagging) -> tuple[float, float]:
    """Return how much more a model costs than another on common rows, and the standard error."""
    savings = []
    for one in (other, held_out):  # rows are compared by a score of which more is better
        costs: Any = _compute_costs(one, flagging)
        savings.append(replace(one, log_prob=-costs))
    return row_scores.compute_lead(*savings)


def _compute_costs(held_out: HeldOut, flagging: Flagging) -> Array | None:
    """Return the cost of each row at the threshold of the costs."""
    if flagging.cost is None:
        return None
    code = flagging.find_code(held_out.classes)
    p: NDArray[Any] = np.asarray(held_out.probabilities)[:, code]
    return decisions.compute_row_costs(p >= flagging.threshold, held_out.y == code, flagging.cost)


def _compute_trivial_costs(held_out: HeldOut, flagging: Flagging) -> tuple[float, float]:
    """Return the mean costs of flagging no row and of flagging every row."""
    false_alarm, miss = decisions.check_cost(flagging.cost)
    share = float(np.mean(held_out.y == flagging.find_code(held_out.classes)))
    return miss * share, false_alarm * (1.0 - share)


def _get_scores(one: Result) -> Any:
    return one.two_classes
