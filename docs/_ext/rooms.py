"""Pages of classes and functions outside the table of contents: their rooms list them.

A navigation with every class in it takes longer to write, on each page anew, than all the rest.
"""

import posixpath
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.ext.autosummary import autosummary_toc


def leave_out_members(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the table of members on the page of a room, and drop the contents behind it."""
    if app.env.docname.startswith("_build/stubs/"):
        for node in list(doctree.findall(autosummary_toc)):
            node.parent.remove(node)


class Navigation:
    """One navigation for all pages of a folder that stand in no table of contents."""

    def __init__(self) -> None:
        self._written: dict[tuple[Any, ...], str] = {}

    def share(
        self, app: Sphinx, docname: str, template: str, context: dict[str, Any], doctree: Any
    ) -> None:
        """Let such a page take the navigation of the first one: none of them is marked in it."""
        if "orphan" not in (context.get("meta") or {}):
            return
        write = context["toctree"]

        def toctree(**options: Any) -> str:
            key = (posixpath.dirname(docname), *sorted(options.items()))
            if key not in self._written:
                self._written[key] = write(**options)
            return self._written[key]

        context["toctree"] = toctree


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect both before Sphinx collects the contents, and before the theme writes them."""
    app.setup_extension("sphinx.ext.autosummary")
    app.connect("doctree-read", leave_out_members, priority=0)
    app.connect("html-page-context", Navigation().share, priority=0)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
