"""Distributions of monotone functions of a variable: a logarithm that is normal, and the like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity.arrays import Array
from posterity.distributions.base import Continuous

_Function: TypeAlias = Callable[[Array], Array]
_STEP = float(np.finfo(np.float64).eps) ** (1.0 / 3.0)  # of a central difference
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
# Integrals over probabilities p = exp(-s) from both ends, to tails of e^-80.
_EDGES = np.concatenate([np.log(2.0) + np.linspace(0.0, 7.0, 15), np.arange(9.0, 80.0, 8.0)])
_FAR = np.array([1e-30, 1e-100, 1e-250])  # probabilities at which tails show how they end


@dataclass(frozen=True)
class MonotoneMap:
    """A strictly monotone function of the target, and its inverse.

    Parameters
    ----------
    forward : callable
        From targets to the variable that is modelled; elementwise.
    inverse : callable
        Back to targets.
    slope : callable, optional
        Derivative of ``forward``. None: by central differences, to about ten digits.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import distributions
    >>> log = distributions.MonotoneMap(np.log, np.exp, np.reciprocal)
    >>> float(distributions.Transformed(distributions.Normal(0.0, 1.0), log).median())
    1.0
    """

    forward: _Function
    inverse: _Function
    slope: _Function | None = field(default=None)

    def log_slope(self, y: Array) -> Array:
        """Log of the absolute derivative of ``forward`` at y."""
        with np.errstate(all="ignore"):
            if self.slope is not None:
                return np.log(np.abs(self.slope(y)))
            h = _STEP * np.maximum(np.abs(y), 1e-3)
            low, high = y - h, y + h
            return np.log(np.abs(self.forward(high) - self.forward(low)) / (high - low))


@dataclass(frozen=True, repr=False, eq=False)
class Transformed(Continuous):
    """Targets of which a monotone function has a known distribution.

    Parameters
    ----------
    latent : Continuous
        Distribution of ``map.forward(y)``.
    map : MonotoneMap
        The function.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import distributions
    >>> log = distributions.MonotoneMap(np.log, np.exp, np.reciprocal)
    >>> price = distributions.Transformed(distributions.Normal([0.0, 3.0], 0.5), log)
    >>> price.mean().round(2), price.interval(0.9)[1].round(2)
    (array([ 1.13, 22.76]), array([ 2.28, 45.72]))
    """

    latent: Continuous
    map: MonotoneMap

    def __post_init__(self) -> None:
        if not isinstance(self.latent, Continuous):
            raise TypeError(
                f"Only continuous distributions can be transformed, not "
                f"{type(self.latent).__name__}."
            )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.latent.shape

    def mean(self) -> Array:
        """Expected value, infinite where the tails of ``latent`` are too heavy for the map."""
        return self._expect(lambda y: y)

    def variance(self) -> Array:
        """Variance, infinite where the tails of ``latent`` are too heavy for the map."""
        center = self.median()
        square = self._expect(lambda y: (y - center) ** 2)
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(square), np.inf, square - (self.mean() - center) ** 2)

    def logpdf(self, y: ArrayLike) -> Array:
        values = np.asarray(y, dtype=np.float64)
        z = self._to_latent(values)
        with np.errstate(invalid="ignore"):
            inside = self.latent.logpdf(np.where(np.isfinite(z), z, 0.0)) + self.map.log_slope(
                values
            )
        return np.where(np.isfinite(z) & ~np.isnan(inside), inside, -np.inf)

    def cdf(self, y: ArrayLike) -> Array:
        return self._below(y, self.latent.cdf, self.latent.ccdf)

    def ccdf(self, y: ArrayLike) -> Array:
        return self._below(y, self.latent.ccdf, self.latent.cdf)

    def logcdf(self, y: ArrayLike) -> Array:
        return self._below(y, self.latent.logcdf, self.latent.logccdf)

    def logccdf(self, y: ArrayLike) -> Array:
        return self._below(y, self.latent.logccdf, self.latent.logcdf)

    def entropy(self) -> Array:
        """Entropy of ``latent`` less the expected log slope of the map."""
        return self.latent.entropy() - self._expect(self.map.log_slope)

    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        return self._from_latent(self.latent.sample(shape, rng=rng))

    def _take(self, positions: NDArray[np.intp]) -> Self:
        return type(self)(self.latent._take(positions), self.map)

    def _icdf(self, p: Array) -> Array:
        find = self.latent.icdf if self._increases() else self.latent.iccdf
        return self._from_latent(find(p))

    def _iccdf(self, p: Array) -> Array:
        find = self.latent.iccdf if self._increases() else self.latent.icdf
        return self._from_latent(find(p))

    def _below(self, y: ArrayLike, rising: Any, falling: Any) -> Array:
        """A function of the distribution, by the one of ``latent`` on the same side."""
        z = self._to_latent(np.asarray(y, dtype=np.float64))
        return rising(z) if self._increases() else falling(z)

    def _increases(self) -> bool:
        """Whether the map is increasing, seen at the quartiles of all predictions."""
        low, high = (float(np.ravel(self.latent.icdf(p))[0]) for p in (0.25, 0.75))
        ends = self._from_latent(np.array([low, high]))
        return bool(ends[0] <= ends[1])

    def _from_latent(self, z: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(self.map.inverse(np.asarray(z, dtype=np.float64)))

    def _to_latent(self, y: Array) -> Array:
        """The variable at y; an infinite one beyond the targets that the map can reach."""
        with np.errstate(all="ignore"):
            z = np.asarray(self.map.forward(y), dtype=np.float64)
        if not np.isnan(z).any():
            return z
        side = np.where(np.less(y, self.median()), -np.inf, np.inf)
        return np.where(np.isnan(z), side if self._increases() else -side, z)

    def _expect(self, g: _Function) -> Array:
        """Expected value of g(Y): an integral over quantiles; infinite where it diverges."""
        half = 0.5 * np.diff(_EDGES)[:, None]
        s = (_EDGES[:-1, None] + half * (1.0 + _NODES)).reshape(-1, *(1,) * len(self.shape))
        w = (half * _WEIGHTS).reshape(s.shape) * np.exp(-s)
        p, far = np.exp(-s), _FAR.reshape(-1, *(1,) * len(self.shape))
        total, diverges = np.zeros(self.shape), np.zeros(self.shape, dtype=bool)
        with np.errstate(over="ignore", invalid="ignore"):
            for find in (self.icdf, self.iccdf):
                total = total + np.cumsum(w * g(find(p)), axis=0)[-1]  # in one order for any batch
                tail = np.abs(g(find(far))) * far
                diverges |= ~(tail[-1] <= tail[0])
        return np.where(diverges, np.inf, total)
