"""The class of data sets, and checks shared by their generators."""

import math
import numbers
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from posterity.arrays import Array

Seed: TypeAlias = int | np.random.Generator | None


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs and targets with their names.

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
        Source of the data.

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


def check_count(name: str, value: int) -> int:
    """Check that a value is a positive integer."""
    if not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name}={value!r} must be a whole number of at least 1.")
    return int(value)


def check_standard_deviation(noise_variance: float) -> float:
    """Return the standard deviation of a valid noise variance."""
    if not 0.0 <= noise_variance < math.inf:
        raise ValueError(f"noise_variance={noise_variance!r} must be a finite number >= 0.")
    return math.sqrt(noise_variance)
