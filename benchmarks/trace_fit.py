"""``python -m benchmarks.trace_fit``: how many source files a fit crosses, and how deep it calls.

A file is crossed when a function of it is called during the fit. Depth is the greatest number of
frames between the call of ``fit`` and the innermost function; both count the files and frames of
the package itself, not those of NumPy, SciPy and scikit-learn.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import sklearn
from rich.console import Console
from rich.table import Table
from sklearn.base import is_classifier
from sklearn.gaussian_process import GaussianProcessRegressor as Peer
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

import posterity


@dataclass
class Trace:
    """Files of one package that were called, and the deepest stack of its functions."""

    root: Path
    files: dict[str, int] = field(default_factory=dict)  # calls by file
    depth: int = 0
    deepest: list[str] = field(default_factory=list)  # the functions of that stack, outermost first
    _stack: list[str] = field(default_factory=list)

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        """Follow one call or return."""
        if event not in ("call", "return") or not self._is_ours(frame):
            return
        if event == "return":
            if self._stack:
                self._stack.pop()
            return
        code = frame.f_code
        file = str(Path(code.co_filename).relative_to(self.root))
        self.files[file] = self.files.get(file, 0) + 1
        self._stack.append(f"{file}:{code.co_qualname}")
        if len(self._stack) > self.depth:
            self.depth, self.deepest = len(self._stack), list(self._stack)

    def _is_ours(self, frame: FrameType) -> bool:
        return frame.f_code.co_filename.startswith(str(self.root))


def trace(package: Any, call: Callable[[], Any]) -> Trace:
    """The files and the depth of a call, of one package; a first call has loaded what it needs."""
    call()
    found = Trace(Path(package.__file__).parent)
    sys.setprofile(found)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def _fits() -> dict[str, tuple[Any, Callable[[], Any]]]:
    """A small fit of each kind of model."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (40, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
    peer = Peer(RBF() + WhiteKernel(), n_restarts_optimizer=2, random_state=0)
    models = {
        "GaussianProcessRegressor": posterity.GaussianProcessRegressor(),
        "GaussianProcessClassifier": posterity.GaussianProcessClassifier(),
        "RelevanceVectorRegressor": posterity.RelevanceVectorRegressor(),
        "RelevanceVectorClassifier": posterity.RelevanceVectorClassifier(),
        "BayesianLinearRegression": posterity.BayesianLinearRegression(),
        "BayesianLogisticRegression": posterity.BayesianLogisticRegression(),
        "RandomForestRegressor": posterity.RandomForestRegressor(random_state=0),
        "GPLVM": posterity.GPLVM(1),
    }
    fits: dict[str, tuple[Any, Callable[[], Any]]] = {}
    for name, model in models.items():
        targets = y > 0.0 if is_classifier(model) else y
        data = (X,) if name == "GPLVM" else (X, targets)
        fits[name] = posterity, lambda model=model, data=data: model.fit(*data)
    fits["scikit-learn GaussianProcessRegressor"] = sklearn, lambda: peer.fit(X, y)
    return fits


def main() -> None:
    """Print the table; with the name of a model, its files and its deepest stack too."""
    console, asked = Console(), sys.argv[1:]
    table = Table("model", "files", "depth", "calls")
    warnings.simplefilter("ignore")
    for name, (package, call) in _fits().items():
        if asked and name not in asked:
            continue
        found = trace(package, call)
        table.add_row(name, str(len(found.files)), str(found.depth), str(sum(found.files.values())))
        for line in [*sorted(found.files), "", *found.deepest] if asked else []:
            console.print(line, highlight=False)
    console.print(table)


if __name__ == "__main__":
    main()
