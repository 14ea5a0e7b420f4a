"""Small data sets: measured, rendered, or simulated from a known function.

A simulated set is the same for the same seed. With ``noise_variance=0`` it holds the true function
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
