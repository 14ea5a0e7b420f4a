"""Which form of a fitted estimator runs in the page."""

from __future__ import annotations

import functools
from typing import Any

from posterity.report.what_if import processes
from posterity.report.what_if.packing import Json, NoFormError


@functools.singledispatch
def form(estimator: Any) -> Json:
    """Columns, latent values and answer of an estimator; or its trees.

    Other modules of this package register what they know.
    """
    name = type(estimator).__name__
    raise NoFormError(f"A {name} has no form that runs in a page.")


def linear(columns: Json, latent: Json, answer: Json) -> Json:
    """The form of all that is linear in columns."""
    return {"columns": columns, "latent": latent, "answer": answer}


def process(posterior: Any, answer: Json, noise_variance: float) -> Json:
    """The form of all that is a Gaussian process of the inputs, of few rows where it has many.

    The noise says which differences are too small to be seen.
    """
    latent, note = processes.small(posterior, noise_variance)
    return {"columns": {"kind": "identity"}, "latent": latent, "answer": answer, "note": note}
