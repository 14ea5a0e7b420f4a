"""Summarise a comparison: which model to use, how certain that is, and how far to trust it."""

import math
from collections.abc import Sequence

from posterity.arrays import Array
from posterity.comparison import choosing, measuring
from posterity.comparison.choosing import HARDLY, compute_probability_better, is_better
from posterity.comparison.flagging import Flagging, say_costs
from posterity.comparison.results import Preference, Result

_NOMINAL = 0.9
_SLACK = 0.01  # differences in coverage below this are irrelevant in practice
_NOTABLE = 0.05  # differences above this are no sign of trust, though chance may explain them
_VAGUE = 0.12  # two standard errors and the slack, from which any coverage would be acceptable
_TOO_FEW = "which are too few, or too dependent on each other, to tell whether"
_DOUBLE = math.log(2.0)  # lead from which a ratio is written and not a percentage
_ODD = 1.63  # sqrt(n) times the Kolmogorov-Smirnov distance at the 1 % level
_DEPENDENT = "; but rows seem to depend on each other, so this may not hold for others"


def verdict(
    results: Sequence[Result],
    *,
    order: Sequence[str],
    scope: str = "",
    prefer: Preference = "simple",
    cautions: Sequence[str] = (),
    target: str = "the target",
    flagging: Flagging | None = None,
) -> str:
    """Say which model to use, how sure that is, what another costs, and how far to trust it.

    Four sentences at most. How sure one is that a model is better
    is always the probability that it has the higher mean log score on more rows of the same kind;
    what it costs to take another is the difference of these scores, and the ratio of the
    probabilities of an observed value that follows from it.

    Parameters
    ----------
    results : sequence of Result
        The best first; at least one is not a baseline.
    order : sequence of str
        Names of the models, simplest first.
    scope : str, default=""
        For which new rows the scores hold, such as "for the next 30 days".
    prefer : "simple" or "best", default="simple"
        The rule that chooses among models that are about as good as the best.
    cautions : sequence of str
        Sentences about rows that seem to depend on each other.
    target : str, default="the target"
        Name of the column that is predicted.
    flagging : Flagging, optional
        Of two classes: the one whose rows are flagged, and the costs of mistakes, for which the
        results have scores.

    Examples
    --------
    >>> from posterity import comparison, tables
    >>> x = [0.1 * n for n in range(30)]
    >>> table = {"x": x, "y": [value**2 for value in x]}
    >>> models = comparison.candidates("regression", 30, 1, names=["linear"])
    >>> print(comparison.compare(table, tables.infer(table, "y"), models).verdict)
    Use 'linear', the only model that was scored. Its 90 % intervals contain 90 % of the held-out
    values, so its uncertainty can be trusted for new rows like these.
    """
    family = [one for one in results if not one.baseline]
    baselines = [one for one in results if one.baseline]
    chosen = choosing.choose_model(results, order=order, prefer=prefer)
    costs = say_costs(family, chosen, flagging) if flagging else []
    constant = choosing.find_constant(results)
    if constant and not is_better(family[0], constant, least=HARDLY):
        said = _say_nothing_helps(family[0], chosen, constant, target)
    else:
        beside = _compare_with_baseline(family[0], baselines)
        choice = _say_choice(chosen, family, order)
        said = [*beside, *(choice[:1] if beside and costs else choice)]
    trust = _judge_uncertainty(chosen, f" {scope}" if scope else "", bool(cautions))
    said.append(f"{trust}{_DEPENDENT if cautions else ''}.")
    return " ".join([*said, *costs])


def describe_gain(results: Sequence[Result], chosen: Result) -> list[str]:
    """Say in a sentence how much more probable observed values are than under the baselines.

    Examples
    --------
    >>> from posterity import comparison, tables
    >>> x = [0.1 * n for n in range(30)]
    >>> table = {"x": x, "y": [value**2 for value in x]}
    >>> models = comparison.candidates("regression", 30, 1, names=["linear", "tree"])
    >>> found = comparison.compare(table, tables.infer(table, "y"), models)
    >>> comparison.describe_gain(found.results, found.best)  # no baseline was scored
    []
    """
    baselines = [one for one in results if one.baseline]
    if not baselines:
        return []
    first, *rest = baselines
    shares = [
        f"{_format_ratio(chosen, first)} times the probability that {first.name!r} gives it",
        *(f"{_format_ratio(chosen, one)} times that of {one.name!r}" for one in rest),
    ]
    return [f"On average {chosen.name!r} gives an observed value {_join_words(shares)}."]


