"""scikit-learn's estimator checks: all of them once a class, some of them for further settings.

Most checks ask about validation, signatures and messages, which do not depend on parameters. What
a fit does with its rows may: those checks are run for every instance.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

DEPEND_ON_SETTINGS = frozenset(
    [
        "check_classifiers_classes",
        "check_classifiers_one_label",
        "check_classifiers_one_label_sample_weights",
        "check_classifiers_train",
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_estimators_dtypes",
        "check_estimators_fit_returns_self",
        "check_estimators_overwrite_params",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_fit_idempotent",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_non_transformer_estimators_n_iter",
        "check_regressor_multioutput",
        "check_regressors_int",
        "check_regressors_train",
        "check_sample_weight_equivalence_on_dense_data",
        "check_transformer_general",
        "check_transformer_n_iter",
        "check_transformer_preserve_dtypes",
    ]
)


def every_check_once(cases: Sequence[BaseEstimator], **options: Any) -> pytest.MarkDecorator:
    """Every check for the first case of a class; for others those that depend on settings."""
    first = {type(case): id(case) for case in reversed(cases)}
    return _parametrized(cases, set(first.values()), options)


def checks_of_settings(cases: Sequence[BaseEstimator], **options: Any) -> pytest.MarkDecorator:
    """The checks that depend on settings, for cases whose class has every check elsewhere."""
    return _parametrized(cases, set(), options)


def _parametrized(
    cases: Sequence[BaseEstimator], full: set[int], options: dict[str, Any]
) -> pytest.MarkDecorator:
    mark = parametrize_with_checks(list(cases), **options)
    names, pairs = mark.args
    kept = [pair for pair in pairs if _is_kept(*getattr(pair, "values", pair), full)]
    return pytest.mark.parametrize(names, kept, **mark.kwargs)


def _is_kept(estimator: BaseEstimator, check: Any, full: set[int]) -> bool:
    """Variants of a check, as on read-only memory, are for full sets of checks."""
    plain = check.func.__name__ in DEPEND_ON_SETTINGS and not check.keywords
    return id(estimator) in full or plain
