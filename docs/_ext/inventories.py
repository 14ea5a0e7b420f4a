"""Links to NumPy, SciPy and scikit-learn that need no network to build.

Sphinx would fetch the list of their pages. The names are those of the packages installed here, and
their documentation has one page a name, so the lists are written from the packages instead.
"""

from __future__ import annotations

import contextlib
import importlib
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sphinx.application import Sphinx

WRITTEN_TO = Path(__file__).parents[1] / "_build" / "inventories"
_GENERATED = "reference/generated"
PROJECTS = {
    "numpy": ("https://numpy.org/doc/stable/", _GENERATED, "numpy numpy.linalg numpy.random"),
    "scipy": (
        "https://docs.scipy.org/doc/scipy/",
        _GENERATED,
        "scipy.cluster.hierarchy scipy.integrate scipy.linalg scipy.optimize scipy.sparse"
        " scipy.spatial scipy.special scipy.stats",
    ),
    "sklearn": (
        "https://scikit-learn.org/stable/",
        "modules/generated",
        "sklearn sklearn.base sklearn.calibration sklearn.cluster sklearn.compose"
        " sklearn.covariance sklearn.datasets sklearn.decomposition sklearn.discriminant_analysis"
        " sklearn.dummy"
        " sklearn.ensemble sklearn.feature_selection sklearn.gaussian_process"
        " sklearn.gaussian_process.kernels sklearn.impute sklearn.inspection sklearn.isotonic"
        " sklearn.kernel_approximation sklearn.kernel_ridge sklearn.linear_model sklearn.manifold"
        " sklearn.metrics sklearn.mixture sklearn.model_selection sklearn.multiclass"
        " sklearn.multioutput sklearn.naive_bayes sklearn.neighbors sklearn.neural_network"
        " sklearn.pipeline sklearn.preprocessing sklearn.svm sklearn.tree sklearn.utils"
        " sklearn.utils.estimator_checks",
    ),
}


@cache
def public_names(project: str) -> tuple[tuple[str, str], ...]:
    """Return the dotted name and the Sphinx role of everything documented in a project."""
    return tuple(_public_names(PROJECTS[project][2]))


def _public_names(modules: str) -> Iterator[tuple[str, str]]:
    for module in modules.split():
        found = importlib.import_module(module)
        defined = [n for n, thing in vars(found).items() if _is_defined_in(thing, module)]
        for name in sorted(getattr(found, "__all__", defined)):
            with contextlib.suppress(ImportError):  # experimental ones must be switched on
                thing = getattr(found, name, None)
                if callable(thing):
                    role = "class" if isinstance(thing, type) else "function"
                    yield f"{module}.{name}", role


def _is_defined_in(thing: object, module: str) -> bool:
    """Whether a class belongs to a module that does not list its public names."""
    return isinstance(thing, type) and thing.__module__ == module


def write_inventory(project: str) -> Path:
    """Write the inventory of a project in the format of Sphinx; return its path."""
    folder = PROJECTS[project][1]
    version = importlib.import_module(project).__version__
    entries = "".join(
        f"{name} py:{role} 1 {folder}/{name}.html#$ -\n" for name, role in public_names(project)
    )
    path = WRITTEN_TO / f"{project}.inv"
    path.parent.mkdir(parents=True, exist_ok=True)
    header = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: {version}\n"
    remark = "# The remainder of this file is compressed using zlib.\n"
    path.write_bytes((header + remark).encode() + zlib.compress(entries.encode()))
    return path


def find_public(name: str, project: str) -> str | None:
    """Return the dotted name of the one thing of a project that is called so, if there is one."""
    names = (dotted for dotted, _ in public_names(project))
    found = [dotted for dotted in names if dotted.rpartition(".")[2] == name]
    return min(found, key=len) if found else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Give intersphinx the inventories that were written here."""
    app.setup_extension("sphinx.ext.intersphinx")
    app.config.intersphinx_mapping = {
        project: (address, str(write_inventory(project)))
        for project, (address, _, _) in PROJECTS.items()
    }
    return {"parallel_read_safe": True, "parallel_write_safe": True}
