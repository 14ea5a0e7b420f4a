"""Pack fitted estimators as JSON that runs in the page."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from posterity.inference.averaging import split_mixture
from posterity.report.what_if import processes
from posterity.report.what_if.packing import LIMIT, Json, NoFormError, count_characters

_BEST = (
    "The model averages over hyperparameters; this panel uses the best of them, which makes its "
    "intervals a little too narrow."
)


@functools.singledispatch
def pack_estimator(estimator: Any) -> Json:
    """Pack an estimator: its columns, latent values and likelihood, or its trees.

    Other modules of this package register the types that they pack.
    """
    name = type(estimator).__name__
    raise NoFormError(f"{name} cannot run in a page.")


def pack_linear(columns: Json, latent: Json, answer: Json) -> Json:
    """Pack a model that is linear in columns."""
    return {"columns": columns, "latent": latent, "answer": answer}


def pack_mixture(forms: Sequence[Json], weights: Sequence[float]) -> Json:
    """Pack models that are averaged with these weights; one is itself."""
    if len(forms) == 1:
        return forms[0]
    return {"kind": "mixture", "of": list(forms), "weights": list(weights)}


def pack_average(posterior: Any, pack: Callable[[Any], Json]) -> Json:
    """Pack a posterior by ``pack``, or the average over a mixture where a page has room for it."""
    parts, weights = split_mixture(posterior)
    if len(parts) == 1:
        return pack(posterior)
    form = pack_mixture([pack(part) for part in parts], weights.tolist())
    if count_characters(form) <= LIMIT:
        return form
    return {**pack(posterior.best), "note": _BEST}


def pack_process(posterior: Any, answer: Json, noise_variance: float) -> Json:
    """Pack a Gaussian process of the inputs, approximated by few rows if it has many.

    The noise variance decides which approximation errors are too small to see.
    """
    latent, note = processes.pack_small_process(posterior, noise_variance)
    return {"columns": {"kind": "identity"}, "latent": latent, "answer": answer, "note": note}
