"""Print scores as tables and return them as JSON."""

import dataclasses
import math
import shlex
from collections.abc import Sequence
from typing import Any

from posterity.cli import output
from posterity.cli.output import OutputPrinter
from posterity.comparison import Result
from posterity.comparison.flags import format_with_error

_UNRANKED = ("fit", "size")  # columns that a saved model does not have
_NOT_SCORES = ("held_out", "two_classes", "warnings", "weights")
_OF_NUMBERS = (
    "coverage 90 %: share of rows inside their 90 % interval; calibration error: largest "
    "difference between a quantile level and the share of rows below that quantile"
)
_OF_CLASSES = (
    "accuracy: share of rows whose most probable class is the observed one; calibration error: "
    "mean difference between predicted probabilities and observed frequencies"
)


def print_scores(
    title: str, results: Sequence[Result], printer: OutputPrinter, chosen: Result | None = None
) -> None:
    """Print the scores of a ranking, or of a saved model if none is chosen, and explain them."""
    rows = [_format_cells(one, chosen=one is chosen) for one in results]
    heads = [head for head in rows[0] if chosen or head not in _UNRANKED]
    printer.table(title, heads, [[row[head] for head in heads] for row in rows])
    printer.say(
        "log score: mean log probability of the observed value, +- standard error, higher is "
        f"better; {_OF_CLASSES if results[0].rmse is None else _OF_NUMBERS}; predict: time for "
        f"1,000 rows{'; in parentheses: baselines; >: the chosen model' if chosen else ''}."
    )


def _format_cells(result: Result, *, chosen: bool) -> dict[str, str]:
    """Return the cells of one row of the ranking by their columns."""
    fit, size, evidence = result.fit_seconds, result.n_bytes, result.log_evidence
    numbers = result.rmse is not None
    return {
        "model": _format_name(result, chosen=chosen),
        "log score": f"{result.log_score:.3f} +- {result.standard_error:.3f}",
        **({"RMSE": f"{result.rmse:.4g}"} if numbers else {}),
        **({"coverage 90 %": _format_share(result.coverage)} if numbers else {}),
        **({} if numbers else {"accuracy": _format_share(result.accuracy)}),
        "calibration error": f"{result.calibration:.3f}",
        "log evidence": "" if evidence is None else f"{evidence:.1f}",
        "fit": "" if fit is None else output.format_duration(fit),
        "predict": output.format_duration(result.predict_seconds),
        "size": "" if size is None else output.format_size(size),
    }


def print_two_classes(
    results: Sequence[Result], printer: OutputPrinter, chosen: Result | None = None
) -> None:
    """Print how well each model flags rows; nothing for numbers and for more classes."""
    found = results[0].two_classes
    if found is None:
        return
    rows = [_format_two_classes(one, one.two_classes, chosen=one is chosen) for one in results]
    title = f"Rows flagged as {found.positive} from a probability of {found.threshold:.3g} on"
    printer.say("")
    printer.table(title, list(rows[0]), [list(row.values()) for row in rows])
    other = next(one for one in results[0].held_out.classes if one != found.positive)
    costs = "; cost per row: mean cost of mistakes, +- standard error, lower is better"
    printer.say(
        "Brier score: mean squared error of the probability, lower is better; precision: share of "
        f"the flagged rows whose class is {found.positive}; recall: share of the rows of class "
        f"{found.positive} that are flagged; ROC area: probability that a row of class "
        f"{found.positive} is ranked above one of class {other}; flagged: share of all rows"
        f"{'' if found.expected_cost is None else costs}. Use --positive {shlex.quote(other)} to "
        "flag the other class."
    )


def _format_two_classes(result: Result, found: Any, *, chosen: bool) -> dict[str, str]:
    """Return the cells of one row of the table of two classes by their columns."""
    cost = found.expected_cost
    return {
        "model": _format_name(result, chosen=chosen),
        "Brier score": f"{found.brier:.3f}",
        "precision": _format_share(found.precision),
        "recall": _format_share(found.recall),
        "ROC area": "" if math.isnan(found.roc_area) else f"{found.roc_area:.3f}",
        "flagged": _format_share(found.flagged),
        **({} if cost is None else {"cost per row": format_with_error(cost, found.cost_error)}),
    }


def _format_name(result: Result, *, chosen: bool) -> str:
    """Return the name of a model with its marks."""
    name = f"({result.name})" if result.baseline else result.name
    return f"{'> ' if chosen else ''}{name}{'*' if result.stopped else ''}"


def _format_share(share: float | None) -> str:
    return "" if share is None or math.isnan(share) else f"{100.0 * share:.1f} %"


def as_json(result: Result) -> dict[str, Any]:
    """Return the scores of a result as a dictionary, without its rows."""
    scores = {name: value for name, value in vars(result).items() if name not in _NOT_SCORES}
    if result.two_classes is not None:
        scores |= dataclasses.asdict(result.two_classes)
    return scores | ({"weights": dict(result.weights)} if result.weights else {})
