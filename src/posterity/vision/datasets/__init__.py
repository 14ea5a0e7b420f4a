"""Generated images: rendered people and streets, drawn landscapes, an object that moves."""

from posterity.vision.datasets.moving_objects import MovingObject, moving_object
from posterity.vision.datasets.people import Bodies, Walkers, bodies, motions, walkers
from posterity.vision.datasets.scenes import Landscapes, Streets, landscapes, streets

__all__ = [
    "Bodies",
    "Landscapes",
    "MovingObject",
    "Streets",
    "Walkers",
    "bodies",
    "landscapes",
    "motions",
    "moving_object",
    "streets",
    "walkers",
]
