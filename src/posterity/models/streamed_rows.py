"""Rows that are read block by block, as estimators linear in features see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from posterity import designs, progress, validation
from posterity import features as feature_spaces
from posterity.arrays import Array
from posterity.models.feature_model import FeatureModel

_SAMPLE_ROWS = 100_000  # features such as k-means centres are fitted on this many rows of a stream


@dataclass(frozen=True)
class StreamedRows:
    """A design that is read anew at every pass, and the targets and weights of its rows."""

    design: designs.Design
    y: Array  # (N,)
    weights: Array | None  # (N,)

    @classmethod
    def of(cls, model: FeatureModel, chunks: designs.Chunks) -> StreamedRows:
        """From chunks that can be read more than once; the model learns its columns and features.

        Targets and weights are read once and kept: a number or two a row.
        """
        chunks.require_rereadable(type(model).__name__)
        refuse_learned(model)
        y, weights = read_targets(model, chunks)
        model._fit_features(_sampled(model, chunks), None)
        mapped = chunks if model.features is None else chunks.map(model._features_of)
        return cls(designs.Chunked(mapped), y, weights)


def read_targets(model: BaseEstimator, chunks: designs.Chunks) -> tuple[Array, Array | None]:
    """Targets (N,) and weights of all rows, a number or two each; the model learns its columns."""
    targets, counts = [], []
    for block in progress.track(chunks, total=chunks.n_rows, description="Reading targets"):
        targets.append(_targets(block))
        counts.append(block.sample_weight)
        if len(targets) == 1:
            validation.check_X(model, block.X, reset=True)
    if chunks.feature_names is not None:
        model.feature_names_in_ = np.asarray(chunks.feature_names, dtype=object)
    weights = [count for count in counts if count is not None]
    return np.concatenate(targets), np.concatenate(weights) if weights else None


def refuse_learned(model: FeatureModel) -> None:
    """Units that move with the weights would be moved anew by every block."""
    if isinstance(model.features, feature_spaces.Learned):
        raise ValueError(
            "Features that are learned together with the weights need all rows in memory: fit "
            "them on a sample first, and pass sklearn.frozen.FrozenEstimator(fitted.features_)."
        )


def refuse_beside_chunks(*given: Any) -> None:
    """Chunks bring everything: what else is given would be ignored."""
    if any(value is not None for value in given):
        raise ValueError("Chunks bring their own targets and weights: pass nothing else.")


def _sampled(model: FeatureModel, chunks: designs.Chunks) -> Array:
    """Rows to fit features on; any will do where there is nothing to fit."""
    if model.features is None:
        return np.empty((0, chunks.n_features))
    return chunks.sample(_SAMPLE_ROWS, np.random.default_rng(0)).X


def _targets(block: designs.Block) -> Array:
    if block.y is None:
        raise ValueError("The chunks hold no targets: give them a y, or name the target column.")
    if block.y.ndim != 1:
        raise ValueError(f"The chunks hold {block.y.shape[1]} targets; name one column.")
    return block.y
