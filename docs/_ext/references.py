"""The list of sources from references.bib, and equation tags that lead to it.

``{references}`` shows every entry in a line. A tag in a sentence, such as [P8 8.11], becomes a link
to its entry, and a page with tags of the textbook ends with its name.
"""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

BIBLIOGRAPHY = Path(__file__).parents[1] / "references.bib"
PAGE = "references"
TAG = re.compile(r"\[([A-Z][A-Z0-9]*\b[^\[\]]*)\]")
_ENTRY = re.compile(r"^@\w+\{(\w+),\n(.*?)^\}", re.M | re.S)
_FIELD = re.compile(r"^  (\w+)\s*= \{(.*?)\},?$(?=\n  \w|\Z)", re.M | re.S)
_ACCENT = re.compile(r"\{\\(['\"~^`])(\w)\}")
_COMBINING = {"'": "\u0301", '"': "\u0308", "~": "\u0303", "^": "\u0302", "`": "\u0300"}
_INERT = (
    nodes.literal,
    nodes.literal_block,
    nodes.math,
    nodes.math_block,
    nodes.reference,
    nodes.title,
)


def entries(text: str) -> dict[str, dict[str, str]]:
    """The fields of each entry as plain text, in the order of the file."""
    return {
        key: {name: _plain(value) for name, value in _FIELD.findall(body.rstrip())}
        for key, body in _ENTRY.findall(text)
    }


def _plain(value: str) -> str:
    accented = _ACCENT.sub(lambda m: m[2] + _COMBINING[m[1]], value)
    flat = re.sub(r"\s+", " ", accented.replace("--", "\u2013").translate({123: None, 125: None}))
    return unicodedata.normalize("NFC", flat)


def authors(names: str) -> str:
    """Given names first, in one list."""
    people = [" ".join(reversed(name.split(", "))) for name in names.split(" and ")]
    return people[0] if len(people) == 1 else f"{', '.join(people[:-1])} and {people[-1]}"


def place(entry: dict[str, str]) -> str:
    """Where it appeared, and when."""
    where = [entry.get(name, "") for name in ("booktitle", "journal", "howpublished")]
    if "journal" in entry:
        number = f"({entry['number']})" if "number" in entry else ""
        where.append(f"{entry.get('volume', '')}{number}")
    for name, words in (("chapter", "chapter {}"), ("edition", "{} edition"), ("pages", "{}")):
        if name in entry:
            where.append(words.format(entry[name]))
    if "eprint" in entry:
        where.append(f"{entry['archiveprefix']}:{entry['eprint']}")
    where += [entry.get("publisher", ""), entry.get("year", "")]
    return ", ".join(filter(None, where))


class ReferencesDirective(SphinxDirective):
    """A line for each source, under the key by which tags name it."""

    def run(self) -> list[nodes.Node]:
        """The list, each entry with the anchor that tags lead to."""
        self.env.note_dependency(str(BIBLIOGRAPHY))
        shown = nodes.definition_list()
        for key, entry in entries(BIBLIOGRAPHY.read_text("utf-8")).items():
            term = nodes.term("", "", nodes.strong("", key), ids=[anchor(key)])
            who = f"{authors(entry['author'])}, " if "author" in entry else ""
            line = nodes.paragraph("", who, nodes.emphasis("", entry["title"]))
            line += nodes.Text(f". {place(entry)}." if place(entry) else ".")
            shown += nodes.definition_list_item("", term, nodes.definition("", line))
        return [shown]


def anchor(key: str) -> str:
    """The id of an entry."""
    return f"source-{key.lower()}"


TEXTBOOK = {"P8", "P9"}


def name_the_textbook(app: Sphinx, doctree: nodes.document) -> None:
    """End a page whose tags are of the textbook with a line that says which book it is."""
    prose = [t for t in doctree.findall(nodes.Text) if not isinstance(t.parent, _INERT)]
    tags = (m[1] for text in prose for m in TAG.finditer(text.astext()))
    keys = {part.split()[0] for tag in tags for part in re.split(r",\s+", tag)}
    sections = [node for node in doctree.children if isinstance(node, nodes.section)]
    if not TEXTBOOK & keys or not sections or app.env.docname.startswith("_build/stubs/"):
        return
    book = entries(BIBLIOGRAPHY.read_text("utf-8"))["P8"]
    line = nodes.paragraph("", "[P8 ...] and [P9 ...] are equations and figures of ")
    line += [
        nodes.Text(f"{authors(book['author'])}, "),
        nodes.emphasis("", book["booktitle"]),
        nodes.Text(f", {book['publisher']}, {book['year']}, chapters 8 and 9."),
    ]
    sections[-1] += [nodes.transition(), line]


def link_tags(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Let every tag in a sentence lead to its source."""
    known = set(entries(BIBLIOGRAPHY.read_text("utf-8")))
    page = app.builder.get_relative_uri(docname, PAGE)
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, _INERT) or docname == PAGE:
            continue
        parts = list(_linked(text.astext(), page, known))
        if len(parts) > 1:
            text.parent.replace(text, parts)


def _linked(sentence: str, page: str, known: set[str]) -> Iterator[nodes.Node]:
    """The sentence in parts, its tags as links; [N x M] is none."""
    end = 0
    for match in TAG.finditer(sentence):
        parts = re.split(r",\s+", match[1])
        keys = [part.split()[0] for part in parts]
        if keys[0] not in known:
            continue
        yield nodes.Text(sentence[end : match.start()] + "[")
        for i, (part, key) in enumerate(zip(parts, keys, strict=True)):
            yield nodes.Text(", " if i else "")
            target = f"{page}#{anchor(key)}"
            yield nodes.reference("", part, refuri=target) if key in known else nodes.Text(part)
        yield nodes.Text("]")
        end = match.end()
    yield nodes.Text(sentence[end:])


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the directive, and link the tags of finished pages."""
    app.add_directive("references", ReferencesDirective)
    app.connect("doctree-read", name_the_textbook)
    app.connect("doctree-resolved", link_tags)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
