"""Counts of the classes in each leaf, kept only where they are not zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, validation
from posterity.arrays import Array

Codes = NDArray[np.int32]
_WHOLE = (np.uint8, np.uint16, np.uint32, np.int32, np.int64)


@dataclass(frozen=True, eq=False)
class ClassLeaves:
    """Sparse counts: for each leaf in turn, the classes of its rows, increasing.

    Everything is stored in the smallest type that holds it.

    Examples
    --------
    >>> leaf, classes = np.array([0, 1, 0, 0]), np.array([2, 2, 0, 2])
    >>> leaves = ClassLeaves.from_rows(leaf, classes, np.ones(4), n_leaves=2, n_classes=3)
    >>> leaves.sizes, leaves.classes, leaves.counts
    (array([2, 1], dtype=uint8), array([0, 2, 2], dtype=uint8), array([1, 2, 1], dtype=uint8))
    >>> leaves.dense()
    array([[1., 0., 2.],
           [0., 0., 1.]])
    """

    sizes: NDArray[Any]  # (L,), how many classes
    classes: NDArray[Any]  # (nnz,)
    counts: NDArray[Any]  # (nnz,), > 0
    n_classes: int

    @classmethod
    def from_rows(
        cls, leaf: Codes, target: Codes, weights: Array, n_leaves: int, n_classes: int
    ) -> ClassLeaves:
        """From the leaf, the class and the weight of each row."""
        keys = (leaf.astype(np.int32, copy=False), target.astype(np.int32, copy=False))
        n_each, classes, counts = _count_classes(*keys, weights, n_leaves, n_classes)
        return cls(_shrink_type(n_each), _shrink_type(classes), _shrink_type(counts), n_classes)

    @classmethod
    def join(cls, parts: Sequence[ClassLeaves]) -> ClassLeaves:
        """The leaves of several trees, numbered through."""
        return cls(
            np.concatenate([part.sizes for part in parts]),
            np.concatenate([part.classes for part in parts]),
            np.concatenate([part.counts for part in parts]),
            parts[0].n_classes,
        )

    @property
    def n_leaves(self) -> int:
        """Number of leaves, L."""
        return len(self.sizes)

    def check_consistency(self) -> None:
        """Raise ValueError unless there is a count for each class of each leaf."""
        validation.require_count(self.n_classes, "n_classes", least=1)
        validation.require_array(self.sizes, "sizes", _WHOLE, (None,))
        validation.require_within(self.sizes, "sizes", 0, self.n_classes + 1)
        nnz = int(np.sum(self.sizes, dtype=np.int64))
        validation.require_array(self.classes, "classes", _WHOLE, (nnz,))
        validation.require_within(self.classes, "classes", 0, self.n_classes)
        validation.require_array(self.counts, "counts", (*_WHOLE, np.float64), (nnz,))
        validation.require_within(self.counts, "counts", 0, np.inf)

    def start(self) -> NDArray[np.int64]:
        """Places at which the classes of each leaf begin, and the last ones end, (L + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes, dtype=np.int64)])

    def owners(self) -> NDArray[np.int32]:
        """The leaf of each count, (nnz,)."""
        return np.repeat(np.arange(self.n_leaves, dtype=np.int32), self.sizes)

    def totals(self) -> Array:
        """Weight of all rows of each leaf, (L,)."""
        total = np.bincount(self.owners(), weights=self.counts, minlength=self.n_leaves)
        return total.astype(np.float64, copy=False)

    def add(self, other: ClassLeaves) -> ClassLeaves:
        """Add the counts of the same leaves."""
        leaf = np.concatenate([self.owners(), other.owners()])
        target = np.concatenate([self.classes, other.classes])
        weights = np.concatenate([self.counts, other.counts]).astype(np.float64)
        return self.from_rows(leaf, target, weights, self.n_leaves, self.n_classes)

    def dense(self) -> Array:
        """All counts, (L, C): for small sets."""
        table = np.zeros((self.n_leaves, self.n_classes))
        table[self.owners(), self.classes] = self.counts
        return table


@compilation.compile_at_first_call
def _count_classes(
    leaf: Codes, target: Codes, weights: Array, n_leaves: int, n_classes: int
) -> tuple[NDArray[np.int64], Codes, Array]:
    """Number of classes of each leaf; and leaf by leaf these classes and their counts."""
    order = _sort_by_key(leaf, _sort_by_key(target, np.arange(len(leaf)), n_classes), n_leaves)
    n_each, classes = np.zeros(n_leaves, dtype=np.int64), np.empty(len(leaf), dtype=np.int32)
    counts = np.empty(len(leaf))
    last_leaf, last_class, k = -1, -1, -1
    for i in order:
        if weights[i] == 0.0:
            continue
        if leaf[i] != last_leaf or target[i] != last_class:
            last_leaf, last_class = leaf[i], target[i]
            k += 1
            n_each[last_leaf] += 1
            classes[k], counts[k] = last_class, 0.0
        counts[k] += weights[i]
    return n_each, classes[: k + 1], counts[: k + 1]


