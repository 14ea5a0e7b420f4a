"""Arrays of every library at hand, so that a property is stated once for all of them."""

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

LIBRARIES = ["numpy", "torch", *(["cupy"] if importlib.util.find_spec("cupy") else [])]


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """A function that turns a NumPy array into one of the library."""
    xp = pytest.importorskip(request.param)
    if request.param == "torch":
        xp.set_num_threads(1)
    return lambda x: xp.asarray(np.array(x))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
