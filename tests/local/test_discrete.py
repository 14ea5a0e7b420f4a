"""Classes from discrete columns, by counting."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.estimator_checks import every_check_once
from support.for_each import for_each

from posterity import distributions
from posterity.local.discrete import DiscreteClassifier

both = pytest.mark.parametrize("independent", [False, True])


def rows(n=60, seed=0, C=3):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.choice(["a", "b", "c"], n), rng.choice(["x", "y"], n)])
    y = np.append(np.arange(C), rng.integers(0, C, n - C))
    return X, y


@every_check_once(
    [DiscreteClassifier(), DiscreteClassifier(1.0), DiscreteClassifier(independent=True)]
)
def test_is_a_scikit_learn_classifier(estimator, check):
    check(estimator)


def test_joint_probabilities_are_counts_and_prior_rows():
    X, y = rows()
    model = DiscreteClassifier(2.0).fit(X, y)
    prior = (np.bincount(y) + 1) / (len(y) + 3)
    for query in itertools.product("abc", "xy"):
        n = np.bincount(y[np.all(np.array(query) == X, axis=1)], minlength=3)
        expected = (n + 2.0 * prior) / (n.sum() + 2.0)
        np.testing.assert_allclose(model.predict_proba([query])[0], expected)


def test_independent_probabilities_are_those_of_bayes_rule():
    X, y = rows()
    model = DiscreteClassifier(2.0, independent=True).fit(X, y)
    for query in itertools.product("abc", "xy"):
        p = (np.bincount(y) + 1) / (len(y) + 3)
        for d, category in enumerate(query):
            V = len(set(X[:, d]))
            share = (np.sum(X[:, d] == category) + 1) / (len(X) + V)
            n = np.array([np.sum(X[y == c, d] == category) for c in range(3)])
            p = p * (n + 2.0 * share) / (np.bincount(y) + 2.0)
        np.testing.assert_allclose(model.predict_proba([query])[0], p / p.sum())


def test_joint_evidence_is_the_product_of_predictions():
    X, y = rows(20)
    model = DiscreteClassifier(1.5).fit(X, y)
    prior, total, seen = model.class_frequencies_, 0.0, {}
    for x, c in zip(map(tuple, X), y, strict=True):
        n = seen.setdefault(x, np.zeros(3))
        total += np.log((n[c] + 1.5 * prior[c]) / (n.sum() + 1.5))
        n[c] += 1
    assert model.log_evidence_ == pytest.approx(total)


def test_independent_evidence_is_the_product_of_predictions():
    X, y = rows(20)
    model = DiscreteClassifier(1.5, independent=True).fit(X, y)
    total, seen = 0.0, np.zeros(3)
    for c in y:
        total += np.log((seen[c] + 1.0) / (seen.sum() + 3.0))
        seen[c] += 1
    for d in range(2):
        words = sorted(set(X[:, d]))
        share = {w: (np.sum(X[:, d] == w) + 1) / (len(X) + len(words)) for w in words}
        counts = {(w, c): 0 for w in words for c in range(3)}
        for w, c in zip(X[:, d], y, strict=True):
            n = sum(counts[v, c] for v in words)
            total += np.log((counts[w, c] + 1.5 * share[w]) / (n + 1.5))
            counts[w, c] += 1
    assert model.log_evidence_ == pytest.approx(total)


def test_what_columns_tell_only_together_needs_the_joint_table():
    # exclusive or: no column tells anything by itself
    X = np.array(list(itertools.product([0, 1], [0, 1])) * 20)
    y = X[:, 0] ^ X[:, 1]
    joint, apart = (DiscreteClassifier(independent=i).fit(X, y) for i in (False, True))
    assert joint.score(X, y) == 1.0
    assert np.abs(apart.predict_proba(X) - 0.5).max() < 0.05


def test_a_concentration_that_is_learned_has_more_evidence_than_others():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(3.0 * np.full(3, 1 / 3), size=40)
    X = np.repeat(np.arange(40), 20)[:, None]
    y = np.concatenate([rng.choice(3, 20, p=row) for row in p])
    learned = DiscreteClassifier().fit(X, y)
    assert 2.0 < learned.concentration_ < 5.0
    for factor in (0.1, 10.0):
        other = DiscreteClassifier(factor * learned.concentration_).fit(X, y)
        assert learned.log_evidence_ > other.log_evidence_
    assert learned.n_iter_ > 0
    assert other.n_iter_ == 0


@both
def test_what_was_never_seen_says_nothing(independent):
    X, y = rows()
    model = DiscreteClassifier(1.0, independent=independent).fit(X, y)
    nowhere = model.predict_proba([["z", "w"]])[0]
    np.testing.assert_allclose(nowhere, (np.bincount(y) + 1) / (len(y) + 3))


def test_an_unseen_category_leaves_the_other_columns_their_say():
    X, y = rows()
    one = DiscreteClassifier(1.0, independent=True).fit(X[:, 1:], y)
    two = DiscreteClassifier(1.0, independent=True).fit(X, y)
    np.testing.assert_allclose(two.predict_proba([["z", "x"]]), one.predict_proba([["x"]]))


@both
@for_each("C", [2, 3])
def test_integer_weights_equal_repeated_rows(independent, C):
    X, y = rows(C=C)
    w = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = DiscreteClassifier(independent=independent).fit(X, y, sample_weight=w)
    repeated = DiscreteClassifier(independent=independent)
    repeated.fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-12)
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_)
    kind = distributions.Bernoulli if C == 2 else distributions.Categorical
    assert isinstance(weighted.predict_dist(X), kind)


def test_a_row_without_weight_leaves_no_class_and_no_category():
    X, y = np.array([["a"], ["b"], ["c"]]), np.array([0, 1, 7])
    model = DiscreteClassifier().fit(X, y, sample_weight=[1, 1, 0])
    assert list(model.classes_) == [0, 1]
    assert model.tables_[0].values == (("a",), ("b",))
    model.partial_fit([["d"]], [9], sample_weight=[1e-3])
    assert list(model.classes_) == [0, 1, 9]


@both
def test_parts_add_up_to_the_whole_with_new_classes_and_categories(independent):
    X, y = rows()
    order = np.argsort(y, kind="stable")
    X, y = X[order], np.array(["low", "mid", "high"])[y[order]]
    whole = DiscreteClassifier(independent=independent).fit(X, y)
    parts = DiscreteClassifier(independent=independent)
    parts.partial_fit(X[:15], y[:15], classes=["low", "mid"])
    assert list(parts.classes_) == ["low", "mid"]
    for part in (slice(15, 40), slice(40, None)):
        parts.partial_fit(X[part], y[part])
    assert list(parts.classes_) == list(whole.classes_)
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-12)
    assert parts.log_evidence_ == pytest.approx(whole.log_evidence_)


def test_first_rows_of_one_class_ask_for_the_others():
    with pytest.raises(ValueError, match="only one class; name the others by classes="):
        DiscreteClassifier().partial_fit([["a"]], [0])


@for_each("frame", [pd.DataFrame, pl.DataFrame, np.array])
def test_words_and_numbers_come_from_anywhere(frame):
    table = {"colour": ["red", "red", "blue", "blue"], "size": [1, 2, 1, 2]}
    X = np.array(list(zip(*table.values(), strict=True)), dtype=object)
    y = [0, 1, 1, 0]
    given = X if frame is np.array else frame(table)
    model = DiscreteClassifier(1.0).fit(given, y)
    np.testing.assert_array_equal(model.predict(given), y)
    listed = DiscreteClassifier(1.0).fit(X.tolist(), y)
    np.testing.assert_allclose(listed.predict_proba(X.tolist()), model.predict_proba(given))
    assert model.tables_[0].values == listed.tables_[0].values


def test_pandas_categories_are_categories():
    X = pd.DataFrame({"a": pd.Categorical(["u", "v", "u"]), "b": [True, False, True]})
    assert list(DiscreteClassifier().fit(X, ["p", "q", "p"]).predict(X)) == ["p", "q", "p"]


@for_each("nothing", [None, np.nan, pd.NA, pd.NaT])
def test_a_missing_value_is_named(nothing):
    X = np.array([["a", 1], ["b", nothing]], dtype=object)
    with pytest.raises(ValueError, match=r"column 1 \(row 1\).*'missing'"):
        DiscreteClassifier().fit(X, [0, 1])


def test_a_value_that_cannot_be_a_category_is_named():
    X = np.array([["a"], [{"b"}]], dtype=object)
    with pytest.raises(TypeError, match="Column 0 of X holds a value that cannot be hashed"):
        DiscreteClassifier().fit(X, [0, 1])


def test_a_concentration_that_is_none_is_refused_before_anything_is_counted():
    X, y = rows()
    model = DiscreteClassifier(1.0).fit(X, y).set_params(concentration=-1.0)
    with pytest.raises(ValueError, match=r"concentration=-1\.0 must be"):
        model.partial_fit(X, y)
    assert model.tables_[0].counts.sum() == len(y)
    with pytest.raises(ValueError, match="concentration=0 must be"):
        DiscreteClassifier(0).fit(X, y)


def test_predictions_never_claim_certainty():
    X = np.arange(50)[:, None]
    y = np.arange(50) % 2
    proba = DiscreteClassifier().fit(X, y).predict_proba(X)
    assert 0.6 < proba.max(axis=1).min() <= proba.max() < 0.9
