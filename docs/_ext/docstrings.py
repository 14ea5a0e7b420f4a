"""Docstrings of this library, as Sphinx should see them."""

import re
from typing import Any

from sphinx.application import Sphinx

LITERAL = re.compile(r"(``.*?``)")
SET_BY_METHODS = re.compile(r"(, )?\*, (held=\(\), limits=\(\)(, positions=None)?|unit=None)(?=\))")


def escape_bars(line: str) -> str:
    r"""The line with |w| as \|w\|: an absolute value is not reStructuredText's substitution."""
    parts = LITERAL.split(line)
    return "".join(p if p.startswith("``") else p.replace("|", r"\|") for p in parts)


def read_as_text(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Escape the prose of a docstring; examples stay as they are."""
    lines[:] = [x if x.lstrip().startswith((">>>", "...")) else escape_bars(x) for x in lines]


def skip_foreign(
    app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what a class inherits from other libraries: they document it."""
    module = getattr(getattr(obj, "fget", obj), "__module__", None) or "posterity"
    return None if module.split(".")[0] == "posterity" else True


def without_fields(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returned: str
) -> tuple[str, str] | None:
    """A signature without fields that only methods set: ``fixed``, ``bounded``, ``fitted``."""
    shown = SET_BY_METHODS.sub("", signature or "")
    return (shown, returned) if shown != (signature or "") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect all to autodoc; escaping comes before numpydoc turns sections into lists."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", read_as_text, priority=100)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-signature", without_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
