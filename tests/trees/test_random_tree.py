"""One random classification tree."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import RandomTreeClassifier, trees


def steps(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    return X, np.digitize(X[:, 1], [0.25, 0.75])


def test_steps_are_found_where_they_are():
    X, y = steps()
    model = RandomTreeClassifier(max_features=3, random_state=0).fit(X, y)
    grown = model.forest_.trees
    assert grown.n_leaves == 3
    np.testing.assert_array_equal(grown.tests[:, 0], 1)
    np.testing.assert_allclose(np.sort(grown.thresholds), [0.25, 0.75], atol=0.02)
    assert model.score(*steps(seed=1)) > 0.98


def test_a_leaf_predicts_by_its_counts_and_a_prior_about_the_frequencies():
    X, y = [[0.0]] * 6 + [[1.0]] * 6, ["a"] * 6 + ["b"] * 6
    p = RandomTreeClassifier(concentration=2.0, random_state=0).fit(X, y).predict_proba([[0.0]])
    np.testing.assert_allclose(p, [[(6.0 + 2.0 * 0.5) / 8.0, 2.0 * 0.5 / 8.0]])


@for_each("min_samples_leaf", [1.0, 7.0, 50.0])
def test_each_side_of_a_split_has_rows_enough(min_samples_leaf):
    X, y = steps(200)
    y = np.where(np.random.default_rng(2).random(200) < 0.3, 2, y)
    w = np.random.default_rng(3).integers(0, 3, size=200)
    model = RandomTreeClassifier(min_samples_leaf=min_samples_leaf, random_state=0).fit(
        X, y, sample_weight=w
    )
    assert np.bincount(model.apply(X)[:, 0], weights=w).min() >= min_samples_leaf


def test_no_leaf_is_deeper_than_it_may_be():
    X, y = steps()
    for depth in (1, 2):
        model = RandomTreeClassifier(max_depth=depth, min_samples_leaf=1.0, random_state=0).fit(
            X, y
        )
        assert model.forest_.trees.n_leaves <= 2**depth


def test_it_has_nothing_out_of_the_bag():
    model = RandomTreeClassifier(random_state=0).fit(*steps(50))
    assert np.isnan(model.oob_log_score_)
    np.testing.assert_array_equal(model.predict_dist(steps(50)[0]).epistemic_share, 0.0)


def test_oblique_tests_part_in_one_split_what_columns_part_in_many():
    X = np.random.default_rng(0).normal(size=(600, 2))
    y = X[:, 0] > X[:, 1]
    one = {"max_features": 20, "max_depth": 1, "random_state": 0}
    by_difference = RandomTreeClassifier(splits=trees.Differences(), **one).fit(X, y)
    assert by_difference.score(X, y) > 0.99 > RandomTreeClassifier(**one).fit(X, y).score(X, y)


@for_each(
    ("options", "message"),
    [
        ({"max_features": 0}, "max_features=0"),
        ({"max_depth": -1}, "max_depth=-1"),
        ({"min_samples_leaf": "few"}, "min_samples_leaf='few'"),
        ({"concentration": 0.0}, "concentration=0.0"),
    ],
)
def test_parameters_out_of_range_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        RandomTreeClassifier(**options).fit(*steps(30))


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="only one class, 'a'; a classifier needs at least two"):
        RandomTreeClassifier().fit([[0.0], [1.0]], ["a", "a"])
