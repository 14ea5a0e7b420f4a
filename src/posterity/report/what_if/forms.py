"""Pack fitted estimators as JSON that runs in the page."""

from __future__ import annotations

import functools
from typing import Any

from posterity.report.what_if import processes
from posterity.report.what_if.packing import Json, NoFormError


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


def pack_process(posterior: Any, answer: Json, noise_variance: float) -> Json:
    """Pack a Gaussian process of the inputs, approximated by few rows if it has many.

    The noise variance decides which approximation errors are too small to see.
    """
    latent, note = processes.pack_small_process(posterior, noise_variance)
    return {"columns": {"kind": "identity"}, "latent": latent, "answer": answer, "note": note}
