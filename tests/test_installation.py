"""What pyproject.toml promises of an installation: extras, addresses, versions."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
FOR_USERS = sorted(EXTRAS.keys() - {"bench", "dev", "docs"})
# Names of modules that differ from the name of what is installed.
INSTALLED_AS = {
    "PIL": "pillow",
    "cycler": "matplotlib",
    "distributed": "dask",
    "python_calamine": "python-calamine",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "array_api_compat": "array-api-compat",
    "click": "typer",
    "markupsafe": "jinja2",
}
# Only where a caller passes their objects, or asks for their models: then they are there.
OF_CALLERS = {"cupy", "cupyx", "pandas", "lightgbm", "catboost", "skops", "IPython"}
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("*.cff"),
    *(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts),
    *(ROOT / ".github").rglob("*.md"),
    *(ROOT / ".github").rglob("*.yml"),
]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def name_of(requirement):
    return re.match(r"[\w-]+", requirement).group().lower()


def imported_modules(path):
    """First names of what a module imports, by statement or by import_module."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            yield from (name.split(".")[0] for name in names)


def test_every_extra_that_is_named_exists():
    named = set()
    for path in [*SOURCES, *PAGES]:
        for found in re.findall(r"posterity\[([\w,\s-]+)\]", path.read_text("utf-8")):
            named |= {(extra.strip(), path.name) for extra in found.split(",")}
    assert {extra for extra, _ in named} >= set(FOR_USERS)  # each is named somewhere
    assert not {one for one in named if one[0] not in EXTRAS}


def test_every_import_is_a_dependency_or_of_an_extra():
    required = {name_of(text) for text in PROJECT["dependencies"]}
    optional = {name_of(text) for extra in FOR_USERS for text in EXTRAS[extra]}
    modules = {module: path.name for path in SOURCES for module in imported_modules(path)}
    ours = sys.stdlib_module_names | OF_CALLERS | {"posterity"}
    installed = {INSTALLED_AS.get(n, n): path for n, path in modules.items() if n not in ours}
    assert not {name: path for name, path in installed.items() if name not in required | optional}


def test_developers_have_what_users_can_have():
    """But PyTorch, which needs gigabytes and a GPU to be of use."""
    wanted = {text for extra in FOR_USERS if extra != "gpu" for text in EXTRAS[extra]}
    assert wanted <= set(EXTRAS["dev"])


def test_one_place_names_the_addresses_of_the_project():
    """Until a person fills them in they lead nowhere, instead of to somebody else."""
    source = PROJECT["urls"]["Source"]
    assert all(url.startswith(source) for url in PROJECT["urls"].values())
    elsewhere = re.compile(rf"{re.escape(source)}|https?://\S*\bposterity\b|example\.invalid")
    for path in [*SOURCES, *PAGES]:
        if path.name not in ("RELEASING.md", "release.yml"):  # what to fill in, and a check of it
            assert not elsewhere.search(path.read_text("utf-8")), path


def test_the_lowest_python_is_the_same_everywhere():
    lowest = PROJECT["requires-python"].removeprefix(">=")
    tested = (ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8")
    assert re.search(r'python: \["([\d.]+)"', tested).group(1) == lowest
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert re.search(r"python: \[(.*)\]", tested).group(1).replace('"', "").split(", ") == versions


def test_a_source_archive_holds_what_is_in_the_repository():
    """As far as MANIFEST.in tells; .ci/install compares the archive itself."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a checkout")
    text = (ROOT / "MANIFEST.in").read_text("utf-8")
    folders = set(re.findall(r"^graft (\S+)$", text, re.MULTILINE))
    top = {line.split("/")[0] for line in listed.stdout.split("\n") if "/" in line}
    assert top <= folders
