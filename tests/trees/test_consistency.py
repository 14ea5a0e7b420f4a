"""Trees, forests and steps that did not come from training are refused before a row goes down."""

import dataclasses

import numpy as np
import pytest

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


CLASSES, HOLES, SUMS = forest(), forest(rows=HOLED), forest(trees.Projections())
NUMBERS = forest(target=X[:, :2], cls=posterity.RandomForestRegressor)
TREES = CLASSES.forest_.trees


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("cls", [*CLASSIFIERS, *REGRESSORS])
def test_every_forest_of_a_fit_is_consistent(cls, family):
    target = Y if cls in CLASSIFIERS else X[:, 0]
    for model in (cls(splits=family, random_state=0), cls(min_samples_leaf=1000.0, random_state=0)):
        model.check_consistency()  # not fitted, there is nothing to say
        model.fit(X, target).check_consistency()


@pytest.mark.parametrize("family", FAMILIES)
def test_boosted_steps_of_a_fit_are_consistent(family):
    model = posterity.LogitBoostClassifier(
        splits=family, n_estimators=10, max_features=20, random_state=0
    )
    model.check_consistency()
    model.fit(X, Y).check_consistency()
    model.truncated(0).check_consistency()


@pytest.mark.parametrize("cls", [posterity.RandomForestClassifier, posterity.LogitBoostClassifier])
def test_missing_values_have_tests_of_their_own_that_are_consistent(cls):
    model = cls(random_state=0).fit(HOLED, Y)
    model.check_consistency()


BAD_TREES = {
    "a root beyond the nodes": {"roots": written(TREES.roots, 0, len(TREES.thresholds))},
    "a root beyond the leaves": {"roots": written(TREES.roots, 0, ~TREES.n_leaves)},
    "no trees": {"roots": TREES.roots[:0]},
    "a child beyond the nodes": {
        "children": written(TREES.children, (-1, 0), len(TREES.thresholds))
    },
    "a child beyond the leaves": {"children": written(TREES.children, (0, 1), ~TREES.n_leaves)},
    "a node that is its own child": {"children": written(TREES.children, (3, 0), 3)},
    "a circle": {"children": written(TREES.children, (3, 1), 1)},
    "other whole numbers": {"children": TREES.children.astype(np.int64)},
    "numbers of the other byte order": {"thresholds": TREES.thresholds.astype(">f8")},
    "too few children": {"children": TREES.children[:-1]},
    "one child a node": {"children": TREES.children[:, :1]},
    "too few thresholds": {"thresholds": TREES.thresholds[:-1]},
    "a threshold that is none": {"thresholds": written(TREES.thresholds, 0, np.nan)},
    "too few gains": {"gains": TREES.gains[1:]},
    "too few tests": {"tests": TREES.tests[1:]},
    "a list for an array": {"roots": TREES.roots.tolist()},
    "leaves that are not counted": {"n_leaves": float(TREES.n_leaves)},
    "fewer leaves than are reached": {"n_leaves": TREES.n_leaves - 1},
}


@pytest.mark.parametrize("parts", BAD_TREES.values(), ids=BAD_TREES.keys())
def test_trees_that_lead_nowhere_are_refused(parts):
    with pytest.raises(ValueError, match=r"\.$"):
        changed(TREES, **parts).check_consistency()


def bad_tests():
    seen, holed, sums = (model.forest_ for model in (CLASSES, HOLES, SUMS))
    n = len(holed.family.edges)
    yield seen, written(seen.trees.tests, 0, 3)
    yield seen, written(seen.trees.tests, 0, -1)
    yield seen, seen.trees.tests.astype(np.float64)
    yield holed, written(holed.trees.tests, 0, n)
    yield sums, written(sums.trees.tests, (0, 1), 3.0)
    yield sums, written(sums.trees.tests, (0, 0), -1.0)
    yield sums, written(sums.trees.tests, (0, 0), np.nan)
    yield sums, sums.trees.tests[:, :-1]


@pytest.mark.parametrize(("grown", "tests"), list(bad_tests()))
def test_tests_of_columns_that_are_not_there_are_refused(grown, tests):
    with pytest.raises(ValueError, match="test"):
        changed(grown, trees=changed(grown.trees, tests=tests)).check_consistency()


def test_a_last_column_that_is_there_is_not_refused():
    grown = HOLES.forest_
    tests = written(grown.trees.tests, 0, len(grown.family.edges) - 1)
    changed(grown, trees=changed(grown.trees, tests=tests)).check_consistency()


def bad_columns():
    edges, missing = HOLES.forest_.family.edges, HOLES.forest_.family.missing
    yield edges[:, :-1], missing
    yield edges.astype(np.float32), missing
    yield written(edges, (0, -1), 1e9), missing
    yield written(edges, (0, 3), np.nan), missing
    yield written(edges, (0, 3), edges[0, 0] - 1.0), missing
    yield edges, written(missing, 0, 3)
    yield edges, written(missing, 0, -1)
    yield edges, missing.astype(np.int64)
    yield edges[:2], missing


@pytest.mark.parametrize(("edges", "missing"), list(bad_columns()))
def test_edges_that_no_code_can_count_are_refused(edges, missing):
    with pytest.raises(ValueError, match=r"\.$"):
        trees.Columns(edges, missing).check_consistency()


@pytest.mark.parametrize(
    "counted", [np.full(6, 255), np.full(6, -1), np.zeros(6), np.zeros(2, int)]
)
def test_edges_counted_wrongly_are_refused(counted):
    family = trees.Columns().fitted(HOLED)
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


