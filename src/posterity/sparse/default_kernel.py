"""The default kernel of relevance vectors: an RBF whose length scales a Gaussian process finds.

The evidence of a choice of vectors is a poor guide to the width of a kernel: it has many local
maxima, and grows without end as the kernel narrows. That of a process, which integrates over all
functions that its kernel allows, does not. So widths begin with that of a process, shared by all
columns or one for each. Vectors are chosen at this width and at wider ones, and compared by
the evidence less what noise would earn: a nat for each vector and for each further length scale,
and for each vector the log of the number of unlike columns it was chosen among.

Widths are compared in normal noise, on a thousand rows at most. For other likelihoods, whose fits
take longer, the targets are then the slopes of the log likelihood at no vectors. All rows and the
likelihood itself decide only between the best shared width, the best widths of each column, and
half an octave less of both. Many classes have fits of their own that are fast enough.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posterity import arrays, kernels
from posterity.arrays import Array, DeviceArray, to_numpy
from posterity.inference.observations import Observations
from posterity.inference.search import climb_evidence, negate_evidence
from posterity.process import Evidence
from posterity.sparse import vector_prices
from posterity.sparse.engines import KernelEngine, LatentOutputs, NormalOutputs
from posterity.sparse.kernel_search import (
    MANY_ROWS,
    LearnedVectors,
    fall_behind,
    fall_short,
    keep_if_earned,
    take_simplest,
)
from posterity.sparse.normal_columns import NormalTargets
from posterity.sparse.problem import Chosen

_PROCESS_ROWS = 500
_FEW_ROWS = 1000  # on which widths are compared
_OCTAVES = (1.5, 1.0, 0.5, 0.0)  # wider than the process; wide kernels keep the fewest vectors
_NOISE = 0.3  # of the targets' mean square, where the search starts
_NOISE_BOUNDS = (1e-5, 3.0)
_SPREAD = 1.7  # standard deviation of the log of a column's length scale about the shared one
_LONGEST = 30.0  # times the root of the number of columns: functions are straight over all rows
_ITERATIONS = 60
_LEAST_GAIN = 1e-2  # nats


def learn_default_kernel(engine: KernelEngine, *, rng: np.random.Generator) -> LearnedVectors:
    """The RBF of the largest evidence less prices, and its vectors; rows have unit variances.

    Examples
    --------
    >>> from posterity import priors
    >>> from posterity.sparse import SparseProblem
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1.7, 1.7, (80, 2))
    >>> outputs = NormalOutputs(np.sin(3.0 * X[:, :1]) + 0.1 * rng.normal(size=(80, 1)))
    >>> engine = KernelEngine(X, outputs, SparseProblem(priors.Sparse(), tol=1e-3), rng)
    >>> learned = learn_default_kernel(engine, rng=rng)
    >>> np.round(learned.kernel.length_scale, 1), len(learned.chosen.places)
    (array([ 0.6, 20.8]), 6)
    """
    many = _draw_rows(engine, MANY_ROWS, rng)
    few = _draw_rows(many, _FEW_ROWS, rng)
    normal = _in_normal_noise(few)
    starts = _find_lengths(_draw_rows(normal, _PROCESS_ROWS, rng))
    if isinstance(few.outputs, LatentOutputs) and few.outputs.has_many_classes(few.problem):
        found, compared = _widen_alike(few, starts), few
    else:
        found, compared = [_best_width(normal, kernel) for kernel in starts], normal
        if normal is not many:
            pairs = zip(found, starts, strict=True)
            tried = [kernel for one, start in pairs for kernel in _narrow_once(one.kernel, start)]
            found, compared = [_score_kernel(many, kernel) for kernel in tried], many
    best = take_simplest(found)
    return keep_if_earned(
        engine, best if compared is engine else _score_kernel(engine, best.kernel)
    )


def _draw_rows(engine: KernelEngine, size: int, rng: np.random.Generator) -> KernelEngine:
    """The same on a part of its rows, of this size at most, drawn at random."""
    n = kernels.rows.count_rows(engine.rows)
    return engine if n <= size else engine.select_rows(np.sort(rng.permutation(n)[:size]))


def _in_normal_noise(engine: KernelEngine) -> KernelEngine:
    """The same rows with targets in normal noise, whose fits are fast.

    Those of another likelihood are the slopes of its log, where there are no vectors.
    """
    if not isinstance(outputs := engine.outputs, LatentOutputs):
        return engine
    t = replace(outputs.targets, weights=None)
    slopes = t.slope(t.latents(np.zeros((t.n_rows, t.n_outputs))))
    return replace(engine, outputs=NormalOutputs(slopes, outputs.weights))


def _find_lengths(engine: KernelEngine) -> list[kernels.RBF]:
    """The kernels of a process: with one length scale, and with one for each column."""
    outputs = engine.outputs
    assert isinstance(outputs, NormalOutputs)
    targets = NormalTargets.from_outputs(
        outputs.Y, outputs.weights, centred=engine.problem.offset, noise_variance=None
    )
    if not len(targets.unit):  # nothing varies
        return [kernels.RBF(1.0)]
    Y = targets.WY / targets.row_weights()[:, None]
    return learn_length_scales(engine.rows, Y, outputs.weights)


def _score_kernel(engine: KernelEngine, kernel: kernels.Kernel) -> LearnedVectors:
    """The vectors of a kernel, and their evidence less prices."""
    fitted = engine.select(kernel, None, coarse=False)
    Z, n_untied = _standardize_chosen(engine, kernel, fitted[0]), len(kernel.theta) - 1
    price = vector_prices.price_noise(Z, engine.outputs.weights, fitted[0].precision)
    cost = price + vector_prices.NOISE_EARNS * n_untied
    return LearnedVectors(kernel, *fitted, fitted[0].value - cost)


def _standardize_chosen(engine: KernelEngine, kernel: kernels.Kernel, chosen: Chosen) -> Array:
    """The chosen columns, (N, m), of unit mean square."""
    pool = engine.rows if engine.pool is None else engine.pool
    K = to_numpy(kernel(engine.rows, kernels.rows.select_rows(pool, chosen.places)))
    return (K - chosen.center) / chosen.scale


def _best_width(engine: KernelEngine, kernel: kernels.RBF) -> LearnedVectors:
    """The best of several widths, the widest first, down to that of the kernel."""
    found: list[LearnedVectors] = []
    for octaves in _OCTAVES:
        found.append(_score_kernel(engine, kernel.with_theta(kernel.theta + np.log(2.0) * octaves)))
        if fall_short(engine, found[-1]) or fall_behind(found):
            break
    return take_simplest(found)


def _widen_alike(engine: KernelEngine, starts: list[kernels.RBF]) -> list[LearnedVectors]:
    """The best of several widths of the first kernel, and the others widened by as much."""
    first = _best_width(engine, starts[0])
    wider = first.kernel.theta[0] - starts[0].theta[0]
    return [first, *(_score_kernel(engine, k.with_theta(k.theta + wider)) for k in starts[1:])]


def _narrow_once(kernel: kernels.Kernel, start: kernels.RBF) -> list[kernels.Kernel]:
    """The kernel, and one that is half an octave narrower unless the process is wider."""
    narrower = kernel.theta - 0.5 * np.log(2.0)
    if np.any(narrower < start.theta - 1e-9):
        return [kernel]
    return [kernel, kernel.with_theta(narrower)]


def learn_length_scales(
    rows: DeviceArray, Y: Array, weights: Array | None = None
) -> list[kernels.RBF]:
    """The RBF of the largest evidence with one length scale, and with one for each column.

    Parameters
    ----------
    rows : array of shape (N, D)
        With columns of about unit variance.
    Y : array of shape (N, K)
        Outputs of about unit mean square, about their mean. They share the kernel and the noise.
    weights : array of shape (N,), optional
        How often each row counts.

    Returns
    -------
    found : list of RBF
        Only the first where there is one column, or where columns are not fewer than rows.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-2.0, 2.0, (60, 2))
    >>> shared, each = learn_length_scales(X, np.sin(2.0 * X[:, :1]))
    >>> round(shared.length_scale, 1), np.round(each.length_scale, 1)
    (1.4, array([ 1.1, 42.4]))
    """
    evidence = Evidence(rows, Observations.from_targets(arrays.like(rows, Y), weights=weights))
    n, D = rows.shape
    x = _climb_posterior(evidence, kernels.RBF(), np.array([0.0, np.nan, np.log(_NOISE)]))
    shared = kernels.RBF(float(np.exp(x[1])))
    if not 1 < D < n:
        return [shared]
    start = np.concatenate([x[:1], np.full(D, x[1]), x[2:]])
    x = _climb_posterior(evidence, kernels.RBF((1.0,) * D), start)
    return [shared, kernels.RBF(tuple(np.exp(x[1:-1])))]


def _climb_posterior(evidence: Evidence, kernel: kernels.RBF, start: Array) -> Array:
    """The best log variance, log length scales and log noise variance.

    Several length scales have a normal prior about their start. A start that is not a number is
    that of the kernel.
    """
    scaled, bounds = kernels.Scaled(kernel, 1.0).search_start(evidence.X)
    begin = np.where(np.isnan(start), np.append(scaled.theta, 0.0), start)
    longest = np.log(_LONGEST * np.sqrt(evidence.X.shape[1]))
    bounds[1:, 1] = np.minimum(bounds[1:, 1], longest)
    inverse_spread = np.zeros_like(begin)
    inverse_spread[1:-1] = 1.0 / _SPREAD if len(begin) > 3 else 0.0

    def log_posterior(x: Array) -> tuple[float, Array]:
        value, slope = evidence(scaled.with_theta(x[:-1]), float(np.exp(x[-1])))
        apart = (x - begin) * inverse_spread
        return value - 0.5 * float(apart @ apart), slope - apart * inverse_spread

    return climb_evidence(
        negate_evidence(log_posterior),
        begin,
        limits=np.vstack([bounds, np.log(_NOISE_BOUNDS)]),
        names=[*scaled.names, "noise_variance"],
        max_iter=_ITERATIONS,
        least_gain=_LEAST_GAIN,
        announce=False,  # it is a budget
    ).x
