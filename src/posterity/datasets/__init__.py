"""Small data sets: measured, rendered, or simulated from a known function.

A simulated set is the same for the same seed. With ``noise_variance=0`` it holds the true function
at the same inputs.
"""

from posterity.datasets.base import Dataset
from posterity.datasets.drawn_landscapes import Landscapes, landscapes
from posterity.datasets.moving_objects import MovingObject, moving_object
from posterity.datasets.people import Bodies, bodies, motions
from posterity.datasets.rendered_walks import Walkers, walkers
from posterity.datasets.street_scenes import Streets, streets
from posterity.datasets.tables import (
    diabetes,
    friedman1,
    friedman2,
    friedman3,
    heteroscedastic_steps,
    line,
    sinc,
)
from posterity.datasets.walking import Walks, walks

__all__ = [
    "Bodies",
    "Dataset",
    "Landscapes",
    "MovingObject",
    "Streets",
    "Walkers",
    "Walks",
    "bodies",
    "diabetes",
    "friedman1",
    "friedman2",
    "friedman3",
    "heteroscedastic_steps",
    "landscapes",
    "line",
    "motions",
    "moving_object",
    "sinc",
    "streets",
    "walkers",
    "walks",
]
