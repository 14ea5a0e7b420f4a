"""Trees, forests and steps that did not come from training are refused before a row goes down."""

import copy
import dataclasses
import functools
import re

import numpy as np
import pytest
from support import effort
from support.for_each import for_each

import posterity
from posterity import trees, validation
from posterity.trees.boosting.steps import Steps

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
HOLED = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
Y = (X[:, 0] + X[:, 1] > 0.3).astype(int) + (X[:, 2] > 1.0)
FAMILIES = [None, trees.Projections(), trees.Differences(), trees.Orientations(4)]
CLASSIFIERS = [
    posterity.RandomTreeClassifier,
    posterity.RandomForestClassifier,
    posterity.RandomFernClassifier,
]
REGRESSORS = [
    posterity.RandomTreeRegressor,
    posterity.RandomForestRegressor,
    posterity.RandomFernRegressor,
]


def changed(value, **parts):
    return dataclasses.replace(value, **parts)


def written(array, place, value):
    copy = array.copy()
    copy[place] = value
    return copy


def forest(tests=None, rows=X, target=Y, cls=posterity.RandomForestClassifier):
    return cls(5, splits=tests, random_state=0).fit(rows, target)


@functools.cache
def classes():
    return forest()


@functools.cache
def holes():
    return forest(rows=HOLED)


@functools.cache
def sums():
    return forest(trees.Projections())


@functools.cache
def numbers():
    return forest(target=X[:, :2], cls=posterity.RandomForestRegressor)


@functools.cache
def boosted():
    return posterity.LogitBoostClassifier(n_estimators=10).fit(X, Y)


def assert_refused(broken, match=r"\.$"):
    """Each of them is; all that are not are listed."""
    accepted = [name for name, part in broken if not is_refused(part, match)]
    assert not accepted


def is_refused(part, match):
    try:
        part.check_consistency()
    except ValueError as error:
        return re.search(match, str(error)) is not None
    return False


@for_each("family", effort.some(FAMILIES, 2))
@for_each("cls", [*CLASSIFIERS, *REGRESSORS])
def test_every_forest_of_a_fit_is_consistent(cls, family):
    target = Y if cls in CLASSIFIERS else X[:, 0]
    for model in (cls(splits=family, random_state=0), cls(min_samples_leaf=1000.0, random_state=0)):
        model.check_consistency()  # not fitted, there is nothing to say
        model.fit(X, target).check_consistency()


@for_each("family", FAMILIES)
def test_boosted_steps_of_a_fit_are_consistent(family):
    model = posterity.LogitBoostClassifier(
        splits=family, n_estimators=10, max_features=20, random_state=0
    )
    model.check_consistency()
    model.fit(X, Y).check_consistency()
    model.truncate(0).check_consistency()


@for_each("family", FAMILIES)
@for_each("growth", ["oblivious", "leaf"])
def test_boosted_trees_of_a_fit_are_consistent(family, growth):
    model = posterity.BoostedTreesClassifier(
        5, splits=family, max_features=20, growth=growth, max_leaf_nodes=8, cv=2, random_state=0
    )
    model.check_consistency()
    model.fit(X, Y).check_consistency()
    model.truncate(0).check_consistency()


def bad_boosted_trees():
    model = posterity.BoostedTreesClassifier(5, cv=2, categorical_features=[1], random_state=0)
    model.fit(X.round(), Y).check_consistency()
    grown, columns = model.trees_, model.splits_
    yield with_attribute(model, "trees_", "trees")
    yield with_attribute(model, "trees_", changed(grown, offset=grown.offset[:, :1]))
    yield with_attribute(model, "trees_", changed(grown, tests=written(grown.tests, 0, 999)))
    yield with_attribute(model, "calibration_", None)
    yield with_attribute(model, "calibration_", changed(model.calibration_, sharpness=-1.0))
    yield with_attribute(model, "labels_", None)
    yield with_attribute(model, "splits_", changed(columns, categorical=np.int32([7])))
    yield with_attribute(model, "splits_", changed(columns, values=columns.values[:, 1:]))
    yield with_attribute(model, "splits_", changed(columns, n_levels=columns.n_levels + 1))
    yield with_attribute(model, "splits_", changed(columns, owners=columns.owners + 1))
    yield with_attribute(model, "n_features_in_", 4)


def test_boosted_trees_whose_parts_do_not_fit_are_refused():
    assert_refused(enumerate(bad_boosted_trees()))


@for_each("cls", [posterity.RandomForestClassifier, posterity.LogitBoostClassifier])
def test_missing_values_have_tests_of_their_own_that_are_consistent(cls):
    model = cls(random_state=0).fit(HOLED, Y)
    model.check_consistency()


