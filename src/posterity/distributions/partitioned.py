"""Predictions for Dask rows, computed lazily in their partitions."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from posterity.distributions import base, dask_rows, joining, parameters
from posterity.distributions.base import Continuous, Discrete, Distribution, Univariate
from posterity.distributions.categorical import AveragedCategorical
from posterity.distributions.counts import CountDistribution
from posterity.distributions.mixture import Mixture


def _delegate(method: Callable[..., Any], dtype: DTypeLike = np.float64) -> Callable[..., Any]:
    """Delegate a method of a distribution to every partition; it returns a lazy Dask array."""
    parameters = inspect.signature(method)

    @functools.wraps(method)
    def ask(self: Partitioned, *args: Any, **kwargs: Any) -> Any:
        given = parameters.bind(self, *args, **kwargs).arguments
        beside = {name: given[name] for name in list(given)[1:]}
        return self._call_method(method.__name__, beside, dtype=dtype)

    return ask


@dataclass(frozen=True, eq=False, repr=False)
class Partitioned:
    """The result of ``predict_dist`` for Dask rows: one distribution per partition.

    It is asked like the distribution of all rows, and answers with Dask arrays, which are lazy:
    nothing is computed before they are, and arrays that are computed together share the
    predictions. Where a question goes by row (``log_prob(y)``), y is a Dask array or series cut
    into the same partitions, or one number for all.

    What family the predictions are of is known where they are made: a question that it has no
    answer to is refused when it is computed.

    Examples
    --------
    >>> import dask.array as da
    >>> import posterity
    >>> rows, targets = [[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.1, 2.9]
    >>> model = posterity.BayesianLinearRegression().fit(rows, targets)
    >>> X = da.arange(6, chunks=2).reshape(6, 1)
    >>> prediction = model.predict_dist(X)
    >>> prediction
    Partitioned(shape=(6,), n_partitions=3)
    >>> mean, std = prediction.mean(), prediction.standard_deviation()
    >>> mean.compute().round(2)
    array([0.14, 1.05, 1.95, 2.86, 3.77, 4.68])
    >>> prediction.compute()
    Mixture(shape=(6,))

    Predictions of a class also have probabilities:

    >>> model = posterity.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    >>> prediction = model.predict_dist(X)
    >>> prediction.probabilities()
    dask.array<rows, shape=(6, 2), dtype=float64, chunksize=(2, 2), chunktype=numpy.ndarray>
    >>> prediction.mode().compute()
    array([0, 0, 1, 1, 1, 1])
    """

    parts: tuple[Any, ...]  # delayed: a distribution, or None of a partition without rows
    lengths: tuple[float, ...]  # NaN where only reading would tell
    outputs: tuple[int, ...] = ()  # further axes of the batch
    n_classes: int | None = None  # None: predictions of numbers

    mean = _delegate(Distribution.mean)
    variance = _delegate(Distribution.variance)
    standard_deviation = _delegate(Distribution.standard_deviation)
    log_prob = _delegate(Distribution.log_prob)
    entropy = _delegate(Distribution.entropy)
    cdf = _delegate(Univariate.cdf)
    ccdf = _delegate(Univariate.ccdf)
    logcdf = _delegate(Univariate.logcdf)
    logccdf = _delegate(Univariate.logccdf)
    icdf = _delegate(Univariate.icdf)
    iccdf = _delegate(Univariate.iccdf)
    median = _delegate(Univariate.median)
    pdf = _delegate(Continuous.pdf)
    logpdf = _delegate(Continuous.logpdf)
    crps = _delegate(Continuous.crps)
    pmf = _delegate(CountDistribution.pmf)
    logpmf = _delegate(CountDistribution.logpmf)
    aleatoric_variance = _delegate(Mixture.aleatoric_variance)
    epistemic_variance = _delegate(Mixture.epistemic_variance)
    mode = _delegate(Discrete.mode, np.intp)
    aleatoric_entropy = _delegate(AveragedCategorical.aleatoric_entropy)
    epistemic_entropy = _delegate(AveragedCategorical.epistemic_entropy)

    def probabilities(self) -> Any:
        """Probability of every class, shape ``(*shape, C)``."""
        return self._call_class_method("probabilities")

    def log_probabilities(self) -> Any:
        """Log-probability of every class, shape ``(*shape, C)``."""
        return self._call_class_method("log_probabilities")

    def interval(self, coverage: float = 0.9) -> tuple[Any, Any]:
        """Lower and upper end of the central interval: as much outside on either side."""
        outside = 0.5 * (1.0 - parameters.check_coverage(coverage))
        return self.icdf(outside), self.iccdf(outside)

    def sample(self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator) -> Any:
        """Independent draws, of shape ``(*shape, *self.shape)``; the same however often computed.

        Each partition has random numbers of its own, so that other partitions of the same rows
        draw others.
        """
        before = base.draw_shape(shape, ())
        seed = np.random.SeedSequence(rng.integers(2**32, size=4).tolist())
        draw = _Draw(before, seed.spawn(len(self.parts)), self.outputs, self._draws)
        drawn = replace(self._cut, pieces=dask_rows.map_partitions(draw, self.parts))
        return drawn.stack(self.outputs, self._draws, before)

    def map(
        self,
        function: Callable[[Any], Any],
        shape: tuple[int, ...] = (),
        dtype: DTypeLike = np.float64,
    ) -> Any:
        """Apply a function to the distribution of each partition; returns a Dask array.

        Parameters
        ----------
        function : callable
            Of a distribution, such as ``lambda prediction: prediction.location``: an array whose
            first axis is that of its rows. It is sent to the workers.
        shape : tuple of int
            Shape of the result for one row.
        dtype : dtype
            Type of the numbers.
        """
        return self._cut.call(function, {}, np.empty((0, *shape), dtype)).stack(shape, dtype)

    def compute(self) -> Any:
        """The distribution of all rows, brought into memory."""
        import dask

        found = [part for part in dask.compute(*self.parts) if part is not None]
        if not found:
            raise ValueError("The partitions hold no rows, so that there is nothing to predict.")
        return joining.concatenate_predictions(found)

    def persist(self) -> Self:
        """The same, with the predictions made and kept where they are: in the workers' memory."""
        import dask

        return replace(self, parts=tuple(dask.persist(*self.parts)))

    def to_delayed(self) -> list[Any]:
        """A delayed distribution for each partition; None of one without rows."""
        return list(self.parts)

    @property
    def shape(self) -> tuple[float, ...]:
        """Shape of the batch; the number of rows is NaN where only reading would tell."""
        n = sum(self.lengths)
        return (n if math.isnan(n) else int(n), *self.outputs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, n_partitions={len(self.parts)})"

    @property
    def _draws(self) -> DTypeLike:
        """The type of a draw."""
        return np.float64 if self.n_classes is None else np.intp

    def _call_class_method(self, name: str) -> Any:
        if self.n_classes is None:
            raise ValueError(f"{name}() is defined for predictions of classes; these are numbers.")
        return self._call_method(name, {}, shape=(self.n_classes,))

    def _call_method(
        self,
        name: str,
        given: dict[str, Any],
        *,
        shape: tuple[int, ...] = (),
        dtype: DTypeLike = np.float64,
    ) -> Any:
        """Call a method on every partition, with one value per row or one for all rows."""
        form = (*self.outputs, *shape), dtype
        ask = functools.partial(_ask_predictions, name)
        return self._cut.call(ask, given, np.empty((0, *form[0]), dtype)).stack(*form)

    @property
    def _cut(self) -> dask_rows.DelayedPartitions:
        return dask_rows.DelayedPartitions(self.parts, self.lengths)


def _ask_predictions(name: str, part: Distribution, **given: Any) -> Any:
    """Call a method of the predictions of one partition, on a worker."""
    method = getattr(part, name, None)
    if method is None:
        raise TypeError(f"These predictions are {type(part).__name__}, which have no {name}.")
    return method(**given)


@dataclass(frozen=True)
class _Draw:
    """Task: draw from the predictions, with a separate random stream for each partition."""

    before: tuple[int, ...]
    seeds: list[np.random.SeedSequence]
    outputs: tuple[int, ...]
    dtype: DTypeLike

    def __call__(self, number: int, part: Distribution | None) -> Any:
        if part is None:
            return np.empty((*self.before, 0, *self.outputs), dtype=self.dtype)
        rng = np.random.default_rng(self.seeds[number])
        return np.asarray(part.sample(self.before, rng=rng), dtype=self.dtype)
