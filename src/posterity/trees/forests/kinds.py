"""What forests of classes and forests of numbers do differently while trees grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.trees.forests.class_leaves import ClassLeaves
from posterity.trees.forests.normal_leaves import NormalLeaves
from posterity.trees.growth.class_splits import ClassCriterion
from posterity.trees.growth.growing import SplitCriterion
from posterity.trees.growth.normal_splits import NormalCriterion

_PRIOR_WEIGHT = 1.0  # rows: small sides of a split pay for their probabilities

L_co = TypeVar("L_co", ClassLeaves, NormalLeaves, covariant=True)


class TargetKind(Protocol[L_co]):
    """What trees are to tell; a value, so that it can go wherever rows are."""

    @property
    def criterion(self) -> SplitCriterion:
        """What makes a good split."""
        ...

    def targets(self, y: Array) -> NDArray[Any]:
        """The targets of rows, (n, ...), as trees take them."""
        ...

    def leaves(
        self, leaf: NDArray[np.int32], target: NDArray[Any], weights: Array, n_leaves: int
    ) -> L_co:
        """What leaves know by the leaf, the target and the weight of each row."""
        ...


@dataclass(frozen=True)
class ClassTargets:
    """Trees that tell classes apart, numbered from 0."""

    n_classes: int

    @property
    def criterion(self) -> SplitCriterion:
        """The evidence of the counts on both sides."""
        return ClassCriterion(self.n_classes, _PRIOR_WEIGHT)

    def targets(self, y: Array) -> NDArray[np.int32]:
        """Numbers of classes, (n,)."""
        return y.astype(np.int32)

    def leaves(
        self, leaf: NDArray[np.int32], target: NDArray[Any], weights: Array, n_leaves: int
    ) -> ClassLeaves:
        """How often each class came to each leaf."""
        return ClassLeaves.from_rows(leaf, target, weights, n_leaves, self.n_classes)


@dataclass(frozen=True)
class NumberTargets:
    """Trees that tell numbers, one or several a row."""

    @property
    def criterion(self) -> SplitCriterion:
        """The evidence of the normals on both sides."""
        return NormalCriterion()

    def targets(self, y: Array) -> Array:
        """A column a target, (n, K)."""
        return np.ascontiguousarray(y[:, None] if y.ndim == 1 else y)

    def leaves(
        self, leaf: NDArray[np.int32], target: NDArray[Any], weights: Array, n_leaves: int
    ) -> NormalLeaves:
        """Return weight, mean and squared deviations of the targets in each leaf."""
        return NormalLeaves.from_rows(leaf, target, weights, n_leaves)
