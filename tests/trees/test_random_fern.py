"""Random ferns of classes."""

import numpy as np
import pytest
from sklearn.metrics import log_loss
from support.estimator_checks import checks_of_settings

from posterity import RandomFernClassifier

DRAWN = "weights equal repetition only in distribution where rows are drawn"


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.where(X[:, 0] * X[:, 1] > 0.0, "alike", "unlike")


@checks_of_settings(
    [RandomFernClassifier(5, 4)],
    expected_failed_checks=lambda _: {"check_sample_weight_equivalence_on_dense_data": DRAWN},
)
def test_scikit_learn_contract_where_rows_are_drawn(estimator, check):
    check(estimator)


def test_classes_that_no_column_parts_alone_are_learned():
    X, y = rows(1000)
    model, (X_new, y_new) = RandomFernClassifier(random_state=0).fit(X, y), rows(1000, seed=1)
    assert model.score(X_new, y_new) > 0.85
    new_score = -log_loss(y_new, model.predict_proba(X_new))
    assert new_score == pytest.approx(model.oob_log_score_, abs=0.08)


def test_answers_are_the_number_of_a_cell():
    X, y = rows()
    model = RandomFernClassifier(1, 3, bootstrap=False, random_state=0).fit(X, y)
    grown = model.forest_.trees
    asked = [0, 1, 3]  # the first node of each level
    answers = X[:, grown.tests[asked, 0]] > grown.thresholds[asked]
    np.testing.assert_array_equal(model.apply(X)[:, 0], answers @ [4, 2, 1])


def test_a_cell_that_no_row_came_to_says_the_frequencies():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]).repeat([5, 5, 10], axis=0)
    y = np.repeat(["a", "b", "c"], [5, 5, 10])
    model = RandomFernClassifier(1, 2, max_features=2, bootstrap=False, random_state=0).fit(X, y)
    unseen = [[1.0, 1.0]]
    assert model.forest_.leaves.totals()[model.apply(unseen)] == 0.0
    np.testing.assert_allclose(model.predict_proba(unseen), [[6.0 / 23.0, 6.0 / 23.0, 11.0 / 23.0]])


def test_parameters_out_of_range_are_named():
    for options, message in (
        ({"n_estimators": 0}, "n_estimators=0"),
        ({"max_depth": None}, "max_depth"),
        ({"max_depth": 25}, r"max_depth is 25; a fern of S levels has 2\*\*S leaves"),
        ({"bootstrap": 1}, "bootstrap=1 must be True or False"),
        ({"max_samples": "half"}, "max_samples='half'"),
    ):
        with pytest.raises(ValueError, match=message):
            RandomFernClassifier().set_params(**options).fit(*rows(30))


def test_half_as_many_tests_as_for_trees_are_asked_by_default():
    X, y = rows()
    default, told = (RandomFernClassifier(5, max_features=k, random_state=0) for k in (None, 1))
    np.testing.assert_array_equal(default.fit(X, y).apply(X), told.fit(X, y).apply(X))
