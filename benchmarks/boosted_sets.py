"""Real tables for boosted trees, cut into five folds: classes, and numbers.

``Table.fold(k)`` is what contenders see; ``find_classes`` and ``find_numbers`` list the tables
that are here. A table of more rows than two cores have time for is a sample of them, the same for
all. Categories are numbered from 0, and ``categorical`` says which columns they are.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from sklearn import datasets, model_selection

from benchmarks import probabilities, real_sets
from benchmarks.cases import Array, Data

FOLDS = 5
SEED = 0
SAMPLE = 2_000
LATE = 15.0  # minutes behind time, from which an airline counts a flight as delayed

Content: TypeAlias = tuple[Array, Array, tuple[int, ...]]


@dataclass(frozen=True)
class Table:
    """Rows and targets of one set."""

    name: str
    X: Array
    y: Array
    categorical: tuple[int, ...] = ()

    def fold(self, k: int, is_classes: bool) -> Data:
        """Fold k is held out; classes have the same shares in all folds."""
        kind = model_selection.StratifiedKFold if is_classes else model_selection.KFold
        cuts = list(kind(FOLDS, shuffle=True, random_state=SEED).split(self.X, self.y))
        train, test = cuts[k]
        return Data(self.X[train], self.y[train], self.X[test], self.y[test])

    def sample(self, rows: int) -> Table:
        """So many of the rows, drawn with a seed of their own; all where there are no more."""
        if len(self.y) <= rows:
            return self
        kept = np.sort(np.random.default_rng(SEED).permutation(len(self.y))[:rows])
        return Table(self.name, self.X[kept], self.y[kept], self.categorical)


@dataclass(frozen=True)
class Source:
    """Where a table comes from."""

    name: str
    load: Callable[[], Content]
    is_shipped: bool = False  # with scikit-learn; the others are beside the repository

    @property
    def is_here(self) -> bool:
        """Whether it can be read."""
        return self.is_shipped or real_sets.FOLDER.exists()

    def read(self) -> Table:
        """The table, sampled."""
        return Table(self.name, *self.load()).sample(SAMPLE)


def _stored(path: str) -> Any:
    return np.load(real_sets.FOLDER / path, allow_pickle=False)


def _shipped(name: str) -> Content:
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return X.astype(np.float64), y.astype(np.float64), ()


def _classes(path: str, first: int = 0) -> Content:
    """Columns from the first on, and classes as numbers."""
    with _stored(path) as file:
        return file["X"][:, first:].astype(np.float64), probabilities.dense_codes(file["y"]), ()


def pima() -> Content:
    """Both parts of Ripley's split."""
    data = real_sets.read_stored("pima_ripley", 0)
    return np.vstack([data.X, data.X_test]), np.concatenate([data.y, data.y_test]), ()


def crabs() -> Content:
    """Five lengths of a crab; its species and sex together are the class."""
    with _stored("small/crabs.npz") as file:
        names = np.char.add(file["sp"], file["sex"])
        return file["X"], probabilities.dense_codes(names), ()


def promoters() -> Content:
    """57 bases of a gene, each a category of four letters."""
    with _stored("kernels/promotergene.npz") as file:
        letters = np.array([list(sequence) for sequence in file["sequences"]])
        X = np.column_stack([probabilities.dense_codes(column) for column in letters.T])
        return X, file["y"].astype(np.float64), tuple(range(X.shape[1]))


def molecules() -> Content:
    """Counts of MUTAG's atoms by kind, and of bonds by the kinds of their ends."""
    with _stored("kernels/mutag_graphs.npz") as file:
        label, graph, (a, b) = file["node_label"], file["graph_id"], file["edges"].T
        y = file["y"].astype(np.float64)
    kinds = int(label.max()) + 1
    start = graph.min()
    atoms, bonds = np.zeros((len(y), kinds)), np.zeros((len(y), kinds * kinds))
    np.add.at(atoms, (graph - start, label), 1.0)
    low = a.min()  # nodes may be numbered from 1
    first, second = label[a - low].astype(np.intp), label[b - low].astype(np.intp)
    np.add.at(bonds, (graph[a - low] - start, first * kinds + second), 0.5)
    return np.hstack([atoms, bonds[:, bonds.any(axis=0)]]), y, ()


