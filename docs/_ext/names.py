"""Code on a page leads on: names in tables to the interface, scripts of the gallery to their page.

A reader of the files sees plain code. A column with a heading such as *kernel* may leave the room
out: ``RBF`` is then ``kernels.RBF``. Names in a column *scikit-learn* lead to its documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from docutils import nodes
from gallery_pages import PAGES, has_a_page
from inventories import find_public
from sphinx import addnodes
from sphinx.application import Sphinx

_HEAD = re.compile(r"(?:posterity\.)?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)(?:\(.*)?", re.S)
_SCRIPT = re.compile(r"gallery/(\w+)\.py")
_THEIRS = re.compile("scikit-learn|sklearn")


def meant(code: str, heading: str) -> str | None:
    """The dotted name of what code in a column begins with, where it has a page."""
    match = _HEAD.fullmatch(code)
    if match is None:
        return None
    if _THEIRS.search(heading):
        return find_public(match[1].rpartition(".")[2], "sklearn")
    room = heading.removeprefix("posterity.").rstrip("s") + "s"
    names = (f"posterity.{match[1]}", f"posterity.{room}.{match[1]}")
    return next((name for name in names if has_a_page(name)), None)


def cells(table: nodes.table) -> Iterator[tuple[str, nodes.entry]]:
    """The cells below the headings, each with its own."""
    heads = [cell.astext() for row in table.findall(nodes.thead) for cell in row[0].children]
    for body in table.findall(nodes.tbody):
        for row in body.children:
            yield from zip(heads, row.children, strict=False)


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Put a reference around every such name in the tables of prose."""
    if app.env.docname.startswith("_build/"):
        return
    for table in doctree.findall(nodes.table):
        for heading, cell in cells(table):
            for literal in list(cell.findall(nodes.literal)):
                name = meant(literal.astext(), heading)
                if name:
                    _refer(literal, app.env.docname, refdomain="py", reftype="obj", reftarget=name)


def link_scripts(app: Sphinx, doctree: nodes.document) -> None:
    """Let the script below a picture lead to its page, where the caption and the code are."""
    if app.env.docname.startswith("_build/"):
        return
    for literal in list(doctree.findall(nodes.literal)):
        match = _SCRIPT.fullmatch(literal.astext())
        if match:
            page = f"/{PAGES}/{match[1]}"
            _refer(literal, app.env.docname, refdomain="std", reftype="doc", reftarget=page)


def _refer(literal: nodes.literal, docname: str, **target: str) -> None:
    """Wrap code in a reference that Sphinx resolves, unless it stands in one."""
    if isinstance(literal.parent, nodes.reference):
        return
    shown = addnodes.pending_xref("", refdoc=docname, refexplicit=True, refwarn=True, **target)
    literal.replace_self(shown)
    shown += literal


def setup(app: Sphinx) -> dict[str, bool]:
    """Link while pages are read, so that Sphinx resolves and checks what is linked."""
    app.connect("doctree-read", link_names)
    app.connect("doctree-read", link_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
