"""Names of code in docstrings and on pages are names that code has."""

import ast
import builtins
import functools
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from sklearn.gaussian_process import kernels
from sklearn.utils import discovery, estimator_checks
from support.for_each import for_each

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "posterity"
ROOMS = {"posterity", *(path.stem for path in SRC.glob("[a-z]*"))}
PAGES = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "developers").glob("*.md")),
]
BLOCK = re.compile(r"^```\w+\n(.*?)^```", re.M | re.S)
DOTTED = re.compile(r"((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(\(.*|=.*)?", re.S)
CODE_LIKE = re.compile(r"_|[A-Z]\w*[a-z]\w*|[a-z][A-Z]")  # unlike words, options and letters
TYPED = re.compile(
    r"^(?:Parameters|Attributes|Returns|Yields)\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", re.M | re.S
)
TYPE = re.compile(r"^(?:\w[\w*, ]* : (.*)|([A-Z]\w+))$", re.M)
LIBRARIES = {"Arrow", "CuPy", "Dask", "NumPy", "PyTorch"}  # types: "array of NumPy or CuPy"


def names_in(tree: ast.AST) -> Iterator[str]:
    """Every name that code defines or uses; neither strings nor comments."""
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "asname"):
            if isinstance(value := getattr(node, field, None), str):
                yield from value.split(".")


def docstrings(tree: ast.AST) -> Iterator[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    nodes = (node for node in ast.walk(tree) if isinstance(node, kinds))
    yield from filter(None, map(ast.get_docstring, nodes))


def names_elsewhere() -> Iterator[str]:
    """Public names of Python and scikit-learn, parameters and fitted attributes with them."""
    yield from (*dir(builtins), *dir(estimator_checks))
    yield from (name for name, _ in [*discovery.all_functions(), *discovery.all_displays()])
    theirs = [kernel for kernel in vars(kernels).values() if inspect.isclass(kernel)]
    theirs = [kernel for kernel in theirs if issubclass(kernel, kernels.Kernel)]
    for cls in [*theirs, *(estimator for _, estimator in discovery.all_estimators())]:
        yield from (cls.__name__, *dir(cls), *inspect.signature(cls).parameters)
        yield from re.findall(r"^ +(\w+_) :", cls.__doc__ or "", re.M)


@functools.cache
def modules() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(SRC.rglob("*.py"))}


@functools.cache
def known_names() -> set[str]:
    """Names in the package, of its modules, and those from elsewhere."""
    files = {part for path in modules() for part in path.relative_to(ROOT).with_suffix("").parts}
    return files | {name for tree in modules().values() for name in names_in(tree)}.union(
        names_elsewhere()
    )


@functools.cache
def names_of_tests() -> set[str]:
    texts = (path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for text in texts for name in re.findall(r"^def (\w+)", text, re.M)}


def resolves(name: str) -> bool:
    """Whether imports and attributes lead all the way of a name that begins with a room."""
    first, *rest = name.removeprefix("posterity.").split(".")
    thing = importlib.import_module("posterity")
    for part in (first, *rest):
        try:
            importlib.import_module(f"{thing.__name__}.{part}")
        except ImportError:
            if not hasattr(thing, part):
                return False
        thing = getattr(thing, part)
    return True


def is_stale(name: str, known: set[str]) -> bool:
    """Whether a name has a part that is unknown; of dotted names, those that begin as ours."""
    first, *rest = name.split(".")
    if rest and first in ROOMS and rest != ["html"]:  # report.html is a file
        return not resolves(name)
    parts = {part for piece in (first, *rest) for part in piece.split("__") if len(part) > 2}
    return (not rest or (first[0].isupper() and first in known)) and not known.issuperset(parts)


def stale(literals: Iterable[str], known: set[str]) -> Iterator[str]:
    for literal in literals:
        match = DOTTED.fullmatch(literal)
        if match and (CODE_LIKE.search(match[1]) or "." in match[1] or match[2]):
            yield from [literal] if is_stale(match[1], known) else []


def stale_in(docstring: str) -> Iterator[str]:
    """Stale names in backticks, in references, and in the types of parameters."""
    yield from stale(re.findall(r"``(.+?)``", docstring, re.S), known_names())
    yield from stale(re.findall(r":\w+:`~?([\w.]+)`", docstring), known_names())
    for section in TYPED.findall(docstring):
        words = " ".join(map("".join, TYPE.findall(section)))
        types = re.findall(r"(?<![\w.\"'`:])[A-Z]\w*[a-z]\w*", words)
        yield from sorted({*types} - known_names() - LIBRARIES)


def test_docstrings_name_what_exists():
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, tree in modules().items()
        for docstring in docstrings(tree)
        for name in stale_in(docstring)
    ]
    assert not found, "\n".join(found)


@for_each("page", PAGES, ids=lambda page: page.stem)
def test_pages_name_what_exists(page):
    text = page.read_text("utf-8")
    known = known_names().union(names_of_tests(), re.findall(r"\w+", "".join(BLOCK.findall(text))))
    found = list(stale(re.findall(r"`([^`\n]+)`", BLOCK.sub("", text)), known))
    assert not found


def unfilled(text: str) -> set[str]:
    """Words such as SECONDS_LINEAR and TODO in prose, but for those that the package reads."""
    prose = re.sub(r"`[^`\n]+`", "", BLOCK.sub("", text))
    found = set(re.findall(r"\b(?:[A-Z]+(?:_[A-Z]+)+|TODO|TBD|FIXME|XXX)\b", prose))
    return {word for word in found if not any(word in ast.unparse(t) for t in modules().values())}


@for_each("page", [*PAGES, ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"], ids=lambda page: page.stem)
def test_nothing_on_a_page_waits_to_be_filled_in(page):
    assert not unfilled(page.read_text("utf-8"))


@pytest.mark.full
def test_a_word_that_waits_to_be_filled_in_is_found():
    assert unfilled("| trees | SECONDS_TREES |") == {"SECONDS_TREES"}
    assert unfilled("TODO: say more of `OMP_NUM_THREADS` and NUMBA_CACHE_DIR") == {"TODO"}


@for_each(
    "name", ["_ranges", "kernels.Nothing", "Forgotten", "gone_", "vanish()", "Gamma.forgotten"]
)
def test_a_name_that_code_does_not_have_is_found(name):
    assert list(stale([name], known_names())) == [name]


@for_each("name", ["kernels.RBF", "coef_", "fit(X, y)", "kernel__length_scale=2", "a.txt", "K^-1"])
def test_names_that_exist_and_other_text_pass(name):
    assert not list(stale([name], known_names()))


def test_a_type_that_code_does_not_have_is_found():
    assert list(stale_in("Fit.\n\nParameters\n----------\nplan : Plan, optional\n")) == ["Plan"]
    assert list(stale_in("Fit.\n\nReturns\n-------\nGrown\n    A tree.\n")) == ["Grown"]
