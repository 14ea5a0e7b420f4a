"""A tree of named positive numbers: read and replaced in log space, held, bounded, printed.

This is what makes kernels values. It knows nothing of x and z.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, Self

import numpy as np

from posterity.arrays import Array
from posterity.kernels import parameters
from posterity.kernels.parameters import ASIDE, Range, Value


@dataclass(frozen=True, repr=False)
class ParameterTree:
    """Positive numbers declared with :func:`parameters.positive`, own and of children."""

    held: tuple[str, ...] = field(default=(), kw_only=True, metadata=ASIDE)
    limits: tuple[tuple[str, float, float], ...] = field(default=(), kw_only=True, metadata=ASIDE)

    def check_consistency(self) -> None:
        """Raise ValueError where the constructor would have: compiled sums trust the numbers."""
        self.__post_init__()

    def __post_init__(self) -> None:
        for f in fields(self):
            where, given = f"{type(self).__name__}.{f.name}", getattr(self, f.name)
            if f.type in (bool, "bool"):
                object.__setattr__(self, f.name, parameters.checked_flag(given, where))
            if f.metadata.get("positive"):
                value = parameters.checked(given, where, per_column=f.metadata["per_column"])
                object.__setattr__(self, f.name, value)

    @property
    def theta(self) -> Array:
        """The parameters that are not held, in log space: own ones, then the children's."""
        tree = self._settled()
        own = [v for name in tree._free() for v in parameters.flat(getattr(tree, name))]
        return np.concatenate([parameters.logs(own), *(c.theta for _, c in tree._children())])

    @property
    def names(self) -> list[str]:
        """What the entries of ``theta`` are called, as in ``left__length_scale[2]``."""
        tree = self._settled()
        own = [n for name in tree._free() for n in parameters.labels(name, getattr(tree, name))]
        return own + [f"{at}__{name}" for at, c in tree._children() for name in c.names]

    @property
    def bounded_names(self) -> list[str]:
        """Those of ``names`` whose bounds were given."""
        tree = self._settled()
        own = [name for name in tree._free() if tree._limits_of(name) is not None]
        labels = [n for name in own for n in parameters.labels(name, getattr(tree, name))]
        return labels + [f"{at}__{n}" for at, c in tree._children() for n in c.bounded_names]

    def at(self, theta: Array) -> Self:
        """The same kernel with other parameters, given in log space."""
        tree = self._settled()
        changes: dict[str, Any] = {}
        values, used = np.exp(np.asarray(theta, dtype=np.float64)), 0
        if values.shape != (n_free := len(tree.names),):
            given = len(values) if values.ndim == 1 else f"an array of shape {values.shape}"
            raise ValueError(f"{self} has {n_free} free parameters; {given} were given.")
        for name in tree._free():
            old: Value = getattr(tree, name)
            changes[name] = parameters.shaped(values[used : used + parameters.size(old)], old)
            used += parameters.size(old)
        for name, child in tree._children():
            n = len(child.theta)
            changes[name] = child.at(theta[used : used + n])
            used += n
        return replace(tree, **changes)

    def fixed(self, *names: str) -> Self:
        """The same kernel with these parameters held when an estimator tunes it; all by default.

        A name may be that of one parameter, ``left__length_scale``, or of all parameters of that
        name in the expression, ``length_scale``.

        Examples
        --------
        >>> from posterity import kernels
        >>> kernels.RBF(0.5).fixed()
        RBF(0.5).fixed()
        >>> (2.0 * kernels.RBF(0.5)).fixed("length_scale").names
        ['variance']
        """

        def hold(tree: ParameterTree, own: dict[str, str]) -> ParameterTree:
            return replace(tree, held=tuple(sorted({*tree.held, *own})))

        return self._marked(hold, names or None)

    def bounded(self, **limits: tuple[float, float]) -> Self:
        """The same kernel with parameters tuned only between these limits, (lower, upper) each.

        Examples
        --------
        >>> from posterity import kernels
        >>> kernels.RBF(0.5).bounded(length_scale=(0.1, 10.0))
        RBF(0.5).bounded(length_scale=(0.1, 10.0))
        """
        checked = {name: parameters.checked_limits(name, pair) for name, pair in limits.items()}

        def bound(tree: ParameterTree, own: dict[str, str]) -> ParameterTree:
            kept = {n: (n, lo, hi) for n, lo, hi in tree.limits}
            kept |= {n: (n, *checked[asked]) for n, asked in own.items()}
            return replace(tree, limits=tuple(kept[n] for n in sorted(kept)))

        return self._marked(bound, tuple(checked))

    def with_params(self, **params: Any) -> Self:
        """The same kernel with other values, by nested name: ``left__length_scale=2.0``.

        Examples
        --------
        >>> from posterity import kernels
        >>> (kernels.RBF(0.5) + kernels.White(0.1)).with_params(left__length_scale=2.0)
        RBF(2.0) + White(0.1)
        """
        changes: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        known = self.get_params(deep=False)
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in known:
                raise ValueError(f"{self} has no parameter {name!r}; it has {sorted(known)}.")
            if rest:
                nested.setdefault(name, {})[rest] = value
            else:
                changes[name] = value
        for name, inner in nested.items():
            child = changes.get(name, known[name])
            if not isinstance(child, ParameterTree):
                raise ValueError(f"{name!r} of {self} has no parameter {min(inner)!r}.")
            changes[name] = child.with_params(**inner)
        return replace(self, **changes)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments by name, with nested names where ``deep``."""
        shallow = {f.name: getattr(self, f.name) for f in self._arguments()}
        inner = (
            (f"{at}__{name}", value)
            for at, child in (self._children() if deep else ())
            for name, value in child.get_params().items()
        )
        return shallow | dict(inner)

    def __sklearn_clone__(self) -> Self:
        return self  # a value need not be copied

    def __repr__(self) -> str:
        return self._said(short=False)

    def __str__(self) -> str:
        return self._said(short=True)

    def _said(self, *, short: bool) -> str:
        """As one would type it; an expression that is held as a whole says so once, at its end."""
        free = self._released()
        if not any(self._children()) or not free.names or free.fixed() != self:
            return self._written(short=short)
        text = free._written(short=short)
        is_call = text.startswith(f"{type(self).__name__}(")
        return f"{text}.fixed()" if is_call else f"({text}).fixed()"

    def _released(self) -> Self:
        """With no parameter held."""
        changes = {at: child._released() for at, child in self._children()}
        return replace(self, held=(), **changes)

    def _written(self, *, short: bool) -> str:
        """As one would type it: the first argument by position, others by name if not default."""
        said: list[str] = []
        for i, f in enumerate(self._arguments()):
            value = getattr(self, f.name)
            if f.default is MISSING or value != f.default:
                text = (
                    value._written(short=short)
                    if isinstance(value, ParameterTree)
                    else (parameters.written(value, short))
                )
                said.append(text if i == 0 else f"{f.name}={text}")
        inside, after = self._marks()
        return f"{type(self).__name__}({', '.join(said + inside)}){after}"

    @property
    def _is_marked(self) -> bool:
        return bool(self.held or self.limits)

    def _marks(self) -> tuple[list[str], str]:
        """What holds or bounds parameters, as one would type it: arguments, and calls after them.

        The calls also reach parameters of the same name further down; then only arguments will do.
        """
        marked = {*self.held, *(name for name, _, _ in self.limits)}
        below = {
            parameters.last_name(name)
            for _, child in self._children()
            for name in _all_names(child)
        }
        if marked & below:
            said = (("held", self.held), ("limits", self.limits))
            return [f"{name}={value!r}" for name, value in said if value], ""
        everything = not below and set(self.held) == set(self._own())
        held = "" if everything else ", ".join(repr(name) for name in self.held)
        limits = ", ".join(f"{name}=({lower!r}, {upper!r})" for name, lower, upper in self.limits)
        return [], (f".fixed({held})" if self.held else "") + (
            f".bounded({limits})" if limits else ""
        )

    def _tuned(self, ranges: Mapping[str, Range]) -> tuple[Self, Array]:
        """With unset parameters at their start, and the log bounds (P_own, 2) of the free ones."""
        starts: dict[str, Any] = {}
        rows: list[tuple[float, float]] = []
        for name in self._own():
            given = getattr(self, name)
            known = ranges.get(name) or self._default_range(name)
            value = known.start if given is None else parameters.spread(given, known.start)
            low, high = (parameters.spread(v, value) for v in (known.lower, known.upper))
            if name not in self.held:
                limits = self._limits_of(name)
                value = value if limits is None else parameters.clipped(value, limits)
                rows += parameters.ranges_within(value, low, high, limits)
            starts[name] = value
        bounds = np.log(np.asarray(rows, dtype=np.float64).reshape(-1, 2))
        return replace(self, **starts), bounds

    def _default_range(self, name: str) -> Range:
        about = next(f.metadata for f in fields(self) if f.name == name)
        return Range(about["neutral"], *about["bounds"])

    def _limits_of(self, name: str) -> tuple[float, float] | None:
        return next(((lower, upper) for n, lower, upper in self.limits if n == name), None)

    def _gathered(self, **gradients: Callable[[], Any]) -> Array:
        """The own part of dL/dtheta: what each free parameter's function returns, in order."""
        parts = [np.atleast_1d(gradients[name]()) for name in self._free()]
        return np.concatenate([np.empty(0), *parts])

    def _settled(self) -> Self:
        """With unset parameters at their neutral value, own ones only."""
        unset = [name for name in self._own() if getattr(self, name) is None]
        if not unset:
            return self
        neutral: dict[str, Any] = {name: self._default_range(name).start for name in unset}
        return replace(self, **neutral)

    def _marked(
        self, mark: Callable[[Any, dict[str, str]], Any], asked: tuple[str, ...] | None
    ) -> Self:
        """Apply ``mark`` to each part of the tree with those of its names that are asked for."""
        known = sorted(_all_names(self))
        unknown = set(asked or ()) - {*known, *(parameters.last_name(name) for name in known)}
        if unknown:
            raise ValueError(f"{self} has no parameter {min(unknown)!r}; it has {known}.")
        return self._mark(mark, None if asked is None else {name: name for name in asked})

    def _mark(
        self, mark: Callable[[Any, dict[str, str]], Any], asked: Mapping[str, str] | None
    ) -> Self:
        """``asked`` maps names as seen from here to names as they were asked for; None: all."""
        own = {
            n: n if asked is None else asked[n] for n in self._own() if asked is None or n in asked
        }
        changes = {
            at: child._mark(mark, None if asked is None else parameters.path_below(asked, at))
            for at, child in self._children()
        }
        tree = replace(self, **changes) if changes else self
        return mark(tree, own) if own else tree

    def _arguments(self) -> list[Any]:
        """The fields one passes to the constructor."""
        return [f for f in fields(self) if f.init and not f.metadata.get("aside")]

    def _own(self) -> list[str]:
        return [f.name for f in fields(self) if f.metadata.get("positive")]

    def _free(self) -> list[str]:
        return [name for name in self._own() if name not in self.held]

    def _children(self) -> Iterator[tuple[str, Any]]:
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, ParameterTree):
                yield f.name, value


def _all_names(tree: ParameterTree) -> Iterator[str]:
    """Every nested name, held or not."""
    yield from tree._own()
    for at, child in tree._children():
        yield from (f"{at}__{name}" for name in _all_names(child))
