"""Bad input gets a clear sentence or a right answer; never NaN."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from support.for_each import for_each

import posterity
from posterity import (
    BayesianLinearRegression,
    DualLinearRegression,
    GaussianProcessRegressor,
    KernelRidgeRegression,
    LinearRegression,
    LqRegression,
    RidgeRegression,
)

MODELS = [
    LinearRegression(),
    RidgeRegression(),
    LqRegression(0.1),
    BayesianLinearRegression(),
    KernelRidgeRegression(),
    GaussianProcessRegressor(),
    DualLinearRegression(),
]
each = pytest.mark.parametrize("model", MODELS, ids=repr)


def data(n=20, m=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, m))
    return X, X @ np.arange(1.0, m + 1.0) + 0.1 * rng.normal(size=n)


@each
def test_a_missing_value_is_named_by_row_and_column(model):
    X, y = data()
    table = pd.DataFrame(X.copy(), columns=["height", "weight", "age"])
    table.loc[17, "age"] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*'age'.*17"):
        clone(model).fit(table, y)
    y[4] = np.inf
    with pytest.raises(ValueError, match=r"y contains infinity.*4"):
        clone(model).fit(X, y)


@each
def test_text_is_named_with_what_to_do(model):
    X, y = data()
    table = pd.DataFrame(X, columns=["a", "b", "city"]).astype({"city": object})
    table.loc[0, "city"] = "Paris"
    with pytest.raises(ValueError, match=r"'city'.*Paris.*encode"):
        clone(model).fit(table, y)


@each
@for_each(
    ("X", "y", "says"),
    [
        (np.empty((0, 3)), np.empty(0), "0 sample"),
        (np.empty((5, 0)), np.ones(5), "0 feature"),
        (np.ones((1, 3)), np.ones(1), "1 sample|minimum of 2"),
        (np.ones(5), np.ones(5), "2D array"),
        (np.ones((5, 2)) * 1j, np.ones(5), "Complex"),
        (np.ones((5, 2)), np.ones(4), "5 rows.*4"),
        (np.ones((5, 2)), None, "requires y"),
    ],
)
def test_the_wrong_form_is_refused_in_words(model, X, y, says):
    with pytest.raises(ValueError, match=says):
        clone(model).fit(X, y)


@each
def test_duplicated_column_names_are_refused(model):
    X, y = data()
    with pytest.raises(ValueError, match="'a'"):
        clone(model).fit(pd.DataFrame(X, columns=["a", "b", "a"]), y)


@each
def test_queries_with_other_columns_are_refused(model):
    X, y = data()
    with pytest.raises(ValueError, match="expecting 3 features"):
        clone(model).fit(X, y).predict(X[:, :2])


def finite_prediction(model, X, y, X_star):
    fitted = clone(model).fit(X, y)
    mean, std = fitted.predict(X_star, return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert np.all(std >= 0.0)
    return mean, std


@each
def test_a_constant_column_is_no_news(model):
    X, y = data()
    mean, _ = finite_prediction(
        model, np.column_stack([X, np.full(20, 0.1)]), y, np.column_stack([X, np.full(20, 0.1)])
    )
    plain_mean, _ = finite_prediction(model, X, y, X)
    if not isinstance(model, DualLinearRegression):
        searched = isinstance(model, GaussianProcessRegressor)  # from other random starts
        atol = 5e-3 if searched else 1e-8
        np.testing.assert_allclose(mean, plain_mean, rtol=1e-6, atol=atol)


@each
@for_each("value", [0.0, 0.1, -3e5])
def test_a_constant_target_is_predicted_with_next_to_no_doubt(model, value):
    X, _ = data()
    mean, std = finite_prediction(model, X, np.full(20, value), X)
    np.testing.assert_allclose(mean, value, rtol=1e-9, atol=1e-12)
    assert np.all(std <= 1e-7 * max(1.0, abs(value)))


@each
def test_a_column_twice_predicts_as_once(model):
    X, y = data()
    mean, _ = finite_prediction(model, np.hstack([X, X[:, :1]]), y, np.hstack([X, X[:, :1]]))
    assert np.corrcoef(mean, y)[0, 1] > 0.99


@for_each("model", MODELS[:-1], ids=repr)
@for_each("scale", [1e300, 1e150, 1e-150, 1e-300])
def test_huge_and_tiny_inputs_do_not_overflow(model, scale):
    X, y = data()
    mean, std = finite_prediction(model, X * scale, y, X * scale)
    plain = finite_prediction(model, X, y, X)
    np.testing.assert_allclose(mean, plain[0], rtol=1e-6)
    np.testing.assert_allclose(std, plain[1], rtol=1e-6)


@for_each("scale", [1e300, 1e150, 1e-150])
@for_each(
    "model",
    [DualLinearRegression(standardize=False), BayesianLinearRegression(standardize=False)],
    ids=repr,
)
def test_inputs_whose_squares_are_no_doubles_are_refused_in_words(model, scale):
    X, y = data()
    with (
        pytest.raises(ValueError, match=r"beyond double precision|kernel"),
        np.errstate(all="ignore"),
    ):
        clone(model).fit(X * scale, y)


@each
@for_each("scale", [1e120, 1e-120])
def test_huge_and_tiny_targets_do_not_overflow(model, scale):
    X, y = data()
    if isinstance(model, LqRegression):
        model = clone(model).set_params(penalty=0.1 * scale)
    mean, _ = finite_prediction(model, X, y * scale, X)
    np.testing.assert_allclose(mean / scale, y, atol=1.5)


@each
@for_each("scale", [1e200, 1e-200])
def test_targets_whose_variance_is_no_double_are_refused_in_words(model, scale):
    X, y = data()
    if not isinstance(model, LqRegression):  # it knows no variances
        with pytest.raises(ValueError, match=r"targets.*beyond double precision"):
            clone(model).fit(X, y * scale)


@each
def test_unknown_options_are_refused_in_words(model):
    X, y = data()
    for name, value in {
        "alpha": -1.0,
        "penalty": -1.0,
        "prior_variance": 0.0,
        "noise_variance": "much",
        "predictive": "crystal ball",
        "prior": "none",
        "penalty_power": 0.0,
        "loss_power": -1.0,
    }.items():
        if name in model.get_params():
            with pytest.raises(ValueError, match=name):
                clone(model).set_params(**{name: value}).fit(X, y)


def test_least_squares_without_spare_rows_predicts_but_claims_no_certainty():
    X, y = data(n=3, m=5)
    model = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.predict(X), y)
    with pytest.raises(ValueError, match="the noise cannot be estimated"):
        model.predict_dist(X)


def test_chunks_and_targets_are_not_mixed():
    X, y = data()
    chunks = posterity.designs.Chunks.from_arrays(X, y)
    with pytest.raises(ValueError, match="bring their own"):
        LinearRegression().fit(chunks, y)


@for_each(
    "name",
    [
        "BoostedTreesRegressor",
        "RandomFernRegressor",
        "RandomForestRegressor",
        "RandomTreeRegressor",
    ],
)
def test_a_single_row_does_not_tell_how_far_others_lie_from_it(name):
    model = getattr(posterity, name)()
    with pytest.raises(ValueError, match=f"a minimum of 2 is required by {name}"):
        model.fit([[1.0, 2.0, 3.0]], [5.0])
    model.set_params(splits=posterity.trees.Function(len, len))
    with pytest.raises(ValueError, match=f"a minimum of 2 is required by {name}"):
        model.fit([[1.0, 2.0, 3.0]], [5.0])
