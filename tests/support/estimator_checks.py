"""scikit-learn's estimator checks: all of them once a class, some of them for further settings.

Most checks ask about validation, signatures and messages, which do not depend on parameters. What
a fit does with its rows may: those checks are run for every instance, further ones with ``--full``.
"""

import dataclasses
import unittest
from collections.abc import Sequence
from typing import Any

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils.estimator_checks import parametrize_with_checks

DEPEND_ON_SETTINGS = frozenset(
    [
        "check_classifiers_classes",
        "check_classifiers_one_label",
        "check_classifiers_one_label_sample_weights",
        "check_classifiers_train",
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_estimators_pickle",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_fit_idempotent",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_non_transformer_estimators_n_iter",
        "check_regressor_multioutput",
        "check_regressors_train",
        "check_sample_weight_equivalence_on_dense_data",
        "check_transformer_general",
        "check_transformer_n_iter",
        "check_transformer_preserve_dtypes",
    ]
)


def every_check_once(
    cases: Sequence[BaseEstimator], fast: Sequence[BaseEstimator] = (), **options: Any
) -> pytest.MarkDecorator:
    """Every check for one case of a class; for others those that depend on settings.

    That one is a fast one where there is one, otherwise the first.
    """
    chosen = {type(case): id(case) for case in [*reversed(cases), *fast]}
    return _parametrized([*cases, *fast], set(chosen.values()), options)


def checks_of_settings(cases: Sequence[BaseEstimator], **options: Any) -> pytest.MarkDecorator:
    """The checks that depend on settings, for cases whose class has every check elsewhere."""
    return _parametrized(cases, set(), options)


def _parametrized(
    cases: Sequence[BaseEstimator], full: set[int], options: dict[str, Any]
) -> pytest.MarkDecorator:
    """One case an estimator, that names all checks that fail; checks that are marked are cases."""
    names, pairs = parametrize_with_checks(list(cases), **options).args
    pairs = [pair if hasattr(pair, "values") else pytest.param(*pair) for pair in pairs]
    kept = [pair for pair in pairs if _is_kept(*pair.values, full)]
    together: dict[int, list[Any]] = {}
    for pair in kept:
        if not pair.marks:
            together.setdefault(id(pair.values[0]), []).append(pair.values)
    grouped = [
        pytest.param(
            values[0][0],
            _EveryCheck([check for _, check in values]),
            id=_name(values[0][0]),
            marks=() if i in full else pytest.mark.full,
        )
        for i, values in together.items()
    ]
    marked = [
        pytest.param(*pair.values, marks=pair.marks, id=f"{_name(pair.values[0])}-{_called(pair)}")
        for pair in kept
        if pair.marks
    ]
    return pytest.mark.parametrize(names, [*grouped, *marked])


@dataclasses.dataclass(frozen=True)
class _EveryCheck:
    """All checks of an estimator, one after another."""

    checks: list[Any]

    def __call__(self, estimator: BaseEstimator) -> None:
        failed = [error for check in self.checks if (error := _failure(check, estimator))]
        if failed:
            raise ExceptionGroup(f"{len(failed)} of {len(self.checks)} checks fail", failed)


def _failure(check: Any, estimator: BaseEstimator) -> Exception | None:
    try:
        check(clone(estimator))
    except unittest.SkipTest:
        return None
    except Exception as error:
        error.add_note(f"in {check.func.__name__}{check.keywords or ''}")
        return error
    return None


def _name(estimator: BaseEstimator) -> str:
    return " ".join(repr(estimator).split())


def _called(pair: Any) -> str:
    return pair.values[1].func.__name__


def _is_kept(estimator: BaseEstimator, check: Any, full: set[int]) -> bool:
    """Variants of a check, as on read-only memory, are for full sets of checks.

    Training on single precision is left out: another check asks for every type of number.
    """
    if "X_dtype" in check.keywords:
        return False
    plain = check.func.__name__ in DEPEND_ON_SETTINGS and not check.keywords
    return id(estimator) in full or plain
