"""Choose the models to compare on a table of a given size."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from posterity import estimators, linear, local, process, sparse, tables, trees
from posterity.comparison.holdout import HoldoutKind
from posterity.comparison.lagged import LaggedRegressor
from posterity.models import Member, Size, Target, View

ALL = "all"
_LONG = "takes long on a table of this size; name it with --models to compare it too."


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model to compare.

    Attributes
    ----------
    name : str
        Short name for display.
    estimator : scikit-learn estimator
        Unfitted, with ``predict_dist``, or for classes ``predict_proba``.
    baseline : bool, default=False
        Whether it is a baseline, which can never be the winner.
    target : "any", "positive" or "counts"
        Which targets it can predict.
    view : "plain" or "groups"
        The encoded inputs, or these and one last column with the number of the group of each row,
        -1 for a group without training rows.
    left_out : str
        Why it is not compared, though it suits the table; empty if it is.

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
    view: View = "plain"
    left_out: str = ""

    @property
    def code(self) -> str:
        """Expression that constructs the estimator, on one line."""
        return " ".join(repr(self.estimator).split())


def family(task: tables.Task | None = None) -> tuple[Member, ...]:
    """Return every model that a comparison knows, cheapest first.

    They are the candidates on the cards of the estimators.

    Parameters
    ----------
    task : "regression" or "classification", optional
        Only models for this task. None: regressors, then classifiers.

    Examples
    --------
    >>> from posterity import comparison
    >>> [row.name for row in comparison.family("classification")][:3]
    ['linear', 'logistic', 'sparse']
    """
    if task is None:
        return family("regression") + family("classification")
    if task not in ("regression", "classification"):
        raise ValueError(f"task={task!r} must be 'regression' or 'classification'.")
    models = [
        getattr(room, name)
        for room in (linear, local, process, sparse, trees)
        for name in estimators.BY_ROOM[room.__name__.removeprefix("posterity.")]
    ]
    described = [one.describe(m) for m in (*models, LaggedRegressor) for one in m.card.candidates]
    found = [one for one in described if one.task == task]
    return tuple(sorted(found, key=lambda one: one.order))


def candidates(
    task: tables.Task,
    n_rows: int,
    n_columns: int,
    *,
    names: Sequence[str] | None = None,
    n_classes: int = 2,
    seed: int = 0,
    on_dask: bool = False,
    role: HoldoutKind = "random",
    exposed: bool = False,
) -> tuple[Candidate, ...]:
    """Return the models to compare on a table of this size, cheapest first.

    Parameters
    ----------
    task : "regression" or "classification"
        Whether the target is a number or a class.
    n_rows, n_columns : int
        Size of the table.
    names : sequence of str, optional
        Names of the models. ("all",): every model that can be fitted to such a table. None: six to
        twelve different models, which together take about a minute; models of times or groups that
        would take much longer are among them, but left out.
    n_classes : int, default=2
        Number of classes.
    seed : int, default=0
        Random seed of the models.
    on_dask : bool, default=False
        Whether the rows are on the workers of a Dask cluster; only models that do not need all
        rows in one memory are then returned.
    role : "random", "time", "groups" or "blocks"
        The ``kind`` of the ``Holdout``: models of times or groups are returned where the table has
        such a column.
    exposed : bool, default=False
        Whether the targets are counts over different exposures: all models of counts are then
        among the default ones.

    Examples
    --------
    >>> from posterity import comparison
    >>> [one.name for one in comparison.candidates("regression", 100_000, 8)][-4:]
    ['gamma', 'poisson', 'forest', 'boosted-trees']
    >>> comparison.candidates("regression", 100, 8, names=["ridge"])[0].estimator
    RidgeRegression()
    """
    size = Size(n_rows, n_columns, n_classes, seed, on_dask, exposed)
    return tuple(
        Candidate(
            member.name,
            member.make(size),
            target=member.target,
            view=member.view,
            left_out=_LONG if names is None and member.role and not member.is_usual(size) else "",
        )
        for member in _select_members(family(task), size, names, role)
    )


def _select_members(
    members: tuple[Member, ...], size: Size, names: Sequence[str] | None, role: HoldoutKind
) -> list[Member]:
    """Return the requested members, in the order of the family."""
    fitting = [member for member in members if member.role in (None, role)]
    if names is None:
        usual = [one for one in fitting if one.is_usual(size)] or list(members[:1])
        return [one for one in fitting if one in usual or one.role]
    if isinstance(names, str):
        raise TypeError(f"names must be a sequence of strings, such as ({names!r},), not a string.")
    known = [member.name for member in members]
    for name in names:
        if name != ALL and name not in known:
            raise ValueError(_unknown_name_message(name, known))
    if size.spread:
        _refuse_in_memory(members, names)
    _refuse_without_role([member for member in members if member not in fitting], names)
    return [
        member
        for member in fitting
        if member.name in names or (ALL in names and member.is_possible(size))
    ]


def _refuse_without_role(others: Sequence[Member], names: Sequence[str]) -> None:
    """Refuse named models that need a column of times or groups."""
    for member in others:
        if member.name in names:
            word = "time" if member.role == "time" else "group"
            raise ValueError(
                f"The model {member.name!r} needs the {word} of each row; name its column with "
                f"--{word}."
            )


def _refuse_in_memory(members: Sequence[Member], names: Sequence[str]) -> None:
    """Refuse named models that workers cannot fit, and list those that they can."""
    others = [one.name for one in members if one.name in names and not one.on_dask]
    if others:
        fit = ", ".join(one.name for one in members if one.on_dask)
        raise ValueError(
            f"The model {others[0]!r} needs all rows in memory and cannot be fitted on Dask; use "
            f"one of {fit}, or fit it without --dask to a sample of the rows."
        )


def _unknown_name_message(name: str, known: list[str]) -> str:
    """Return an error message with the most similar names, or all names."""
    close = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    advice = f"did you mean {' or '.join(close)}?" if close else f"choose from {', '.join(known)}."
    return f"Unknown model {name!r} for this task; {advice}"
