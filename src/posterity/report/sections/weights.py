"""Section with the weights of a linear model, their uncertainty, and which differ from zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from posterity import likelihoods, tables
from posterity.arrays import Array
from posterity.report import numbers
from posterity.report.contents import ReportData
from posterity.report.sections.blocks import Row, Section, Table

_MOST = 30
_NAMED = 8  # columns in the sentence
_MOST_COLUMNS = 1000  # of which a covariance matrix is formed
_OF_LOGARITHMS = (
    likelihoods.Gamma,
    likelihoods.LogNormal,
    likelihoods.NegativeBinomial,
    likelihoods.Poisson,
)
_SURE = 1.96  # standard deviations
CLEAR, UNCLEAR = "clearly", "not clearly"


@runtime_checkable
class WeighedColumns(Protocol):
    """A model whose weights have a posterior."""

    def weight_distribution(self, weights: Sequence[int | str], *, output: Any = None) -> Any:
        """Return the joint normal of weights of one output."""


@dataclass(frozen=True, eq=False)
class EncodedWeights:
    """Weights of encoded columns, and their standard deviations if the model has them."""

    names: tuple[str, ...]
    W: Array  # (outputs, columns)
    error: Array | None
    centred: bool  # whether those of categories are differences from their mean

    @property
    def clear(self) -> NDArray[np.bool_]:
        """Mask of the weights that have a 95 % interval without zero."""
        if self.error is None:
            return np.zeros(self.W.shape, dtype=np.bool_)
        return np.abs(self.W) > _SURE * self.error


def section(data: ReportData) -> Section | None:
    """Show the weights; None if the model is not linear in the encoded columns."""
    found = find_weights(data.contents.model)
    if found is None:
        return None
    kept = np.flatnonzero(np.any(found.W != 0.0, axis=0))
    order = kept[np.argsort(-np.abs(found.W[:, kept]).max(axis=0), kind="stable")]
    if not len(order):
        return None
    table = _make_table(data, found, order)
    return Section("weights", "Weights", _write_lead(data, found, order), (table,))


def find_weights(model: tables.TableModel) -> EncodedWeights | None:
    """Return the weights of a model that is linear in its encoded columns.

    The weights of the levels of a category are only determined up to a constant that the intercept
    takes back, so they are given as differences from their mean.
    """
    estimator: Any = tables.strip_exposure(model.estimator_)
    names = tuple(str(name) for name in model.encoder_.get_feature_names_out())
    coef = getattr(estimator, "coef_", None)
    if coef is None or np.ndim(coef) > 2 or np.shape(coef)[-1] != len(names):
        return None
    W = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    has_posterior = getattr(estimator, "posterior_", None) is not None
    if not (has_posterior and isinstance(estimator, WeighedColumns)) or len(names) > _MOST_COLUMNS:
        return EncodedWeights(names, W, None, False)
    blocks = _find_categories(model, W)
    T = np.eye(len(names))
    for block in blocks:
        T[block, block] -= 1.0 / (block.stop - block.start)
    outputs = [None] if len(W) == 1 else list(getattr(estimator, "classes_", range(len(W))))
    every = range(len(names))
    beliefs = [estimator.weight_distribution(every, output=output) for output in outputs]
    variances = [np.einsum("im,mn,in->i", T, one.covariance, T) for one in beliefs]
    error = np.sqrt(np.maximum(variances, 0.0))
    return EncodedWeights(names, W @ T.T, error, bool(blocks))


def _find_categories(model: tables.TableModel, W: Array) -> list[slice]:
    """Return the columns of each category of which every level has a weight."""
    kinds = {column.name: column.kind for column in model.schema_.inputs}
    found = [columns for name, columns in model.encoder_.blocks() if kinds[name] == "category"]
    return [one for one in found if one.stop - one.start > 1 and np.all(W[:, one] != 0.0)]


def _make_table(data: ReportData, found: EncodedWeights, order: NDArray[np.intp]) -> Table:
    classes = data.contents.held_out.classes
    several = len(found.W) > 1 and len(found.W) == len(classes)
    shown = order[:_MOST]
    if several:
        head: tuple[str, ...] = ("Column", *classes)
        rows = [_row_of_classes(found, d) for d in shown]
    elif found.error is None:
        head = ("Column", "Weight")
        rows = [_row_of_classes(found, d) for d in shown]
    else:
        head = ("Column", "Weight", "95 % interval", "Different from zero")
        rows = [_row_with_interval(found, d) for d in shown]
    hidden = f" Showing the first {_MOST} of {len(order)}." if len(order) > _MOST else ""
    words = (0, 3) if head[-1] == "Different from zero" else (0,)
    return Table(_write_caption(found, several) + hidden, head, tuple(rows), words)


def _row_with_interval(found: EncodedWeights, d: int) -> Row:
    w, error = float(found.W[0, d]), float(np.asarray(found.error)[0, d])
    low, high = (numbers.format_with_error(w + side * _SURE * error, error)[0] for side in (-1, 1))
    cells = (
        found.names[d],
        numbers.join_with_error(w, error),
        f"{low} to {high}",
        CLEAR if found.clear[0, d] else UNCLEAR,
    )
    return Row(cells, values=(None, w, w))


def _row_of_classes(found: EncodedWeights, d: int) -> Row:
    return Row((found.names[d], *_list_cells(found, d)), values=(None, *found.W[:, d].tolist()))


def _list_cells(found: EncodedWeights, d: int) -> list[str]:
    if found.error is None:
        return [numbers.format_short(float(w)) for w in found.W[:, d]]
    pairs = (
        numbers.format_with_error(float(w), float(e))
        for w, e in zip(found.W[:, d], found.error[:, d], strict=True)
    )
    stars = (" *" if clear else "" for clear in found.clear[:, d])
    return [
        f" {numbers.PLUS_MINUS} ".join(pair) + star for pair, star in zip(pairs, stars, strict=True)
    ]


def _write_caption(found: EncodedWeights, several: bool) -> str:
    n_kept = int(np.count_nonzero(np.any(found.W != 0.0, axis=0)))
    parts = ["Numeric columns are in units of their standard deviation."]
    if found.centred:
        parts.append("Weights of categories are differences from the mean of their levels.")
    if found.error is not None:
        parts.append(f"After {numbers.PLUS_MINUS}: posterior standard deviation.")
        if several:
            parts.append("* the 95 % interval does not contain zero.")
    if n_kept < len(found.names):
        parts.append(f"{n_kept} of {len(found.names)} weights are not zero.")
    return " ".join(parts)


def _write_lead(data: ReportData, found: EncodedWeights, order: NDArray[np.intp]) -> str:
    lead = f"The model is linear: {_name_sum(data)} is a sum of these weights times the columns."
    if found.error is None:
        return lead
    clear = [found.names[d] for d in order if found.clear[:, d].any()]
    if not clear:
        return f"{lead} No weight is clearly different from zero."
    return f"{lead} Clearly different from zero: {_join(clear)}."


def _name_sum(data: ReportData) -> str:
    """Return what the model says is a sum."""
    if not data.contents.is_regression:
        classes = data.contents.held_out.classes
        return f"the activation of {classes[1] if len(classes) == 2 else 'each class'}"
    estimator = tables.strip_exposure(data.contents.model.estimator_)
    likelihood = getattr(estimator, "likelihood_", None)
    predicted = f"the predicted {data.contents.schema.target}"
    is_log = isinstance(likelihood, _OF_LOGARITHMS)
    return f"the logarithm of {predicted}" if is_log else predicted


def _join(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
