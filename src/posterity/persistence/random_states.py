"""Encode the state of random number generators."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from posterity.persistence.errors import FileError

Random: TypeAlias = np.random.Generator | np.random.RandomState

_BITS = {"PCG64": np.random.PCG64, "MT19937": np.random.MT19937}
_KINDS = {"Generator": np.random.Generator, "RandomState": np.random.RandomState}
_MT19937_WORDS = 624


def is_random(value: Any) -> bool:
    """Return whether a value is a random generator of NumPy."""
    return type(value) in _KINDS.values()


def read_state(random: Random, where: str) -> dict[str, Any]:
    """Return the state of a generator; raise if its kind is not supported."""
    if isinstance(random, np.random.RandomState):
        state: dict[str, Any] = random.get_state(legacy=False)
    else:
        state = dict(random.bit_generator.state)
    if state["bit_generator"] not in _BITS:
        raise FileError(
            f"{where} is a generator of kind {state['bit_generator']}, which a model file cannot "
            f"contain: use {' or '.join(_BITS)}, or an integer."
        )
    return state


def restore_generator(kind: Any, state: Any) -> Random:
    """Restore a generator from its state."""
    name = state.get("bit_generator") if isinstance(state, dict) else None
    if kind not in _KINDS or not isinstance(name, str) or name not in _BITS:
        raise FileError("model.json contains a random generator of unknown kind.")
    bits = _BITS[name]()
    try:
        if name == "MT19937":
            _check_mt19937(state["state"])
        bits.state = {key: value for key, value in state.items() if key in bits.state}
        if kind == "Generator":
            return np.random.Generator(bits)
        random = np.random.RandomState(bits)
        random.set_state(state)
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
        raise FileError("model.json contains a random generator with an invalid state.") from error
    return random


def _check_mt19937(state: Any) -> None:
    """Check a Mersenne Twister state, which NumPy does not validate."""
    key, position = state["key"], state["pos"]
    if key.shape != (_MT19937_WORDS,) or key.dtype.kind not in "iu":
        raise ValueError("the key has the wrong length")
    if type(position) is not int or not 0 <= position <= _MT19937_WORDS:
        raise ValueError("the position is outside the key")
