"""The house rules that a machine can check.

Each rule is a function from source text to a list of complaints, empty where the text is clean.
A rule has one test, which lists every offender in the package, and samples that break it: a rule
that cannot fail holds nothing.
"""

import ast
import functools
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from support.for_each import for_each

import posterity

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "posterity"
FILES = sorted(path.relative_to(SRC).as_posix() for path in SRC.rglob("*.py"))
FLOORS = (
    ("arrays", "callers", "compilation", "constructors", "doors", "estimators"),
    ("page_forms", "row_groups"),
    ("ties",),
    ("copies",),
    ("validation", "progress", "files"),
    ("linalg", "quadrature", "optimize"),
    ("distributions",),
    ("likelihoods", "priors", "kernels"),
    ("features",),
    ("designs",),
    ("inference",),
    ("models",),
    ("linear",),
    ("process",),
    ("sparse",),
    ("trees", "local", "latent"),
    ("vision",),
    ("scoring",),
    ("displays",),
    ("datasets", "testing"),
    ("tables",),
    ("persistence",),
    ("comparison",),
    ("report",),
    ("analysis",),
    ("cli",),
    ("vision.datasets", "vision.models"),
    ("vision.displays",),
    ("vision.commands",),
)
FLOOR_OF = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
# A household of its own: nothing outside imports it but the lazy line of the command.
HOUSEHOLD = "vision"
LAZY = ("cli/command.py", "posterity.vision.commands")
PUBLIC_ROOMS = (
    "analysis",
    "comparison",
    "datasets",
    "displays",
    "distributions",
    "features",
    "kernels",
    "likelihoods",
    "persistence",
    "priors",
    "scoring",
    "tables",
    "testing",
    "trees",
    "vision",
    "vision.datasets",
    "vision.displays",
    "vision.models",
)
IMPORTERS = ("import_module", "__import__")
FRONT_DOOR = ("__init__", "__main__")
MAX_LINES = 400
MAX_CODE = 300  # lines that are neither empty nor a comment nor a docstring
# What another library's linalg may be asked outside our own: sizes, shapes and exceptions.
HARMLESS = {"norm", "vector_norm", "multi_dot", "block_diag", "diagonal"}
HARMLESS |= {"LinAlgError", "LinAlgWarning"}
# Classes with one subclass, and why they are two.
EXTENDED_ONCE = {
    "posterity.likelihoods.base.Coupled": "users write further coupled likelihoods",
    "posterity.inference.posterior.Posterior": "a protocol, and one that asks more",
    "posterity.trees.families.columns.Columns": "forests compile columns that have no levels",
    "posterity.linalg.errors.NotPositiveDefiniteError": "callers catch the general error",
    "posterity.tables.columns.TableError": "callers catch the general error",
    "posterity.cli.command.PlainGroup": "the group of commands for images is one, too",
}
# Packages whose modules only families know; others ask the package for what it exports.
ENGINES = ("inference.conjugate", "inference.weights", "process", "sparse", "local")
# Not yet merged: take out what is.
STILL_SPLIT = {
    "posterity.classification.candidate_vectors.CandidateVectors",
    "posterity.designs.base.RowValues",
    "posterity.regression.candidate_vectors.CandidateVectors",
    "posterity.regression.vector_model.VectorModel",
}
PICKLES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve"}
TAG = re.compile(r"\[([A-Z][A-Z0-9]*) (?:Alg|Ch|Fig|Lemma|Prob|Sec|Th)?[ .]?\(?\d[^\]\n]*\]")
SOURCES = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "docs/references.bib").read_text(), re.M))


def room_of(path: str) -> str:
    """The room a file lies in: 'linalg' for both linalg.py and linalg/cholesky.py."""
    return room_named(path.removesuffix(".py").replace("/", "."))


def room_named(name: str) -> str:
    """The room of a dotted name below posterity; the household has rooms of its own."""
    inner = ".".join(name.split(".")[:2])
    return inner if inner in FLOOR_OF else name.split(".")[0]


@functools.lru_cache(maxsize=1)  # every rule reads a file before the next file is read
def nodes_of(source: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(source)))


