"""Everything that users read keeps to the words of the glossary in NOTATION.md."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.for_each import for_each

import posterity

ROOT = Path(__file__).parents[1]
BEFORE = r"(?<!there\s)(?<!There\s)"  # "there is no prior" and "is no longer" are plain English
AFTER = r"(?!longer\b|more\b|less\b|further\b|larger\b|wider\b|better\b|smaller\b)"


def glossary() -> list[str]:
    """Phrases of the right column of the table of words."""
    rows = re.findall(r"^\|[^|]+\|([^|]+)\|$", words(), re.M)
    return [phrase.strip() for row in rows[2:] for phrase in row.split(";")]


def words_of_the_field() -> list[str]:
    """Words of the right column of the second table."""
    rows = re.findall(r"^\|[^|]+\|[^|]+\|([^|]+)\|$", words(), re.M)
    return [phrase.strip() for row in rows[2:] for phrase in row.split(";")]


def words() -> str:
    text = (ROOT / "NOTATION.md").read_text(encoding="utf-8")
    return text.split("## Words")[1].split("\n## ")[0]


def pattern(phrase: str) -> str:
    words = [rf"{AFTER}\w+" if word == "..." else re.escape(word) for word in phrase.split()]
    first = rf"[{words[0][0].upper()}{words[0][0]}]{words[0][1:]}"
    return r"\s+".join([first, *words[1:]])


def any_of(phrases: list[str]) -> re.Pattern[str]:
    """Looks at what stands before a word once, not once for each phrase."""
    return re.compile(BEFORE + r"\b(?:" + "|".join(map(pattern, phrases)) + r")\b")


OLD = any_of(glossary())
FOREIGN = any_of(words_of_the_field())
CODE = re.compile(
    r"^```\w+\n.*?^```|^ *(?:>>>|\.\.\.) .*$|^ *\w+ : .*$|(?:/\w+)*/\w+\.\w+|\]\([^)]*\)"
    r"|``.*?``|`[^`\n]*`|\$[^$]*\$|[\w.]+\.\w+",
    re.M | re.S,
)


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
    found = [one for path in paths if "_build" not in path.parts for one in offenders(path)]
    assert not found, "\n" + "\n".join(found)


def test_the_readme_uses_the_words_of_the_glossary():
    assert list(offenders(ROOT / "README.md")) == []


def public_docstrings() -> Iterator[tuple[str, str]]:
    """The docstrings of public classes, of their public methods, and of public functions."""
    rooms = [getattr(posterity, name) for name in posterity.__all__ if name.islower()]
    modules = [posterity, *(room for room in rooms if hasattr(room, "__all__"))]
    for module in modules:
        for name in module.__all__:
            thing = getattr(module, name)
            yield f"{module.__name__}.{name}", inspect.getdoc(thing) or ""
            if inspect.isclass(thing):
                methods = (m for m in vars(thing) if not m.startswith("_"))
                yield from (
                    (f"{name}.{m}", inspect.getdoc(getattr(thing, m)) or "") for m in methods
                )


def foreign_words(text: str) -> list[str]:
    """Words for which the field has others, with what stands around them."""
    prose = CODE.sub(" ", text)
    return [
        " ".join(prose[max(0, m.start() - 30) : m.end() + 20].split())
        for m in FOREIGN.finditer(prose)
    ]


PAGES = sorted((ROOT / "docs").glob("*.md"))


@for_each("page", PAGES)
def test_pages_use_the_words_of_the_field(page):
    assert foreign_words(page.read_text(encoding="utf-8")) == []


def test_public_docstrings_use_the_words_of_the_field():
    found = {name: foreign_words(text) for name, text in public_docstrings()}
    assert {name: places for name, places in found.items() if places} == {}


def test_captions_of_the_gallery_use_the_words_of_the_field():
    scripts = sorted((ROOT / "gallery").glob("[a-z]*.py"))
    captions = {
        path.stem: ast.get_docstring(ast.parse(path.read_text("utf-8"))) for path in scripts
    }
    found = {name: foreign_words(text or "") for name, text in captions.items()}
    assert {name: places for name, places in found.items() if places} == {}


def test_code_keeps_its_names():
    assert foreign_words("The offset of a border.") != []
    assert foreign_words("See `offset` and ``vision.datasets.walkers``.\n>>> offset = 1\n") == []


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
