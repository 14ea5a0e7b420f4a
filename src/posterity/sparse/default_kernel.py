"""The default kernel of relevance vectors: an RBF whose length scales a Gaussian process finds.

The evidence of a choice of vectors is a poor guide to the width of a kernel: it has many local
maxima, and grows without end as the kernel narrows. So widths begin with that of a process, shared
by all columns or one for each. Vectors are chosen at this width and at wider ones, and compared by
the evidence less what noise would earn: a nat for each vector and for each further length scale,
and for each vector the log of the number of unlike columns it was chosen among.

Widths are compared in normal noise, on a thousand rows at most. For other likelihoods, whose fits
take longer, the targets are then the slopes of the log likelihood at no vectors. All rows and the
likelihood itself decide only between the best shared width, the best widths of each column, and
half an octave less of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from posterity import kernels
from posterity.arrays import Array, to_numpy
from posterity.sparse import vector_prices
from posterity.sparse.engines import KernelEngine, LatentOutputs, NormalOutputs
from posterity.sparse.kernel_search import (
    MANY_ROWS,
    LearnedVectors,
    ScoredKernel,
    fit_nothing,
    keep_if_earned,
    take_simplest,
)
from posterity.sparse.normal_targets import NormalTargets
from posterity.sparse.problem import Chosen
from posterity.sparse.process_lengths import learn_length_scales

_PROCESS_ROWS = 500
_FEW_ROWS = 1000  # on which widths are compared
_OCTAVES = (1.5, 1.0, 0.5, 0.0)  # wider than the process; wide kernels keep the fewest vectors
_REASON = "no other width, up to three times that of a Gaussian process, is better"


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
    found = [_best_width(normal, kernel) for kernel in starts]
    n_fits = len(_OCTAVES) * len(starts)
    if normal is not many:
        pairs = zip(found, starts, strict=True)
        tried = [kernel for one, start in pairs for kernel in _narrow_once(one.kernel, start)]
        found = [_score_kernel(many, kernel) for kernel in tried]
        n_fits += len(found)
    best = take_simplest(found)
    if many is not engine:
        best = _score_kernel(engine, best.kernel)
        n_fits += 1
    return keep_if_earned(engine, best, _REASON, n_fits)


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


def _score_kernel(engine: KernelEngine, kernel: kernels.Kernel) -> ScoredKernel:
    """The vectors of a kernel, and their evidence less prices."""
    fitted = engine.select(kernel, None, coarse=False)
    Z, n_untied = _standardize_chosen(engine, kernel, fitted[0]), len(kernel.theta) - 1
    price = vector_prices.price_noise(Z, engine.outputs.weights, fitted[0].precision)
    cost = price + vector_prices.NOISE_EARNS * n_untied
    return ScoredKernel(kernel, fitted, fitted[0].value - cost)


def _standardize_chosen(engine: KernelEngine, kernel: kernels.Kernel, chosen: Chosen) -> Array:
    """The chosen columns, (N, m), of unit mean square."""
    pool = engine.rows if engine.pool is None else engine.pool
    K = to_numpy(kernel(engine.rows, kernels.rows.select_rows(pool, chosen.places)))
    return (K - chosen.center) / chosen.scale


def _best_width(engine: KernelEngine, kernel: kernels.RBF) -> ScoredKernel:
    """The best of several widths, the widest first, down to that of the kernel."""
    found: list[ScoredKernel] = []
    for octaves in _OCTAVES:
        found.append(_score_kernel(engine, kernel.with_theta(kernel.theta + np.log(2.0) * octaves)))
        if _is_hopeless(engine, found):
            break
    return take_simplest(found)


def _narrow_once(kernel: kernels.Kernel, start: kernels.RBF) -> list[kernels.Kernel]:
    """The kernel, and one that is half an octave narrower unless the process is wider."""
    narrower = kernel.theta - 0.5 * np.log(2.0)
    if np.any(narrower < start.theta - 1e-9):
        return [kernel]
    return [kernel, kernel.with_theta(narrower)]


def _is_hopeless(engine: KernelEngine, found: Sequence[ScoredKernel]) -> bool:
    """Whether a narrower kernel, which takes longer, is not worth a trial.

    The last vectors fall far short of what they have to earn, or two widths in a row had more
    vectors than the best and did far worse.
    """
    last, best = found[-1], max(found, key=lambda one: one.criterion)
    gained = last.chosen.value - fit_nothing(engine, last.kernel)[0].value
    if vector_prices.is_hopeless(gained, last.chosen.n_precisions):
        return True
    most, least = best.chosen.n_precisions, best.criterion - vector_prices.HOPELESS
    worse = [one.chosen.n_precisions > most and one.criterion < least for one in found[-2:]]
    return len(found) > 1 and all(worse)
