"""Link that saves the predictions for held-out rows as a CSV file."""

import csv
import io
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from posterity.comparison.results import LEVELS, HeldOut
from posterity.report.contents import ReportContents, ReportData
from posterity.report.sections.blocks import Block, Download, Text

_MOST = 400_000  # characters, so that the page stays small
_PLAIN = ",-. "  # characters that need no escape in a data: URL


def offer_predictions(data: ReportData) -> tuple[Block, ...]:
    """Return the link, or the option that writes the file if it is too large for a page."""
    contents = data.contents
    if contents.comparison is None:
        return ()
    cells = len(contents.held_out.rows) * (3 + max(len(LEVELS), len(contents.held_out.classes)))
    text = write_predictions(contents) if 4 * cells < _MOST else None
    if text is None or len(text) > _MOST:
        return (
            Text(
                "The predictions for held-out rows are too many for this page; to write them to a "
                "file, run the command below with --predictions FILE."
            ),
        )
    address = "data:text/csv;charset=utf-8," + quote(text, safe=_PLAIN)
    n = len(contents.held_out.rows)
    return (
        Download(address, "predictions.csv", f"Save the predictions for {n} held-out rows (CSV)"),
    )


def write_predictions(contents: ReportContents) -> str:
    """Write row number, observed value and prediction of each held-out row as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows(_list_rows(contents, contents.held_out))
    return file.getvalue()


def _list_rows(contents: ReportContents, held: HeldOut) -> Iterator[tuple[Any, ...]]:
    numbers = [contents.row_number(int(row)) for row in held.rows]
    if held.probabilities is not None:
        yield ("row", "observed", *(f"P({name})" for name in held.classes))
        for row, c, p in zip(numbers, held.y, held.probabilities, strict=True):
            yield (row, held.classes[int(c)], *map(_format, p))
    elif held.mean is not None and held.quantiles is not None:
        yield ("row", "observed", "mean", *(f"q{level:g}" for level in LEVELS))
        columns = zip(numbers, held.y, held.mean, held.quantiles, strict=True)
        for row, y, mean, q in columns:
            yield (row, f"{y:.12g}", _format(mean), *map(_format, q))


def _format(value: float) -> str:
    return f"{value:.6g}"
