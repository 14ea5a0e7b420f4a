"""Section with an interactive panel: change the inputs, and the model predicts in the page."""

import json
from typing import Any

from markupsafe import Markup

from posterity.report import what_if
from posterity.report.contents import ReportData
from posterity.report.sections.blocks import Block, Code, Panel, Section, Text

_UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def section(data: ReportData) -> Section:
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
    >>> from posterity.report.sections import panel
    >>> print(panel.embed_json({"name": "</script>"}))
    {"name":"\\u003c/script\\u003e"}
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_UNSAFE))
