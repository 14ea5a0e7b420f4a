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


def agree_on_a_room(app: Sphinx, env: Any) -> None:
    """Let links from source code lead back to one room, where several document one module.

    Sphinx keeps the first room that documents something of a module, but the last page of each
    name: ``save`` has a page in ``posterity`` and in ``posterity.persistence``.
    """
    modules = getattr(env, "_viewcode_modules", {})
    for module, (code, tags, pages, _) in [item for item in modules.items() if item[1]]:
        rooms = {page.removesuffix(f".{name}") for name, page in pages.items() if "." not in name}
        if len(rooms) > 1:
            deepest = max(rooms, key=len)  # it documents everything that its module exports
            pages |= {name: f"{deepest}.{name}" for name in pages if "." not in name}
            modules[module] = code, tags, pages, deepest.rpartition("/")[2]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect before Sphinx collects the contents, and before pages are written."""
    app.setup_extension("sphinx.ext.autosummary")
    app.connect("doctree-read", leave_out_members, priority=0)
    app.connect("env-updated", agree_on_a_room)
    app.connect("html-page-context", Navigation().share, priority=0)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
