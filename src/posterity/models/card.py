"""What each estimator is made of, when to use it, and how a comparison of models uses it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from sklearn.base import ClassifierMixin, clone
from sklearn.pipeline import make_pipeline

Target: TypeAlias = Literal["any", "positive", "counts"]
View: TypeAlias = Literal["plain", "groups"]
Role: TypeAlias = Literal["time", "groups"]

MOST_KERNEL_ROWS = 5_000
"""Rows of a matrix with an entry for each pair of rows, in a model that a comparison fits."""
MOST_PAIR_COLUMNS = 60
"""Columns of which a comparison forms all squares and products."""

_MANY = 100_000
_COUNTED = 300_000  # rows on which models of counts are usual where there are exposures
_WORDS = ("likelihood", "prior", "feature_space", "inference", "advice")


@dataclass(frozen=True)
class ModelCard:
    """The four choices that make an estimator, advice on when to use it, and its candidates.

    Every public estimator has one as its class attribute ``card``. The table of models in the
    documentation, ``posterity models`` and the comparison are written from it.

    Attributes
    ----------
    likelihood, prior, feature_space, inference : str
        The four choices, in words.
    advice : str
        When to use it.
    page : str
        The page of the documentation that describes it.
    candidates : tuple of Member
        The models of a comparison that are made of the estimator.
    """

    likelihood: str
    prior: str
    feature_space: str
    inference: str
    advice: str
    page: str
    candidates: tuple[Member, ...] = ()


@dataclass(frozen=True)
class Size:
    """Size of a table, the place of its rows, and the seed of random draws."""

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
    """One model that a comparison can measure.

    Attributes
    ----------
    name : str
        Name by which it is requested and shown.
    order : int
        Place among the models of its task, the simplest first.
    cost : str
        Growth of the time of a fit with N rows, D columns and C classes.
    settings : dict
        Parameters of the estimator that differ from their defaults. A ``random_state`` is the seed
        of the comparison.
    likelihood, prior, feature_space, inference, advice : str
        Words that replace those of the estimator's card, where the settings change them.
    target : "any", "positive" or "counts"
        The numbers that it can predict.
    usual_rows, usual_columns : float
        The largest table on which it is compared by default, in rows (times pairs of classes) and
        in columns; 0 rows: never.
    most_rows, most_columns : float
        The largest table on which "all" includes it.
    role : "time", "groups" or None
        The column that it needs: the time of each row, which is then the first encoded column, or
        its group, whose number is the last one.
    on_dask : bool
        Whether workers of a Dask cluster can fit it to rows that are never in one memory.
    many_rows : float
        Rows (times pairs of classes) from which ``many_settings`` are set, too.
    encoder : transformer or None
        Transformer of scikit-learn that encodes the columns first.
    task : "regression" or "classification"
        Kind of target; like the next two, set by :meth:`describe`.
    estimator : str
        Name of the class that it is made of.

    Examples
    --------
    >>> from posterity import comparison
    >>> linear = comparison.family()[0]
    >>> linear.name, linear.estimator, linear.likelihood, linear.prior
    ('linear', 'BayesianLinearRegression', 'normal', 'normal')
    """

    name: str
    order: int
    cost: str
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    likelihood: str = ""
    prior: str = ""
    feature_space: str = ""
    inference: str = ""
    advice: str = ""
    target: Target = "any"
    usual_rows: float = 0
    usual_columns: float = math.inf
    most_rows: float = math.inf
    most_columns: float = math.inf
    role: Role | None = None
    on_dask: bool = False
    many_rows: float = field(default=math.inf, repr=False)
    many_settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    encoder: Any = field(default=None, repr=False)
    task: Literal["regression", "classification"] = "regression"
    estimator: str = ""
    model: Any = field(default=None, repr=False)

    @property
    def view(self) -> View:
        """Encoded columns that it is given."""
        return "groups" if self.role == "groups" else "plain"

    def describe(self, model: Any) -> Member:
        """Return the member with the words of the card of an estimator."""
        return replace(
            self,
            **{word: getattr(self, word) or getattr(model.card, word) for word in _WORDS},
            task="classification" if issubclass(model, ClassifierMixin) else "regression",
            estimator=model.__name__,
            model=model,
        )

    def make(self, size: Size) -> Any:
        """Return the estimator for a table of this size, not fitted."""
        settings = dict(self.settings)
        if size.spread or size.work > self.many_rows:
            settings |= self.many_settings
        if "random_state" in inspect.signature(self.model).parameters:
            settings["random_state"] = size.seed
        estimator = clone(self.model(**settings))
        return estimator if self.encoder is None else make_pipeline(clone(self.encoder), estimator)

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
        """Return whether a fit to such a table ends within reasonable time."""
        if size.spread:
            return self.on_dask and size.n_columns <= self.most_columns
        return size.work <= self.most_rows and size.n_columns <= self.most_columns
