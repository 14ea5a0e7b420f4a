"""Validation of user data: conversion to float64 arrays, with helpful errors.

Shapes, column names and column counts are checked by scikit-learn (``validate_data``). The
functions here add *where* a value is invalid and how to fix it. Rows are counted from 0.
"""

from posterity.validation.checks import (
    check_choice,
    check_columns,
    check_coordinates,
    check_count,
    check_positive,
    check_repetitions,
    check_sample_weight,
    check_targets,
    check_X,
    check_X_y,
    warn_of_few_repetitions,
)
from posterity.validation.consistency import (
    Checked,
    require,
    require_array,
    require_count,
    require_positive,
    require_within,
)
from posterity.validation.refitting import protect_fits, restore_on_error
from posterity.validation.refusals import (
    check_powers,
    check_spread,
    refuse_collection,
    refuse_collection_beside_rows,
)

__all__ = [
    "Checked",
    "check_X",
    "check_X_y",
    "check_choice",
    "check_columns",
    "check_coordinates",
    "check_count",
    "check_positive",
    "check_powers",
    "check_repetitions",
    "check_sample_weight",
    "check_spread",
    "check_targets",
    "protect_fits",
    "refuse_collection",
    "refuse_collection_beside_rows",
    "require",
    "require_array",
    "require_count",
    "require_positive",
    "require_within",
    "restore_on_error",
    "warn_of_few_repetitions",
]
