"""Load the detector of a command: a saved one, the default one, or a cascade of OpenCV."""

import importlib.util
import os

import typer

from posterity import vision
from posterity.cli.outcome import ModelError
from posterity.vision.commands import models

DEFAULT = "faces"
"""Detector of frontal faces."""

_LEAST_WINDOWS = 3  # of a box without probability, as by OpenCV's default


def load_detector(
    model: str | None,
    opencv: str | None,
    *,
    prior: float | None = None,
    min_size: float | None = None,
) -> vision.WindowDetector:
    """Load a detector, and let the options of the search take the place of its own."""
    require_pillow()
    if model is not None and opencv is not None:
        raise typer.BadParameter("choose --model or --opencv, not both.")
    detector = _read_cascade(opencv) if opencv is not None else read_model(model)
    if prior is not None:
        if detector.calibration_ is None:
            raise ModelError(f"{model or opencv!r} has no probabilities that --prior could change.")
        detector.set_params(prior=prior)
    if min_size is not None:
        detector.set_params(min_size=min_size)
    return detector


def keep_probable(
    found: vision.Detections, detector: vision.WindowDetector, min_probability: float | None
) -> vision.Detections:
    """Keep the boxes that are probable, or without probabilities those of enough windows."""
    if detector.calibration_ is None:
        return found.take(found.support >= _LEAST_WINDOWS)
    return found.above(0.5 if min_probability is None else min_probability)


def require_pillow() -> None:
    """Refuse to go on without the package that reads images."""
    if importlib.util.find_spec("PIL") is None:
        raise ModelError("Images are read by Pillow; run pip install 'posterity[vision]'.")


def count_jobs(jobs: int | None) -> int:
    """Return the number of threads: that asked for, or one per core."""
    return jobs if jobs is not None else os.cpu_count() or 1


def read_model(path: str | None) -> vision.WindowDetector:
    """Load a saved detector, or that of the package."""
    advice = "not a detector; train one with 'posterity vision train-detector'."
    return models.load_model(path, vision.WindowDetector, DEFAULT, advice)


def _read_cascade(path: str) -> vision.WindowDetector:
    try:
        return vision.WindowDetector.from_opencv(path)
    except ValueError as error:
        raise ModelError(str(error)) from None
