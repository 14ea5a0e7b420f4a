"""Decorators of methods that take rows: how to answer where the rows lie in partitions of Dask.

Every public method of an estimator whose first argument is X says what it does with Dask arrays,
data frames and bags: it answers lazily, partition by partition, by the same method; or it refuses
them in a sentence. Without a decorator are ``fit`` and its like, which see to such rows themselves,
and methods that only use the answer of a decorated one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from posterity import arrays
from posterity.models import lazy_scores
from posterity.models.lazy_answers import Lazy, PartitionQuestion, Refusal

MARK = "__answers_of_partitions__"
C = TypeVar("C", bound=type)


def answer_lazily(answer: Lazy) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a method whose answer to Dask rows has this form, known before it is computed."""

    def decorate(method: Callable[..., Any]) -> Any:
        parameters = inspect.signature(method)

        @functools.wraps(method)
        def ask(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
            if not arrays.is_collection(X):
                return method(self, X, *args, **kwargs)
            given = parameters.bind(self, X, *args, **kwargs).arguments
            beside = {name: given[name] for name in list(given)[2:]}
            return answer.answer_lazily(PartitionQuestion(self, method.__name__, X, beside))

        return _mark(ask)

    return decorate


def transform_lazily(answer: Lazy) -> Callable[[C], C]:
    """Decorate a transformer whose ``transform`` answers Dask rows in this form.

    scikit-learn wraps ``transform`` as the class is made, to answer in data frames if asked to;
    only what goes around that keeps a lazy answer lazy.
    """

    def decorate(cls: Any) -> Any:
        cls.transform = answer_lazily(answer)(cls.transform)
        return cls

    return decorate


def refuse_partitions(method: Callable[..., Any]) -> Any:
    """Decorate a method that needs its rows in memory together."""
    return answer_lazily(Refusal())(method)


def score_lazily(method: Callable[..., Any]) -> Any:
    """Decorate ``score``, which computes one number of Dask rows where they lie."""

    @functools.wraps(method)
    def score(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not arrays.is_collection(X):
            return method(self, X, *args, **kwargs)
        return lazy_scores.score_partitions(self, X, *args, **kwargs)

    return _mark(score)


def _mark(function: Callable[..., Any]) -> Callable[..., Any]:
    setattr(function, MARK, True)
    return function
