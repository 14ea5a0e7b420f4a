"""What every classifier answers, stage by stage where it is a sum."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from posterity import arrays, distributions, models, validation
from posterity.arrays import Array


def _latent_shape(model: Any) -> tuple[int, ...]:
    """One latent value says which of two classes, one for each which of several."""
    return () if len(model.classes_) == 2 else (len(model.classes_),)


CLASS_LABELS = models.ArrayAnswer(lambda model: (), lambda model: model.classes_.dtype)
CLASS_DISTRIBUTION = models.DistributionAnswer(lambda model: (), lambda model: len(model.classes_))
LATENT_VALUES = models.DistributionAnswer(_latent_shape)


class Classifier(ClassifierMixin, BaseEstimator, abc.ABC):
    """A scikit-learn classifier whose prediction is a distribution over the classes.

    A subclass writes ``fit`` and ``predict_dist``; classes and probabilities follow from the
    distribution, which numbers the classes in the order of ``classes_``. Of Dask arrays and data
    frames all of these are lazy: Dask arrays, and for ``predict_dist`` a
    :class:`posterity.distributions.Partitioned`.
    """

    classes_: NDArray[Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        validation.protect_fits(cls)

    @abc.abstractmethod
    def predict_dist(self, X: Any) -> distributions.Discrete:
        """The distribution of the class at each row of X, by its place in ``classes_``."""

    @models.answer_lazily(CLASS_LABELS)
    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row, as it was named in ``fit``."""
        most_probable = self.predict_dist(X).mode()
        return self.classes_[most_probable]

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class, (n, C), averaged over what is uncertain of the model."""
        return self.predict_dist(X).probabilities()

    def predict_log_proba(self, X: Any) -> Array:
        """Log-probability of each class, (n, C); finite where the probability rounds to zero."""
        return self.predict_dist(X).log_probabilities()

    @models.score_lazily
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy: the share of rows whose most probable class is theirs."""
        return super().score(X, y, sample_weight)

    def _learn_classes(
        self, y: ArrayLike | None, n_rows: int, weights: Array | None = None
    ) -> Array:
        """Set ``classes_`` from the rows that count, and return each row's place in them, (N,)."""
        labels = check_labels(self, y, n_rows)
        counted = labels if weights is None else labels[weights > 0.0]
        self._set_classes(np.unique(counted))
        return encode_classes(self.classes_, labels)

    def _set_classes(self, classes: NDArray[Any]) -> None:
        """Set ``classes_`` to these, in increasing order."""
        if len(classes) < 2:
            raise ValueError(
                f"y holds only one class, {classes.tolist()[0]!r}; a classifier needs at least two."
            )
        self.classes_ = classes


def encode_classes(classes: NDArray[Any], labels: NDArray[Any]) -> Array:
    """The place of each label among the classes, (N,); a row that does not count may have none."""
    places = np.searchsorted(classes, labels)
    return np.minimum(places, len(classes) - 1).astype(np.float64)


def check_labels(estimator: BaseEstimator, y: ArrayLike | None, n_rows: int) -> NDArray[Any]:
    """One label a row."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, "
            "but the target y is None."
        )
    validation.refuse_collection_beside_rows(y, "y")
    labels: NDArray[Any] = column_or_1d(arrays.to_numpy(y), warn=True)
    _refuse_missing(labels)
    check_classification_targets(labels)
    if len(labels) != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {len(labels)}; each row needs one label.")
    return labels


def _refuse_missing(labels: NDArray[Any]) -> None:
    """A row without a class teaches nothing: it is for the user to drop."""
    rows = np.flatnonzero(arrays.is_missing(labels))
    if rows.size:
        first = labels[rows[0]]
        kind = "infinity" if isinstance(first, float) and np.isinf(first) else "NaN"
        raise ValueError(
            f"Input y contains {kind}: row {rows[0]} has no class. Drop such rows ({rows.size})."
        )


class StagedClassifier(Classifier, abc.ABC):
    """A classifier to which rounds or units are added one by one.

    A subclass writes ``staged_predict_dist``; classes and probabilities follow from it.
    """

    @abc.abstractmethod
    def staged_predict_dist(self, X: Any) -> Iterator[distributions.Discrete]:
        """Distributions of the classes after the first stage, the second, and so on."""

    @models.refuse_partitions
    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """What ``predict_proba`` would be after the first stage, the second, and so on."""
        for dist in self.staged_predict_dist(X):
            yield dist.probabilities()

    @models.refuse_partitions
    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """What ``predict`` would be after the first stage, the second, and so on."""
        for dist in self.staged_predict_dist(X):
            yield self.classes_[dist.mode()]
