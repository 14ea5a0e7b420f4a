"""The gallery in the documentation: cards of pictures, and a page for each script.

``{gallery}`` on a page takes names of scripts, one a line, and draws a card for each. Every card
leads to a page with the caption, the code, and links to what the code uses.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from gallery import _catalogue
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PAGES = "_build/gallery"
PAGE = """---
orphan: true
---
# {title}

{tags}

![{title}](../../figures/{name}.png)

{caption}

{links}

`gallery/{name}.py` draws this, and stands in the [gallery](../../gallery.md) with the others.

```{{literalinclude}} ../../../gallery/{name}.py
:language: python
:lines: {first_line}-
```
"""


def names_used(source: str) -> Iterator[str]:
    """Dotted names of posterity that a script mentions, in the order of its imports and lines."""
    tree = ast.parse(source)
    imported: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "posterity":
            imported |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    yield from imported.values()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=room), attr=name) if room in imported:
                yield f"{imported[room]}.{name}"


def has_a_page(name: str) -> bool:
    """Whether a dotted name is a public class or function of a room, as the interface lists."""
    room, _, member = name.rpartition(".")
    try:
        module = importlib.import_module(room)
    except ModuleNotFoundError:
        return False
    found = getattr(module, member, None)
    listed = member in getattr(module, "__all__", ())
    return listed and (inspect.isclass(found) or inspect.isfunction(found))


def page(script: _catalogue.Script) -> str:
    """The page of a script, in Markdown."""
    source = script.path.read_text(encoding="utf-8")
    used = [name for name in dict.fromkeys(names_used(source)) if has_a_page(name)]
    links = ", ".join(f"{{py:obj}}`{name.removeprefix('posterity.')} <{name}>`" for name in used)
    return PAGE.format(
        name=script.name,
        title=script.title,
        tags=" ".join(f"[{tag}]" for tag in script.tags),
        caption=script.caption,
        links=f"Uses {links}." if links else "",
        first_line=script.first_line,
    )


def write_pages(app: Sphinx) -> None:
    """Write a page for each script, and leave those alone that would not change."""
    folder = Path(app.srcdir) / PAGES
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {folder / f"{script.name}.md": page(script) for script in _catalogue.scripts()}
    for path in set(folder.glob("*.md")) - set(wanted):
        path.unlink()
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


class Gallery(SphinxDirective):
    """Cards of the scripts that are named, one a line."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """A grid with a card for each name."""
        known = {script.name: script for script in _catalogue.scripts()}
        grid = nodes.container(classes=["gallery"])
        for name in filter(None, map(str.strip, self.content)):
            if name not in known:
                raise self.error(f"No script of the gallery is called {name}.")
            grid += self.card(known[name])
        return [grid]

    def card(self, script: _catalogue.Script) -> nodes.container:
        """Picture and title, both a link to the script's page."""
        self.env.note_dependency(str(script.path))
        picture = f"![{script.name.replace('_', ' ')}](figures/{script.name}.png)"
        text = f"[{picture}{script.title}]({PAGES}/{script.name}.md)"
        card = nodes.container("", *self.parse_text_to_nodes(text), classes=["card"])
        for image in card.findall(nodes.image):
            image["loading"] = "lazy"
        return card


def neighbours(
    app: Sphinx, docname: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Put the scripts before and after this one at the foot of its page."""
    order = _catalogue.list_figures((Path(app.srcdir) / "gallery.md").read_text(encoding="utf-8"))
    own = docname.removeprefix(PAGES + "/")
    if own == docname or own not in order:
        return
    k = order.index(own)
    for side, names in (("prev", order[:k][-1:]), ("next", order[k + 1 :][:1])):
        for name in names:
            title = app.env.titles[f"{PAGES}/{name}"].astext()
            context[side] = {"link": context["pathto"](f"{PAGES}/{name}"), "title": title}


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the directive, and write the pages before Sphinx looks for documents."""
    app.add_directive("gallery", Gallery)
    app.connect("builder-inited", write_pages)
    app.connect("html-page-context", neighbours)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
