"""Classifiers that are sums, which can be asked after each of their stages."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from posterity import distributions, models
from posterity.arrays import Array
from posterity.models.classifier import Classifier


class StagedClassifier(Classifier, abc.ABC):
    """A classifier to which rounds or units are added one by one.

    A subclass writes ``staged_predict_dist``; classes and probabilities follow from it.
    """

    @abc.abstractmethod
    def staged_predict_dist(self, X: Any) -> Iterator[distributions.Discrete]:
        """What ``predict_dist`` would be after the first stage, the second, and so on."""

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
