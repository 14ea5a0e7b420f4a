"""The front door: every name is there, and nothing heavy is fetched before it is asked for."""

import ast
import importlib
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.for_each import for_each
from typer.testing import CliRunner

import posterity
from posterity.cli import app

ROOT = Path(__file__).parents[1]
SRC = Path(posterity.__file__).parent
STUB = Path(posterity.__file__).with_suffix(".pyi")
HEAVY = ("numpy", "scipy", "sklearn", "numba", "polars", "matplotlib", "pandas", "jinja2", "joblib")


def loaded_by(code: str, *, whole: bool = False) -> set[str]:
    """The packages, or all modules, a fresh interpreter has imported after running this."""
    ask = f"{code}\nimport sys\nprint('modules', *sys.modules)"
    run = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    names = run.stdout.rpartition("modules ")[2].split()
    return set(names) if whole else {name.partition(".")[0] for name in names}


def test_type_checkers_are_told_the_same_names():
    tree = ast.parse(STUB.read_text())
    imported = [n for n in tree.body if isinstance(n, ast.ImportFrom)]
    names = {alias.name: node.module for node in imported for alias in node.names}
    assert sorted(names) == posterity.__all__
    for name, module in names.items():
        room = getattr(posterity, name)
        if module != "posterity":
            assert getattr(sys.modules[module], name) is room
    listed = next(n.value for n in tree.body if isinstance(n, ast.Assign))
    assert sorted(ast.literal_eval(listed)) == posterity.__all__


def test_importing_the_package_fetches_nothing_heavy():
    assert not loaded_by("import posterity").intersection(HEAVY)


@for_each("line", ["--help", "--version", "compare --help", "--nonsense", "fit", "models"])
def test_the_command_answers_questions_about_itself_before_anything_heavy(line):
    code = f"""
from posterity.cli import app
try:
    app({line.split()!r})
except SystemExit:
    pass
"""
    ask = "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    {}"
    body = "\n    ".join(code.strip().splitlines())
    assert not loaded_by(ask.format(body)).intersection(HEAVY)


def test_a_linear_fit_imports_no_other_family():
    """It took 0.6 s of CPU time beyond scikit-learn's own import, and takes half of that."""
    names = loaded_by(
        """
import numpy as np
from posterity import BayesianLinearRegression
BayesianLinearRegression().fit(np.eye(3), [1.0, 2.0, 4.0])
""",
        whole=True,
    )
    rooms = (
        "trees",
        "vision",
        "sparse",
        "local",
    )
    assert not {f"posterity.{room}" for room in rooms} & names
    assert not {"sklearn.neighbors", "sklearn.compose", "numba", "polars", "matplotlib"} & names
    processes = [name for name in names if name.startswith("posterity.process.")]
    assert not [name for name in processes if "search" in name or "softmax" in name]


DOORS = sorted(SRC.glob("*/**/__init__.pyi"))


@for_each("stub", DOORS)
def test_a_door_gives_what_its_stub_says(stub):
    package = ".".join(("posterity", *stub.parent.relative_to(SRC).parts))
    door = importlib.import_module(package)
    tree = ast.parse(stub.read_text("utf-8"))
    listed = next(n.value for n in tree.body if isinstance(n, ast.Assign))
    assert sorted(ast.literal_eval(listed)) == door.__all__
    assert set(door.__all__) <= set(dir(door))
    for name in door.__all__:
        getattr(door, name)
    # A module would take the place of another name as soon as it is imported.
    others = {name for name in door.__all__ if not inspect.ismodule(getattr(door, name))}
    assert not others & {path.stem for path in stub.parent.iterdir()}
    with pytest.raises(AttributeError, match="has no 'nothing'"):
        door.nothing  # noqa: B018


def test_one_version_is_stated_everywhere():
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert posterity.__version__ == stated, "The installed package is another: run `make test`."
    assert CliRunner().invoke(app, ["--version"]).output == f"posterity {stated}\n"
    assert f"\nversion: {stated}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"## [{stated}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "__version__" in dir(posterity)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="posterity has no 'Nothing'"):
        posterity.Nothing  # noqa: B018


def test_a_star_brings_every_name():
    space: dict[str, object] = {}
    exec("from posterity import *", space)
    assert set(posterity.__all__) <= set(space)


def test_the_names_are_listed():
    assert set(posterity.__all__) <= set(dir(posterity))
