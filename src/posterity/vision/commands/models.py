"""Load the model of a command: a saved one, that of the package, or a cascade of OpenCV."""

import importlib.util
import os
from typing import TypeVar

import typer

from posterity import persistence, vision
from posterity.cli.outcome import ModelError
from posterity.vision.commands.picture_requests import DetectRequest
from posterity.vision.commands.training_requests import EvaluateRequest

DEFAULT = "faces"
"""Detector of frontal faces."""

T = TypeVar("T")


def load_model(path: str | None, kind: type[T], packaged: str, advice: str) -> T:
    """Load a saved model of a class, or the one of the package.

    Parameters
    ----------
    path : str, optional
        File of the model. None: the model of the package.
    kind : class
        Class that the model must have.
    packaged : str
        Name of the model of the package.
    advice : str
        What to do about a model of another class.
    """
    if path is None:
        try:
            model = vision.load_packaged(packaged)
        except persistence.FileError as error:
            raise typer.BadParameter(f"{error} Add --model FILE.") from None
    else:
        model = persistence.load(path)
    if not isinstance(model, kind):
        raise ModelError(f"{path!r} contains a {type(model).__name__}, {advice}")
    return model


def load_detector(request: DetectRequest | EvaluateRequest) -> vision.WindowDetector:
    """Load a detector, and let the options of the search take the place of its own."""
    model, opencv = request.model, request.opencv
    if model is not None and opencv is not None:
        raise typer.BadParameter("choose --model or --opencv, not both.")
    advice = "not a detector; train one with 'posterity vision train-detector'."
    detector = (
        load_model(model, vision.WindowDetector, DEFAULT, advice)
        if opencv is None
        else _read_cascade(opencv)
    )
    if request.prior is not None:
        if detector.calibration_ is None:
            raise ModelError(f"{model or opencv!r} has no probabilities that --prior could change.")
        detector.set_params(prior=request.prior)
    if request.min_size is not None:
        detector.set_params(min_size=request.min_size)
    return detector


def require_pillow() -> None:
    """Refuse to go on without the package that reads images."""
    if importlib.util.find_spec("PIL") is None:
        raise ModelError("Images are read by Pillow; run pip install 'posterity[vision]'.")


def count_jobs(jobs: int | None) -> int:
    """Return the number of threads: that asked for, or one per core."""
    return jobs if jobs is not None else os.cpu_count() or 1


def _read_cascade(path: str) -> vision.WindowDetector:
    try:
        return vision.WindowDetector.from_opencv(path)
    except ValueError as error:
        raise ModelError(str(error)) from None
