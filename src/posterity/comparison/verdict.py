"""Summarise a comparison in two sentences: which model to use, and how far to trust it."""

import math
from collections.abc import Sequence

from posterity.arrays import Array
from posterity.comparison import measuring
from posterity.comparison.results import Result

_NOMINAL = 0.9
_SLACK = 0.01  # differences in coverage below this are irrelevant in practice
_ODD = 1.63  # sqrt(n) times the Kolmogorov-Smirnov distance at the 1 % level
_SURE = 2.0  # standard errors by which distinguishable models differ
_HARDLY = 1e-3  # differences of log scores below this are irrelevant in practice
_SHOWN = 3  # equally good models that are named


def verdict(results: Sequence[Result], *, order: Sequence[str]) -> str:
    """Say in two sentences which model to use and whether its uncertainty is reliable.

    Parameters
    ----------
    results : sequence of Result
        The best first; at least one is not a baseline.
    order : sequence of str
        Names of the models, simplest first.

    Examples
    --------
    >>> from posterity import comparison, tables
    >>> x = [0.1 * n for n in range(30)]
    >>> table = {"x": x, "y": [value**2 for value in x]}
    >>> models = comparison.candidates("regression", 30, 1, names=["linear"])
    >>> print(comparison.compare(table, tables.infer(table, "y"), models).verdict)
    Use 'linear', the only model that was scored. Its 90 % intervals contain 90 % of the held-out
    values, so its uncertainty can be trusted.
    """
    family = [one for one in results if not one.baseline]
    baselines = [one for one in results if one.baseline]
    return f"{_which(family, baselines, order)} {_how_sure(family[0], baselines)}"


def _which(family: Sequence[Result], baselines: Sequence[Result], order: Sequence[str]) -> str:
    """Write the first sentence: which model to use."""
    best, others = family[0], family[1:]
    if baselines and baselines[0].log_score > best.log_score:
        return _beaten(best, baselines[0])
    equals = [one for one in others if _cannot_be_told_apart(best, one)]
    if equals:
        return _among_equals(best, equals, order)
    if not others:
        return f"Use {best.name!r}, the only model that was scored."
    return (
        f"Use {best.name!r}: it predicts held-out rows better than the second best, "
        f"{others[0].name!r}, by {_ahead(best, others[0])} in mean log score."
    )


def _beaten(best: Result, baseline: Result) -> str:
    """Write the first sentence if a baseline has the best score."""
    if _cannot_be_told_apart(baseline, best):
        return (
            f"Use {best.name!r}, the best model, but its score is not significantly different from "
            f"that of the baseline {baseline.name!r}, which is better by {_ahead(baseline, best)} "
            "in mean log score."
        )
    return (
        f"No model predicts held-out rows as well as the baseline {baseline.name!r}, which is "
        f"better than the best model, {best.name!r}, by {_ahead(baseline, best)} in mean log score."
    )


def _among_equals(best: Result, equals: Sequence[Result], order: Sequence[str]) -> str:
    """Write the first sentence if other models are equally good: name the simplest of them."""
    simplest = min((best, *equals), key=lambda one: order.index(one.name))
    shown = [repr(one.name) for one in equals[:_SHOWN]]
    if len(equals) > _SHOWN:
        shown.append(f"{len(equals) - _SHOWN} more")
    if simplest is best:
        advice = f"{best.name!r} is also the simplest of them"
    else:
        advice = f"{simplest.name!r} is the simplest of them"
    verb = "is" if len(equals) == 1 else "are"
    return (
        f"Use {best.name!r}: it predicts held-out rows best, although {_listed(shown)} {verb} "
        f"within two standard errors of it; {advice}."
    )


def _how_sure(best: Result, baselines: Sequence[Result]) -> str:
    """Write the second sentence: whether the uncertainty is reliable, and beats the baselines."""
    trust = _trust_in_numbers(best) if best.coverage is not None else _trust_in_classes(best)
    if not baselines:
        return f"{trust}."
    first, *rest = baselines
    shares = [
        f"{_times(best, first)} times the probability that {first.name!r} did{_doubt(best, first)}",
        *(f"{_times(best, one)} times that of {one.name!r}{_doubt(best, one)}" for one in rest),
    ]
    return f"{trust}; on average it assigned the observed value {_listed(shares)}."


def _trust_in_numbers(best: Result) -> str:
    coverage, n = best.coverage or 0.0, len(best.held_out.y)
    allowed = 2.0 * math.sqrt(_NOMINAL * (1.0 - _NOMINAL) / n) + _SLACK
    held = f"Its 90 % intervals contain {100.0 * coverage:.3g} % of the held-out values"
    if coverage < _NOMINAL - allowed:
        return f"{held}, so they are too narrow to be trusted"
    if coverage > _NOMINAL + allowed:
        return f"{held}, so they are wider than necessary"
    if best.calibration > _ODD / math.sqrt(n) + _SLACK:
        off = f"{100.0 * best.calibration:.2g} %"
        return f"{held}, as they should, but other quantiles have calibration errors of up to {off}"
    return f"{held}, so its uncertainty can be trusted"


def _trust_in_classes(best: Result) -> str:
    stated, right = measuring.confidence(best.held_out), measuring.is_right(best.held_out)
    gaps: Array = stated - right
    allowed = 2.0 * measuring.standard_error(gaps) + _SLACK
    said = (
        f"Its most probable class has a predicted probability of {100.0 * stated.mean():.3g} % on "
        f"average and is correct in {100.0 * right.mean():.3g} % of the held-out rows"
    )
    if gaps.mean() > allowed:
        return f"{said}, so it is overconfident"
    if gaps.mean() < -allowed:
        return f"{said}, so it is underconfident"
    return f"{said}, so its probabilities can be trusted"


def _difference(ahead: Result, behind: Result) -> tuple[float, float]:
    """Return the mean difference of the log scores over rows, and its standard error."""
    rows = ahead.held_out.log_prob - behind.held_out.log_prob
    return float(rows.mean()), measuring.standard_error(rows)


def _cannot_be_told_apart(ahead: Result, behind: Result) -> bool:
    mean, error = _difference(ahead, behind)
    return mean <= max(_SURE * error, _HARDLY)


def _ahead(ahead: Result, behind: Result) -> str:
    mean, error = _difference(ahead, behind)
    return f"{mean:.2g} +- {error:.1g}"


def _times(best: Result, other: Result) -> str:
    """Format the geometric mean over rows of the ratio of probabilities of the observed value."""
    log_ratio = _difference(best, other)[0]
    if log_ratio > math.log(1e6):
        return "over a million"
    return f"{math.exp(log_ratio):#.3g}".rstrip(".")


def _doubt(best: Result, other: Result) -> str:
    """Return a remark if an advantage is not significant."""
    ahead = _difference(best, other)[0] > 0.0
    return " (not significant)" if ahead and _cannot_be_told_apart(best, other) else ""


def _listed(words: Sequence[str]) -> str:
    """Join words as in 'a, b and c'."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
