"""Trees as flat arrays: what is saved, routed through and looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import page_forms, validation
from posterity.arrays import Array
from posterity.page_forms import Form
from posterity.trees.families.family import Tests

_BYTES_OF_LEAF = 12  # in a page
_TEST_TYPES = (np.int16, np.int32, np.int64, np.float64)


@dataclass(frozen=True, eq=False)
class Trees:
    """T binary trees of I inner nodes and L leaves in all.

    A node is numbered from 0, a leaf l is written as ~l = -1 - l, wherever either can stand. A row
    goes to the first child where its answer is at most the threshold, and else, also where it has
    no answer, to the second.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RandomTreeClassifier
    >>> X = np.arange(20.0)[:, None]
    >>> model = RandomTreeClassifier(random_state=0).fit(X, X[:, 0] > 7.0)
    >>> grown = model.forest_.trees
    >>> grown.thresholds, grown.children
    (array([7.5]), array([[-1, -2]], dtype=int32))
    """

    roots: NDArray[np.int32]  # (T,)
    tests: Tests  # (I, P)
    thresholds: Array  # (I,)
    children: NDArray[np.int32]  # (I, 2)
    gains: NDArray[np.float32]  # (I,), nats of log-likelihood that the test brought in training
    n_leaves: int

    @property
    def n_trees(self) -> int:
        """Number of trees, T."""
        return len(self.roots)

    def check_consistency(self) -> None:
        """Raise ValueError unless every way from a root ends at a leaf that there is."""
        validation.require_array(self.thresholds, "thresholds", np.float64, (None,))
        I = len(self.thresholds)
        validation.require_array(self.roots, "roots", np.int32, (None,))
        validation.require_array(self.children, "children", np.int32, (I, 2))
        validation.require_array(self.gains, "gains", np.float32, (I,))
        validation.require_array(self.tests, "tests", _TEST_TYPES, (I, None))
        validation.require_count(self.n_leaves, "n_leaves", least=1)
        validation.require(len(self.roots) > 0, "there are no trees.")
        validation.require(not np.isnan(self.thresholds).any(), "a threshold is NaN.")
        for name, links in (("roots", self.roots), ("children", self.children)):
            validation.require_within(links, name, -self.n_leaves, I)
        comes_later = (self.children < 0) | (self.children > np.arange(I)[:, None])
        validation.require(comes_later.all(), "a node comes before its parent.")

    @classmethod
    def join(cls, parts: Sequence[Trees]) -> Trees:
        """One after the other, with nodes and leaves numbered through."""
        nodes = np.cumsum([0, *(len(part.thresholds) for part in parts)])
        leaves = np.cumsum([0, *(part.n_leaves for part in parts)])
        shifted = [
            (_shift_links(part.roots, n, m), _shift_links(part.children, n, m))
            for part, n, m in zip(parts, nodes, leaves, strict=False)
        ]
        return cls(
            np.concatenate([roots for roots, _ in shifted]),
            np.concatenate([part.tests for part in parts]),
            np.concatenate([part.thresholds for part in parts]),
            np.concatenate([children for _, children in shifted]),
            np.concatenate([part.gains for part in parts]),
            int(leaves[-1]),
        )

    def page_form(self, tests: list[int]) -> tuple[Form, NDArray[np.intp]]:
        """Return the form of the nodes in depth-first order, and the leaves in the same order.

        Children need no index: zero is a leaf, any other number one more than the test of a node.
        """
        page_forms.check_size(self.n_leaves * _BYTES_OF_LEAF // 8, f"{self.n_leaves:,} leaves")
        visited, order = self._walk()
        which = self.tests[:, 0].astype(np.int64)
        codes, values = np.zeros(len(which), dtype=np.int64), []
        for test in range(len(tests)):
            found, codes[which == test] = np.unique(
                self.thresholds[which == test], return_inverse=True
            )
            values.append(found)
        stream = np.where(visited < 0, 0, 1 + which[np.maximum(visited, 0)] if len(which) else 0)
        nodes = {
            "trees": self.n_trees,
            "tests": tests,
            "stream": stream,
            "codes": codes[visited[visited >= 0]],
            "thresholds": values,
        }
        return nodes, order

    def _walk(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Return nodes in depth-first order, -1 for a leaf, and the leaves."""
        children: list[list[int]] = self.children.tolist()
        visited, leaves = [], []
        for root in self.roots.tolist():
            waiting = [root]
            while waiting:
                node = waiting.pop()
                visited.append(max(node, -1))
                if node < 0:
                    leaves.append(~node)
                else:
                    waiting.extend(reversed(children[node]))
        return np.array(visited, dtype=np.int64), np.array(leaves, dtype=np.intp)


def _shift_links(links: NDArray[np.int32], nodes: int, leaves: int) -> NDArray[np.int32]:
    return np.where(links >= 0, links + nodes, links - leaves).astype(np.int32)
