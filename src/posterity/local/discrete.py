"""Categorical likelihood x Dirichlet prior x counts of discrete columns x closed form."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.base import BaseEstimator
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from posterity import distributions, models, optimize, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.inference.conjugate import (
    CategoryCounts,
    apply_rule_of_succession,
    compute_log_mean,
    learn_concentration,
)
from posterity.models import Member, ModelCard, classifier
from posterity.models.classifier import CLASS_DISTRIBUTION

Columns: TypeAlias = list[list[Hashable]]
"""D columns of N categories each."""


@dataclass(frozen=True, eq=False)
class CountTable:
    """Counts (V, C) of V different values, which are anything that can be hashed, in C classes."""

    values: tuple[Hashable, ...]  # in the order of the rows
    counts: Array

    @classmethod
    def empty(cls, n_classes: int) -> CountTable:
        """Before anything was seen."""
        return cls((), np.zeros((0, n_classes)))

    @functools.cached_property
    def _places(self) -> dict[Hashable, int]:
        """The row of each value."""
        return {value: row for row, value in enumerate(self.values)}

    def __getstate__(self) -> dict[str, Any]:
        """Only what cannot be worked out again."""
        return {"values": self.values, "counts": self.counts}

    def add_counts(
        self, values: Iterable[Hashable], codes: NDArray[np.intp], w: Array
    ) -> CountTable:
        """With further observations: values, the numbers of their classes, how often each counts.

        Examples
        --------
        >>> table = CountTable.empty(2).add_counts("aba", np.array([0, 1, 1]), np.ones(3))
        >>> table.values, table.counts.tolist()
        (('a', 'b'), [[1.0, 1.0], [0.0, 1.0]])
        """
        places = dict(self._places)
        rows = np.array([places.setdefault(value, len(places)) for value in values], dtype=np.intp)
        counts = np.zeros((len(places), self.counts.shape[1]))
        counts[: len(self.counts)] = self.counts
        np.add.at(counts, (rows, codes), w)
        return CountTable(tuple(places), counts)

    def with_classes(self, n_classes: int, columns: NDArray[np.intp]) -> CountTable:
        """Among more classes, of which these columns are those known so far."""
        counts = np.zeros((len(self.counts), n_classes))
        counts[:, columns] = self.counts
        return CountTable(self.values, counts)

    def look_up(self, table: Array, values: Iterable[Hashable]) -> Array:
        """The rows (n, C) of a table (V, C) that are about these values; zeros for unseen ones."""
        padded = np.vstack([table, np.zeros((1, table.shape[1]))])
        return padded[[self._places.get(value, -1) for value in values]]


@declare_parameters
class DiscreteClassifier(classifier.Classifier):
    """Classes from discrete observations, by counting.  [P9 Prob 9.12]

    Columns hold categories: numbers, words, anything that can be hashed. Each configuration of a
    row's columns has class probabilities of its own, with a Dirichlet prior about the overall
    class frequencies. A configuration that was never seen is given these frequencies.

    Parameters
    ----------
    concentration : float, optional
        How many rows the prior is worth, > 0. None: learned by the evidence.
    independent : bool, default=False
        Take the columns to be independent within each class, and count each by itself (naive
        Bayes): for many columns, whose configurations are rarely seen twice. A category that was
        never seen then says nothing about the class.

    Attributes
    ----------
    concentration_ : float
        Learned, or as given.
    class_frequencies_ : array of shape (C,)
        What the prior takes the classes to be: ``(n_c + 1) / (N + C)``.
    tables_ : list of CountTable
        ``values`` and their ``counts`` (V, C) by class: one table of configurations (tuples), or
        with ``independent`` one of categories for each column.
    log_evidence_ : float
        Log-probability of the classes given the columns, at this concentration and prior. With
        ``independent``, of classes and columns together.
    n_iter_ : int
        Steps of the search for the concentration; 0 where it was given.
    stop_reason_ : str
        Why it stopped.
    at_bounds_ : tuple of str
        Parameters that ended at a bound of their search, and which bound.

    Examples
    --------
    >>> from posterity import DiscreteClassifier
    >>> X = [["red", "round"], ["red", "round"], ["green", "long"], ["green", "round"]]
    >>> model = DiscreteClassifier(concentration=1.0).fit(X, ["apple", "apple", "bean", "apple"])
    >>> model.predict([["red", "round"], ["green", "long"]])
    array(['apple', 'bean'], dtype='<U5')
    >>> model.predict_proba([["red", "round"], ["blue", "long"]]).round(3)
    array([[0.889, 0.111],
           [0.667, 0.333]])
    """

    concentration: float | None = field(default=None, kw_only=False)
    independent: bool = False

    card = ModelCard(
        likelihood="categorical",
        prior="Dirichlet",
        feature_space="categories",
        inference="closed form, concentration by evidence",
        advice="all columns are categories",
        page="classification",
        candidates=(
            Member(
                "counts",
                70,
                "N D",
                {"independent": True},
                advice="columns are categories, independent within a class",
                # Bins of equal width leave indicators as they are.
                encoder=KBinsDiscretizer(4, encode="ordinal", strategy="uniform"),
            ),
        ),
    )

    tables_: list[CountTable] = field(init=False)

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Count the categories of each column in each class.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D)
            Categories.
        y : array-like of shape (N,)
            Classes.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        """
        self._check_concentration()
        columns, n = check_columns(self, X, reset=True)
        weights = validation.check_repetitions(sample_weight, n)
        codes = self._learn_classes(y, n, weights).astype(np.intp)
        self._begin()
        return self._count(columns, codes, np.ones(n) if weights is None else weights)

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows to those seen so far: the same as fitting all at once.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``. Later rows may bring new categories and new classes.
        classes : array-like, optional
            Classes to reckon with though they may not be in y; the first rows alone need not hold
            two.
        """
        self._check_concentration()
        first = "tables_" not in vars(self)
        columns, n = check_columns(self, X, reset=first)
        weights = validation.check_sample_weight(sample_weight, n)
        counts = np.ones(n) if weights is None else weights
        labels = classifier.check_labels(self, y, n)
        self._extend_classes(labels[counts > 0.0], classes, first)
        places = np.searchsorted(self.classes_, labels)
        # A row that does not count may have a class of its own.
        return self._count(columns, np.minimum(places, len(self.classes_) - 1), counts)

    @models.answer_lazily(CLASS_DISTRIBUTION)
    def predict_dist(self, X: Any) -> distributions.Discrete:
        """The predictive distribution of the class at each row: the posterior mean."""
        check_is_fitted(self)
        columns, n = check_columns(self, X, reset=False)
        log_p = self._log_independent(columns, n) if self.independent else self._log_joint(columns)
        if len(self.classes_) == 2:
            return distributions.Bernoulli(log_p[:, 1], log_p[:, 0])
        return distributions.Categorical(log_p)

    def _check_concentration(self) -> None:
        if self.concentration is not None:
            validation.check_positive(self.concentration, "concentration")

    def _begin(self) -> None:
        n_tables = self.n_features_in_ if self.independent else 1
        self.tables_ = [CountTable.empty(len(self.classes_)) for _ in range(n_tables)]

    def _extend_classes(self, labels: NDArray[Any], classes: ArrayLike | None, first: bool) -> None:
        """Set ``classes_``, or make room for new ones."""
        known = labels if classes is None else np.append(np.asarray(classes), labels)
        if first:
            self.classes_ = np.unique(known)
            if len(self.classes_) < 2:
                raise ValueError("The first rows hold only one class; name the others by classes=.")
            return self._begin()
        before, self.classes_ = self.classes_, np.union1d(self.classes_, known)
        places = np.searchsorted(self.classes_, before)
        self.tables_ = [t.with_classes(len(self.classes_), places) for t in self.tables_]
        return None

    def _count(self, columns: Columns, codes: NDArray[np.intp], weights: Array) -> Self:
        kept = np.flatnonzero(weights)
        pairs = zip(self.tables_, self._values(columns), strict=True)
        self.tables_ = [
            table.add_counts([values[i] for i in kept.tolist()], codes[kept], weights[kept])
            for table, values in pairs
        ]
        class_counts = self.tables_[0].counts.sum(axis=0)
        self.class_frequencies_ = apply_rule_of_succession(class_counts)
        self._learn_concentration(class_counts)
        return self

    def _learn_concentration(self, class_counts: Array) -> None:
        tables = self._dirichlet_tables()
        if self.concentration is None:
            best = learn_concentration(tables)
            self.concentration_ = float(np.exp(best.x[0]))
            self.n_iter_, self.stop_reason_ = best.n_iter, best.stop_reason
            self.at_bounds_ = optimize.report_bounds(best)
        else:
            self.concentration_ = float(self.concentration)
            self.n_iter_, self.stop_reason_ = 0, "the concentration was given"
            self.at_bounds_ = ()
        evidence = sum(table.log_evidence(self.concentration_) for table in tables)
        if self.independent:
            C = len(class_counts)
            uniform = CategoryCounts(class_counts[None, :], np.full(C, 1.0 / C))
            evidence += uniform.log_evidence(C)
        self.log_evidence_ = float(evidence)

    def _dirichlet_tables(self) -> list[CategoryCounts]:
        """Classes given the configuration; or the categories of each column given the class."""
        if not self.independent:
            return [CategoryCounts(self.tables_[0].counts, self.class_frequencies_)]
        return [
            CategoryCounts(table.counts.T, apply_rule_of_succession(table.counts.sum(axis=1)))
            for table in self.tables_
        ]

    def _log_joint(self, columns: Columns) -> Array:
        table = self.tables_[0]
        counts = table.look_up(table.counts, self._values(columns)[0])
        return compute_log_mean(counts, self.class_frequencies_, self.concentration_)

    def _log_independent(self, columns: Columns, n: int) -> Array:
        log_p = np.tile(np.log(self.class_frequencies_), (n, 1))
        pairs = zip(self.tables_, self._dirichlet_tables(), columns, strict=True)
        for table, prior, column in pairs:
            means = compute_log_mean(prior.counts, prior.base, self.concentration_).T
            log_p += table.look_up(means, column)
        return log_softmax(log_p, axis=1)

    def _values(self, columns: Columns) -> list[Sequence[Hashable]]:
        """The values that each table counts."""
        return list(columns) if self.independent else [list(zip(*columns, strict=True))]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def check_columns(estimator: BaseEstimator, X: Any, *, reset: bool) -> tuple[Columns, int]:
    """The categories column by column, and the number of rows.

    Examples
    --------
    >>> check_columns(BaseEstimator(), [["a", 1], ["b", 1]], reset=True)
    ([['a', 'b'], [1, 1]], 2)
    """
    validation.refuse_collection(X, type(estimator).__name__, learned=reset)
    # Of a list or a frame that holds both, NumPy would turn the numbers into words.
    dtype = None if isinstance(X, np.ndarray) else object
    table = validate_data(estimator, X, reset=reset, dtype=dtype, ensure_all_finite=False)
    columns: Columns = table.T.tolist()
    for d, column in enumerate(columns):
        _refuse_non_categories(column, d)
    return columns, len(table)


def _refuse_non_categories(column: list[Any], d: int) -> None:
    """Name the first row that holds nothing, or something that cannot be looked up."""
    try:
        missing = [value for value in set(column) if _is_missing(value)]
    except TypeError as error:
        raise TypeError(
            f"Column {d} of X holds a value that cannot be hashed ({error}); use numbers, words or "
            "tuples as categories."
        ) from error
    if missing:
        row = next(i for i, value in enumerate(column) if _is_missing(value))
        raise ValueError(
            f"Input X contains NaN, infinity or None: {column[row]!r} in column {d} (row {row}). "
            "Give what is missing a category of its own first, such as 'missing'."
        )


def _is_missing(value: Any) -> bool:
    """NaN, NaT, None, pandas.NA, or a number that is not finite."""
    if value is None or type(value).__name__ == "NAType":
        return True
    return bool(value != value) or (isinstance(value, float) and not np.isfinite(value))