@pytest.mark.parametrize("parts", BAD_LEAVES.values(), ids=BAD_LEAVES.keys())
def test_counts_of_classes_that_do_not_fit_are_refused(parts):
    grown = CLASSES.forest_
    leaves = changed(grown.leaves, **parts(grown.leaves))
    with pytest.raises(ValueError, match=r"\.$"):
        changed(grown, leaves=leaves).check_consistency()


LAST = int(CLASSES.forest_.leaves.sizes[-1])
LEAF_LESS = changed(
    CLASSES.forest_.leaves,
    sizes=CLASSES.forest_.leaves.sizes[:-1],
    classes=CLASSES.forest_.leaves.classes[:-LAST],
    counts=CLASSES.forest_.leaves.counts[:-LAST],
)
BAD_CLASS_FORESTS = {
    "a leaf less": {"leaves": LEAF_LESS},
    "a frequency less": {"base": CLASSES.forest_.base[1:]},
    "no leaves": {"leaves": None},
    "normal leaves": {"leaves": NUMBERS.forest_.leaves},
    "no trees": {"trees": None},
    "no family": {"family": None},
    "a family that saw nothing": {"family": trees.Columns()},
    "no sharpness": {"sharpness": "1"},
    "a concentration that is none": {"concentration": np.nan},
}


@pytest.mark.parametrize("parts", BAD_CLASS_FORESTS.values(), ids=BAD_CLASS_FORESTS.keys())
def test_forests_of_classes_whose_parts_do_not_fit_are_refused(parts):
    with pytest.raises(ValueError, match=r"\.$"):
        changed(CLASSES.forest_, **parts).check_consistency()


def bad_normal_forests():
    grown = NUMBERS.forest_
    leaves = grown.leaves
    yield {"leaves": leaves.taken(np.arange(leaves.n_leaves - 1))}
    yield {"leaves": changed(leaves, mean=leaves.mean[:, 0])}
    yield {"leaves": changed(leaves, square=leaves.square[:, :1])}
    yield {"leaves": changed(leaves, count=leaves.count[1:])}
    yield {"leaves": changed(leaves, mean=leaves.mean.astype(np.float32))}
    yield {"leaves": CLASSES.forest_.leaves}
    yield {"pooled": grown.pooled[1:]}
    yield {"sharpness": 0.0}
    yield {"concentration": None}


@pytest.mark.parametrize("parts", list(bad_normal_forests()))
def test_forests_of_numbers_whose_parts_do_not_fit_are_refused(parts):
    with pytest.raises(ValueError, match=r"\.$"):
        changed(NUMBERS.forest_, **parts).check_consistency()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_features_in_", 4),
        ("n_features_in_", 3.0),
        ("n_features_in_", None),
        ("splits", trees.Projections()),
        ("splits", "columns"),
        ("forest_", "forest"),
        ("forest_", SUMS.forest_),
    ],
)
def test_models_that_take_other_rows_than_their_forest_are_refused(name, value):
    model = forest()
    setattr(model, name, value)
    with pytest.raises(ValueError, match=r"\.$"):
        model.check_consistency()


@pytest.mark.parametrize("model", [SUMS, posterity.LogitBoostClassifier(n_estimators=3).fit(X, Y)])
def test_models_that_forgot_how_many_columns_they_take_are_refused(model):
    width = model.__dict__.pop("n_features_in_")
    with pytest.raises(ValueError, match="columns"):
        model.check_consistency()
    model.n_features_in_ = width


BOOSTED = posterity.LogitBoostClassifier(n_estimators=10).fit(X, Y)


def bad_steps():
    steps = BOOSTED.steps_
    yield {"thresholds": steps.thresholds[1:]}
    yield {"values": steps.values[:, :1]}
    yield {"values": steps.values[..., :1]}
    yield {"values": steps.values.astype(np.float32)}
    yield {"offset": steps.offset[1:]}
    yield {"tests": steps.tests[1:]}
    yield {"tests": written(steps.tests, 0, 3)}
    yield {"tests": written(steps.tests, 0, -1)}
    yield {"gains": steps.gains[1:]}


@pytest.mark.parametrize("parts", list(bad_steps()))
def test_steps_that_do_not_fit_are_refused(parts):
    model = posterity.LogitBoostClassifier(n_estimators=10).fit(X, Y)
    model.steps_ = changed(model.steps_, **parts)
    with pytest.raises(ValueError, match=r"\.$"):
        model.check_consistency()


@pytest.mark.parametrize(("name", "value"), [("steps_", "steps"), ("splits_", None)])
def test_boosting_without_its_parts_is_refused(name, value):
    model = posterity.LogitBoostClassifier(n_estimators=2).fit(X, Y)
    setattr(model, name, value)
    with pytest.raises(ValueError, match=r"\.$"):
        model.check_consistency()


def test_what_can_say_whether_it_is_consistent_is_known_by_the_protocol():
    parts = [TREES, CLASSES, CLASSES.forest_, CLASSES.forest_.leaves, CLASSES.forest_.family]
    parts += [NUMBERS.forest_.leaves, BOOSTED, BOOSTED.steps_, SUMS.forest_.family]
    assert all(isinstance(part, validation.Checked) for part in parts)
    assert isinstance(BOOSTED.steps_, Steps)
    assert not isinstance(posterity.LinearRegression(), validation.Checked)
