"""Mixtures: several predictions for one query, each with its weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from posterity import quadrature
from posterity.arrays import Array
from posterity.distributions import base, inversion, normal, normal_quantiles, parameters
from posterity.distributions.assortment import Assortment
from posterity.distributions.base import Continuous

_EPS = float(np.finfo(np.float64).eps)
_MANY = 50_000  # components in all: of fewer, quantiles do not wait for a compiler
_COMMON = 1e-3  # chances that are found without logarithms
_LEVELS = np.array(
    [1e-14, 1e-10, 1e-7, 1e-4, 3e-3, 0.05, 0.2, 0.5]
)  # between which a cdf is smooth enough
_Function: TypeAlias = Callable[[Array], Array]


@dataclass(frozen=True, repr=False, eq=False)
class Mixture(Continuous):
    """Weighted sums of densities.

    The variance has two parts: what the components are unsure of themselves (aleatoric), and what
    they disagree about (epistemic).

    Parameters
    ----------
    components : Continuous or sequence of Continuous
        One distribution whose last batch axis lists the K components, or K distributions, of one
        family or of several, which are stacked so. (For classes see ``Categorical.average``.)
    log_weights : array-like of shape (..., K)
        Logs of weights that sum to 1; broadcast against the components.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import distributions
    >>> trees = distributions.Normal([[0.0, 2.0], [5.0, 5.0]], scale=1.0)
    >>> forest = distributions.Mixture(trees, np.log([0.5, 0.5]))
    >>> forest
    Mixture(shape=(2,))
    >>> forest.mean(), forest.epistemic_variance()
    (array([1., 5.]), array([1., 0.]))
    """

    components: Continuous
    log_weights: Array

    def __init__(
        self, components: Continuous | Sequence[Continuous], log_weights: ArrayLike
    ) -> None:
        stacked = _stack_components(components)
        log_w = parameters.check_log_probabilities("log_weights", log_weights)
        shape = _common_shape(stacked.shape, log_w.shape)
        object.__setattr__(self, "components", stacked._broadcast_to(shape))
        object.__setattr__(self, "log_weights", np.broadcast_to(log_w, shape))

    @classmethod
    def average(cls, members: Sequence[Continuous], weights: ArrayLike) -> Mixture:
        """Return the average of distributions of one family, or of mixtures of it.

        Examples
        --------
        >>> from posterity import distributions
        >>> two = distributions.Mixture(distributions.Normal([0.0, 2.0], 1.0), np.log([0.5, 0.5]))
        >>> one = distributions.Normal(5.0, 1.0)
        >>> float(distributions.Mixture.average([two, one], [0.5, 0.5]).mean())
        3.0
        """
        parts = [part if isinstance(part, cls) else cls([part], [0.0]) for part in members]
        fields = [part.components._parameters() for part in parts]
        joined = {
            name: np.concatenate([own[name] for own in fields], axis=-1) for name in fields[0]
        }
        log_w = [
            np.log(w) + part.log_weights for w, part in zip(np.asarray(weights), parts, strict=True)
        ]
        return cls(parts[0].components._with(joined), np.concatenate(log_w, axis=-1))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.log_weights.shape[:-1]

    def mean(self) -> Array:
        return self._average_components(self.components.mean())

    def variance(self) -> Array:
        within = self.aleatoric_variance()
        return np.where(np.isinf(within), np.inf, within + self.epistemic_variance())

    def aleatoric_variance(self) -> Array:
        """Mean variance of the components: what would remain if they agreed."""
        return self._average_components(self.components.variance())

    def epistemic_variance(self) -> Array:
        """Variance of the means of the components: how much they disagree."""
        return self._average_components((self.components.mean() - self.mean()[..., None]) ** 2)

    def logpdf(self, y: ArrayLike) -> Array:
        return self._log_average_components(self.components.logpdf(_add_component_axis(y)))

    def cdf(self, y: ArrayLike) -> Array:
        return np.minimum(
            self._average_components(self.components.cdf(_add_component_axis(y))), 1.0
        )

    def ccdf(self, y: ArrayLike) -> Array:
        return np.minimum(
            self._average_components(self.components.ccdf(_add_component_axis(y))), 1.0
        )

    def logcdf(self, y: ArrayLike) -> Array:
        return np.minimum(
            self._log_average_components(self.components.logcdf(_add_component_axis(y))), 0.0
        )

    def logccdf(self, y: ArrayLike) -> Array:
        return np.minimum(
            self._log_average_components(self.components.logccdf(_add_component_axis(y))), 0.0
        )

    def entropy(self) -> Array:
        """Expected -log density, by quadrature; -inf where a component is a single point."""

        def surprise(x: Array) -> Array:
            log_p = self.logpdf(x)
            finite = np.where(np.isfinite(log_p), log_p, 0.0)
            return -np.where(np.isfinite(log_p), np.exp(finite) * finite, 0.0)

        points = (self.components.variance() == 0.0) & (self.log_weights > -np.inf)
        value = quadrature.integrate(surprise, self._breakpoints())
        return np.where(np.any(points, axis=-1), -np.inf, value)

    def crps(self, y: ArrayLike) -> Array:
        """Continuous ranked probability score of each prediction at y; lower is better.

        That of the components on average, less the integral of the variance of their cdfs, since
        the score is the integral of a square.
        """
        if isinstance(self.components, normal.Normal):
            return self._crps_of_normals(np.asarray(y, dtype=np.float64))
        expected = self._average_components(self.components.crps(_add_component_axis(y)))
        return expected - self._gain_by_mixing()  # [GR 20]

    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        size, K = base.draw_shape(shape, self.shape), self.log_weights.shape[-1]
        chosen = np.argmax(self.log_weights + rng.gumbel(size=(*size, K)), axis=-1)
        first = K * np.arange(self.size).reshape(self.shape)
        return self.components._take(first + chosen).sample(rng=rng)

    def _take(self, positions: NDArray[np.intp]) -> Self:
        K = self.log_weights.shape[-1]
        components = self.components._take(K * positions[..., None] + np.arange(K))
        return type(self)(components, self.log_weights.reshape(-1, K)[positions])

    def _icdf(self, p: Array) -> Array:
        quantiles = self.components.icdf(p[..., None])
        return self._search_quantile(quantiles, p, self.cdf, self.logcdf, 1.0)

    def _iccdf(self, p: Array) -> Array:
        quantiles = self.components.iccdf(p[..., None])
        return self._search_quantile(quantiles, p, self.ccdf, self.logccdf, -1.0)

    def _search_quantile(
        self, quantiles: Array, p: Array, f: _Function, log_f: _Function, sign: float
    ) -> Array:
        """Solve f = p between the least and the greatest quantile of the components."""
        used = self.log_weights > -np.inf
        low = np.min(np.where(used, quantiles, np.inf), axis=-1)
        high = np.max(np.where(used, quantiles, -np.inf), axis=-1)
        inner = (p > 0.0) & (p < 1.0) & (low < high)
        inner_p = np.where(inner, p, 0.5)

        def by_value(x: Array) -> tuple[Array, Array]:
            with np.errstate(over="ignore", invalid="ignore"):
                slope = self._average_components(
                    np.exp(self.components.logpdf(_add_component_axis(x)))
                )
            return sign * (f(x) / inner_p - 1.0), slope / inner_p

        def by_logarithm(x: Array) -> tuple[Array, Array]:
            log_value = log_f(x)
            with np.errstate(over="ignore", invalid="ignore"):
                slope = np.exp(self.logpdf(x) - log_value)
            return sign * (log_value - np.log(inner_p)), slope

        at_zero, at_one = (low, high) if sign > 0.0 else (high, low)
        start, end = np.where(inner, low, 0.0), np.where(inner, high, 0.0)
        guess = np.clip(np.where(inner, self._average_components(quantiles), 0.0), start, end)
        # Logarithms find the quantile of any chance; for common ones they cost ten times the rest.
        common = bool(np.all(inner_p >= _COMMON))
        many = quantiles.size >= _MANY
        if common and many and inner.all() and self._has_spread_normals():
            return self._quantiles_of_normals(inner_p, (start, end, guess), sign)
        evaluate = by_value if common else by_logarithm
        rounding = 4.0 * _EPS * (1.0 - np.log(inner_p))
        root = inversion.solve_increasing(evaluate, start, end, rounding, guess)
        return np.where(inner, root, np.where(p > 0.0, at_one, at_zero))

    def _has_spread_normals(self) -> bool:
        """Whether the components are normals, none of them a single point."""
        return isinstance(self.components, normal.Normal) and bool(np.all(self.components.scale))

    def _quantiles_of_normals(
        self, p: Array, bracket: tuple[Array, Array, Array], sign: float
    ) -> Array:
        """The same in compiled code, for each entry of p."""
        components: Any = self.components
        shape = (*p.shape, self.log_weights.shape[-1])
        parts = (components.location, components.scale, self._weights())
        m, s, w = (np.broadcast_to(part, shape).reshape(-1, shape[-1]) for part in parts)
        low, high, guess = (np.ravel(np.broadcast_to(end, p.shape)) for end in bracket)
        root = normal_quantiles.solve_mixture_quantiles(
            m, s, w, np.ravel(p), (low, high, guess), sign=sign
        )
        return root.reshape(p.shape)

    def _breakpoints(self) -> Array:
        return _merge_breakpoints(self._mask_unused(self.components._breakpoints()))

    def _crps_of_normals(self, y: Array) -> Array:
        """E|Y - y| - E|Y - Y'| / 2, a double sum over the components."""
        m, s, w = self.components.mean(), self.components.standard_deviation(), self._weights()
        spread = np.sum(w**2 * _mean_distance(np.zeros(()), np.sqrt(2.0) * s), axis=-1)
        for k in range(m.shape[-1] - 1):
            rest = slice(k + 1, None)
            distances = _mean_distance(
                m[..., k, None] - m[..., rest], np.hypot(s[..., k, None], s[..., rest])
            )
            spread = spread + 2.0 * w[..., k] * np.sum(w[..., rest] * distances, axis=-1)
        return np.sum(w * _mean_distance(y[..., None] - m, s), axis=-1) - 0.5 * spread  # [GR 21]

    def _gain_by_mixing(self) -> Array:
        """Integral of the variance of the cdfs of the components."""

        def spread(x: Array) -> Array:
            values = self.components.cdf(_add_component_axis(x))
            about = values - self._average_components(values)[..., None]
            return self._average_components(about**2)

        levels = _LEVELS.reshape(-1, *(1,) * len(self.log_weights.shape))
        points = [self.components.icdf(levels), self.components.iccdf(levels[-2::-1])]
        merged = _merge_breakpoints(self._mask_unused(np.concatenate(points)))
        return quadrature.integrate(spread, merged)

    def _mask_unused(self, points: Array) -> Array:
        """Replace points of components without weight by those of the heaviest component."""
        heaviest = np.argmax(self.log_weights, axis=-1)[None, ..., None]
        return np.where(
            self.log_weights > -np.inf, points, np.take_along_axis(points, heaviest, axis=-1)
        )

    def _average_components(self, values: Array) -> Array:
        """Weighted sum over the components, where a weight of zero hides even infinity."""
        w = self._weights()
        return np.sum(w * np.where(w > 0.0, values, 0.0), axis=-1)

    def _weights(self) -> Array:
        """Weights of the components."""
        return np.exp(self.log_weights)

    def _log_average_components(self, log_values: Array) -> Array:
        """Log of the weighted sum over the components."""
        used = self.log_weights > -np.inf
        log_w = np.where(used, self.log_weights, 0.0)
        return logsumexp(np.where(used, log_w + log_values, -np.inf), axis=-1)


