"""The scores of two classes as a table of their own, and the options that they follow."""

import math
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from posterity import comparison
from posterity.cli import scores
from posterity.cli.voice import OutputPrinter
from posterity.comparison.flagging import format_with_error

_HEADS = ("model", "Brier score", "precision", "recall", "ROC area", "flagged")


def list_words(flagging: comparison.Flagging) -> list[str]:
    """Return the options of a command that repeat what was asked about two classes."""
    words = [] if flagging.positive is None else ["--positive", flagging.positive]
    if flagging.cost is None:
        return words
    return [*words, "--cost", ":".join(f"{value:.15g}" for value in flagging.cost)]


def print_scores(
    results: Sequence[comparison.Result],
    voice: OutputPrinter,
    *,
    chosen: comparison.Result | None = None,
) -> None:
    """Print how well each model flags rows; nothing for numbers and for more classes."""
    found = results[0].two_classes
    if found is None:
        return
    costs = () if found.expected_cost is None else ("cost per row",)
    title = f"Rows flagged as {found.positive} from a probability of {found.threshold:.3g} on"
    rows = (list(_format_cells(one, chosen=one is chosen)) for one in results)
    voice.say("")
    voice.table(title, (*_HEADS, *costs), rows)
    other = next(one for one in results[0].held_out.classes if one != found.positive)
    voice.say(_explain_columns(found, other))


def _format_cells(result: comparison.Result, *, chosen: bool) -> Iterator[str]:
    """Yield the cells of one row."""
    found: Any = result.two_classes
    yield scores.format_name(result, chosen=chosen)
    yield f"{found.brier:.3f}"
    yield _format_share(found.precision)
    yield _format_share(found.recall)
    yield "" if math.isnan(found.roc_area) else f"{found.roc_area:.3f}"
    yield _format_share(found.flagged)
    if found.expected_cost is not None:
        yield format_with_error(found.expected_cost, found.cost_error)


def _explain_columns(found: comparison.TwoClassScores, other: str) -> str:
    costs = "; cost per row: mean cost of mistakes, +- standard error, lower is better"
    return (
        "Brier score: mean squared error of the probability, lower is better; precision: share of "
        f"the flagged rows whose class is {found.positive}; recall: share of the rows of class "
        f"{found.positive} that are flagged; ROC area: probability that a row of class "
        f"{found.positive} is ranked above one of class {other}; flagged: share of all rows"
        f"{'' if found.expected_cost is None else costs}. Use --positive {shlex.quote(other)} to "
        "flag the other class."
    )


def _format_share(share: float) -> str:
    return "" if math.isnan(share) else f"{100.0 * share:.1f} %"