def bad_trees(grown):
    yield from {
        "a root beyond the nodes": {"roots": written(grown.roots, 0, len(grown.thresholds))},
        "a root beyond the leaves": {"roots": written(grown.roots, 0, ~grown.n_leaves)},
        "no trees": {"roots": grown.roots[:0]},
        "a child beyond the nodes": {
            "children": written(grown.children, (-1, 0), len(grown.thresholds))
        },
        "a child beyond the leaves": {"children": written(grown.children, (0, 1), ~grown.n_leaves)},
        "a node that is its own child": {"children": written(grown.children, (3, 0), 3)},
        "a circle": {"children": written(grown.children, (3, 1), 1)},
        "other whole numbers": {"children": grown.children.astype(np.int64)},
        "numbers of the other byte order": {"thresholds": grown.thresholds.astype(">f8")},
        "too few children": {"children": grown.children[:-1]},
        "one child a node": {"children": grown.children[:, :1]},
        "too few thresholds": {"thresholds": grown.thresholds[:-1]},
        "a threshold that is none": {"thresholds": written(grown.thresholds, 0, np.nan)},
        "too few gains": {"gains": grown.gains[1:]},
        "too few tests": {"tests": grown.tests[1:]},
        "a list for an array": {"roots": grown.roots.tolist()},
        "leaves that are not counted": {"n_leaves": float(grown.n_leaves)},
        "fewer leaves than are reached": {"n_leaves": grown.n_leaves - 1},
    }.items()


def test_trees_that_lead_nowhere_are_refused():
    grown = classes().forest_.trees
    assert_refused((name, changed(grown, **parts)) for name, parts in bad_trees(grown))


def bad_tests():
    seen, holed, summed = (model().forest_ for model in (classes, holes, sums))
    n = len(holed.family.edges)
    yield seen, written(seen.trees.tests, 0, 3)
    yield seen, written(seen.trees.tests, 0, -1)
    yield seen, seen.trees.tests.astype(np.float64)
    yield holed, written(holed.trees.tests, 0, n)
    yield summed, written(summed.trees.tests, (0, 1), 3.0)
    yield summed, written(summed.trees.tests, (0, 0), -1.0)
    yield summed, written(summed.trees.tests, (0, 0), np.nan)
    yield summed, summed.trees.tests[:, :-1]


def test_tests_of_columns_that_are_not_there_are_refused():
    assert_refused(
        (
            (number, changed(grown, trees=changed(grown.trees, tests=tests)))
            for number, (grown, tests) in enumerate(bad_tests())
        ),
        match="test",
    )


def test_a_last_column_that_is_there_is_not_refused():
    grown = holes().forest_
    tests = written(grown.trees.tests, 0, len(grown.family.edges) - 1)
    changed(grown, trees=changed(grown.trees, tests=tests)).check_consistency()


def bad_columns():
    edges, missing = holes().forest_.family.edges, holes().forest_.family.missing
    yield edges[:, :-1], missing
    yield edges.astype(np.float32), missing
    yield written(edges, (0, -1), 1e9), missing
    yield written(edges, (0, 3), np.nan), missing
    yield written(edges, (0, 3), edges[0, 0] - 1.0), missing
    yield edges, written(missing, 0, 3)
    yield edges, written(missing, 0, -1)
    yield edges, missing.astype(np.int64)
    yield edges[:2], missing


def test_edges_that_no_code_can_count_are_refused():
    assert_refused((number, trees.Columns(*parts)) for number, parts in enumerate(bad_columns()))


@for_each("counted", [np.full(6, 255), np.full(6, -1), np.zeros(6), np.zeros(2, int)])
def test_edges_counted_wrongly_are_refused(counted):
    family = trees.Columns().adapt_to(HOLED)
    object.__setattr__(family, "_n_edges", counted)
    with pytest.raises(ValueError, match="edges"):
        family.check_consistency()


BAD_LEAVES = {
    "a class that is not": lambda leaves: {"classes": written(leaves.classes, 0, 3)},
    "more classes than there are": lambda leaves: {"sizes": written(leaves.sizes, 0, 4)},
    "one class more": lambda leaves: {"sizes": written(leaves.sizes, 0, leaves.sizes[0] + 1)},
    "a count less": lambda leaves: {"counts": leaves.counts[1:]},
    "a class less": lambda leaves: {"classes": leaves.classes[1:]},
    "counts that are none": lambda leaves: {
        "counts": written(leaves.counts.astype(np.float64), 0, np.nan)
    },
    "negative sizes": lambda leaves: {"sizes": written(leaves.sizes.astype(np.int64), 0, -1)},
    "sizes that make up for each other": lambda leaves: {
        "sizes": written(leaves.sizes.astype(np.int64), [0, 1], [-1, leaves.sizes[:2].sum() + 1])
    },
    "classes as numbers": lambda leaves: {"classes": leaves.classes.astype(np.float64)},
    "another number of classes": lambda leaves: {"n_classes": leaves.n_classes + 1},
    "no number of classes": lambda leaves: {"n_classes": "3"},
}