def flights() -> Content:
    """What is known of a flight before it leaves, and its delay on arrival in minutes."""
    with _stored("large/nycflights13.npz") as file:
        names = [str(name) for name in file["feature_names"]]
        kept = [place for place, name in enumerate(names) if name not in ("air_time", "dep_delay")]
        categorical = tuple(
            at for at, place in enumerate(kept) if names[place] in ("carrier", "origin", "dest")
        )
        return file["X"][:, kept].astype(np.float64), file["y"].astype(np.float64), categorical


def late_flights() -> Content:
    """Whether a flight arrives late."""
    X, delay, categorical = flights()
    return X, (delay > LATE).astype(np.float64), categorical


def _numbers(path: str) -> Content:
    with _stored(path) as file:
        return file["X"].astype(np.float64), file["y"].astype(np.float64), ()


def _qualities() -> Content:
    """Red wines by their quality, six classes: of the least one there are ten rows."""
    X, y, _ = _numbers("uci_regression/wine-red.npz")
    return X, probabilities.dense_codes(y), ()


def _arm() -> Content:
    """The first torque of the robot's arm."""
    with _stored("multioutput/sarcos_test4449.npz") as file:
        return file["X"].astype(np.float64), file["Y"][:, 0].astype(np.float64), ()


def _evans(name: str) -> Content:
    with gzip.open(real_sets.FOLDER / "uci_evans" / f"{name}.data.csv.gz") as file:
        table = np.loadtxt(file, delimiter=",")
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].copy(), ()


_shipped_set = partial(Source, is_shipped=True)
_uci = {
    name: partial(_numbers, f"uci_regression/{name}.npz")
    for name in ("boston", "energy", "wine-red", "kin8nm", "power", "naval")
}

# From few rows to many: what is slow comes last.
CLASSES = (
    Source("promoters", promoters),
    _shipped_set("iris", partial(_shipped, "iris")),
    _shipped_set("wine", partial(_shipped, "wine")),
    Source("molecules", molecules),
    Source("crabs", crabs),
    Source("sonar", partial(_classes, "classification/sonar.npz")),
    Source("recurrence", partial(_classes, "raetsch/breast_cancer.npz")),
    Source("ionosphere", partial(_classes, "classification/ionosphere.npz")),
    Source("pima", pima),
    _shipped_set("breast cancer", partial(_shipped, "breast_cancer")),
    Source("biopsies", partial(_classes, "classification/breastcancer.npz")),
    Source("german credit", partial(_classes, "raetsch/german.npz")),
    Source("vowels", partial(_classes, "classification/vowel.npz", 1)),
    Source("wine quality", _qualities),
    Source("late flights", late_flights),
    Source("soils", partial(_classes, "classification/satellite.npz")),
    _shipped_set("digits", partial(_shipped, "digits")),
)
NUMBERS = (
    Source("motorcycle", partial(_numbers, "small/mcycle.npz")),
    Source("geyser", partial(_numbers, "small/geyser.npz")),
    _shipped_set("diabetes", partial(_shipped, "diabetes")),
    Source("boston", _uci["boston"]),
    Source("energy", _uci["energy"]),
    Source("carbon dioxide", partial(_numbers, "small/co2_mauna_loa_monthly.npz")),
    Source("wine quality", _uci["wine-red"]),
    Source("flights", flights),
    Source("power", _uci["power"]),
    Source("kin8nm", _uci["kin8nm"]),
    Source("arm", _arm),
    Source("elevators", partial(_evans, "elevators")),
    Source("bike", partial(_evans, "bike")),
    Source("naval", _uci["naval"]),
    Source("pol", partial(_evans, "pol")),
    Source("pathways", partial(_evans, "keggundirected")),
)


def find_classes() -> list[Source]:
    """The sets of classes that are here, from few rows to many."""
    return [source for source in CLASSES if source.is_here]


def find_numbers() -> list[Source]:
    """The sets of numbers that are here, from few rows to many."""
    return [source for source in NUMBERS if source.is_here]


def read_fold(name: str, k: int, is_classes: bool) -> tuple[Data, tuple[int, ...]]:
    """Fold k of a set by its name, and which of its columns are categories."""
    source = next(s for s in (CLASSES if is_classes else NUMBERS) if s.name == name)
    table = source.read()
    return table.fold(k, is_classes), table.categorical
