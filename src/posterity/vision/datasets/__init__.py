"""Generated images: rendered people and streets, drawn landscapes, an object that moves."""

from posterity.vision.datasets.drawn_landscapes import Landscapes, landscapes
from posterity.vision.datasets.moving_objects import MovingObject, moving_object
from posterity.vision.datasets.people import Bodies, bodies, motions
from posterity.vision.datasets.rendered_walks import Walkers, walkers
from posterity.vision.datasets.street_scenes import Streets, streets

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
