"""The program and the style of the panel."""

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
"""Parts of the program, in the order in which they are read; they run as one."""


def script() -> str:
    """The JavaScript that mounts the panel into ``#what-if``, from the JSON in ``#what-if-data``.

    Examples
    --------
    >>> script().startswith('"use strict"')
    True
    """
    parts = [_text(f"{name}.js") for name in FILES]
    return "\n".join(['"use strict";', "(() => {", *parts, "})();", ""])


def style() -> str:
    """The rules of the panel, to stand after those of the page, whose colours they use.

    Examples
    --------
    >>> "#what-if" in style()
    True
    """
    return _text("panel.css")


def _text(name: str) -> str:
    folder = resources.files("posterity.report") / "templates" / "what_if"
    return (folder / name).read_text(encoding="utf-8")
