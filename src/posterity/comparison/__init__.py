"""Compare models of a table by cross-validation.

``compare`` fits every candidate to the same training folds and ranks them by the mean log
probability they assign to the observed values of the held-out rows. A candidate needs only
scikit-learn's ``fit`` and a predictive distribution.
"""

from posterity.comparison.baseline import baselines
from posterity.comparison.candidate import Candidate, candidates, family
from posterity.comparison.dependence import find_dependence
from posterity.comparison.evaluation import evaluate
from posterity.comparison.flags import Flagging
from posterity.comparison.holdout import Dependence, Holdout
from posterity.comparison.lagged import LaggedRegressor
from posterity.comparison.permutation import describe_importance, importance
from posterity.comparison.ranking import compare
from posterity.comparison.results import (
    LEVELS,
    Comparison,
    HeldOut,
    Importance,
    Preference,
    Result,
    Skipped,
    TwoClassScores,
)
from posterity.comparison.spread import compare_on_dask
from posterity.comparison.stacks import StackedClassifier, StackedRegressor
from posterity.comparison.unnamed_groups import find_unnamed_groups
from posterity.comparison.verdict import describe_gain, verdict
from posterity.models import Member

__all__ = [
    "LEVELS",
    "Candidate",
    "Comparison",
    "Dependence",
    "Flagging",
    "HeldOut",
    "Holdout",
    "Importance",
    "LaggedRegressor",
    "Member",
    "Preference",
    "Result",
    "Skipped",
    "StackedClassifier",
    "StackedRegressor",
    "TwoClassScores",
    "baselines",
    "candidates",
    "compare",
    "compare_on_dask",
    "describe_gain",
    "describe_importance",
    "evaluate",
    "family",
    "find_dependence",
    "find_unnamed_groups",
    "importance",
    "verdict",
]