def _say_nothing_helps(best: Result, chosen: Result, constant: Result, target: str) -> list[str]:
    """Write the sentences for a table on which no model beats a constant prediction."""
    mean, _ = measuring.compute_lead(best.held_out, constant.held_out)
    beside = (
        f"{_say_better(best, constant)}"
        if mean > 0.0
        else f"behind {constant.name!r} by {_format_lead(constant, best)} in mean log score"
    )
    return [
        f"No input helps to predict {target}: {constant.name!r} ignores the inputs, and the best "
        f"model, {best.name!r}, is {beside}.",
        f"The saved model is {chosen.name!r}.",
    ]


def _say_choice(chosen: Result, family: Sequence[Result], order: Sequence[str]) -> list[str]:
    """Write which model to use and why, and what another choice costs or gains."""
    best = family[0]
    if len(family) == 1:
        return [f"Use {best.name!r}, the only model that was scored."]
    if chosen is not best:
        return _say_simple_choice(chosen, best, choosing.find_best_single(family))
    chance = best.probability_best
    sure = "" if chance is None else f", with a probability of {_format_chance(chance)}"
    first = f"Use {best.name!r}: the best of {len(family)} models{sure}."
    simple = choosing.choose_model(family, order=order)
    if simple is not best:
        return [
            first,
            f"The simpler {simple.name!r} is behind by {_say_less(best, simple)}; "
            "choose it with --prefer simple.",
        ]
    return [
        first,
        f"The second, {family[1].name!r}, is behind by {_say_less(best, family[1])}.",
    ]


def _say_simple_choice(chosen: Result, best: Result, single: Result) -> list[str]:
    """Write that a simpler model than the best was chosen, and what that costs."""
    what = (
        "the best single model"
        if chosen is single
        else "the simplest model that is about as good as the best"
    )
    if not best.weights:
        ahead = f"{best.name!r} is {_say_better(best, chosen)}"
    elif compute_probability_better(best, single) < choosing.SURE:
        note = f" (a mixture is chosen from {_format_chance(choosing.SURE)} on)"
        ahead = f"The mixture {best.name!r} is {_say_better(best, chosen, note)}"
    else:
        note = ", by too little to keep several models,"
        ahead = f"The mixture {best.name!r} is {_say_better(best, chosen, note)}"
    return [f"Use {chosen.name!r}: {what}.", f"{ahead}; choose it with --prefer best."]


def _say_better(ahead: Result, behind: Result, note: str = "") -> str:
    """Write how sure it is that a model is better than another, and by how much."""
    sure = _format_chance(compute_probability_better(ahead, behind))
    more = f"{_format_more(ahead, behind)} for an observed value"
    return (
        f"better than {behind.name!r} with a probability of {sure}{note or ','} by "
        f"{_format_lead(ahead, behind)} in mean log score, that is {more}"
    )


def _say_less(ahead: Result, behind: Result) -> str:
    """Write by how much a model is behind another."""
    return (
        f"{_format_lead(ahead, behind)} in mean log score: {ahead.name!r} gives an observed value "
        f"{_format_more(ahead, behind)}"
    )


def _compare_with_baseline(best: Result, baselines: Sequence[Result]) -> list[str]:
    """Write a sentence if a baseline has a higher score than the best model."""
    if not baselines or measuring.compute_lead(baselines[0].held_out, best.held_out)[0] <= 0.0:
        return []
    first = baselines[0]
    better = _say_better(first, best)
    if is_better(first, best, least=HARDLY):
        return [f"No model is as good as the baseline {first.name!r}: it is {better}."]
    return [f"The baseline {first.name!r} is {better}."]


