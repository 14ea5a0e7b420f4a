"""Which models are measured on a table of some size."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from posterity import tables
from posterity.comparison.family import family
from posterity.comparison.members import Member, Size, Target

ALL = "all"


@dataclass(frozen=True, eq=False)
class Candidate:
    """One model to be measured.

    Attributes
    ----------
    name : str
        The short name it is shown by.
    estimator : scikit-learn estimator
        Not fitted; with ``predict_dist``, or for classes ``predict_proba``.
    baseline : bool, default=False
        Whether it is there for comparison only, and can never win.
    target : "any", "positive" or "counts"
        The numbers that it can predict.

    Examples
    --------
    >>> from posterity import LinearRegression, comparison
    >>> comparison.Candidate("mine", LinearRegression()).code
    'LinearRegression()'
    """

    name: str
    estimator: Any
    baseline: bool = False
    target: Target = "any"

    @property
    def code(self) -> str:
        """The expression that makes the estimator, on one line."""
        return " ".join(repr(self.estimator).split())


def candidates(
    task: tables.Task,
    n_rows: int,
    n_columns: int,
    *,
    names: Sequence[str] | None = None,
    n_classes: int = 2,
    seed: int = 0,
    on_dask: bool = False,
) -> tuple[Candidate, ...]:
    """The models to measure on a table of this size, from the cheap to the dear.

    Parameters
    ----------
    task : "regression" or "classification"
        What is predicted.
    n_rows, n_columns : int
        Size of the table.
    names : sequence of str, optional
        Which models. ("all",): every one that can take such a table. None: six to twelve that
        differ from each other and together take about a minute.
    n_classes : int, default=2
        How many classes there are.
    seed : int, default=0
        Of what the models draw at random.
    on_dask : bool, default=False
        Whether the rows lie on the workers of a Dask cluster, so that only models are taken which
        need not have them in one memory.

    Examples
    --------
    >>> from posterity import comparison
    >>> [one.name for one in comparison.candidates("regression", 100_000, 8)]
    ['linear', 'sparse', 'additive', 'sparse-quadratic', 'robust', 'gamma', 'poisson', 'forest']
    >>> comparison.candidates("regression", 100, 8, names=["ridge"])[0].estimator
    RidgeRegression()
    """
    size = Size(n_rows, n_columns, n_classes, seed, on_dask)
    return tuple(
        Candidate(member.name, member.make(size), target=member.target)
        for member in _chosen(family(task), size, names)
    )


def _chosen(members: tuple[Member, ...], size: Size, names: Sequence[str] | None) -> list[Member]:
    """The members that were asked for, in the order of the family."""
    if names is None:
        return [member for member in members if member.is_usual(size)] or list(members[:1])
    if isinstance(names, str):
        raise TypeError(f"names must be a sequence of words, such as ({names!r},), not one word.")
    known = [member.name for member in members]
    for name in names:
        if name != ALL and name not in known:
            raise ValueError(_unknown(name, known))
    if size.spread:
        _refuse_in_memory(members, names)
    return [
        member
        for member in members
        if member.name in names or (ALL in names and member.is_possible(size))
    ]


def _refuse_in_memory(members: Sequence[Member], names: Sequence[str]) -> None:
    """Say which models can be fitted by workers, where one was named that cannot."""
    others = [one.name for one in members if one.name in names and not one.on_dask]
    if others:
        fit = ", ".join(one.name for one in members if one.on_dask)
        raise ValueError(
            f"{others[0]!r} needs all rows in one memory, so that it is not fitted on Dask; those "
            f"that are: {fit}. Without --dask it is fitted to a sample of the rows."
        )


def _unknown(name: str, known: list[str]) -> str:
    """A sentence with the names that are spelled most like this one, or all of them."""
    close = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    return (
        f"There is no model {name!r} for this task; did you mean {' or '.join(close)}?"
        if close
        else f"There is no model {name!r} for this task; there are {', '.join(known)}."
    )
