"""Explicit feature spaces: columns z = f(x) for models that are linear in z.

Each is a scikit-learn transformer. None adds a constant column: estimators have an intercept.
``fit`` learns centres and widths from the data, with weights as repetitions of rows, in the units
of the columns.
"""

from posterity.features.base import Features, Identity
from posterity.features.kernel_columns import KernelColumns
from posterity.features.learned import LearnedArctan, LearnedFeatures, LearnedRadial
from posterity.features.polynomial import Polynomial
from posterity.features.radial import Radial
from posterity.features.steps import Arctan, Heaviside

__all__ = [
    "Arctan",
    "Features",
    "Heaviside",
    "Identity",
    "KernelColumns",
    "LearnedArctan",
    "LearnedFeatures",
    "LearnedRadial",
    "Polynomial",
    "Radial",
]
