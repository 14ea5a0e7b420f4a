"""Many trees: their leaves, the way to them, and what rows not seen teach."""

from posterity.trees.forests import survey
from posterity.trees.forests.class_forest import ClassForest, FittedClasses, fit_classes
from posterity.trees.forests.forest import Forest, ForestPlan
from posterity.trees.forests.normal_forest import FittedNormals, NormalForest, fit_normals
from posterity.trees.forests.partitioned import fit_class_partitions, fit_normal_partitions
from posterity.trees.forests.streamed import fit_class_chunks, fit_family, fit_normal_chunks

__all__ = [
    "ClassForest",
    "FittedClasses",
    "FittedNormals",
    "Forest",
    "ForestPlan",
    "NormalForest",
    "fit_class_chunks",
    "fit_class_partitions",
    "fit_classes",
    "fit_family",
    "fit_normal_chunks",
    "fit_normal_partitions",
    "fit_normals",
    "survey",
]