def imported(source: str, path: str) -> Iterator[tuple[int, str]]:
    """Line number and absolute dotted name of everything the file imports, wherever it does so."""
    package = ["posterity", *path.split("/")[:-1]]
    for node in nodes_of(source):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in IMPORTERS:
            texts = (a.value for a in node.args[:1] if isinstance(a, ast.Constant))
            yield from ((node.lineno, text) for text in texts if isinstance(text, str))


def imports_upwards(source: str, path: str) -> list[str]:
    """Imports that climb the floors, cross to a neighbour, or go round by the front door."""
    here, complaints = room_of(path), []
    if here in FRONT_DOOR or here not in FLOOR_OF:
        return []
    for line, name in imported(source, path):
        package, _, rest = name.partition(".")
        there = room_named(rest)
        if package != "posterity" or there == here or (path, name) == LAZY:
            continue
        if there not in FLOOR_OF:
            complaints.append(
                f"{path}:{line} imports {name!r} from the front door; "
                "import the room that defines it, as in 'from posterity import linalg'."
            )
        elif FLOOR_OF[there] >= FLOOR_OF[here]:
            where = "on the same floor" if FLOOR_OF[there] == FLOOR_OF[here] else "on a floor above"
            complaints.append(
                f"{path}:{line} imports {there}, which is {where} {here}. Imports only go down: "
                "move the line to the room that may know both, or change FLOORS and say why."
            )
    return complaints


def imports_the_household(source: str, path: str) -> list[str]:
    """Imports of vision from outside: the library works without that folder."""
    if path.startswith(f"{HOUSEHOLD}/"):
        return []
    return [
        f"{path}:{line} imports {name}: nothing outside posterity.{HOUSEHOLD} may import it but "
        f"{LAZY[0]}. Move what both need below, or this module into the household."
        for line, name in imported(source, path)
        if f"{name}.".startswith(f"posterity.{HOUSEHOLD}.") and (path, name) != LAZY
    ]


def imports_past_a_door(source: str, path: str) -> list[str]:
    """Imports from above the families that go past the door of an engine to what is behind it."""
    if FLOOR_OF.get(room_of(path), -1) <= FLOOR_OF["trees"]:
        return []
    complaints = []
    for line, name in imported(source, path):
        door = next((d for d in ENGINES if name.startswith(f"posterity.{d}.")), None)
        behind = name.removeprefix(f"posterity.{door}.").split(".")[0]
        place = SRC / (door or "").replace(".", "/") / behind
        if door and (place.is_dir() or place.with_suffix(".py").exists()):
            complaints.append(
                f"{path}:{line} imports {name}: import it from posterity.{door}, and add it to "
                "that package's __all__ if it is missing there."
            )
    return complaints


def unknown_room(source: str, path: str) -> list[str]:
    """A module or package that the list of floors does not know."""
    room = room_of(path)
    if room in FLOOR_OF or room in FRONT_DOOR:
        return []
    return [
        f"{path} is in a room, {room!r}, that no floor lists. Add it to FLOORS in "
        "tests/test_architecture.py and to CONTRIBUTING.md, or move the file to the room it is of."
    ]


def silent_or_long(source: str, path: str) -> list[str]:
    """A module that does not say what it is for, or is too long to be read standing."""
    complaints = []
    if not ast.get_docstring(nodes_of(source)[0]):
        complaints.append(f"{path} has no docstring: open it with a sentence saying what it is for")
    if (lines := source.count("\n")) > MAX_LINES:
        complaints.append(f"{path} has {lines} lines, above {MAX_LINES}: it is two modules.")
    if (code := code_lines(source)) > MAX_CODE:
        complaints.append(f"{path} has {code} lines of code, above {MAX_CODE}: it is two modules.")
    return complaints


def code_lines(source: str) -> int:
    """Lines that are neither empty nor a comment nor part of a docstring."""
    nodes = (ast.Module, ast.ClassDef, ast.FunctionDef)
    described = [n for n in nodes_of(source) if isinstance(n, nodes)]
    texts = [n.body[0] for n in described if ast.get_docstring(n, clean=False) is not None]
    prose = {i for text in texts for i in range(text.lineno, (text.end_lineno or 0) + 1)}
    lines = enumerate(source.splitlines(), start=1)
    return sum(
        bool(s := line.strip()) and not s.startswith("#") for i, line in lines if i not in prose
    )