def _mean_distance(d: Array, s: Array) -> Array:
    """E|Y| for Y normal of mean d and standard deviation s."""
    unit = np.where(s > 0.0, s, 1.0)
    with np.errstate(over="ignore"):
        z = d / unit
    near = (s > 0.0) & np.isfinite(z)
    return np.where(near, unit * normal.mean_distance(np.where(near, z, 0.0)), np.abs(d))


def _merge_breakpoints(points: Array) -> Array:
    """Breakpoints of a mixture, (P, ...), from those of its components, (J, ..., K).

    Of each component at most one lies between two of them, so that components which agree have
    hardly more together than one alone.
    """
    J, K = points.shape[0], points.shape[-1]
    flat = np.moveaxis(points, -1, 1).reshape(J * K, -1)
    order = np.argsort(flat, axis=0, kind="stable")
    merged = np.take_along_axis(flat, order, axis=0)
    rows = np.arange(flat.shape[1])
    kept = np.zeros(flat.shape, dtype=bool)
    last_kept = np.zeros(len(rows), dtype=np.intp)
    last_seen = np.full((K, len(rows)), -1)
    for i, owner in enumerate(order % K):
        kept[i] = last_seen[owner, rows] >= last_kept
        last_kept[kept[i]] = i
        last_seen[owner, rows] = i
    kept[0] = kept[-1] = True
    places = np.argsort(~kept, axis=0, kind="stable")[: np.max(np.sum(kept, axis=0), initial=1)]
    chosen = np.take_along_axis(np.where(kept, merged, merged[-1]), places, axis=0)
    return chosen.reshape(-1, *points.shape[1:-1])


