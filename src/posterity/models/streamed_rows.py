"""Rows that are not in memory all at once, as estimators linear in features see them.

They come as :class:`posterity.designs.Chunks`, read block by block, or as Dask collections, whose
partitions stay on the workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone

from posterity import arrays, copies, designs, progress, validation
from posterity import features as feature_spaces
from posterity.arrays import Array
from posterity.designs.partitions import COUNT
from posterity.inference.weights import TalliedTargets
from posterity.models.feature_model import FeatureModel
from posterity.row_groups import RowGroups

Source: TypeAlias = designs.Chunks | designs.Partitions

_SAMPLE_ROWS = 100_000  # features such as k-means centres are fitted on this many rows of a stream


def find_streamed_source(X: Any, y: Any, sample_weight: Any) -> Source | None:
    """Return the rows if they are not in memory all at once, and None if they are."""
    if isinstance(X, designs.Chunks | designs.Partitions):
        refuse_beside_chunks(y, sample_weight)
        return X
    return (
        designs.Partitions.from_collections(X, y, sample_weight)
        if arrays.is_collection(X)
        else None
    )


@dataclass(frozen=True)
class StreamedRows:
    """A design that is read anew at every pass, and the targets and weights of its rows."""

    design: designs.Design
    y: Any  # (N,), or Tallied
    weights: Any  # (N,), or Along; None: one each

    @classmethod
    def from_source(cls, model: FeatureModel, source: Source) -> StreamedRows:
        """Read the targets of rows; the model learns its columns and features.

        Targets and weights of chunks are read once and kept: a number or two a row. Those of
        partitions stay where they are, and must be of few distinct values, which are counted.
        """
        if isinstance(source, designs.Partitions):
            return cls.from_partitions(model, source, *source.count_targets(kind=COUNT))
        source.require_rereadable(type(model).__name__)
        refuse_learned(model)
        y, weights = read_targets(model, source)
        return cls(_make_design(model, source), y, weights)

    @classmethod
    def from_partitions(
        cls, model: FeatureModel, partitions: designs.Partitions, values: Any, counts: Array
    ) -> StreamedRows:
        """Take partitions whose targets have these distinct values, with their counts."""
        learn_columns(model, partitions)
        refuse_learned(model)
        targets = TalliedTargets(check_targets, values, counts)
        return cls(_make_design(model, partitions), targets, partitions.weights)


def _make_design(model: FeatureModel, source: Source) -> designs.Streamed:
    """Return the features of rows, which the model learns from a sample."""
    model._fit_features(sample_rows(model, source), None)
    if model.features is None:
        return designs.Streamed(source)
    bare = clone(model)  # what travels to workers is without the rest of the model
    bare.features_ = model.features_
    return designs.Streamed(source.map(bare._transform_features))


def learn_columns(model: BaseEstimator, source: Source) -> None:
    """Set the number and names of columns without reading a row."""
    validation.check_X(model, np.zeros((1, source.n_features)), reset=True)
    if source.feature_names is not None:
        model.feature_names_in_ = np.asarray(source.feature_names, dtype=object)


def check_columns(model: BaseEstimator, source: Source) -> None:
    """Raise unless later rows have the columns of the first rows, in their order."""
    kind = "chunks" if isinstance(source, designs.Chunks) else "partitions"
    names, fitted = source.feature_names, getattr(model, "feature_names_in_", None)
    if source.n_features != model.n_features_in_:
        raise ValueError(
            f"The {kind} have {source.n_features} features, but {type(model).__name__} is "
            f"expecting {model.n_features_in_} features."
        )
    if names is not None and fitted is not None and list(names) != list(fitted):
        raise ValueError(
            f"The feature names of the {kind}, {list(names)}, are not those that were fitted, "
            f"{list(fitted)}: name the columns in that order with features=[...]."
        )


def read_targets(model: BaseEstimator, chunks: designs.Chunks) -> tuple[Array, Array | None]:
    """Return targets (N,) and weights of all rows; the model learns its columns."""
    targets, counts = [], []
    for block in progress.track(chunks, total=chunks.n_rows, description="Reading targets"):
        targets.append(check_targets(block))
        counts.append(block.sample_weight)
    learn_columns(model, chunks)
    given = [count for count in counts if count is not None]
    weights = np.concatenate(given) if given else None
    validation.warn_of_few_repetitions(weights)
    return np.concatenate(targets), weights


def warn_of_copies_in_chunks(chunks: designs.Chunks, y: Array) -> None:
    """Warn of equal rows with equal targets y, (N,), which count as further observations.

    Rows are read once more where targets tie, and known by a number each.
    """
    if len(np.unique(y)) == len(y):
        return
    along = np.random.default_rng(0).standard_normal(chunks.n_features)
    marks = np.concatenate([np.sum(block.X * along, axis=1) for block in chunks])
    rows = RowGroups.of_equal_keys(len(y), [y, marks])
    inputs = RowGroups.of_equal(marks[rows.first])
    if copies.are_copies(inputs, y[rows.first][:, None], rows.count()):
        action = copies.COUNTED.format("predictions")
        copies.warn_of_copies(len(y) - rows.n_groups, len(y), action)


def refuse_learned(model: FeatureModel) -> None:
    """Raise for learned features: each block would move their units again."""
    if isinstance(model.features, feature_spaces.LearnedFeatures):
        raise ValueError(
            "Features that are learned together with the weights need all rows in memory: fit "
            "them on a sample first, and pass sklearn.frozen.FrozenEstimator(fitted.features_)."
        )


def refuse_beside_chunks(*given: Any) -> None:
    """Raise if targets or weights are given beside chunks, which bring their own."""
    if any(value is not None for value in given):
        raise ValueError("Chunks bring their own targets and weights: pass nothing else.")


def sample_rows(model: FeatureModel, source: Source) -> Array:
    """Return rows to fit features on; none if there are no features to fit."""
    if model.features is None:
        return np.empty((0, source.n_features))
    return source.sample(_SAMPLE_ROWS, np.random.default_rng(0)).X


def check_targets(block: designs.RowBlock) -> Array:
    """Return the targets of a block; raise unless there is one per row."""
    if block.y is None:
        raise ValueError("The rows hold no targets: give them a y, or name the target column.")
    if block.y.ndim != 1:
        raise ValueError(f"The rows hold {block.y.shape[1]} targets; name one column.")
    return block.y
