"""Summarise a comparison: which model to use, how certain that is, and how far to trust it."""

import math
from collections.abc import Sequence

from posterity.arrays import Array
from posterity.comparison import choice, row_scores
from posterity.comparison.choice import HARDLY, compute_probability_better, is_better
from posterity.comparison.flags import Flagging, describe_costs
from posterity.comparison.results import Preference, Result

_NOMINAL = 0.9
_SLACK = 0.01  # differences in coverage below this are irrelevant in practice
_NOTABLE = 0.05  # differences above this are no sign of trust, though chance may explain them
_VAGUE = 0.12  # two standard errors and the slack, from which any coverage would be acceptable
_TOO_FEW = "which are too few, or too dependent on each other, to tell whether"
_LEAST = 1e-3  # lead from which a percentage is written
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

    Four sentences at most. How sure one is that a model is better is always the probability that it
    has the higher mean log score on more rows of the same kind. The cost of another model is the
    ratio of the probabilities that the two give to an observed value: the exponential of the
    difference of their mean log scores, with its standard error.

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
    Use 'linear', the only model that was scored. The 90 % intervals of 'linear' contain 90 % of the
    held-out values, so its uncertainty can be trusted for new rows like these.
    """
    family = [one for one in results if not one.baseline]
    chosen = choice.choose_model(results, order=order, prefer=prefer)
    constant = choice.find_constant(results)
    if constant and not is_better(family[0], constant, least=HARDLY):
        said = _describe_unhelpful_inputs(family[0], chosen, constant, target)
    else:
        baseline = next((one for one in results if one.baseline), None)
        said = [
            _describe_choice(chosen, family),
            *_describe_alternative(chosen, family, baseline, order),
        ]
    trust = _judge_uncertainty(chosen, f" {scope}" if scope else "", bool(cautions))
    said.append(f"{trust}{_DEPENDENT if cautions else ''}.")
    return " ".join([*said, *(describe_costs(family, chosen, flagging) if flagging else [])])


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


def _describe_unhelpful_inputs(
    best: Result, chosen: Result, constant: Result, target: str
) -> list[str]:
    """Write the sentences for a table on which no model beats a constant prediction."""
    mean, _ = row_scores.compute_lead(best.held_out, constant.held_out)
    lead = (
        f"the best model, {best.name!r}, {_describe_lead(best, constant)}"
        if mean > 0.0
        else f"{constant.name!r} {_describe_lead(constant, best)}, the best model"
    )
    return [
        f"No input helps to predict {target}: {constant.name!r} ignores the inputs, and {lead}.",
        f"The saved model is {chosen.name!r}.",
    ]


def _describe_choice(chosen: Result, family: Sequence[Result]) -> str:
    """Write which model to use and why."""
    best = family[0]
    if len(family) == 1:
        return f"Use {best.name!r}, the only model that was scored."
    if chosen is best:
        chance = best.probability_best
        sure = "" if chance is None else f", with a probability of {_format_chance(chance)}"
        return f"Use {best.name!r}: the best of {len(family)} models{sure}."
    if chosen is choice.find_best_single(family):
        return f"Use {chosen.name!r}: the best single model."
    return f"Use {chosen.name!r}: the simplest model that is about as good as the best."


def _describe_alternative(
    chosen: Result, family: Sequence[Result], baseline: Result | None, order: Sequence[str]
) -> list[str]:
    """Write a sentence on the model to compare with the choice, and what it costs or gains."""
    best = family[0]
    if baseline and row_scores.compute_lead(baseline.held_out, best.held_out)[0] > 0.0:
        better = _describe_lead(baseline, best)
        if is_better(baseline, best, least=HARDLY):
            return [f"No model is as good as the baseline {baseline.name!r}: it {better}."]
        return [f"The baseline {baseline.name!r} {better}."]
    if len(family) == 1:
        return []
    if chosen is best:
        simple = choice.choose_model(family, order=order)
        if simple is not best:
            more = _format_more(best, simple, f"the simpler {simple.name!r}")
            return [f"It gives an observed value {more}; choose that with --prefer simple."]
        more = _format_more(best, family[1], f"the second one, {family[1].name!r}")
        return [f"It gives an observed value {more}."]
    ahead = f"{best.name!r} {_describe_lead(best, chosen)}"
    if best.weights:
        sure = compute_probability_better(best, choice.find_best_single(family))
        needed = f", where a mixture needs {_format_chance(choice.SURE)}"
        little = ", by too little to keep several models"
        ahead = f"The mixture {ahead}{needed if sure < choice.SURE else little}"
    return [f"{ahead}; choose it with --prefer best."]


def _describe_lead(ahead: Result, behind: Result) -> str:
    """Write by how much a model is better than another, and how sure that is."""
    sure = _format_chance(compute_probability_better(ahead, behind))
    more = _format_more(ahead, behind, repr(behind.name))
    return f"gives an observed value {more} and is better with a probability of {sure}"


def _judge_uncertainty(chosen: Result, scope: str, cautious: bool) -> str:
    """Write whether the uncertainty is reliable, and for which rows."""
    if chosen.coverage is not None:
        return _judge_intervals(chosen, scope, cautious)
    return _judge_probabilities(chosen, scope, cautious)


def _judge_intervals(best: Result, scope: str, cautious: bool) -> str:
    coverage, n = best.coverage or 0.0, row_scores.count_effective_rows(best.held_out)
    allowed = 2.0 * math.sqrt(_NOMINAL * (1.0 - _NOMINAL) / n) + _SLACK
    held = (
        f"The 90 % intervals of {best.name!r} contain {100.0 * coverage:.3g} % of the held-out "
        "values"
    )
    if coverage < _NOMINAL - allowed:
        return f"{held}, so they are too narrow to be trusted{scope}"
    if coverage > _NOMINAL + allowed:
        return f"{held}, so they are wider than necessary{scope}"
    if best.calibration > _ODD / math.sqrt(n) + _SLACK:
        off = f"{100.0 * best.calibration:.2g} %"
        errors = f"other quantiles have calibration errors of up to {off}"
        return f"{held}, as they should{scope}, but {errors}"
    is_vague = allowed > _VAGUE or coverage < _NOMINAL - _NOTABLE
    if cautious and not is_vague:
        return f"{held}, as they should{scope}"
    return f"{held}, {_TOO_FEW if is_vague else 'so'} its uncertainty can be trusted{scope}"


def _judge_probabilities(best: Result, scope: str, cautious: bool) -> str:
    stated, right = row_scores.confidence(best.held_out), row_scores.is_correct(best.held_out)
    gaps: Array = stated - right
    allowed = 2.0 * row_scores.standard_error(gaps, best.held_out.clusters) + _SLACK
    said = (
        f"The most probable class of {best.name!r} has a probability of "
        f"{100.0 * stated.mean():.3g} % on average and is correct in {100.0 * right.mean():.3g} % "
        "of the held-out rows"
    )
    if gaps.mean() > allowed:
        return f"{said}, so it is overconfident{scope}"
    if gaps.mean() < -allowed:
        return f"{said}, so it is underconfident{scope}"
    is_vague = allowed > _VAGUE or abs(gaps.mean()) > _NOTABLE
    if cautious and not is_vague:
        return f"{said}, as it should{scope}"
    return f"{said}, {_TOO_FEW if is_vague else 'so'} its probabilities can be trusted{scope}"


def _format_more(ahead: Result, behind: Result, name: str) -> str:
    """Format how much more probable observed values are under one model than under another."""
    mean, error = row_scores.compute_lead(ahead.held_out, behind.held_out)
    if mean >= _DOUBLE:
        return f"{_format_ratio(ahead, behind)} times the probability that {name} gives it"
    if mean < _LEAST:
        return f"less than 0.1 % more probability than {name}"
    percent, error = 100.0 * math.expm1(mean), 100.0 * math.exp(mean) * error
    digits = 2 if f"{error:e}"[0] == "1" else 1  # 1.2 is not 1
    return f"{percent:.2g} +- {error:.{digits}g} % more probability than {name}"


def _format_ratio(best: Result, other: Result) -> str:
    """Format the geometric mean over rows of the ratio of probabilities of the observed value."""
    log_ratio, _ = row_scores.compute_lead(best.held_out, other.held_out)
    if log_ratio > math.log(1e6):
        return "over a million"
    return f"{math.exp(log_ratio):#.3g}".rstrip(".")


def _format_chance(chance: float) -> str:
    """Format a probability that never reads as more than it is, nor as certain."""
    percent = min(math.floor(100.0 * chance + 1e-9), 99)
    return f"{percent} %" if percent else "less than 1 %"


def _join_words(words: Sequence[str], last: str = "and") -> str:
    """Join words as in 'a, b and c'."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
