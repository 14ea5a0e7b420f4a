"""Every feature space keeps the same promises."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from support.estimator_checks import every_check_once
from support.for_each import for_each

from posterity import features


@dataclass(frozen=True)
class Wave:
    """A kernel as a value, such as a user might write."""

    frequency: float

    def __call__(self, X, Z):
        return np.cos(self.frequency * (X.sum(axis=1)[:, None] - Z.sum(axis=1)))


SPACES = [
    features.Identity(),
    features.Polynomial(3),
    features.Polynomial(4, interactions=False),
    features.Radial(5),
    features.Radial(5, centers="kmeans", random_state=0),
    features.Radial(4, length_scale=0.7),
    features.Arctan(4),
    features.Heaviside(4),
    features.LearnedArctan(4, random_state=0),
    features.LearnedRadial(4, random_state=0),
    features.KernelColumns(),
    features.KernelColumns(Wave(0.5)),
]
ids = [f"{type(space).__name__}-{i}" for i, space in enumerate(SPACES)]
every_space = pytest.mark.parametrize("space", SPACES, ids=ids)
learned = [space for space in SPACES if not isinstance(space, features.KernelColumns)]


def subclasses(cls):
    for child in cls.__subclasses__():
        yield child
        yield from subclasses(child)


def rows(n=30, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def one_column_per_row(space):
    if not isinstance(space, features.KernelColumns):
        return {}
    reason = "there is one column per training row, so repeating a row repeats its column"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


def test_every_concrete_space_is_in_the_table():
    concrete = {c for c in subclasses(features.Features) if not c.__abstractmethods__}
    shipped = {c for c in concrete if c.__module__.startswith("posterity.")}
    assert shipped == {type(space) for space in SPACES}


@every_check_once(SPACES, expected_failed_checks=one_column_per_row)
def test_is_a_scikit_learn_transformer(estimator, check):
    check(estimator)


@every_space
@for_each("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_the_same_numbers_and_names_of_their_own(space, frame):
    X = rows()
    table = frame({"age": X[:, 0], "height": X[:, 1]})
    fitted = clone(space).fit(table)
    np.testing.assert_array_equal(fitted.transform(table), clone(space).fit(X).transform(X))
    assert list(fitted.feature_names_in_) == ["age", "height"]
    names = fitted.get_feature_names_out()
    assert len(set(names)) == len(names) == fitted.transform(table).shape[1]
    anonymous = clone(space).fit(X)
    assert list(anonymous.get_feature_names_out(["age", "height"])) == list(names)


@every_space
@for_each("library", ["pandas", "polars"])
def test_output_can_be_a_frame(space, library):
    Z = clone(space).set_output(transform=library).fit_transform(rows())
    assert isinstance(Z, {"pandas": pd.DataFrame, "polars": pl.DataFrame}[library])
    assert list(Z.columns) == list(clone(space).fit(rows()).get_feature_names_out())


@every_space
def test_a_pipeline_predicts_and_names(space):
    X = pd.DataFrame(rows(), columns=["a", "b"])
    model = make_pipeline(clone(space), LinearRegression()).fit(X, X["a"] - X["b"])
    assert np.isfinite(model.predict(X)).all()
    assert len(model[:-1].get_feature_names_out()) == model[-1].n_features_in_


@every_space
def test_names_given_must_fit_the_columns(space):
    fitted = clone(space).fit(pd.DataFrame(rows(), columns=["a", "b"]))
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        fitted.get_feature_names_out(["b", "a"])
    with pytest.raises(ValueError, match="input_features should have length equal"):
        clone(space).fit(rows()).get_feature_names_out(["a"])


@every_space
def test_error_comes_with_the_same_columns(space):
    fitted = clone(space).fit(rows())
    Z, E = fitted.transform_with_error(rows(seed=1))
    np.testing.assert_array_equal(Z, fitted.transform(rows(seed=1)))
    assert E is None or E.shape == Z.shape
    assert (E is not None) == isinstance(space, features.Polynomial)


@for_each("space", learned)
def test_integer_weights_equal_repeated_rows(space):
    X, weights = rows(), np.random.default_rng(1).integers(0, 4, 30)
    weighted = clone(space).fit(X, sample_weight=weights)
    repeated = clone(space).fit(np.repeat(X, weights, axis=0)[::-1])
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), rtol=1e-13)


@for_each("space", learned)
def test_the_scale_of_the_weights_does_not_matter(space):
    X, weights = rows(), np.random.default_rng(1).integers(0, 4, 30)
    once = clone(space).fit(X, sample_weight=weights).transform(X)
    np.testing.assert_allclose(
        clone(space).fit(X, sample_weight=weights / 8).transform(X), once, rtol=1e-13
    )


@for_each(
    "space",
    [
        features.Radial(5),
        features.Radial(5, centers="kmeans", random_state=0),
        features.Arctan(5),
        features.Heaviside(5),
        features.LearnedArctan(5, random_state=0),
        features.LearnedRadial(5, random_state=0),
    ],
)
def test_units_of_the_columns_do_not_matter(space):
    X, query, unit, origin = rows(), rows(seed=3), np.array([1024.0, 0.25]), np.array([8.0, -2.0])
    plain = clone(space).fit(X).transform(query)
    np.testing.assert_allclose(
        clone(space).fit(X * unit).transform(query * unit), plain, rtol=1e-12, atol=1e-300
    )
    moved = clone(space).fit(X + origin).transform(query + origin)
    np.testing.assert_allclose(moved, plain, rtol=1e-9, atol=1e-12)


@every_space
@for_each("value", [0.0, 5.0, -0.1])
def test_a_constant_column_gives_finite_features_with_different_names(space, value):
    X = rows()
    X[:, 1] = value
    fitted = clone(space).fit(X)
    assert np.isfinite(fitted.transform(rows(seed=1))).all()
    names = list(fitted.get_feature_names_out())
    assert len(set(names)) == len(names)


@for_each("space", [features.Radial(6), features.Arctan(6), features.Heaviside(6)])
@for_each("weights", [None, np.arange(30) % 3])
def test_few_different_values_give_no_identical_features(space, weights):
    X = np.column_stack([np.arange(30) % 2, np.arange(30) % 3]).astype(float)
    Z = clone(space).fit(X, sample_weight=weights).transform(X)
    assert len(np.unique(Z, axis=1).T) == Z.shape[1]


@for_each(
    ("space", "match"),
    [
        (features.Polynomial(0), r"degree=0 must be a whole number of at least 1"),
        (features.Polynomial(2.5), r"degree=2\.5"),
        (features.Radial(0), r"n_centers=0"),
        (features.Radial(centers="median"), r"centers='median' is neither"),
        (features.Radial(centers=[[1.0]]), r"centers has shape \(1, 1\); X has 2 columns"),
        (features.Radial(centers=[1.0, 2.0]), r"centers has shape \(2,\)"),
        (features.Radial(centers=[[1, 2], [1, 2]]), "contains a row twice"),
        (features.Radial(centers=[[1, np.nan]]), "centers must be a non-empty array"),
        (features.Radial(length_scale=-1.0), r"length_scale=-1\.0 must be"),
        (features.Radial(length_scale=[1.0, 0.0]), r"length_scale=.* must be"),
        (features.Radial(length_scale=[1.0] * 3), r"length_scale has shape \(3,\); pass one"),
        (features.Arctan(True), "n_offsets=True"),
        (features.Arctan(offsets=[]), "offsets must be a non-empty array of finite"),
        (features.Arctan(offsets=[1, 1]), "offsets contains a place twice for column 0"),
        (features.Arctan(offsets=[[1, 2, 3]]), "offsets has 3 columns but X has 2"),
        (features.Arctan(slope=0), "slope=0 must be"),
        (features.Heaviside(thresholds="best"), "thresholds='best' is neither"),
        (features.Heaviside(-3), "n_steps=-3"),
        (features.LearnedArctan(0), "n_units=0"),
        (features.LearnedRadial(2, n_restarts=-1), r"n_restarts=-1"),
        (features.KernelColumns("cubic"), "kernel='cubic' must be 'linear' or a function"),
    ],
)
def test_a_wrong_parameter_is_named(space, match):
    with pytest.raises(ValueError, match=match):
        space.fit(rows())
