"""The mean over trees of the class probabilities of their leaves.

A leaf that n rows came to, n_c of them of class c, says (n_c + s b_c) / (n + s): what it saw, and a
belief in the frequencies b of all rows worth s of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.forests.class_leaves import ClassLeaves

_LEAF = np.dtype([("first", "u8"), ("share", "f8"), ("entropy", "f8")], align=True)
_ENTRY = np.dtype([("value", "f8"), ("label", "u4")], align=True)


@dataclass(frozen=True, eq=False)
class LeafTables:
    """What is added up for a row, one record for each leaf and one for each class that it saw.

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


@compilation.compile_at_first_call
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
