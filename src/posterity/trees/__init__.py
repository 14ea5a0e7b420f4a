"""Families of test functions, and the trees, ferns, forests and boosted steps grown on them.

Learners see rows only through a family of splits. A user-defined family, for rows of any kind, is
a subclass of :class:`Family`, or a :class:`Function`.
"""

from posterity.trees.families.columns import Columns
from posterity.trees.families.family import Family
from posterity.trees.families.function import Function
from posterity.trees.families.projections import Differences, Orientations, Projections
from posterity.trees.structure import Trees

__all__ = [
    "Columns",
    "Differences",
    "Family",
    "Function",
    "Orientations",
    "Projections",
    "Trees",
]
