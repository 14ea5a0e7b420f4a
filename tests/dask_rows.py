"""Rows for tests on Dask: in memory, and the same in uneven partitions of which one is empty."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

SHARES = (0.35, 0.0, 0.1, 0.25, 0.3)  # of the rows that the partitions hold
NAMES = ("age", "height", "weight", "speed", "depth", "length", "warmth", "salt")


@dataclass(frozen=True)
class Rows:
    """Inputs, targets and weights."""

    X: Any
    y: Any
    sample_weight: Any = None

    @property
    def parts(self):
        return self.X, self.y, self.sample_weight


def chunks(N, shares=SHARES):
    """How many rows each partition holds."""
    stops = np.rint(N * np.cumsum(shares)).astype(int)
    stops[-1] = N
    return tuple(np.diff(stops, prepend=0).tolist())


def lazily(part, sizes):
    """An array in memory as a Dask array whose partitions have these sizes."""
    da = pytest.importorskip("dask.array")
    return da.from_array(part, chunks=(sizes, *part.shape[1:]))


def as_arrays(rows, sizes=None):
    """The same rows as Dask arrays."""
    sizes = chunks(len(rows.X)) if sizes is None else sizes
    return Rows(*(None if part is None else lazily(part, sizes) for part in rows.parts))


def as_frames(rows, sizes=None, target="outcome"):
    """The same rows as columns of one Dask data frame; lengths are not known before a pass."""
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    names = list(NAMES[: rows.X.shape[1]])
    table = pd.DataFrame(rows.X, columns=names).assign(**{target: rows.y})
    if rows.sample_weight is not None:
        table = table.assign(count=rows.sample_weight)
    stops = np.cumsum((0, *(chunks(len(table)) if sizes is None else sizes)))
    pieces = [table.iloc[a:b] for a, b in itertools.pairwise(stops)]
    frame = dd.from_map(lambda piece: piece, pieces, meta=table.iloc[:0])
    w = None if rows.sample_weight is None else frame["count"]
    return Rows(frame[names], frame[target], w)


def inputs(N, D, rng):
    """Correlated columns on different scales."""
    mixed = rng.normal(size=(N, D)) @ (np.eye(D) + 0.3 * rng.normal(size=(D, D)))
    return mixed * np.geomspace(0.1, 10.0, D) + np.arange(D)


def weights(N, rng):
    """Whole numbers of rows, some of which do not count."""
    return rng.integers(0, 4, N).astype(float)


def measured(N=400, D=3, seed=0, weighted=True):
    """Targets that are a line of the inputs and noise."""
    rng = np.random.default_rng(seed)
    X = inputs(N, D, rng)
    y = X @ (rng.normal(size=D) / X.std(axis=0)) + 0.3 * rng.normal(size=N)
    return Rows(X, y, weights(N, rng) if weighted else None)


def classified(N=400, D=3, n_classes=2, seed=0, weighted=True, named=True):
    """Classes that overlap, by name or by number."""
    rng = np.random.default_rng(seed)
    X = inputs(N, D, rng)
    A = (X / X.std(axis=0)) @ rng.normal(size=(D, n_classes)) + rng.gumbel(size=(N, n_classes))
    y = np.argmax(A - A.mean(axis=0), axis=1)
    names = np.array(["low", "high", "middle", "other"])[:n_classes]
    return Rows(X, names[y] if named else y, weights(N, rng) if weighted else None)