def _add_component_axis(y: ArrayLike) -> Array:
    """y with an axis for the components."""
    return np.asarray(y, dtype=np.float64)[..., None]


def _stack_components(components: Continuous | Sequence[Continuous]) -> Continuous:
    """One distribution whose last batch axis lists the components."""
    if isinstance(components, Continuous):
        return components
    members = list(components) if isinstance(components, Sequence) else [components]
    families = {type(member) for member in members}
    if not members or not all(isinstance(member, Continuous) for member in members):
        names = ", ".join(sorted(family.__name__ for family in families)) or "nothing"
        raise TypeError(
            f"A mixture needs continuous components; got {names}. "
            "For predictions of classes use average()."
        )
    fields = members[0]._parameters().values()
    if len(families) > 1 or not all(isinstance(value, np.ndarray) for value in fields):
        return Assortment.align(members)
    shape = np.broadcast_shapes(*(member.shape for member in members))
    alike = [member._broadcast_to(shape)._parameters() for member in members]
    return members[0]._with(
        {name: np.stack([fields[name] for fields in alike], axis=len(shape)) for name in alike[0]}
    )


def _common_shape(components: tuple[int, ...], log_weights: tuple[int, ...]) -> tuple[int, ...]:
    """The batch of components, with at least the component axis."""
    if not components or components[-1] != log_weights[-1]:
        raise ValueError(
            f"The last axis must list the components, but the components have shape {components} "
            f"and log_weights {log_weights}."
        )
    return np.broadcast_shapes(components, log_weights)
