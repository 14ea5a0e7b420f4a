"""How good predictions were, uncertainty included: log score, CRPS, Brier, coverage, calibration.

Every score takes the predictions first and the outcomes second, in the shape of the batch; classes
are numbered from 0. The log score is better when higher, all others when lower. Functions that end
in ``_scorer`` are for scikit-learn: ``cross_val_score(model, X, y, scoring=scoring.crps_scorer)``;
there higher is always better, so that errors are negated, and classes go by their labels.
"""

from posterity.scoring.calibration import (
    calibration_curve,
    calibration_error,
    interval_coverage,
    interval_width,
    ks_distance,
    pit,
)
from posterity.scoring.scorers import brier_scorer, crps_scorer, log_score_scorer, rmse_scorer
from posterity.scoring.scores import brier, crps, log_score, rmse

__all__ = [
    "brier",
    "brier_scorer",
    "calibration_curve",
    "calibration_error",
    "crps",
    "crps_scorer",
    "interval_coverage",
    "interval_width",
    "ks_distance",
    "log_score",
    "log_score_scorer",
    "pit",
    "rmse",
    "rmse_scorer",
]