def test_counts_of_classes_that_do_not_fit_are_refused():
    grown = classes().forest_
    leaves = grown.leaves
    assert_refused(
        (name, changed(grown, leaves=changed(leaves, **parts(leaves))))
        for name, parts in BAD_LEAVES.items()
    )


def leaf_less(leaves):
    last = int(leaves.sizes[-1])
    return changed(
        leaves,
        sizes=leaves.sizes[:-1],
        classes=leaves.classes[:-last],
        counts=leaves.counts[:-last],
    )


def bad_class_forests():
    grown = classes().forest_
    yield "a leaf less", {"leaves": leaf_less(grown.leaves)}
    yield "a frequency less", {"base": grown.base[1:]}
    yield "no leaves", {"leaves": None}
    yield "normal leaves", {"leaves": numbers().forest_.leaves}
    yield "no trees", {"trees": None}
    yield "no family", {"family": None}
    yield "a family that saw nothing", {"family": trees.Columns()}
    yield "no sharpness", {"sharpness": "1"}
    yield "a concentration that is not a number", {"concentration": np.nan}


def test_forests_of_classes_whose_parts_do_not_fit_are_refused():
    grown = classes().forest_
    assert_refused((name, changed(grown, **parts)) for name, parts in bad_class_forests())


def bad_normal_forests():
    grown = numbers().forest_
    leaves = grown.leaves
    yield {"leaves": leaves.take(np.arange(leaves.n_leaves - 1))}
    yield {"leaves": changed(leaves, mean=leaves.mean[:, 0])}
    yield {"leaves": changed(leaves, square=leaves.square[:, :1])}
    yield {"leaves": changed(leaves, count=leaves.count[1:])}
    yield {"leaves": changed(leaves, mean=leaves.mean.astype(np.float32))}
    yield {"leaves": classes().forest_.leaves}
    yield {"pooled": grown.pooled[1:]}
    yield {"sharpness": 0.0}
    yield {"concentration": None}


def test_forests_of_numbers_whose_parts_do_not_fit_are_refused():
    grown = numbers().forest_
    assert_refused(
        (number, changed(grown, **parts)) for number, parts in enumerate(bad_normal_forests())
    )


def with_attribute(model, name, value):
    other = copy.copy(model)
    setattr(other, name, value)
    return other


def test_models_that_take_other_rows_than_their_forest_are_refused():
    broken = [
        ("n_features_in_", 4),
        ("n_features_in_", 3.0),
        ("n_features_in_", None),
        ("splits", trees.Projections()),
        ("splits", "columns"),
        ("forest_", "forest"),
        ("forest_", sums().forest_),
    ]
    assert_refused((part, with_attribute(classes(), *part)) for part in broken)


@for_each("fitted", [sums, boosted])
def test_models_that_forgot_how_many_columns_they_take_are_refused(fitted):
    model = copy.copy(fitted())
    del model.n_features_in_
    with pytest.raises(ValueError, match="columns"):
        model.check_consistency()


def bad_steps():
    steps = boosted().steps_
    yield {"thresholds": steps.thresholds[1:]}
    yield {"values": steps.values[:, :1]}
    yield {"values": steps.values[..., :1]}
    yield {"values": steps.values.astype(np.float32)}
    yield {"offset": steps.offset[1:]}
    yield {"tests": steps.tests[1:]}
    yield {"tests": written(steps.tests, 0, 3)}
    yield {"tests": written(steps.tests, 0, -1)}
    yield {"gains": steps.gains[1:]}


def test_steps_that_do_not_fit_are_refused():
    steps = boosted().steps_
    assert_refused(
        (number, with_attribute(boosted(), "steps_", changed(steps, **parts)))
        for number, parts in enumerate(bad_steps())
    )


def test_boosting_without_its_parts_is_refused():
    broken = [("steps_", "steps"), ("splits_", None)]
    assert_refused((part, with_attribute(boosted(), *part)) for part in broken)


def test_what_can_say_whether_it_is_consistent_is_known_by_the_protocol():
    grown, steps = classes().forest_, boosted().steps_
    parts = [grown.trees, classes(), grown, grown.leaves, grown.family]
    parts += [numbers().forest_.leaves, boosted(), steps, sums().forest_.family]
    assert all(isinstance(part, validation.Checked) for part in parts)
    assert isinstance(steps, Steps)
    assert not isinstance(posterity.LinearRegression(), validation.Checked)
