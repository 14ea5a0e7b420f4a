"""Many trees: their leaves, the way to them, and what rows not seen teach."""

from posterity.trees.forests import row_counts
from posterity.trees.forests.class_forest import ClassForest, ClassTargets
from posterity.trees.forests.forest import Forest, ForestPlan
from posterity.trees.forests.normal_forest import NormalForest, NumberTargets
from posterity.trees.forests.out_of_bag import FittedForest, fit_forest
from posterity.trees.forests.partitioned import fit_partitions
from posterity.trees.forests.streamed import fit_chunks, fit_family

__all__ = [
    "ClassForest",
    "ClassTargets",
    "FittedForest",
    "Forest",
    "ForestPlan",
    "NormalForest",
    "NumberTargets",
    "fit_chunks",
    "fit_family",
    "fit_forest",
    "fit_partitions",
    "row_counts",
]
