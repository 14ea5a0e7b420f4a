"""Which model to take and how far to trust it, in two sentences."""

import math
from collections.abc import Sequence

from posterity.arrays import Array
from posterity.comparison import measuring
from posterity.comparison.results import Result

_NOMINAL = 0.9
_SLACK = 0.01  # a difference that nobody would act on
_ODD = 1.63  # sqrt(n) times the Kolmogorov-Smirnov distance: one in a hundred is beyond
_SURE = 2.0  # standard errors by which models are told apart: several are compared
_HARDLY = 1e-3  # of a log score, a thousandth of the probability: less is no difference
_SHOWN = 3  # rivals that are named


def verdict(results: Sequence[Result], *, order: Sequence[str]) -> str:
    """Two sentences: which to take, and whether its uncertainty is right and worth having.

    Parameters
    ----------
    results : sequence of Result
        The best first, at least one of them no baseline.
    order : sequence of str
        Names from the simple to the elaborate.

    Examples
    --------
    >>> from posterity import comparison, tables
    >>> x = [0.1 * n for n in range(30)]
    >>> table = {"x": x, "y": [value**2 for value in x]}
    >>> models = comparison.candidates("regression", 30, 1, names=["linear"])
    >>> print(comparison.compare(table, tables.infer(table, "y"), models).verdict)
    Take 'linear', the only model that was measured. Its 90 % intervals held 86.7 % of the rows held
    out, so its uncertainty can be trusted.
    """
    family = [one for one in results if not one.baseline]
    baselines = [one for one in results if one.baseline]
    return f"{_which(family, baselines, order)} {_how_sure(family[0], baselines)}"


def _which(family: Sequence[Result], baselines: Sequence[Result], order: Sequence[str]) -> str:
    """The first sentence."""
    best, others = family[0], family[1:]
    if baselines and baselines[0].log_score > best.log_score:
        return _beaten(best, baselines[0])
    equals = [one for one in others if _cannot_be_told_apart(best, one)]
    if equals:
        return _among_equals(best, equals, order)
    if not others:
        return f"Take {best.name!r}, the only model that was measured."
    return (
        f"Take {best.name!r}: it predicts unseen rows better than {others[0].name!r}, the next, "
        f"by {_ahead(best, others[0])} in the log score of a row."
    )


def _beaten(best: Result, baseline: Result) -> str:
    """Where none of the family is ahead of what it is held against."""
    if _cannot_be_told_apart(baseline, best):
        return (
            f"Take {best.name!r}, the best of the family, but it cannot be told apart from the "
            f"baseline {baseline.name!r}, which is ahead by {_ahead(baseline, best)} in the log "
            "score of a row."
        )
    return (
        f"No model of the family predicts unseen rows as well as the baseline {baseline.name!r}, "
        f"which is ahead of {best.name!r}, the best of them, by {_ahead(baseline, best)} in the "
        "log score of a row."
    )


def _among_equals(best: Result, equals: Sequence[Result], order: Sequence[str]) -> str:
    """Where others are as good for all one can tell: the best is named, and the simplest."""
    simplest = min((best, *equals), key=lambda one: order.index(one.name))
    shown = [repr(one.name) for one in equals[:_SHOWN]]
    if len(equals) > _SHOWN:
        shown.append(f"{len(equals) - _SHOWN} more")
    if simplest is best:
        advice = "and it is itself the simplest of them"
    else:
        advice = f"and {simplest.name!r} is the simplest of them"
    return (
        f"Take {best.name!r}: it predicts unseen rows best, but {_listed(shown)} cannot be told "
        f"apart from it (within two standard errors), {advice}."
    )


def _how_sure(best: Result, baselines: Sequence[Result]) -> str:
    """The second sentence."""
    trust = _trust_in_numbers(best) if best.coverage is not None else _trust_in_classes(best)
    if not baselines:
        return f"{trust}."
    shares = [
        f"{_times(best, one)} times that of {one.name!r}{_doubt(best, one)}" for one in baselines
    ]
    return f"{trust}; to what came it gave, on average, a probability {_listed(shares)}."


def _trust_in_numbers(best: Result) -> str:
    coverage, n = best.coverage or 0.0, len(best.held_out.y)
    allowed = 2.0 * math.sqrt(_NOMINAL * (1.0 - _NOMINAL) / n) + _SLACK
    held = f"Its 90 % intervals held {100.0 * coverage:.3g} % of the rows held out"
    if coverage < _NOMINAL - allowed:
        return f"{held}, so they are too narrow and should not be trusted"
    if coverage > _NOMINAL + allowed:
        return f"{held}, so they are wider than they need be"
    if best.calibration > _ODD / math.sqrt(n) + _SLACK:
        off = f"{100.0 * best.calibration:.2g} %"
        return f"{held}, as they should, though shares below other quantiles are off by up to {off}"
    return f"{held}, so its uncertainty can be trusted"


def _trust_in_classes(best: Result) -> str:
    stated, right = measuring.confidence(best.held_out), measuring.is_right(best.held_out)
    gaps: Array = stated - right
    allowed = 2.0 * measuring.standard_error(gaps) + _SLACK
    said = (
        f"Of the class it called most probable it was {100.0 * stated.mean():.3g} % sure on "
        f"average, and right in {100.0 * right.mean():.3g} % of the rows held out"
    )
    if gaps.mean() > allowed:
        return f"{said}, so it is surer than it should be"
    if gaps.mean() < -allowed:
        return f"{said}, so it is more cautious than it need be"
    return f"{said}, so its probabilities can be trusted"


def _difference(ahead: Result, behind: Result) -> tuple[float, float]:
    """Mean difference of the log scores row by row, and its standard error."""
    rows = ahead.held_out.log_prob - behind.held_out.log_prob
    return float(rows.mean()), measuring.standard_error(rows)


def _cannot_be_told_apart(ahead: Result, behind: Result) -> bool:
    mean, error = _difference(ahead, behind)
    return mean <= max(_SURE * error, _HARDLY)


def _ahead(ahead: Result, behind: Result) -> str:
    mean, error = _difference(ahead, behind)
    return f"{mean:.2g} +- {error:.1g}"


def _times(best: Result, other: Result) -> str:
    """The ratio of the probabilities of what came, its geometric mean over rows."""
    log_ratio = _difference(best, other)[0]
    if log_ratio > math.log(1e6):
        return "over a million"
    return f"{math.exp(log_ratio):#.3g}".rstrip(".")


def _doubt(best: Result, other: Result) -> str:
    """A word where being ahead may be chance."""
    ahead = _difference(best, other)[0] > 0.0
    return " (too close to call)" if ahead and _cannot_be_told_apart(best, other) else ""


def _listed(words: Sequence[str]) -> str:
    """a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
