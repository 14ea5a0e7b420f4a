"""The page on troubleshooting has every warning of the package, and no message that is gone."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from support.for_each import for_each

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "posterity"
PAGE = " ".join((ROOT / "docs/troubleshooting.md").read_text("utf-8").split())
FIELD = "\0"
_WORDS = 6

# Sentences that are made elsewhere than where they are said.
MADE_ELSEWHERE = {
    "inference/weights/variational.py": "the nearest normal was not found",
    "process/latent/site_posterior.py": "Newton steps did not reach the most probable",
    "process/softmax/shared.py": "sweeps probabilities still change by",
    "process/softmax/posterior.py": "sweeps probabilities still change by",
    "sparse/relevance_model.py": "passes over the columns was not enough",
    "optimize/bounds.py": "beyond which the log evidence still rises",
    "persistence/saving.py": "InconsistentVersionWarning",
}


@cache
def trees() -> dict[str, ast.Module]:
    paths = sorted(SRC.rglob("*.py"))
    return {p.relative_to(SRC).as_posix(): ast.parse(p.read_text("utf-8")) for p in paths}


def template(node: ast.AST) -> str:
    """The text of a string, with a mark for each field; empty for what is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(template(part) or FIELD for part in node.values)
    return ""


def messages(tree: ast.Module, node: ast.AST) -> list[str]:
    """What an argument may say: itself, what its name is given, or what its function returns."""
    if isinstance(node, ast.Name):
        given = [n for n in ast.walk(tree) if isinstance(n, ast.Assign)]
        return [template(n.value) for n in given if node.id in {ast.unparse(t) for t in n.targets}]
    if isinstance(node, ast.Call):
        named = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
        makers = [n for n in named if n.name == ast.unparse(node.func)]
        inside = [n for maker in makers for n in ast.walk(maker) if isinstance(n, ast.Return)]
        return [template(n.value) for n in inside if n.value is not None]
    return [template(node)]


def key_phrase(message: str) -> str:
    """The first words of a message that stand together, between its fields."""
    parts = [part.split()[:_WORDS] for part in message.split(FIELD)]
    long_enough = (part for part in parts if len(part) > 2)
    return " ".join(next(long_enough, max(parts, key=len)))


def warned() -> Iterator[tuple[str, list[str]]]:
    """Each module that warns, with what one call of it may say."""
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or path == "callers.py":
                continue
            if ast.unparse(node.func) in ("callers.warn_caller", "warn_caller", "warnings.warn"):
                said = map(key_phrase, messages(tree, node.args[0]))
                yield path, [phrase for phrase in said if len(phrase.split()) > 1]


@for_each(("path", "phrases"), warned, ids=str)
def test_every_warning_is_on_the_page(path, phrases):
    expected = phrases or [MADE_ELSEWHERE.get(path)]
    assert expected != [None], f"say in MADE_ELSEWHERE what {path} warns of"
    assert any(phrase in PAGE for phrase in expected), expected


def test_no_sentence_is_listed_that_is_made_where_it_is_said():
    assert {path for path, phrases in warned() if not phrases} == set(MADE_ELSEWHERE)


def test_every_category_of_the_package_is_on_the_page():
    nodes = (node for tree in trees().values() for node in ast.walk(tree))
    classes = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    own = {name for name in classes if name.endswith("Warning")}
    assert len(own) > 3
    assert {name for name in own if f"| `{name}` |" not in PAGE} == set()


@cache
def sentences() -> str:
    """Every text of the package."""
    every = (template(node) for tree in trees().values() for node in ast.walk(tree))
    return FIELD.join(" ".join(text.split()) for text in every if text)


@cache
def quoted() -> list[str]:
    """The messages in the tables of the page, without their fields."""
    text = PAGE.split("## Warnings ")[1].split("## My intervals")[0]
    rows = re.findall(r"\| (?:`\w+Warning` \| )?((?:`[^`]*[^`\w][^`]*`(?:, )?)+) \|", text)
    found = [message for row in rows for message in re.findall("`([^`]+)`", row)]
    return [part.strip() for message in found for part in message.split("...") if part.strip()]


def test_many_messages_are_quoted():
    assert len(quoted()) > 40


@for_each("part", quoted())
def test_a_message_on_the_page_is_one_of_the_package(part):
    assert part in sentences()
