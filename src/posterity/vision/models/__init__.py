"""Models that come with the package."""

from importlib import resources
from typing import Any

from posterity.persistence import FileError, load

__all__ = ["load_packaged"]

_NAMES = ("body_parts", "faces", "pose", "walking")


def load_packaged(name: str) -> Any:
    """Load a model that comes with the package.

    Parameters
    ----------
    name : {"body_parts", "faces", "pose", "walking"}
        Parts of the body in depth images (:class:`posterity.vision.BodyPartForest`), frontal
        faces (:class:`posterity.vision.WindowDetector`), poses from silhouettes
        (:class:`posterity.vision.SilhouettePose`), or a person who walks
        (:class:`posterity.vision.WalkingModel`).

    Examples
    --------
    >>> from posterity import vision
    >>> vision.load_packaged("body_parts").n_estimators
    3
    """
    if name not in _NAMES:
        raise ValueError(f"name={name!r} must be one of {', '.join(_NAMES)}.")
    source = resources.files("posterity.vision.models") / f"{name}.posterity"
    if not source.is_file():
        raise FileError(f"This installation does not contain the model {name!r}.")
    with resources.as_file(source) as place:
        return load(place)
