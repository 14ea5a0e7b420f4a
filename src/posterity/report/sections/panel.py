"""A panel in which the reader moves the inputs and the model answers, in the page itself."""

import json
from typing import Any

from markupsafe import Markup

from posterity.report import what_if
from posterity.report.material import Material
from posterity.report.sections.blocks import Block, Code, Panel, Section, Text

_UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def section(material: Material) -> Section:
    """The panel, or why there is none and what to type instead."""
    found = what_if.payload(material.story.model, first=material.names)
    if isinstance(found, what_if.Refusal):
        blocks: tuple[Block, ...] = (Text(found.why), *_instead(material))
        lead = "This model does not run inside a page."
    else:
        blocks = (Panel(embedded(found)),)
        lead = "Move the inputs: the model answers here, without a network and without a server."
    return Section("what-if-section", "What if", lead, blocks)


def _instead(material: Material) -> tuple[Block, ...]:
    return Text("Write rows of your own into a file, and type:"), Code(
        material.story.predict_command
    )


def embedded(value: Any) -> Markup:
    """JSON that cannot end the script element it stands in, nor open another.

    Examples
    --------
    >>> from posterity.report.sections import panel
    >>> print(panel.embedded({"name": "</script>"}))
    {"name":"\\u003c/script\\u003e"}
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_UNSAFE))
