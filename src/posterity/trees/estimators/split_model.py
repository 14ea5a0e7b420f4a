"""Base classes of estimators that split rows: trees, ferns, forests and boosted steps."""

from __future__ import annotations

import abc
import math
import numbers
from collections.abc import Callable, Sized
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posterity import designs, page_forms, trees, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.page_forms import Form
from posterity.trees import forests, growth

_CANDIDATES: dict[str, Callable[[int], float]] = {"sqrt": math.sqrt, "log2": math.log2}


@declare_parameters
class SplitModel(BaseEstimator):
    """An estimator that splits rows by tests of a family, ``splits``: of columns or of any rows."""

    splits: trees.Family | None = None

    _least_rows: ClassVar[int] = 1  # of a fit

    column_gain_: Array | None = field(init=False)

    def _family(self) -> trees.Family:
        """The family of tests that was given, or that of single columns."""
        if self.splits is None:
            return trees.Columns()
        if not isinstance(self.splits, trees.Family):
            raise TypeError(
                f"splits={self.splits!r} must be a family of tests, such as trees.Columns(), "
                "or None."
            )
        return self.splits

    @property
    def feature_importances_(self) -> Array:
        """Share of each column in the log-likelihood that all splits gained, (D,).

        The shares sum to one. ``column_gain_`` has the gains themselves, in nats.
        """
        check_is_fitted(self, "column_gain_")
        if self.column_gain_ is None:
            raise AttributeError("feature_importances_ exist only where splits are of columns.")
        total = self.column_gain_.sum()
        return self.column_gain_ / total if total > 0.0 else self.column_gain_

    def _count_gains(self, family: trees.Family, tests: NDArray[Any], gains: NDArray[Any]) -> None:
        """Publish what the tests on each column gained together."""
        self.column_gain_ = None
        if isinstance(family, trees.Columns):
            columns = family.columns_of(tests)
            gain = np.bincount(columns, weights=gains, minlength=family.n_columns)
            self.column_gain_ = gain.astype(np.float64)

    def _check_rows(self, X: Any, *, reset: bool) -> Any:
        """Finite or missing numbers (N, D); rows of another kind are for their family to know."""
        if isinstance(X, designs.Chunks):
            raise TypeError(
                f"{type(self).__name__} takes rows in memory here; pass block.X of one of the "
                "chunks at a time."
            )
        least = self._least_rows if reset else 1
        if self._family().is_of_columns:
            checked = validation.check_X(self, X, reset=reset, min_rows=least, allow_missing=True)
            return np.ascontiguousarray(checked)
        if not isinstance(X, Sized):
            raise TypeError(f"X={X!r} has no length; pass rows, as an array or a list holds them.")
        if not len(X):
            raise ValueError("There are no rows in X; pass at least one.")
        if len(X) < least:
            raise ValueError(
                f"X has {len(X)} row, while a minimum of {least} is required by "
                f"{type(self).__name__}: one row does not tell how far others lie from it."
            )
        return X

    def _check_learned(self, family: Any, tests: Any) -> None:
        """Raise ValueError unless rows as they are taken can answer tests of what was learned."""
        validation.require(isinstance(family, trees.Family), "the family of tests is not one.")
        if isinstance(family, validation.Checked):
            family.check_consistency()
        family.check_tests(tests)
        given = trees.Columns() if self.splits is None else self.splits
        validation.require(
            isinstance(family, type(given)),
            f"tests are {type(given).__name__}, but {type(family).__name__} were learned.",
        )
        family.check_width(vars(self).get("n_features_in_"))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@declare_parameters
class ForestModel(SplitModel, abc.ABC):
    """An estimator that is one tree or fern, or several. A subclass says how they grow."""

    max_features: int | float | str | None = None
    min_samples_leaf: float = 1.0
    concentration: float | None = None
    random_state: Any = None

    max_depth: int | None = field(init=False)
    n_jobs: int | None = field(default=None, init=False)
    forest_: forests.Forest = field(init=False)

    @abc.abstractmethod
    def _plan_trees(self, family: trees.Family) -> forests.ForestPlan:
        """How to grow trees on tests of a family that knows the rows."""

    def _growth_rules(self, family: trees.Family, n_tests: int | None = None) -> growth.GrowthRules:
        """The rules of growth; ``n_tests`` candidates a node unless ``max_features`` says."""
        if self.max_depth is not None:
            validation.check_count(self.max_depth, "max_depth")
        least = validation.check_positive(self.min_samples_leaf, "min_samples_leaf")
        chosen = count_candidates(self.max_features, family, n_tests or family.default_tests())
        return growth.GrowthRules(chosen, max_depth=self.max_depth, min_samples_leaf=least)

    def _check_positive(self, name: str) -> float | None:
        """A parameter that is given, or None where it is to be learned."""
        value = getattr(self, name)
        return None if value is None else validation.check_positive(value, name)

    def _check_max_samples(self, max_samples: float | None) -> float | None:
        """How many rows a tree draws, checked, and whether they are drawn with replacement."""
        if not isinstance(self.bootstrap, bool | np.bool_):
            raise ValueError(f"bootstrap={self.bootstrap!r} must be True or False.")
        if max_samples is None:
            return None
        if isinstance(max_samples, int | np.integer) and not isinstance(max_samples, bool):
            validation.check_count(max_samples, "max_samples")
            return max_samples
        if validation.check_positive(max_samples, "max_samples") > 1.0:
            raise ValueError(
                f"max_samples={max_samples!r} is a fraction of the rows and must be at most 1; "
                "give a whole number to count them."
            )
        return max_samples

    def check_consistency(self) -> None:
        """Raise ValueError where a forest is not one that rows as they are taken can go down."""
        forest = vars(self).get("forest_")
        if forest is None:
            return
        validation.require(isinstance(forest, forests.Forest), "forest_ is not a forest.")
        forest.check_consistency()
        self._check_learned(forest.family, forest.trees.tests)

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        return page_forms.find_form(self.forest_)

    def _adopt_forest(
        self, fitted: forests.FittedClasses | forests.FittedNormals, weights: Array | None = None
    ) -> None:
        """Publish a forest that grew from the rows whose weights, as they were given, count."""
        self.forest_ = fitted.forest
        self.concentration_ = fitted.forest.concentration
        self.sharpness_ = fitted.forest.sharpness
        self.oob_log_score_ = fitted.oob_log_score
        self.oob_log_prob_ = _expand_to_all_rows(fitted.oob_log_prob, weights)
        grown = fitted.forest.trees
        self._count_gains(fitted.forest.family, grown.tests, grown.gains)


