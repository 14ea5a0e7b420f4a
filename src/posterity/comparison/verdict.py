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
    return (
        f"{_recommend_model(family, baselines, order)} {_judge_uncertainty(family[0], baselines)}"
    )


def _recommend_model(
    family: Sequence[Result], baselines: Sequence[Result], order: Sequence[str]
) -> str:
    """Write the first sentence: which model to use."""
    best, others = family[0], family[1:]
    if baselines and baselines[0].log_score > best.log_score:
        return _recommend_despite_baseline(best, baselines[0])
    equals = [one for one in others if _is_insignificant(best, one)]
    if equals:
        return _recommend_among_equals(best, equals, order)
    if not others:
        return f"Use {best.name!r}, the only model that was scored."
    return (
        f"Use {best.name!r}: it predicts held-out rows better than the second best, "
        f"{others[0].name!r}, by {_format_lead(best, others[0])} in mean log score."
    )


def _recommend_despite_baseline(best: Result, baseline: Result) -> str:
    """Write the first sentence if a baseline has the best score."""
    if _is_insignificant(baseline, best):
        return (
            f"Use {best.name!r}, the best model, but its score is not significantly different from "
            f"that of the baseline {baseline.name!r}, which is better by "
            f"{_format_lead(baseline, best)} "
            "in mean log score."
        )
    return (
        f"No model predicts held-out rows as well as the baseline {baseline.name!r}, which is "
        f"better than the best model, {best.name!r}, by {_format_lead(baseline, best)} in mean "
        "log score."
    )


def _recommend_among_equals(best: Result, equals: Sequence[Result], order: Sequence[str]) -> str:
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
        f"Use {best.name!r}: it predicts held-out rows best, although {_join_words(shown)} {verb} "
        f"within two standard errors of it; {advice}."
    )


def _judge_uncertainty(best: Result, baselines: Sequence[Result]) -> str:
    """Write the second sentence: whether the uncertainty is reliable, and beats the baselines."""
    trust = _judge_intervals(best) if best.coverage is not None else _judge_probabilities(best)
    if not baselines:
        return f"{trust}."
    first, *rest = baselines
    shares = [
        f"{_format_ratio(best, first)} times the probability that {first.name!r} "
        f"did{_mark_insignificant(best, first)}",
        *(
            f"{_format_ratio(best, one)} times that of {one.name!r}{_mark_insignificant(best, one)}"
            for one in rest
        ),
    ]
    return f"{trust}; on average it assigned the observed value {_join_words(shares)}."


def _judge_intervals(best: Result) -> str:
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


def _judge_probabilities(best: Result) -> str:
    stated, right = measuring.confidence(best.held_out), measuring.is_correct(best.held_out)
    gaps: Array = stated - right
    allowed = 2.0 * measuring.standard_error(gaps, best.held_out.clusters) + _SLACK
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
    return float(rows.mean()), measuring.standard_error(rows, ahead.held_out.clusters)


def _is_insignificant(ahead: Result, behind: Result) -> bool:
    mean, error = _difference(ahead, behind)
    return mean <= max(_SURE * error, _HARDLY)


def _format_lead(ahead: Result, behind: Result) -> str:
    mean, error = _difference(ahead, behind)
    return f"{mean:.2g} +- {error:.1g}"


def _format_ratio(best: Result, other: Result) -> str:
    """Format the geometric mean over rows of the ratio of probabilities of the observed value."""
    log_ratio = _difference(best, other)[0]
    if log_ratio > math.log(1e6):
        return "over a million"
    return f"{math.exp(log_ratio):#.3g}".rstrip(".")


def _mark_insignificant(best: Result, other: Result) -> str:
    """Return a remark if an advantage is not significant."""
    ahead = _difference(best, other)[0] > 0.0
    return " (not significant)" if ahead and _is_insignificant(best, other) else ""


def _join_words(words: Sequence[str]) -> str:
    """Join words as in 'a, b and c'."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
