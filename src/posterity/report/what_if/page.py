"""The script and the style of the panel."""

from importlib import resources

FILES = (
    "packing",
    "special",
    "distributions",
    "classes",
    "inputs",
    "columns",
    "kernels",
    "latents",
    "trees",
    "answers",
    "words",
    "drawing",
    "controls",
    "panel",
)
"""Files of the script in the order of concatenation."""


def script() -> str:
    """Return the JavaScript that builds the panel in ``#what-if`` from ``#what-if-data``.

    Examples
    --------
    >>> script().startswith('"use strict"')
    True
    """
    parts = [_text(f"{name}.js") for name in FILES]
    return "\n".join(['"use strict";', "(() => {", *parts, "})();", ""])


def style() -> str:
    """Return the style rules of the panel, which use colours defined by the page.

    Examples
    --------
    >>> "#what-if" in style()
    True
    """
    return _text("panel.css")


def _text(name: str) -> str:
    folder = resources.files("posterity.report") / "templates" / "what_if"
    return (folder / name).read_text(encoding="utf-8")
