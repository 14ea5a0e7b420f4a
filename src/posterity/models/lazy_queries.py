"""Every method that answers of rows, told how to answer of rows that lie in partitions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from posterity import arrays
from posterity.models import lazy_scores
from posterity.models.lazy_answers import Answer, Derived, Lazy, Question, Refusal

_MARK = "__answers_of_partitions__"


class LazyQueries:
    """An estimator whose answers of Dask arrays, data frames and bags are lazy.

    A class says in ``_lazy_answers`` of what form the answers of its methods are; those of the
    classes below it count, too. Every method whose first argument is X is then wrapped when its
    class is made: of Dask rows the answer is made partition by partition, when it is computed, by
    the same method. A method that nothing is said of refuses such rows; ``fit`` and its like see
    to them themselves. ``score`` computes one number, where the rows are.
    """

    _lazy_answers: ClassVar[dict[str, Answer]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        answers = _all_answers(cls)
        for name, method in _queries(cls):
            answer = answers.get(name, Refusal())
            if name == "score":
                setattr(cls, name, _scored(method))
            elif not isinstance(answer, Derived):
                setattr(cls, name, asked(method, answer))


def asked(method: Callable[..., Any], answer: Lazy) -> Callable[..., Any]:
    """The method, which answers lazily of Dask rows."""
    parameters = inspect.signature(method)

    @functools.wraps(method)
    def ask(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not arrays.is_collection(X):
            return method(self, X, *args, **kwargs)
        given = parameters.bind(self, X, *args, **kwargs).arguments
        beside = {name: given[name] for name in list(given)[2:]}
        return answer.lazily(Question(self, method.__name__, X, beside))

    return _marked(ask)


def _scored(method: Callable[..., Any]) -> Callable[..., Any]:
    """The score, which brings back one number of Dask rows."""

    @functools.wraps(method)
    def score(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not arrays.is_collection(X):
            return method(self, X, *args, **kwargs)
        return lazy_scores.score(self, X, *args, **kwargs)

    return _marked(score)


def _all_answers(cls: type) -> dict[str, Answer]:
    """Those of a class, which go before those of the classes it is made of."""
    answers: dict[str, Answer] = {}
    for above in reversed(cls.__mro__):
        answers.update(vars(above).get("_lazy_answers", {}))
    return answers


def _queries(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Methods that answer of X, and do not yet know what to do with Dask rows."""
    names = {name for above in cls.__mro__ if above is not object for name in vars(above)}
    for name in sorted(names):
        method = inspect.getattr_static(cls, name)
        if name.startswith(("_", "fit", "partial_fit")) or not inspect.isfunction(method):
            continue
        if not hasattr(method, _MARK) and _first_argument(method) == "X":
            yield name, method


def _first_argument(method: Any) -> str | None:
    """Its name, beside self."""
    code = inspect.unwrap(method).__code__
    return code.co_varnames[1] if code.co_argcount > 1 else None


def _marked(function: Callable[..., Any]) -> Callable[..., Any]:
    setattr(function, _MARK, True)
    return function
