"""Base classes of estimators that split rows: trees, ferns, forests and boosted steps."""

from __future__ import annotations

import abc
import copy
import math
import numbers
from collections.abc import Callable, Sized
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posterity import designs, trees, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field

_CANDIDATES: dict[str, Callable[[int], float]] = {"sqrt": math.sqrt, "log2": math.log2}


@declare_parameters
class SplitModel(BaseEstimator):
    """An estimator that splits rows by tests of a family, ``splits``: of columns or of any rows.

    Attributes
    ----------
    column_gain_ : array of shape (D,) or None
        Gain in log-likelihood, in nats, of the splits on each column. None for other families.
    feature_importances_ : array of shape (D,)
        The same as shares that sum to one.
    """

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
class AdditiveModel(SplitModel, abc.ABC):
    """An estimator whose latent values are sums, to which each round adds."""

    warm_start: bool = field(init=False)
    n_estimators_: int = field(init=False)
    stop_reason_: str = field(init=False)
    validation_scores_: Array | None = field(init=False)

    @abc.abstractmethod
    def _keep_rounds(self, n_rounds: int) -> None:
        """Publish a fit of the first rounds only."""

    def _find_earlier_fit(self) -> Self | None:
        """The fit that a warm start continues: a copy of the model as it is."""
        is_fitted = self.warm_start and "n_estimators_" in vars(self)
        return copy.copy(self) if is_fitted else None

    def truncate(self, n_estimators: int) -> Self:
        """A fitted copy of the first rounds only.

        Parameters
        ----------
        n_estimators : int
            How many, from none to ``n_estimators_``.
        """
        check_is_fitted(self)
        validation.check_count(n_estimators, "n_estimators", least=0)
        if n_estimators > self.n_estimators_:
            raise ValueError(
                f"n_estimators={n_estimators} is more than the {self.n_estimators_} of this model."
            )
        other = copy.copy(self)
        other.stop_reason_ = f"cut to {n_estimators} of {self.n_estimators_} rounds"
        other._keep_rounds(n_estimators)
        return other


def require_same_classes(now: NDArray[Any], earlier: NDArray[Any]) -> None:
    """Raise ValueError where a warm start has other classes than the fit that it continues."""
    if not np.array_equal(now, earlier):
        raise ValueError(
            f"warm_start goes on with the classes of the last fit, {earlier.tolist()}, but y has "
            f"{now.tolist()}; set warm_start=False to fit anew."
        )


def check_activation(activation: ArrayLike | None, shape: tuple[int, ...]) -> Array | None:
    """Latents (N, L) at which a sum starts; those given are of this shape, (N,) or (N, L)."""
    if activation is None:
        return None
    given = np.asarray(activation, dtype=np.float64)
    if given.shape != shape or not np.all(np.isfinite(given)):
        raise ValueError(
            f"activation has shape {given.shape}; it must be finite numbers of shape {shape}."
        )
    return np.ascontiguousarray(given.reshape(shape[0], -1))


def shape_latents(n_rows: int, n_classes: int) -> tuple[int, ...]:
    """The shape of latents of classes, of which two have one between them."""
    return (n_rows,) if n_classes == 2 else (n_rows, n_classes)


def squeeze_two_classes(A: Array) -> Array:
    """One latent value for two classes, (n, 1), as (n,)."""
    return A[:, 0] if A.shape[1] == 1 else A


def count_candidates(max_features: Any, family: trees.Family, default: int) -> int:
    """Number of tests that are drawn as candidates, from a count, a fraction, or a name.

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
