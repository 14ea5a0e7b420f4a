"""Everything that users read keeps to the words of the glossary in NOTATION.md."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BEFORE = r"(?<!there\s)(?<!There\s)"  # "there is no prior" and "is no longer" are plain English
AFTER = r"(?!longer\b|more\b|less\b|further\b|larger\b|wider\b|better\b|smaller\b)"


def glossary() -> list[str]:
    """Phrases of the right column of the table of words."""
    section = (ROOT / "NOTATION.md").read_text(encoding="utf-8").split("## Words")[1]
    rows = re.findall(r"^\|[^|]+\|([^|]+)\|$", section.split("\n## ")[0], re.M)
    return [phrase.strip() for row in rows[2:] for phrase in row.split(";")]


def pattern(phrase: str) -> str:
    words = [rf"{AFTER}\w+" if word == "..." else re.escape(word) for word in phrase.split()]
    first = rf"[{words[0][0].upper()}{words[0][0]}]{words[0][1:]}"
    return BEFORE + r"\b" + r"\s+".join([first, *words[1:]]) + r"\b"


OLD = re.compile("|".join(map(pattern, glossary())))


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Lines and string constants of a module; f-strings whole, with X for their fields."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    pieces = [part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values]
    inside = set(map(id, pieces))
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            texts = (str(p.value) if isinstance(p, ast.Constant) else "X" for p in node.values)
            yield node.lineno, "".join(texts)
        elif isinstance(node, ast.Constant) and id(node) not in inside:
            yield node.lineno, str(node.value)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    if path.suffix == ".py":
        yield from strings(path)
    else:
        yield 1, path.read_text(encoding="utf-8")


def offenders(path: Path) -> Iterator[str]:
    """Where a file uses a phrase that the glossary replaces."""
    for start, text in texts(path):
        for match in OLD.finditer(text):
            line = start + text.count("\n", 0, match.start())
            yield f"{path.relative_to(ROOT)}:{line}: {' '.join(match[0].split())!r}"


PLACES = {
    "package": (ROOT / "src", ("*.py", "*.js", "*.j2")),
    "pages": (ROOT / "docs", ("*.md",)),
    "pictures": (ROOT / "gallery", ("*.py",)),
}


@pytest.mark.parametrize("place", PLACES)
def test_strings_and_pages_use_the_words_of_the_glossary(place):
    folder, kinds = PLACES[place]
    paths = sorted(path for kind in kinds for path in folder.rglob(kind))
    found = [
        one
        for path in paths
        if "decisions" not in path.parts and "_build" not in path.parts
        for one in offenders(path)
    ]
    assert not found, "\n" + "\n".join(found)


def test_the_readme_uses_the_words_of_the_glossary():
    assert list(offenders(ROOT / "README.md")) == []


@pytest.mark.parametrize(
    "text",
    ["'2x' is no duration", "probability of what came", "classes that can be told\napart"],
)
def test_phrases_of_the_glossary_are_found(text):
    assert OLD.search(text)


@pytest.mark.parametrize(
    "text", ["it is no longer used", "there is no prior", "it is None", "one row"]
)
def test_plain_words_are_left_alone(text):
    assert not OLD.search(text)
