"""Summarise a comparison: which model to use, how certain that is, and how far to trust it."""

import math
from collections.abc import Sequence

from posterity.arrays import Array
from posterity.comparison import choosing, measuring
from posterity.comparison.choosing import HARDLY, find_constant, is_better
from posterity.comparison.flagging import Flagging, say_costs
from posterity.comparison.results import Preference, Result

_NOMINAL = 0.9
_SLACK = 0.01  # differences in coverage below this are irrelevant in practice
_NOTABLE = 0.05  # differences above this are no sign of trust, though chance may explain them
_VAGUE = 0.12  # two standard errors and the slack, from which any coverage would be acceptable
_TOO_FEW = "which are too few, or too dependent on each other, to tell whether"
_ODD = 1.63  # sqrt(n) times the Kolmogorov-Smirnov distance at the 1 % level
_CAUTION = "Caution: rows seem to depend on each other, so these scores may not hold for others."
_SHOWN = 3  # equally good models that are named
_UNLIKELY = 0.02  # models with a smaller probability of being the best are not named


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
    """Say which model to use, how certain the ranking is, and whether its uncertainty is reliable.

    Parameters
    ----------
    results : sequence of Result
        The best first; at least one is not a baseline.
    order : sequence of str
        Names of the models, simplest first.
    scope : str, default=""
        For which new rows the scores hold, such as "for the next 30 days".
    prefer : "simple" or "best", default="simple"
        The rule that chooses among models that do not differ significantly from the best.
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
    constant = find_constant(results)
    if constant and not is_better(family[0], constant, least=HARDLY):
        said = [_say_nothing_helps(family[0], chosen, constant, target)]
        gained = ""
    else:
        said = [
            *_compare_with_baseline(family[0], baselines),
            *_say_choice(chosen, family, order),
        ]
        gained = _state_gain(chosen, baselines)
    trust = _judge_uncertainty(chosen, f" {scope}" if scope else "", bool(cautions))
    said.append(f"{trust}{gained}.")
    said += say_costs(family, chosen, flagging) if flagging else []
    if cautions:
        said.append(_CAUTION)
    return " ".join(said)


def _say_nothing_helps(best: Result, chosen: Result, constant: Result, target: str) -> str:
    """Write the sentences for a table on which no model beats a constant prediction."""
    mean, error = measuring.compute_lead(best.held_out, constant.held_out)
    where = "ahead of" if mean > 0.0 else "behind"
    return (
        f"No input helps to predict {target}: no model predicts held-out rows significantly better "
        f"than {constant.name!r}, which ignores the inputs; the best model, {best.name!r}, is "
        f"{abs(mean):.2g} +- {error:.1g} {where} it in mean log score. The saved model is "
        f"{chosen.name!r}."
    )


def _say_choice(chosen: Result, family: Sequence[Result], order: Sequence[str]) -> list[str]:
    """Write which model to use and why, and how certain the ranking is."""
    best, equals = family[0], choosing.find_equals(family)
    if len(family) == 1:
        return [f"Use {best.name!r}, the only model that was scored."]
    if best.weights and not chosen.weights:
        beside = _say_choice_beside_mixture(chosen, best, choosing.find_best_single(family))
        return [beside, *_say_ranking(equals)]
    if len(equals) == 1:
        return [
            f"Use {best.name!r}: it predicts held-out rows better than the second best, "
            f"{family[1].name!r}, by {_format_lead(best, family[1])} in mean log score."
        ]
    return [_say_choice_among_equals(chosen, equals, order), *_say_ranking(equals)]


def _say_choice_among_equals(chosen: Result, equals: Sequence[Result], order: Sequence[str]) -> str:
    """Write which of several equally good models was chosen, and by which rule."""
    best = equals[0]
    if chosen is not best:
        return (
            f"Use {chosen.name!r}: it is the simplest model within one standard error of the "
            f"highest mean log score, that of {best.name!r}, which is ahead by "
            f"{_format_lead(best, chosen)} (choose it with --prefer best)."
        )
    names = _join_words(_limit_names([repr(one.name) for one in equals[1:]]))
    verb = "is" if len(equals) == 2 else "are"
    simplest = min(equals, key=lambda one: order.index(one.name))
    simple = choosing.choose_model(equals, order=order)
    also = f"{simplest.name!r} is the simplest of them"
    if simplest is best:
        also = "it is also the simplest of them"
    elif simple is not best:
        also = f"--prefer simple chooses {simple.name!r}"
    return (
        f"Use {best.name!r}: it predicts held-out rows best, although {names} {verb} not "
        f"significantly worse; {also}."
    )


def _say_choice_beside_mixture(chosen: Result, mixture: Result, single: Result) -> str:
    """Write that a single model was chosen although the mixture has the highest score."""
    what = "the best single model"
    if chosen is not single:
        what = (
            f"the simplest model within one standard error of the best single one, {single.name!r}"
        )
    better = f"not significantly better than {single.name!r}"
    if is_better(mixture, single):
        better = f"better than {single.name!r} by too little to keep several models for it"
    return (
        f"Use {chosen.name!r}: it is {what}; the mixture {mixture.name!r} is ahead of it by "
        f"{_format_lead(mixture, chosen)} in mean log score, but {better} (choose it with "
        "--prefer best)."
    )


def _say_ranking(equals: Sequence[Result]) -> list[str]:
    """Write the probability of each of the models to be the best on more rows."""
    known = [(one.probability_best or 0.0, one.name) for one in equals]
    likely = sorted((pair for pair in known if pair[0] >= _UNLIKELY), reverse=True)[:_SHOWN]
    if not likely:
        return []
    shares = [f"{name!r} with a probability of {100.0 * p:.0f} %" for p, name in likely]
    return [f"On more rows of the same kind, the best would be {_join_words(shares, 'or')}."]


def _compare_with_baseline(best: Result, baselines: Sequence[Result]) -> list[str]:
    """Write a sentence if a baseline has a higher score than the best model."""
    if not baselines or measuring.compute_lead(baselines[0].held_out, best.held_out)[0] <= 0.0:
        return []
    first = baselines[0]
    lead = f"{_format_lead(first, best)} in mean log score"
    if is_better(first, best, least=HARDLY):
        return [
            f"No model predicts held-out rows as well as the baseline {first.name!r}, which is "
            f"better than the best model, {best.name!r}, by {lead}."
        ]
    return [
        f"The baseline {first.name!r} is better than the best model, {best.name!r}, by {lead}, "
        "which is not significant."
    ]


def _judge_uncertainty(chosen: Result, scope: str, cautious: bool) -> str:
    """Write whether the uncertainty is reliable, and for which rows."""
    if chosen.coverage is not None:
        return _judge_intervals(chosen, scope, cautious)
    return _judge_probabilities(chosen, scope, cautious)


def _state_gain(chosen: Result, baselines: Sequence[Result]) -> str:
    """Write what was gained over the baselines, as ratios of probabilities."""
    if not baselines:
        return ""
    first, *rest = baselines
    shares = [
        f"{_format_ratio(chosen, first)} times the probability that {first.name!r} "
        f"did{_mark_insignificant(chosen, first)}",
        *(
            f"{_format_ratio(chosen, one)} times that of {one.name!r}"
            f"{_mark_insignificant(chosen, one)}"
            for one in rest
        ),
    ]
    return f"; on average it assigned the observed value {_join_words(shares)}"


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
    return f"{mean:.2g} +- {error:.1g}"


def _format_ratio(best: Result, other: Result) -> str:
    """Format the geometric mean over rows of the ratio of probabilities of the observed value."""
    log_ratio, _ = measuring.compute_lead(best.held_out, other.held_out)
    if log_ratio > math.log(1e6):
        return "over a million"
    return f"{math.exp(log_ratio):#.3g}".rstrip(".")


def _mark_insignificant(best: Result, other: Result) -> str:
    """Return a remark if an advantage is not significant."""
    ahead = measuring.compute_lead(best.held_out, other.held_out)[0] > 0.0
    return " (not significant)" if ahead and not is_better(best, other, least=HARDLY) else ""


def _limit_names(names: Sequence[str]) -> list[str]:
    more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return [*names[:_SHOWN], *more]


def _join_words(words: Sequence[str], last: str = "and") -> str:
    """Join words as in 'a, b and c'."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
