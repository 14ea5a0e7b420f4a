"""The forms of what latent models answer, known before rows that lie in partitions are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from posterity import models


def _latent_shape(model: Any) -> tuple[int, ...]:
    """The shape of the latent point of a row."""
    return (int(model._n_features_out),)


def _row_shape(model: Any) -> tuple[int, ...]:
    """The shape of a row."""
    return (int(model.n_features_in_),)


def _refuse_paths(question: models.PartitionQuestion) -> None:
    """Rows of a motion, told by times or groups, are placed together; partitions may cut it."""
    if any(value is not None for value in question.given.values()):
        models.Refusal("places rows of one motion together").answer_lazily(question)


def _refuse_motion(question: models.PartitionQuestion) -> None:
    """The same for models with dynamics, whose rows are of one motion unless told otherwise."""
    _refuse_paths(question)
    if getattr(question.model, "dynamics_", None) is not None:
        models.Refusal("with dynamics places rows of one motion together").answer_lazily(question)


CLUSTERS = models.ArrayAnswer(lambda model: (), lambda model: np.intp)
POINTS = models.ArrayAnswer(_latent_shape)
POINTS_WITHOUT_MOTION = models.ArrayAnswer(_latent_shape, check=_refuse_motion)
POINTS_WITHOUT_PATHS = models.ArrayAnswer(_latent_shape, check=_refuse_paths)
POINT_DISTRIBUTION = models.DistributionAnswer(_latent_shape, check=_refuse_motion)
ROWS = models.ArrayAnswer(_row_shape)
ROW_DISTRIBUTION = models.DistributionAnswer(_row_shape)
SCORES = models.ArrayAnswer(lambda model: ())
