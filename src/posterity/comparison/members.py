"""What is written down of each model that a comparison can measure."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias

from sklearn.base import ClassifierMixin

from posterity import tables

_MANY = 100_000
_COUNTED = 300_000  # rows on which models of counts are usual where there are exposures
_WORDS = ("likelihood", "prior", "feature_space", "inference", "advice")  # of a card

Target: TypeAlias = Literal["any", "positive", "counts"]
View: TypeAlias = Literal["plain", "groups"]
Role: TypeAlias = Literal["time", "groups"]


@dataclass(frozen=True)
class Size:
    """How large a table is, where it is, and the seed of what is drawn at random."""

    n_rows: int
    n_columns: int
    n_classes: int = 2
    seed: int = 0
    spread: bool = False  # over the workers of a cluster
    exposed: bool = False  # counts over different exposures

    @property
    def work(self) -> int:
        """Rows, as often as there are pairs of classes that a fit has to couple."""
        return self.n_rows * (1 if self.n_classes <= 2 else self.n_classes**2 // 2)


@dataclass(frozen=True)
class Member:
    """One model of the family.

    Attributes
    ----------
    name : str
        The word it is asked for and shown by.
    task : "regression" or "classification"
        What it predicts.
    estimator : str
        The class that it is made of.
    likelihood, prior, feature_space, inference : str
        The four choices, in words.
    cost : str
        How its fit grows with N rows, D columns and C classes.
    advice : str
        When to take it.
    target : "any", "positive" or "counts"
        The numbers that it can predict.
    usual_rows, usual_columns : float
        The largest table on which it is measured without being asked for by name, in rows (times
        pairs of classes) and in columns; 0 rows: never.
    most_rows, most_columns : float
        The largest table on which "all" means it too.
    role : "time", "groups" or None
        The column that it needs: the time of each row, which is then the first encoded column, or
        its group, whose number is the last one.
    on_dask : bool
        Whether workers of a Dask cluster can fit it to rows that never lie in one memory.

    Examples
    --------
    >>> from posterity import comparison
    >>> linear = comparison.family()[0]
    >>> linear.name, linear.estimator, linear.likelihood, linear.prior
    ('linear', 'BayesianLinearRegression', 'normal', 'normal')
    """

    name: str
    task: tables.Task
    estimator: str
    likelihood: str
    prior: str
    feature_space: str
    inference: str
    cost: str
    advice: str
    make: Callable[[Size], Any] = field(repr=False, compare=False)
    target: Target = "any"
    usual_rows: float = 0
    usual_columns: float = math.inf
    most_rows: float = math.inf
    most_columns: float = math.inf
    on_dask: bool = False
    role: Role | None = None

    @property
    def view(self) -> View:
        """The encoded columns that it is given."""
        return "groups" if self.role == "groups" else "plain"

    @classmethod
    def from_card(
        cls, name: str, model: Any, cost: str, make: Callable[[Size], Any], **changes: Any
    ) -> Self:
        """The member that ``make`` builds of an estimator, described by the card of its class.

        ``changes`` replace words of the card, where other settings than the defaults are built,
        and say how large a table may be.
        """
        task: tables.Task = "regression"
        if issubclass(model, ClassifierMixin):
            task = "classification"
        said = {word: getattr(model.card, word) for word in _WORDS}
        return cls(
            name=name,
            task=task,
            estimator=model.__name__,
            cost=cost,
            make=make,
            **(said | changes),
        )

    def is_usual(self, size: Size) -> bool:
        """Return whether the model is compared on such a table by default.

        On Dask workers, the models for many rows are the default ones, whatever their number. All
        models of counts are where counts have exposures.
        """
        rows = _MANY if size.spread else size.work
        describes_rates = size.exposed and self.target == "counts"
        most = max(self.usual_rows, _COUNTED) if describes_rates else self.usual_rows
        suits = rows <= most and size.n_columns <= self.usual_columns
        return suits and (self.on_dask or not size.spread)

    def is_possible(self, size: Size) -> bool:
        """Whether a fit to such a table can end within reason."""
        if size.spread:
            return self.on_dask and size.n_columns <= self.most_columns
        return size.work <= self.most_rows and size.n_columns <= self.most_columns
