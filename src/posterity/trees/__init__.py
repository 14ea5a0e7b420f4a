"""Families of test functions, and the trees, ferns, forests and boosted steps grown on them.

Learners see rows through a family alone: what rows answer to tests. A family of one's own, for
rows of any kind, is a subclass of :class:`Family`, or a :class:`Function`.
"""

from posterity.trees.families.columns import Columns
from posterity.trees.families.family import Family
from posterity.trees.families.function import Function
from posterity.trees.families.projections import Differences, Orientations, Projections
from posterity.trees.forests.class_forest import ClassForest, FittedClasses, fit_classes
from posterity.trees.forests.forest import Forest, Plan
from posterity.trees.forests.normal_forest import FittedNormals, NormalForest, fit_normals
from posterity.trees.forests.streamed import fit_class_chunks, fit_normal_chunks, fitted_family
from posterity.trees.growth.fern import grow_fern
from posterity.trees.growth.growing import Rules, grow
from posterity.trees.structure import Trees

__all__ = [
    "ClassForest",
    "Columns",
    "Differences",
    "Family",
    "FittedClasses",
    "FittedNormals",
    "Forest",
    "Function",
    "NormalForest",
    "Orientations",
    "Plan",
    "Projections",
    "Rules",
    "Trees",
    "fit_class_chunks",
    "fit_classes",
    "fit_normal_chunks",
    "fit_normals",
    "fitted_family",
    "grow",
    "grow_fern",
]
