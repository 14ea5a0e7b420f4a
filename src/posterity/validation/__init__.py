"""Data at the door: turned into float64 arrays, or refused with a sentence.

Shapes, column names and column counts are scikit-learn's business (``validate_data``); what is
added here is *where* a value is bad and what to do about it. Rows are counted from 0.
"""

from posterity.validation.checks import (
    check_coordinates,
    check_count,
    check_positive,
    check_targets,
    check_X,
    check_X_y,
)
from posterity.validation.consistency import (
    Checked,
    require,
    require_array,
    require_count,
    require_positive,
    require_within,
)
from posterity.validation.ranges import check_powers, check_spread
from posterity.validation.refusals import refuse_collection, refuse_collection_beside_rows
from posterity.validation.weights import (
    check_repetitions,
    check_sample_weight,
    warn_of_few_repetitions,
)

__all__ = [
    "Checked",
    "check_X",
    "check_X_y",
    "check_coordinates",
    "check_count",
    "check_positive",
    "check_powers",
    "check_repetitions",
    "check_sample_weight",
    "check_spread",
    "check_targets",
    "refuse_collection",
    "refuse_collection_beside_rows",
    "require",
    "require_array",
    "require_count",
    "require_positive",
    "require_within",
    "warn_of_few_repetitions",
]