def unknown_sources(source: str, path: str) -> list[str]:
    """Equation tags, such as [P8 8.11], whose key no reference explains."""
    lines = enumerate(source.splitlines(), start=1)
    found = ((number, match) for number, line in lines for match in TAG.finditer(line))
    return [
        f"{path}:{number} cites {match[0]}, but docs/references.bib has no {match[1]!r}: "
        f"known are {', '.join(sorted(SOURCES))}."
        for number, match in found
        if match[1] not in SOURCES
    ]


def foreign_linalg(source: str, path: str) -> Iterator[tuple[int, str]]:
    """Each use of another library's linalg: attribute access, import of a name, or an alias."""
    for node in nodes_of(source):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            owner = ast.unparse(node.value)
            if owner.split(".")[-1] in ("linalg", "lapack", "blas") and "posterity" not in owner:
                yield node.lineno, f"{owner}.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and "posterity" not in (node.module or "."):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from ((node.lineno, name) for name in names if "linalg" in name.split("."))
        elif isinstance(node, ast.Import):
            aliases = (a.name for a in node.names if a.asname and "posterity" not in a.name)
            yield from ((node.lineno, name) for name in aliases if "linalg" in name.split("."))


def factorises(source: str, path: str) -> list[str]:
    """Factorisations outside linalg, where no guard watches them."""
    if room_of(path) == "linalg":
        return []
    return [
        f"{path}:{line} uses {name}. Only posterity.linalg factorises and solves, because the "
        "guards live there: call it, or add what is missing to it."
        for line, name in foreign_linalg(source, path)
        if name.split(".")[-1] not in HARMLESS | {"lapack", "blas"}
    ]


def fragile_imports(source: str, path: str) -> list[str]:
    """Private scikit-learn modules, which move without notice, and pickle, which runs code."""
    complaints = []
    for line, name in imported(source, path):
        package, *rest = name.split(".")
        if package == "sklearn" and any(part.startswith("_") for part in rest):
            complaints.append(f"{path}:{line} imports {name}, private to scikit-learn.")
        if package in PICKLES or name in ("joblib.load", "joblib.dump"):
            complaints.append(f"{path}:{line} imports {name}: nothing here may load or save code.")
    if "allow_pickle=True" in source.replace(" ", ""):
        complaints.append(f"{path} allows pickle in an array file: store plain arrays.")
    return complaints


def not_ascii(source: str, path: str) -> list[str]:
    """Characters that a keyboard, a diff or a terminal may not show."""
    return [
        f"{path}:{number} holds {sorted({c for c in line if not c.isascii()})}: spell it in ASCII."
        for number, line in enumerate(source.splitlines(), start=1)
        if not line.isascii()
    ]


def extended_once(classes: Iterable[type]) -> list[str]:
    """Classes with exactly one subclass: one thing split in two, unless a reason is listed."""
    known = set(classes)
    children = {c: [child for child in c.__subclasses__() if child in known] for c in known}
    once = {f"{c.__module__}.{c.__qualname__}": found for c, found in children.items()}
    once = {name: found for name, found in once.items() if len(found) == 1}
    split = [
        f"{name} has one subclass, {found[0].__qualname__}. A class is abstract or final: merge "
        "the two, or compose them. If others are to extend it, say so in EXTENDED_ONCE."
        for name, found in once.items()
        if name not in EXTENDED_ONCE and name not in STILL_SPLIT
    ]
    return sorted(split)


def without_example(docstring: str, name: str) -> list[str]:
    """A public docstring that shows no use of the thing."""
    shown = re.search(r"^\s*Examples\n\s*--------\n(?s:.*?)>>> ", docstring, re.M)
    return [] if shown else [f"{name} needs a docstring with an Examples section that runs."]


RULES = (
    imports_upwards,
    imports_the_household,
    imports_past_a_door,
    unknown_room,
    silent_or_long,
    unknown_sources,
    factorises,
    fragile_imports,
    not_ascii,
)


