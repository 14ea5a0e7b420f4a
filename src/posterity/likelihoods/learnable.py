"""Parameters of likelihoods that can be learned, and the properties that engines ask for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from posterity.arrays import Array


class LearnableParameters:
    """A frozen dataclass, compared by value, some of whose positive parameters can be learned.

    A parameter that ``_learnable`` names may be None, which asks for it to be learned: ``tuned``
    sets it from the data and says between what to search. ``theta`` are the logs of all of them.
    Of shape ``(P, *batch)`` it gives ``with_parameters`` values for each row.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    _learnable: ClassVar[tuple[str, ...]] = ()
    is_coupled: ClassVar[bool] = False  # its latent values have an axis of their own
    describes_classes: ClassVar[bool] = False  # which weights can separate
    log_concave: ClassVar[bool] = True
    depends_on_difference: ClassVar[bool] = False  # p(y | a) is a function of y - a alone
    has_averages: ClassVar[bool] = False  # those over a normal latent value are known
    is_scale_mixture: ClassVar[bool] = False  # normal about a, with a hidden precision for each y
    # Whether predictions at several parameters can be averaged: those of a log rate that is normal
    # cannot be joined, and a normal with the moments of several makes rates too large.
    joins_predictions: ClassVar[bool] = True

    @property
    def n_latents(self) -> int:
        """The number of latent values of an observation."""
        return 1

    def shape_latents(self, A: Array) -> Array:
        """Latent values (..., C) as the methods take them: without an axis of one value."""
        return A if self.is_coupled else A[..., 0]

    def parameter_derivatives(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, Array, Array]:
        """Derivatives of ``log_prob``, ``d1`` and ``d2`` in ``theta``, each ``(P, *batch)``."""
        of_rows = np.shape(a)[:-1] if self.is_coupled else np.shape(a)
        none = np.empty((0, *np.broadcast_shapes(np.shape(y), of_rows)))
        return none, none, none

    @property
    def names(self) -> list[str]:
        """Names of the P learnable parameters."""
        return list(self._learnable)

    @property
    def theta(self) -> Array:
        """Logs of the learnable parameters, (P,), or ``(P, *batch)`` where rows have their own."""
        return np.log(np.broadcast_arrays(*(self._numbers(name) for name in self.names)))

    def with_parameters(self, theta: Array) -> Self:
        """The same likelihood with other values of its parameters, given by their logs."""
        values = [value if np.ndim(value) else float(value) for value in np.exp(theta)]
        return dataclasses.replace(self, **dict(zip(self.names, values, strict=True)))

    def search_start(self, y: Array, weights: Array) -> tuple[Self, Array]:
        """The likelihood at its start, and log bounds (P, 2): equal where a value was given."""
        ranges = self._search_ranges(y, weights)
        changes, bounds = {}, np.empty((len(self.names), 2))
        for i, name in enumerate(self.names):
            given = getattr(self, name)
            start, low, high = ranges[name] if given is None else (given, given, given)
            changes[name], bounds[i] = start, np.log([low, high])
        return dataclasses.replace(self, **changes), bounds

    def without_parameters(self) -> Self:
        """The same likelihood, whose learnable parameters are all to be learned."""
        return dataclasses.replace(self, **dict.fromkeys(self.names))

    def with_first_parameter(self, values: Array) -> Self:
        """The same likelihood with other values of its first parameter, one for each row."""
        return dataclasses.replace(self, **{self.names[0]: values})

    @property
    def varies_by_row(self) -> bool:
        """Whether a learnable parameter was given as an array, with a value for each row."""
        return any(np.ndim(getattr(self, name)) > 0 for name in self._learnable)

    @property
    def learns_scatter(self) -> bool:
        """Whether y is continuous, and how much it scatters about a is to be learned."""
        return self.joins_predictions and any(getattr(self, name) is None for name in self.names)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments by name; there are no nested ones.

        Examples
        --------
        >>> from posterity import likelihoods
        >>> likelihoods.Gamma(shape=2.0).get_params()
        {'shape': 2.0}
        """
        del deep
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}

    def with_params(self, **params: Any) -> Self:
        """The same likelihood with other values of its constructor arguments.

        Examples
        --------
        >>> from posterity import likelihoods
        >>> likelihoods.Gamma(2.0).with_params(shape=0.5)
        Gamma(shape=0.5)
        """
        known = self.get_params()
        for name in params:
            if name not in known:
                has = f"; it has {', '.join(known)}" if known else ", and no others"
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}{has}.")
        return dataclasses.replace(self, **params)

    def __sklearn_clone__(self) -> Self:
        return self  # a value need not be copied

    def _require_value(self, name: str) -> Any:
        """The value of a learnable parameter, which must have been given or learned by now."""
        value = getattr(self, name)
        if value is None:
            raise ValueError(
                f"{name}=None is to be learned from data: fit a model with this likelihood, "
                f"or give a value for {name}."
            )
        return value

    def _numbers(self, name: str) -> Any:
        """The value of a learnable parameter as a number, or as an array where rows differ."""
        value = np.asarray(self._require_value(name), dtype=np.float64)
        return value if value.ndim else float(value)

    def _check_positive(self, *names: str) -> None:
        """Raise where a parameter is given and is not positive and finite."""
        for name in names:
            if getattr(self, name) is None:
                continue
            given = np.asarray(getattr(self, name), dtype=np.float64)
            if not np.all((given > 0.0) & np.isfinite(given)):
                raise ValueError(
                    f"{name} must be positive and finite; its smallest value is {np.min(given)}."
                )

    def _search_ranges(self, y: Array, weights: Array) -> Mapping[str, tuple[float, float, float]]:
        """Start, least and largest value of each learnable parameter, from the data."""
        del y, weights
        return {}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in dataclasses.fields(self)]
        return all(np.array_equal(getattr(self, n), getattr(other, n)) for n in names)

    __hash__ = None  # type: ignore[assignment]
