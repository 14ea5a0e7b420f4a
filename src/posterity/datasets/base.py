"""What a set is, and what every generator of one is asked for."""

import math
import numbers
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from posterity.arrays import Array

Seed: TypeAlias = int | np.random.Generator | None


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs, targets, and what they are called.

    Attributes
    ----------
    X : ndarray of shape (N, D)
        Inputs.
    y : ndarray of shape (N,)
        Targets.
    feature_names : tuple of str
        The names of the columns of X.
    target_name : str
        The name of y.
    description : str
        Where the set comes from.

    Examples
    --------
    >>> from posterity import datasets
    >>> datasets.line(3)
    Dataset(feature_names=('x',), target_name='y')
    """

    X: Array = field(repr=False)  # (N, D)
    y: Array = field(repr=False)  # (N,)
    feature_names: tuple[str, ...]
    target_name: str
    description: str = field(repr=False)


def whole(name: str, value: int) -> int:
    """A whole number of at least one, or a sentence."""
    if not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name}={value!r} must be a whole number of at least 1.")
    return int(value)


def standard_deviation(noise_variance: float) -> float:
    """The root of a finite variance >= 0, or a sentence."""
    if not 0.0 <= noise_variance < math.inf:
        raise ValueError(f"noise_variance={noise_variance!r} must be a finite number >= 0.")
    return math.sqrt(noise_variance)