@functools.cache
def source_of(path: str) -> str:
    return (SRC / path).read_text(encoding="utf-8")


def test_house_rules_hold():
    complaints = [one for path in FILES for rule in RULES for one in rule(source_of(path), path)]
    assert not complaints, "\n".join(complaints)


BAD = [
    (imports_upwards, "likelihoods/normal.py", "from posterity import inference"),
    (imports_upwards, "likelihoods/normal.py", "from posterity import linalg, priors"),
    (imports_upwards, "likelihoods/normal.py", "import posterity.linear.regressors as r"),
    (imports_upwards, "likelihoods/normal.py", "from posterity.kernels import base"),
    (imports_upwards, "likelihoods/normal.py", "from .. import priors"),
    (imports_upwards, "likelihoods/normal.py", "from ..inference import laplace"),
    (imports_upwards, "likelihoods/normal.py", "def f():\n    from posterity import designs"),
    (imports_upwards, "likelihoods/normal.py", "from posterity import LinearRegression"),
    (imports_upwards, "likelihoods/normal.py", "importlib.import_module('posterity.cli')"),
    (imports_upwards, "arrays.py", "from . import linalg"),
    (imports_upwards, "vision/detector.py", "from posterity.vision.displays import boxes"),
    (imports_upwards, "vision/detector.py", "from posterity import persistence"),
    (imports_upwards, "vision/displays/track.py", "from posterity.vision.commands import app"),
    (imports_the_household, "displays/grid.py", "from posterity import vision"),
    (imports_the_household, "cli/fit.py", "import_module('posterity.vision.commands')"),
    (imports_the_household, "cli/command.py", "import posterity.vision.detector"),
    (imports_past_a_door, "report/x.py", "from posterity.inference.weights.laplace import Fit"),
    (imports_past_a_door, "report/x.py", "from posterity.inference.weights import laplace"),
    (imports_past_a_door, "report/x.py", "import posterity.process.latent.sites"),
    (unknown_room, "helpers/strings.py", ""),
    (unknown_room, "utils.py", ""),
    (silent_or_long, "arrays.py", "x = 1\n"),
    (silent_or_long, "arrays.py", '"""Arrays."""\n' + "x = 1\n" * (MAX_CODE + 1)),
    (silent_or_long, "arrays.py", '"""Arrays."""\n' + "# why\n" * MAX_LINES),
    (unknown_sources, "arrays.py", "x = 1  # [XYZ 8.11]"),
    (unknown_sources, "arrays.py", "x = 1  # [P7 Alg 2.1]"),
    (factorises, "inference/conjugate/linear.py", "L = np.linalg.cholesky(A)"),
    (factorises, "inference/conjugate/linear.py", "L = scipy.linalg.lapack.dpotrf(A)"),
    (factorises, "inference/conjugate/linear.py", "x = xp.linalg.solve(A, b)"),
    (factorises, "inference/conjugate/linear.py", "from scipy.linalg import cho_factor"),
    (factorises, "inference/conjugate/linear.py", "from scipy.linalg.lapack import dpotrf"),
    (factorises, "inference/conjugate/linear.py", "from scipy.sparse.linalg import svds"),
    (factorises, "inference/conjugate/linear.py", "from numpy import linalg"),
    (factorises, "inference/conjugate/linear.py", "import numpy.linalg as la"),
    (fragile_imports, "linear/least_squares.py", "from sklearn.linear_model._base import x"),
    (fragile_imports, "linear/least_squares.py", "from sklearn.utils import _safe_indexing"),
    (fragile_imports, "linear/least_squares.py", "import sklearn.utils._param_validation"),
    (fragile_imports, "persistence.py", "import pickle"),
    (fragile_imports, "persistence.py", "from joblib import dump"),
    (fragile_imports, "persistence.py", "np.load(file, allow_pickle = True)"),
    (not_ascii, "arrays.py", "x = 1  # \N{GREEK SMALL LETTER SIGMA}"),
    (without_example, "Normal", "A normal distribution."),
    (without_example, "Normal", "A normal distribution.\n\nExamples\n--------\nNone yet.\n"),
]
GOOD = [
    (imports_upwards, "likelihoods/normal.py", "from posterity import distributions, linalg"),
    (imports_upwards, "likelihoods/normal.py", "from posterity.likelihoods import base"),
    (imports_upwards, "likelihoods/normal.py", "from . import base\nimport numpy.linalg"),
    (imports_upwards, "__init__.py", "from posterity.regression import LinearRegression"),
    (imports_upwards, "vision/displays/track.py", "from posterity import vision"),
    (imports_upwards, "vision/commands/app.py", "from posterity.cli import options"),
    (imports_the_household, "vision/commands/app.py", "from posterity import vision"),
    (imports_the_household, "cli/command.py", "import_module('posterity.vision.commands')"),
    (imports_past_a_door, "report/x.py", "from posterity.inference.weights import RowTargets"),
    (imports_past_a_door, "models/x.py", "from posterity.inference import rows"),
    (
        imports_past_a_door,
        "inference/weights/laplace.py",
        "from posterity.inference.weights import problem",
    ),
    (unknown_room, "linalg/cholesky.py", ""),
    (silent_or_long, "arrays.py", '"""Arrays."""\n' + "x = 1\n" * MAX_CODE + "\n# why" * 90),
    (unknown_sources, "arrays.py", "x = y[0]  # [P8 8.11] and [J 22], with [N x M]"),
    (factorises, "inference/conjugate/linear.py", "linalg.cholesky(A)\nnp.linalg.norm(x)"),
    (factorises, "inference/conjugate/linear.py", "from posterity.linalg import cholesky"),
    (factorises, "linalg/cholesky.py", "np.linalg.cholesky(A)"),
    (
        fragile_imports,
        "linear/least_squares.py",
        "from sklearn.utils.validation import validate_data",
    ),
    (without_example, "Normal", "Normal.\n\n    Examples\n    --------\n    >>> 1\n    1\n"),
]


