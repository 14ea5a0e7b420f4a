"""Generators of random numbers, as the plain numbers that they go on from."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from posterity.persistence.errors import FileError

Random: TypeAlias = np.random.Generator | np.random.RandomState

_BITS = {"PCG64": np.random.PCG64, "MT19937": np.random.MT19937}
_KINDS = {"Generator": np.random.Generator, "RandomState": np.random.RandomState}
_MT19937_WORDS = 624


def is_random(value: Any) -> bool:
    """Whether this is a generator of NumPy's."""
    return type(value) in _KINDS.values()


def state_of(random: Random, where: str) -> dict[str, Any]:
    """What it goes on from, or a refusal where NumPy would trust too much in what it is given."""
    if isinstance(random, np.random.RandomState):
        state: dict[str, Any] = random.get_state(legacy=False)
    else:
        state = dict(random.bit_generator.state)
    if state["bit_generator"] not in _BITS:
        raise FileError(
            f"{where} is a generator of kind {state['bit_generator']}, which a model file does "
            f"not hold: use {' or '.join(_BITS)}, or an integer."
        )
    return state


def restored(kind: Any, state: Any) -> Random:
    """A generator that goes on from there."""
    name = state.get("bit_generator") if isinstance(state, dict) else None
    if kind not in _KINDS or not isinstance(name, str) or name not in _BITS:
        raise FileError("model.json holds a generator of random numbers of an unknown kind.")
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
        raise FileError("model.json holds a generator of random numbers in no state.") from error
    return random


def _check_mt19937(state: Any) -> None:
    """NumPy reads its words at the position given, wherever that is."""
    key, position = state["key"], state["pos"]
    if key.shape != (_MT19937_WORDS,) or key.dtype.kind not in "iu":
        raise ValueError("the key is not as long as it should be")
    if type(position) is not int or not 0 <= position <= _MT19937_WORDS:
        raise ValueError("the position is outside the key")
