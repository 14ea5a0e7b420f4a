"""Predictions of several batches made one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posterity.distributions.base import Distribution
from posterity.distributions.mixture import Mixture


def concatenate_predictions(parts: Sequence[Distribution]) -> Any:
    """The predictions of all parts, of one family, one after the other along the first axis.

    Examples
    --------
    >>> from posterity import distributions
    >>> from posterity.distributions import joining
    >>> parts = [distributions.Normal([0.0, 1.0], 1.0), distributions.Normal([2.0], 3.0)]
    >>> joining.concatenate_predictions(parts)
    Normal(shape=(3,))
    """
    families = {type(part).__name__ for part in parts}
    if len(families) != 1:
        raise TypeError(f"Only predictions of one family are joined; these are {sorted(families)}.")
    if len(parts) == 1:
        return parts[0]
    fields = [part._parameters() for part in _equalize_components(parts)]
    return _build_unchecked(
        type(parts[0]),
        {name: _concatenate_rows([field[name] for field in fields]) for name in fields[0]},
    )


def _build_unchecked(family: type[Distribution], fields: dict[str, Any]) -> Any:
    """A distribution of fields that are known to be right, and have their common shape."""
    made = object.__new__(family)
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        object.__setattr__(made, name, value)
    return made


def _concatenate_rows(values: list[Any]) -> Any:
    """Arrays or distributions, whose first axis is that of the rows."""
    return (
        concatenate_predictions(values)
        if isinstance(values[0], Distribution)
        else np.concatenate(values)
    )


def _equalize_components(parts: Sequence[Any]) -> Sequence[Any]:
    """Mixtures of as many components as the largest: an integral may need more nodes for some."""
    if not isinstance(parts[0], Mixture):
        return parts
    K = max(part.log_weights.shape[-1] for part in parts)
    return [_pad_components(part, K) for part in parts]


def _pad_components(mixture: Mixture, K: int) -> Mixture:
    """The same predictions with K components, of which those that are new have no weight."""
    log_w = mixture.log_weights
    own = log_w.shape[-1]
    if own == K:
        return mixture
    nothing = np.full((*log_w.shape[:-1], K - own), -np.inf)
    more = mixture.components[..., np.minimum(np.arange(K), own - 1)]
    weights = np.concatenate([log_w, nothing], axis=-1)
    return _build_unchecked(Mixture, {"components": more, "log_weights": weights})