@compilation.compile_for_callers
def _sort_by_key(keys: Codes, order: NDArray[np.int64], n_keys: int) -> NDArray[np.int64]:
    """The order with small keys first, and else as it was."""
    at = np.zeros(n_keys + 1, dtype=np.int64)
    for key in keys:
        at[key + 1] += 1
    at = np.cumsum(at)
    result = np.empty_like(order)
    for i in order:
        result[at[keys[i]]] = i
        at[keys[i]] += 1
    return result


def _shrink_type(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in the smallest type of whole numbers that holds them, if one does."""
    top = values.max(initial=0)
    for dtype in (np.uint8, np.uint16, np.uint32):
        if top <= np.iinfo(dtype).max:
            smaller = values.astype(dtype)
            if np.array_equal(smaller, values):
                return smaller
    return values


_LEAF = np.dtype([("first", "u8"), ("share", "f8"), ("entropy", "f8")], align=True)
_ENTRY = np.dtype([("value", "f8"), ("label", "u4")], align=True)


@dataclass(frozen=True, eq=False)
class LeafTables:
    """Terms that are added up for a row: a record for each leaf and for each class that it saw.

    A leaf's probability of class c is the value of its entry for c, where it has one, plus its
    share, s / (n + s), of the base frequency of c.
    """

    leaves: NDArray[np.void]  # (L + 1,)
    entries: NDArray[np.void]  # (nnz,)
    base: Array  # (C,)

    @classmethod
    def from_leaves(cls, leaves: ClassLeaves, base: Array, concentration: float) -> LeafTables:
        """For the concentration s."""
        owners, s = leaves.owners(), concentration
        n = leaves.totals()
        entries = np.empty(len(owners), dtype=_ENTRY)
        entries["value"] = leaves.counts / (n + s)[owners]
        entries["label"] = leaves.classes
        records = np.empty(leaves.n_leaves + 1, dtype=_LEAF)
        records["first"] = leaves.start()
        records["share"][:-1] = s / (n + s)
        records["entropy"][:-1] = _entropies(entries, owners, records["share"][:-1], base)
        return cls(records, entries, base)

    def log_average(self, leaves: NDArray[np.int32], sharpness: float, log_p: Array) -> Array:
        """From leaves (T, n) write log-probabilities (n, C), and return the share (n,) of their
        entropy in which the trees disagree: what is left of it when each tree is asked alone.

        The mean is raised to the power of the sharpness.
        """
        log_p[...] = 0.0
        epistemic = np.empty(len(log_p))
        _sum_over_trees(leaves, self.leaves, self.entries, self.base, sharpness, log_p, epistemic)
        return epistemic


def _entropies(
    entries: NDArray[np.void], owners: NDArray[np.int32], share: Array, base: Array
) -> Array:
    """Return the entropy of each leaf: that of an empty leaf, corrected for its own classes."""
    prior = share[owners] * base[entries["label"]]
    p = entries["value"] + prior
    change = p * np.log(p) - prior * np.log(prior)
    of_share = share * (np.sum(base * np.log(base)) + np.log(share))
    return -of_share - np.bincount(owners, weights=change, minlength=len(share))


@compilation.compile_at_first_call
def _sum_over_trees(
    found: NDArray[np.int32],
    leaves: NDArray[np.void],
    entries: NDArray[np.void],
    base: Array,
    sharpness: float,
    p: Array,
    epistemic: Array,
) -> None:
    T, n = found.shape
    shares, entropies = np.zeros(n), np.zeros(n)
    for t in range(T):  # a tree at a time, so that its leaves stay at hand
        for i in range(n):
            l = np.uint64(found[t, i])  # signed, every index would be asked for its sign
            shares[i] += leaves[l].share
            entropies[i] += leaves[l].entropy
            for k in range(leaves[l].first, leaves[l + np.uint64(1)].first):
                p[i, entries[k].label] += entries[k].value
    log_base, base_power = np.log(base), base**sharpness
    for i in range(n):
        entropy = _finish(p[i], base, log_base, base_power, shares[i] / T, T, sharpness)
        agreed = entropies[i] / T if T > 1 else entropy  # one tree agrees with itself
        epistemic[i] = max(1.0 - agreed / entropy, 0.0) if entropy > 0.0 else 0.0


@compilation.compile_for_callers
def _finish(
    p: Array,
    base: Array,
    log_base: Array,
    base_power: Array,
    share: float,
    T: int,
    sharpness: float,
) -> float:
    """Sums over trees to log-probabilities, in place; the entropy of the mean is returned.

    Most classes came to no leaf of a row: of these, logarithms and powers are known.
    """
    highest = 0.0
    for c in range(len(p)):
        highest = max(highest, p[c] / T + share * base[c])
    log_share, top = math.log(share), sharpness * math.log(highest)
    share_power = math.exp(sharpness * log_share - top)
    entropy, total = 0.0, 0.0
    for c in range(len(p)):
        mean, is_new = p[c] / T + share * base[c], p[c] == 0.0
        log_mean = log_share + log_base[c] if is_new else math.log(mean)
        entropy -= mean * log_mean
        p[c] = sharpness * log_mean - top
        total += share_power * base_power[c] if is_new else math.exp(p[c])
    p -= math.log(total)
    return entropy
