"""Forms: plain values from which the script of a web page computes what a model predicts.

A model that runs in a page, and each part of such a model, has a method ``page_form`` that returns
a dict of numbers, texts and arrays. :func:`encode` makes JSON of it, with arrays as base64 text in
the smallest type that represents every number exactly.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from posterity.arrays import Array

Form: TypeAlias = dict[str, Any]

LIMIT = 1_200_000
"""Maximum number of characters that a model adds to a page."""

_TYPES = {"u8": "u1", "u16": "<u2", "f32": "<f4"}
_BEST = (
    "The model averages over hyperparameters; this panel uses the best of them, which makes its "
    "intervals a little too narrow."
)


class NoFormError(Exception):
    """Raised for a model that cannot run in a page, with the reason as a sentence."""


def find_form(part: Any, *given: Any, method: str = "page_form") -> Form:
    """Return the form of a model or of a part of one; raise :class:`NoFormError` if it has none.

    Examples
    --------
    >>> from posterity import likelihoods
    >>> find_form(likelihoods.Bernoulli())
    {'kind': 'two_classes', 'averaging': 'exact'}
    """
    if not hasattr(part, method):
        raise NoFormError(f"{type(part).__name__} cannot run in a page.")
    form: Form = getattr(part, method)(*given)
    return form


def form_columns(features: Any) -> Form:
    """Return the form of a feature space; None keeps the columns as they are."""
    return {"kind": "identity"} if features is None else find_form(features)


def form_kernel_columns(kernel: Form, rows: Array) -> Form:
    """Return the form of one kernel column for each of these rows."""
    check_size(rows.size, f"{len(rows):,} rows of {rows.shape[1]} columns")
    return {"kind": "kernel", "kernel": kernel, "rows": list(rows.T), "count": len(rows)}


def form_weights(coef: ArrayLike, offset: ArrayLike, posterior: Form | None = None) -> Form:
    """Return the form of latent values: weights (C, M) and offsets (C,) of the mean.

    Examples
    --------
    >>> form_weights([1.0, 2.0], 3.0)["offset"]
    [3.0]
    """
    W = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    check_size(W.size, f"{W.size:,} weights")
    return {
        "kind": "weights",
        "coef": W,
        "offset": np.atleast_1d(offset).tolist(),
        "posterior": posterior,
    }


def form_linear(columns: Form, latent: Form, answer: Form) -> Form:
    """Return the form of a model whose latent values are linear in columns."""
    return {"columns": columns, "latent": latent, "answer": answer}


def form_normal_noise(noise_variance: Any, *, scale: float = 1.0, center: float = 0.0) -> Form:
    """Return the form of normal noise about a latent value that is first scaled and shifted."""
    return {"kind": "normal", "noise": float(noise_variance), "scale": scale, "center": center}


def form_mixture(forms: Sequence[Form], weights: Sequence[float]) -> Form:
    """Return the form of models that are averaged with these weights; one is itself."""
    if len(forms) == 1:
        return forms[0]
    return {"kind": "mixture", "of": list(forms), "weights": list(weights)}


def form_average(posterior: Any, form_part: Callable[[Any], Form]) -> Form:
    """Return the form of an average over parts, or of the best part if a page has no more room."""
    parts, weights = (
        posterior.split() if hasattr(posterior, "split") else ((posterior,), np.ones(1))
    )
    if len(parts) == 1:
        return form_part(posterior)
    form = form_mixture([encode(form_part(part)) for part in parts], weights.tolist())
    if count_characters(form) <= LIMIT:
        return form
    return {**form_part(posterior.best), "note": _BEST}


def flatten_triangle(L: Any, what: str = "rows") -> Array:
    """Return the lower triangle of a matrix, row by row."""
    if not isinstance(L, np.ndarray):
        raise NoFormError("The model is on a GPU; fit it on the CPU to get a panel.")
    check_size(len(L) ** 2 // 2, f"The covariances of {len(L):,} {what}")
    return L[np.tril_indices(len(L))]


def check_size(n_numbers: int, what: str) -> None:
    """Refuse data that is too large, before it is encoded."""
    if n_numbers * 32 // 3 > LIMIT:
        raise NoFormError(f"{what} do not fit into a page.")


def encode(form: Any) -> Any:
    """Return JSON in which each array is base64 text, in row-major order.

    Examples
    --------
    >>> encode({"kind": "steps", "values": np.array([1, 2, 255])})
    {'kind': 'steps', 'values': {'type': 'u8', 'data': 'AQL/'}}
    """
    if isinstance(form, np.ndarray):
        return _encode_array(form)
    if isinstance(form, dict):
        return {name: encode(value) for name, value in form.items()}
    return [encode(value) for value in form] if isinstance(form, list) else form


def count_characters(form: Form) -> int:
    """Return the number of characters of a form in a page."""
    return len(json.dumps(encode(form)))


def _encode_array(values: Any) -> dict[str, str]:
    flat = values.astype(np.float64).ravel()
    name = next((name for name, dtype in _TYPES.items() if _represents(dtype, flat)), "f64")
    data = flat.astype(_TYPES.get(name, "<f8")).tobytes()
    return {"type": name, "data": base64.b64encode(data).decode("ascii")}


def _represents(dtype: str, values: Array) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        kept = values.astype(dtype).astype(np.float64)
    return bool(np.array_equal(kept, values, equal_nan=True))
