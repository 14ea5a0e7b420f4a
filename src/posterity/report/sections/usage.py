"""Predict in the page, make the report again, and save what was predicted for held-out rows."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from posterity.comparison.results import LEVELS, HeldOut
from posterity.report import what_if
from posterity.report.contents import ReportContents, ReportData
from posterity.report.sections.blocks import (
    Block,
    Code,
    Download,
    Items,
    Panel,
    Row,
    Section,
    Table,
    Text,
)

_UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def show_panel(data: ReportData) -> Section:
    """Return the panel, or the reason why there is no panel and a command to use instead."""
    found = what_if.payload(data.contents.model, first=data.names)
    if isinstance(found, what_if.NoPanel):
        blocks: tuple[Block, ...] = (Text(found.why), *_suggest_command(data))
        lead = "This model cannot run in a web page."
    else:
        blocks = (Panel(embed_json(found)),)
        lead = "Change the inputs; the model predicts in this page, without a network or a server."
    return Section("what-if-section", "What if", lead, blocks)


def _suggest_command(data: ReportData) -> tuple[Block, ...]:
    return Text("To predict new rows, save them in a file and run:"), Code(
        data.contents.predict_command
    )


def embed_json(value: Any) -> Markup:
    """Serialise a value to JSON that is safe inside a script element.

    Examples
    --------
    >>> from posterity.report.sections import usage
    >>> print(usage.embed_json({"name": "</script>"}))
    {"name":"\\u003c/script\\u003e"}
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_UNSAFE))


def show_command(data: ReportData) -> Section:
    """Show the exact command, the inferred schema, ignored columns and versions."""
    contents = data.contents
    blocks: list[Block] = [Code(contents.command)]
    if contents.comparison is not None:
        blocks += [Text("The same model in Python:"), Code(contents.comparison.best.code)]
    if contents.inferred:
        blocks += [Text("Inferred from the table, with the options to change it:")]
        blocks += [Items(contents.inferred)]
    if contents.schema.dropped:
        rows = tuple(Row((one.name, one.why)) for one in contents.schema.dropped)
        blocks.append(
            Table("Ignored columns.", ("Column", "Reason"), rows, words=(0, 1), sortable=False)
        )
    blocks.append(_list_settings(data))
    lead = "Run on the same file, this command gives the same numbers."
    return Section("reproduce", "How to reproduce this report", lead, tuple(blocks))


def _list_settings(data: ReportData) -> Table:
    contents = data.contents
    rows = [Row(("seed", str(contents.seed)))]
    if contents.comparison is not None:
        rows.append(Row(("folds", str(contents.comparison.folds))))
    rows += [Row(pair) for pair in contents.versions]
    return Table(
        "Settings and versions.", ("Name", "Value"), tuple(rows), words=(0, 1), sortable=False
    )


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