@for_each(("rule", "path", "source"), BAD)
def test_each_rule_objects_to_what_it_forbids(rule, path, source):
    arguments = (source, path)
    assert rule(*arguments), f"{rule.__name__} let pass: {source!r}"


@for_each(("rule", "path", "source"), GOOD)
def test_no_rule_objects_to_what_is_allowed(rule, path, source):
    assert rule(source, path) == []


def public_objects() -> Iterator[tuple[str, object]]:
    """Every class and function a user may call: the front door's, and those of public rooms."""
    rooms = [importlib.import_module(f"posterity.{room}") for room in PUBLIC_ROOMS]
    for door in [posterity, *rooms]:
        for name in vars(door).get("__all__", ()):
            value = getattr(door, name)
            if inspect.isroutine(value) or (
                inspect.isclass(value) and not inspect.isabstract(value)
            ):
                yield f"{door.__name__}.{name}", value


def package_classes() -> Iterator[type]:
    """Every class that a module of the package defines."""
    modules = (path.removesuffix(".py").removesuffix("/__init__") for path in FILES)
    for name in modules:
        if not name.endswith(FRONT_DOOR):
            module = importlib.import_module(f"posterity.{name.replace('/', '.')}")
            values = vars(module).values()
            yield from (v for v in values if inspect.isclass(v) and v.__module__ == module.__name__)


def test_no_class_has_exactly_one_subclass():
    complaints = extended_once(package_classes())
    assert not complaints, "\n".join(complaints)


def test_a_class_split_in_two_is_named():
    class Whole: ...

    class Part(Whole): ...

    class Abstract: ...

    class One(Abstract): ...

    class Other(Abstract): ...

    (complaint,) = extended_once([Whole, Part, Abstract, One, Other])
    assert "Whole has one subclass" in complaint
    assert "Part" in complaint


def test_every_public_name_shows_an_example():
    public = list(public_objects())
    complaints = [c for name, value in public for c in without_example(value.__doc__ or "", name)]
    assert public
    assert not complaints, "\n".join(complaints)


def test_every_room_opens_by_its_own_name():
    rooms = [room for room in FLOOR_OF if (SRC / room.replace(".", "/")).is_dir()]
    silent = [room for room in rooms if not importlib.import_module(f"posterity.{room}").__doc__]
    assert not silent, f"these rooms need an __init__.py that says what lives there: {silent}"
