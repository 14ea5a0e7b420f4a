"""Scores of predictive distributions: log score, CRPS, Brier score, coverage, calibration, costs.

Every score takes predictions and outcomes of the same shape; classes are codes from 0. Higher log
scores, precision, recall and areas are better, and lower values of all others. Functions that end
in ``..._scorer`` are for scikit-learn: ``cross_val_score(model, X, y,
scoring=scoring.crps_scorer)``. For them higher is always better, so errors are negated, and classes
are given by their labels.
"""

from posterity.scoring.calibration import (
    calibration_curve,
    calibration_error,
    interval_coverage,
    interval_width,
    ks_distance,
    pit,
)
from posterity.scoring.decisions import (
    cost_threshold,
    expected_cost,
    precision,
    recall,
    roc_area,
)
from posterity.scoring.scores import (
    brier,
    brier_scorer,
    crps,
    crps_scorer,
    log_score,
    log_score_scorer,
    rmse,
    rmse_scorer,
)

__all__ = [
    "brier",
    "brier_scorer",
    "calibration_curve",
    "calibration_error",
    "cost_threshold",
    "crps",
    "crps_scorer",
    "expected_cost",
    "interval_coverage",
    "interval_width",
    "ks_distance",
    "log_score",
    "log_score_scorer",
    "pit",
    "precision",
    "recall",
    "rmse",
    "rmse_scorer",
    "roc_area",
]
