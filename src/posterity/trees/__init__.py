"""Families of test functions, and the trees, ferns, forests and boosted steps grown on them.

Learners see rows through a family alone: what rows answer to tests. A family of one's own, for
rows of any kind, is a subclass of :class:`Family`, or a :class:`Function`.
"""

from posterity.trees.class_forest import ClassForest, FittedClasses, fit_classes
from posterity.trees.columns import Columns
from posterity.trees.family import Family
from posterity.trees.fern import grow_fern
from posterity.trees.forest import Forest, Plan
from posterity.trees.function import Function
from posterity.trees.growing import Rules, grow
from posterity.trees.normal_forest import FittedNormals, NormalForest, fit_normals
from posterity.trees.projections import Differences, Orientations, Projections
from posterity.trees.streamed_forest import fit_class_chunks, fit_normal_chunks, fitted_family
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
