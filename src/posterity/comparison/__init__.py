"""Which model of the family explains a table best: all of them on the same held-out rows.

``compare`` deals the rows into parts, fits every candidate to all parts but one, and ranks them by
the probability they gave to what came in that one. Nothing else is asked of a candidate than
scikit-learn's ``fit`` and a distribution as its prediction.
"""

from posterity.comparison.baselines import baselines
from posterity.comparison.candidates import Candidate, candidates
from posterity.comparison.comparing import compare
from posterity.comparison.evaluating import evaluate
from posterity.comparison.family import family
from posterity.comparison.importance import importance
from posterity.comparison.members import Member
from posterity.comparison.results import LEVELS, Comparison, HeldOut, Importance, Result, Skipped
from posterity.comparison.spread import compare_spread
from posterity.comparison.verdict import verdict

__all__ = [
    "LEVELS",
    "Candidate",
    "Comparison",
    "HeldOut",
    "Importance",
    "Member",
    "Result",
    "Skipped",
    "baselines",
    "candidates",
    "compare",
    "compare_spread",
    "evaluate",
    "family",
    "importance",
    "verdict",
]