@declare_parameters
class BaggedModel(ForestModel):
    """An estimator that is several trees or ferns, which draw rows of their own."""

    n_estimators: int = field(default=100, kw_only=False)
    max_depth: int | None = None
    bootstrap: bool = True
    max_samples: float | None = None
    sharpness: float | None = None
    n_jobs: int | None = None

    def _plan_bagged_trees(
        self,
        family: trees.Family,
        n_tests: int | None = None,
        grow: Callable[..., growth.growing.GrownTree] = growth.grow,
    ) -> forests.ForestPlan:
        """The plan of ``n_estimators`` trees that each draw rows of their own."""
        validation.check_count(self.n_estimators, "n_estimators")
        return forests.ForestPlan(
            n_trees=self.n_estimators,
            rules=self._growth_rules(family, n_tests),
            bootstrap=self.bootstrap,
            max_samples=self._check_max_samples(self.max_samples),
            concentration=self._check_positive("concentration"),
            sharpness=self._check_positive("sharpness"),
            n_jobs=self.n_jobs,
            grow=grow,
        )


def count_candidates(max_features: Any, family: trees.Family, default: int) -> int:
    """How many tests are drawn as candidates, from a count, a fraction, or a name.

    Fractions and names are of the number of columns, or of all tests of another family.
    """
    if max_features is None:
        return default
    if isinstance(max_features, str) and max_features in _CANDIDATES:
        return max(1, int(_CANDIDATES[max_features](_count_tests(family))))
    if isinstance(max_features, numbers.Integral) and not isinstance(max_features, bool):
        validation.check_count(max_features, "max_features")
        return int(max_features)
    is_fraction = isinstance(max_features, numbers.Real) and not isinstance(max_features, bool)
    if not is_fraction or not 0.0 < max_features <= 1.0:
        raise ValueError(
            f"max_features={max_features!r} must be a whole number from 1, a fraction above 0 and "
            "at most 1, 'sqrt', 'log2' or None."
        )
    return max(1, int(max_features * _count_tests(family)))


def _count_tests(family: trees.Family) -> int:
    """The number of columns, or of tests in another family that can list them."""
    return family.n_columns if isinstance(family, trees.Columns) else len(family.catalogue())


def drop_weightless_rows(
    rows: Any, target: Array, weights: Array | None, groups: NDArray[np.int32] | None
) -> tuple[Any, Array, Array | None, NDArray[np.int32] | None]:
    """Rows that count at all: edges of columns are not drawn around others."""
    if weights is None or weights.all() or not isinstance(rows, np.ndarray):
        return rows, target, weights, groups
    kept = weights > 0.0
    return rows[kept], target[kept], weights[kept], None if groups is None else groups[kept]


def refuse_groups(groups: Any) -> None:
    """Rows of one group lie in many blocks, and would have to be found before any tree draws."""
    if groups is not None:
        raise ValueError(
            "groups are taken only with rows in memory: fit on a sample, or leave them out and "
            "judge the forest by groups that it has not seen."
        )


def check_groups(
    groups: ArrayLike | None, n_rows: int, weights: Array | None = None
) -> NDArray[np.int32] | None:
    """One number a row, the same for rows that belong together.

    They are counted from 0 over rows that count: a group without such rows is absent.
    """
    if groups is None:
        return None
    names = np.asarray(groups)
    if names.shape != (n_rows,):
        raise ValueError(
            f"groups has shape {names.shape} but there are {n_rows} rows; pass one name or number "
            "a row."
        )
    _refuse_nameless(names)
    kept = np.ones(n_rows, dtype=np.bool_) if weights is None else weights > 0.0
    numbers = np.zeros(n_rows, dtype=np.int32)
    numbers[kept] = np.unique(names[kept], return_inverse=True)[1]
    return numbers


def _refuse_nameless(names: NDArray[Any]) -> None:
    """Rows of no group: they are not a group of their own."""
    if names.dtype.kind not in "fO":
        return
    missing = [row for row, name in enumerate(names.tolist()) if name is None or name != name]
    if missing:
        others = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
        raise ValueError(
            f"groups holds no name in row {missing[0]}{others}; give such rows groups of their "
            "own, or drop them."
        )


def _expand_to_all_rows(values: Array | None, weights: Array | None) -> Array | None:
    """Return values for every row as it was given, NaN where it does not count."""
    if weights is None or values is None:
        return values
    kept = weights > 0.0
    everywhere = np.full(len(weights), np.nan)
    everywhere[kept] = values[kept] if len(values) == len(weights) else values
    return everywhere
