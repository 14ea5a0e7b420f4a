import numpy as np
import pytest
from support.for_each import for_each

from posterity import designs
from posterity.trees.families.columns import Columns
from posterity.trees.forests import normal_forest
from posterity.trees.forests import streamed as streamed_forest
from posterity.trees.forests.class_forest import ClassTargets
from posterity.trees.forests.forest import ForestPlan
from posterity.trees.forests.normal_forest import NumberTargets
from posterity.trees.forests.out_of_bag import fit_forest
from posterity.trees.growth import growing

RULES = growing.GrowthRules(n_tests=2)


def problem(n=230):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.argmax(X + rng.gumbel(size=(n, 3)), axis=1).astype(np.int32)
    return X, y, X[:, :2] + rng.normal(size=(n, 2)), rng.integers(0, 3, size=n).astype(float)


def chunks(X, rows=50):
    return designs.Chunks.from_arrays(X, rows=rows)


def streamed(kind, plan, rows=50, n=230):
    X, y, Y, w = problem(n)
    family = streamed_forest.fit_family(Columns(), chunks(X, rows))
    rng = np.random.default_rng(1)
    given = (y, w, ClassTargets(3)) if kind == "classes" else (Y, w, NumberTargets())
    return streamed_forest.fit_chunks(family, chunks(X, rows), *given, plan, rng)


def whole(kind, plan, n=230):
    X, y, Y, w = problem(n)
    family, rng = Columns().adapt_to(X), np.random.default_rng(1)
    given = (y, w, ClassTargets(3)) if kind == "classes" else (Y, w, NumberTargets())
    return fit_forest(family, X, *given, plan, rng)


def numbers(forest, X):
    return forest.average(X) if hasattr(forest, "average") else forest.members(X)


kinds = pytest.mark.parametrize("kind", ["classes", "normals"])


@kinds
def test_all_rows_in_chunks_give_the_forest_of_all_rows(kind):
    plan = ForestPlan(6, RULES, bootstrap=False)
    X = problem()[0]
    for one, two in zip(
        numbers(streamed(kind, plan).forest, X), numbers(whole(kind, plan).forest, X), strict=True
    ):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)


@kinds
@for_each(
    "plan", [ForestPlan(6, RULES), ForestPlan(6, RULES, False, 40), ForestPlan(6, RULES, True, 0.2)]
)
def test_trees_are_those_of_memory_and_leaves_count_all_rows_or_their_own(kind, plan):
    X, _, _, w = problem()
    found, expected = streamed(kind, plan).forest, whole(kind, plan).forest
    np.testing.assert_array_equal(found.trees.thresholds, expected.trees.thresholds)
    np.testing.assert_array_equal(found.trees.children, expected.trees.children)
    totals = np.zeros(found.trees.n_leaves)
    for leaf in found.apply(X).T:
        np.add.at(totals, leaf, w)
    counts = found.leaves.totals() if kind == "classes" else found.leaves.count
    by_sample = kind == "classes" and np.array_equal(counts, expected.leaves.totals())
    assert by_sample or np.allclose(np.where(totals > 0, counts, 0.0), totals)


def test_leaves_of_classes_count_what_predicts_better():
    small = streamed("classes", ForestPlan(1, RULES, max_samples=60), n=3000)
    assert small.forest.leaves.totals().sum() > 1000  # one tree of few rows gains by all others
    full = ForestPlan(6, RULES)  # each of these has seen most rows
    own = whole("classes", full)
    np.testing.assert_array_equal(
        streamed("classes", full).forest.leaves.totals(), own.forest.leaves.totals()
    )


@kinds
def test_the_forest_does_not_depend_on_how_rows_are_cut(kind):
    X, plan = problem()[0], ForestPlan(6, RULES, max_samples=60)
    forests = [streamed(kind, plan, rows).forest for rows in (37, 500)]
    for one, two in zip(*(numbers(forest, X) for forest in forests), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-7, atol=1e-9)


@kinds
def test_rows_are_judged_without_their_own_count(kind):
    fit = streamed(
        kind, ForestPlan(25, growing.GrowthRules(2, min_samples_leaf=4), max_samples=300), n=2000
    )
    score = fit.oob_score if kind == "classes" else -(fit.oob_score**0.5)
    truth = 0.55 if kind == "classes" else -1.1  # what the best forest could do, about
    assert truth - 0.15 < score < truth + 0.1
    assert np.isfinite(fit.oob_log_score)
    assert len(fit.oob_log_prob) == 2000


def test_samples_are_bounded_where_nobody_says_how_large(monkeypatch):
    monkeypatch.setattr(streamed_forest, "_MOST_SAMPLES", 20)
    plan = ForestPlan(3, RULES)
    bounded = streamed("classes", plan).forest
    assert bounded.trees.n_leaves <= 60
    assert streamed("classes", ForestPlan(3, RULES, max_samples=200)).forest.trees.n_leaves > 60


def test_spreads_are_learned_from_five_rows_around_a_leaf_less_the_own_row(monkeypatch):
    learn, learned_from = normal_forest.learn_normal_tuning, []

    def noted(members, *given):
        learned_from.append(members)
        return learn(members, *given)

    monkeypatch.setattr(normal_forest, "learn_normal_tuning", noted)
    fitted = streamed("normals", ForestPlan(6, RULES, False, 40))
    assert fitted.forest.leaves.count.min() < 3.0
    (members,) = learned_from
    assert members.leaves.count[members.used].min() >= 5.0 - problem()[3].max()
