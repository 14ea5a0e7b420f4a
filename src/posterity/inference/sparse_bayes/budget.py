"""No more vectors than a prediction may cost.

Where the evidence asks for more, all rows are counted less, as if some repeated what others say,
until it asks for no more: fewer rows can tell fewer vectors apart, and those they choose are spread
over what there is to explain. To stop choosing early instead would leave all vectors where the
first residuals were largest. What is chosen then learns from all rows in full.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from posterity import kernels
from posterity.inference.sparse_bayes.engine import Chooser, Fitted, nothing
from posterity.inference.sparse_bayes.kernel_search import LearnedVectors

_BISECTIONS = 8
_FEWEST_ROWS = 3.0  # that are left when all are counted less

F = TypeVar("F")


def limit_vectors(
    engine: Chooser[F], learned: LearnedVectors[F], max_vectors: int
) -> LearnedVectors[F]:
    """What was learned if it has no more vectors, else a model of that kernel which has fewer."""
    if len(learned.chosen.places) <= max_vectors:
        return learned
    fewer = _limited(engine, learned.kernel, max_vectors)
    return replace(learned, chosen=fewer.chosen, fit=fewer.fit)


def _limited(engine: Chooser[F], kernel: kernels.Kernel, max_vectors: int) -> Fitted[F]:
    """As many vectors as are allowed, or about as many."""
    best: Fitted[F] | None = None
    low, high = float(np.log(_FEWEST_ROWS / engine.total_weight)), 0.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        fewer = engine.counted(float(np.exp(middle))).maximise(kernel, None, coarse=True)
        m = len(fewer.chosen.places)
        if m > max_vectors:
            high = middle
        else:
            low = middle
            if best is None or m >= len(best.chosen.places):
                best = fewer
    if best is None:
        return nothing(engine, kernel)
    return _in_full(engine, kernel, best)


def _in_full(engine: Chooser[F], kernel: kernels.Kernel, fewer: Fitted[F]) -> Fitted[F]:
    """The same vectors, but for some that are not needed, with precisions that all rows ask for."""
    places = fewer.chosen.places
    start = replace(fewer.chosen, places=np.arange(len(places)))
    found = engine.confined(places).maximise(kernel, start, coarse=False)
    kept = places[found.chosen.places]
    reason = "as many vectors as max_vectors allows, or about as many"
    return replace(found, chosen=replace(found.chosen, places=kept, stop_reason=reason))