def _judge_uncertainty(chosen: Result, scope: str, cautious: bool) -> str:
    """Write whether the uncertainty is reliable, and for which rows."""
    if chosen.coverage is not None:
        return _judge_intervals(chosen, scope, cautious)
    return _judge_probabilities(chosen, scope, cautious)


def _judge_intervals(best: Result, scope: str, cautious: bool) -> str:
    coverage, n = best.coverage or 0.0, measuring.count_effective_rows(best.held_out)
    allowed = 2.0 * math.sqrt(_NOMINAL * (1.0 - _NOMINAL) / n) + _SLACK
    held = f"Its 90 % intervals contain {100.0 * coverage:.3g} % of the held-out values"
    if coverage < _NOMINAL - allowed:
        return f"{held}, so they are too narrow to be trusted{scope}"
    if coverage > _NOMINAL + allowed:
        return f"{held}, so they are wider than necessary{scope}"
    if best.calibration > _ODD / math.sqrt(n) + _SLACK:
        off = f"{100.0 * best.calibration:.2g} %"
        errors = f"other quantiles have calibration errors of up to {off}"
        return f"{held}, as they should{scope}, but {errors}"
    if allowed > _VAGUE or coverage < _NOMINAL - _NOTABLE:
        return f"{held}, {_TOO_FEW} its uncertainty can be trusted{scope}"
    if cautious:
        return f"{held}, as they should{scope}"
    return f"{held}, so its uncertainty can be trusted{scope}"


def _judge_probabilities(best: Result, scope: str, cautious: bool) -> str:
    stated, right = measuring.confidence(best.held_out), measuring.is_correct(best.held_out)
    gaps: Array = stated - right
    allowed = 2.0 * measuring.standard_error(gaps, best.held_out.clusters) + _SLACK
    said = (
        f"Its most probable class has a predicted probability of {100.0 * stated.mean():.3g} % on "
        f"average and is correct in {100.0 * right.mean():.3g} % of the held-out rows"
    )
    if gaps.mean() > allowed:
        return f"{said}, so it is overconfident{scope}"
    if gaps.mean() < -allowed:
        return f"{said}, so it is underconfident{scope}"
    if allowed > _VAGUE or abs(gaps.mean()) > _NOTABLE:
        return f"{said}, {_TOO_FEW} its probabilities can be trusted{scope}"
    if cautious:
        return f"{said}, as it should{scope}"
    return f"{said}, so its probabilities can be trusted{scope}"


def _format_lead(ahead: Result, behind: Result) -> str:
    mean, error = measuring.compute_lead(ahead.held_out, behind.held_out)
    digits = 2 if f"{error:e}"[0] == "1" else 1  # 0.012 is not 0.01
    return f"{mean:.2g} +- {error:.{digits}g}"


def _format_more(ahead: Result, behind: Result) -> str:
    """Format how much more probable observed values are under one model than under another."""
    mean, _ = measuring.compute_lead(ahead.held_out, behind.held_out)
    if mean < _DOUBLE:
        return f"{_format_percent(math.expm1(mean))} more probability"
    return f"{_format_ratio(ahead, behind)} times the probability"


def _format_ratio(best: Result, other: Result) -> str:
    """Format the geometric mean over rows of the ratio of probabilities of the observed value."""
    log_ratio, _ = measuring.compute_lead(best.held_out, other.held_out)
    if log_ratio > math.log(1e6):
        return "over a million"
    return f"{math.exp(log_ratio):#.3g}".rstrip(".")


def _format_percent(share: float) -> str:
    return f"{100.0 * share:.2g} %" if share >= 1e-3 else "less than 0.1 %"


def _format_chance(chance: float) -> str:
    """Format a probability that never reads as more than it is, nor as certain."""
    percent = min(math.floor(100.0 * chance + 1e-9), 99)
    return f"{percent} %" if percent else "less than 1 %"


def _join_words(words: Sequence[str], last: str = "and") -> str:
    """Join words as in 'a, b and c'."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
