"""Small sets to learn on: one measured, the others drawn from a known truth.

A generated set is the same for the same seed, and with ``noise_variance=0`` it is the truth itself
at the same inputs.
"""

from posterity.datasets.base import Dataset
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
    "Dataset",
    "Walks",
    "diabetes",
    "friedman1",
    "friedman2",
    "friedman3",
    "heteroscedastic_steps",
    "line",
    "sinc",
    "walks",
]
