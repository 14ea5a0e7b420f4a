"""A model of raw tables: what it takes, what it leaves out, what it answers."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from support.for_each import for_each

from posterity import linear, tables, trees

RNG = np.random.default_rng(5)
N = 80
SIZE = RNG.normal(3.0, 2.0, N)
COLOUR = RNG.choice(["red", "blue"], N)
PRICE = 5.0 * SIZE + 7.0 * (COLOUR == "red") + RNG.normal(size=N)
KIND = np.where(np.median(PRICE) < PRICE, "dear", "cheap")


def table():
    """Texts as a file has them, with holes in an input and in the target."""
    return pl.DataFrame(
        {
            "size": [None if i % 9 == 4 else f"{v:.3f}" for i, v in enumerate(SIZE)],
            "colour": COLOUR,
            "price": ["" if i % 10 == 0 else f"${v:,.2f}" for i, v in enumerate(PRICE)],
        }
    )


def labelled():
    return table().drop("price").with_columns(kind=pl.Series(KIND))


def regressor():
    frame = table()
    schema = tables.infer(frame, "price")
    return tables.TableModel(linear.BayesianLinearRegression(), schema).fit(frame)


def classifier(estimator=None):
    frame = labelled()
    schema = tables.infer(frame, "kind")
    model = linear.BayesianLogisticRegression() if estimator is None else estimator
    return tables.TableModel(model, schema).fit(frame)


def test_rows_without_a_target_are_left_out_and_counted():
    model = regressor()
    assert (model.n_rows_, model.n_left_out_) == (72, 8)
    y, has_target = model.encode_targets(table())
    np.testing.assert_array_equal(has_target, np.arange(N) % 10 != 0)
    np.testing.assert_allclose(y[has_target], PRICE[has_target], atol=0.005)


def test_it_is_the_estimator_on_the_encoded_rows():
    model, frame = regressor(), table()
    rows = frame.filter(pl.col("price") != "")
    X = tables.TableEncoder(model.schema.inputs).fit(rows).transform(rows)
    y = rows["price"].str.replace_all(r"[$,]", "").cast(float).to_numpy()
    alone = linear.BayesianLinearRegression().fit(X, y)
    np.testing.assert_array_equal(model.encode_inputs(rows), X)
    np.testing.assert_allclose(model.predict(rows), alone.predict(X))
    np.testing.assert_allclose(
        model.predict_dist(rows).standard_deviation(), alone.predict_dist(X).standard_deviation()
    )


def test_raw_rows_are_predicted_without_target_with_it_and_whatever_their_order():
    model, frame = regressor(), table()
    answers = model.predict(frame)
    assert np.isfinite(answers).all()
    other = frame.drop("price").select("colour", "size").with_columns(more=pl.lit("a"))
    np.testing.assert_array_equal(model.predict(other), answers)
    np.testing.assert_array_equal(model.predict(frame[7:8]), answers[7:8])


def test_classes_are_texts_and_probabilities_are_in_their_order():
    model = classifier()
    assert model.labels_ == ("cheap", "dear")
    p = model.predict_proba(labelled())
    labels = model.predict(labelled())
    np.testing.assert_array_equal(labels, np.asarray(model.classes_)[p.argmax(axis=1)])
    assert np.mean(labels == KIND) > 0.9
    y, has_target = model.encode_targets(labelled())
    assert has_target.all()
    np.testing.assert_array_equal(np.asarray(model.classes_)[y], KIND)
    np.testing.assert_allclose(model.predict_dist(labelled()).probabilities(), p)


def test_whole_numbers_as_classes_are_ordered_by_size_and_read_from_any_type():
    frame = {"x": SIZE, "y": [str(8 + i % 3) for i in range(N)]}
    schema = tables.infer(frame, "y")
    model = tables.TableModel(DummyClassifier(), schema).fit(frame)
    assert model.labels_ == ("8", "9", "10")
    y, has_target = model.encode_targets({"y": [10.0, 8.0, None]})
    np.testing.assert_array_equal(y, [2, 0, -1])
    np.testing.assert_array_equal(has_target, [True, True, False])


def test_a_class_that_no_fitted_row_has_gets_probability_zero():
    frame = {"x": SIZE, "y": ["abc"[i % 3] for i in range(N)]}
    schema = tables.infer(frame, "y")
    rows = tables.as_frame(frame).filter(pl.col("y") != "b")
    model = tables.TableModel(DummyClassifier(strategy="prior"), schema).fit(rows)
    p = model.predict_proba(frame)
    assert p.shape == (N, 3)
    np.testing.assert_array_equal(p[:, 1], 0.0)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert set(model.predict(frame)) <= {"a", "c"}


def test_a_schema_made_by_hand_takes_the_classes_from_the_rows():
    schema = tables.Schema("kind", "classification", (tables.Column("size", "number"),))
    model = tables.TableModel(DummyClassifier(), schema).fit(labelled())
    assert model.labels_ == ("cheap", "dear")


@for_each(
    ("change", "message"),
    [
        (lambda f: f.drop("size"), "no column 'size'"),
        (lambda f: f.drop("size", "colour"), "no columns 'size', 'colour'"),
        (
            lambda f: f.with_columns(size=pl.Series(["1"] * 7 + ["big"] + ["2"] * (N - 8))),
            "Row 8, column 'size': 'big' is not a number",
        ),
        (lambda f: f.head(0), "no rows"),
    ],
)
def test_tables_that_cannot_be_answered_are_refused_with_a_sentence(change, message):
    with pytest.raises(tables.TableError, match=message):
        regressor().predict(change(table()))


def test_targets_that_cannot_be_used_are_refused_with_a_sentence():
    with pytest.raises(tables.TableError, match="no column 'price'"):
        regressor().encode_targets(table().drop("price"))
    with pytest.raises(tables.TableError, match="Row 1, column 'price': 'gratis'"):
        regressor().encode_targets({"price": ["gratis"]})
    with pytest.raises(
        tables.TableError, match=r"Row 2, column 'kind': 'free' is not a class .*cheap"
    ):
        classifier().encode_targets({"kind": ["dear", "free"]})
    with pytest.raises(TypeError, match="predicts a number"):
        regressor().predict_proba(table())
    with pytest.raises(tables.TableError, match="No row of the table has a value for the target"):
        regressor().fit(table().with_columns(price=pl.lit("")))


@for_each("name", ["size", None])
def test_targets_named_like_an_input_are_refused(name):
    """With log(table["size"]) as y the column is the answer, with a lagged one it is an input."""
    X = pd.DataFrame({"size": [1.0, 2.0, np.nan, 4.0], "target": [1, 2, 3, 4]})
    y = pd.Series([1.0, 2.0, np.nan, 5.0], name=name)
    with pytest.raises(tables.TableError, match=r"row 4 5.0 instead of 4.*give y another name"):
        tables.append_targets(tables.as_frame(X), y if name else [1, 2, 3, 5.0])


@for_each("column", [[1.0, np.nan, 3.0], ["a", None, "b"], [True, False, True], [1, 2, 3]])
def test_a_column_that_is_the_target_itself_is_no_input(column):
    X = pd.DataFrame({"other": [1.0, 2.0, 3.0], "y": column})
    assert tables.append_targets(tables.as_frame(X), X["y"])[1] == "y"
    joined, name = tables.append_targets(tables.as_frame(X), X["y"].astype(object))
    assert (joined.columns, name) == (["other", "y"], "y")


def test_the_target_of_a_schema_replaces_its_column():
    joined, _ = tables.append_targets(tables.as_frame({"y": [1.0]}), [2.0], "y")
    assert joined["y"].to_list() == [2.0]


def test_questions_before_fit_are_refused():
    model = clone(regressor())
    for ask in (model.predict, model.predict_dist, model.encode_inputs, model.encode_targets):
        with pytest.raises(NotFittedError):
            ask(table())


def test_pickles_clones_and_parameters():
    model = regressor()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(table()), model.predict(table()))
    fresh = clone(model)
    assert fresh.schema == model.schema
    assert set(model.get_params(deep=False)) == {"estimator", "schema", "view"}
    assert any(name.startswith("estimator__") for name in model.get_params())
    assert not hasattr(fresh, "estimator_")
    np.testing.assert_array_equal(fresh.fit(table()).predict(table()), model.predict(table()))


def test_it_is_shown_in_a_line():
    assert repr(regressor()) == "TableModel(BayesianLinearRegression(), 'price' from 2 inputs)"


def test_the_profile_has_a_row_for_each_input():
    size, colour = regressor().profile_
    assert (size.name, size.kind, len(size.quantiles)) == ("size", "number", 5)
    assert size.n_missing == sum(1 for i in range(N) if i % 9 == 4 and i % 10)
    assert (colour.levels, sum(colour.counts)) == (("blue", "red"), 72)


@pytest.mark.parametrize(
    "estimator",
    [linear.LinearRegression(), linear.RidgeRegression(), trees.RandomTreeRegressor()],
)
def test_columns_that_sum_to_one_trouble_no_regressor(estimator):
    frame = table()
    model = tables.TableModel(estimator, tables.infer(frame, "price")).fit(frame)
    assert np.isfinite(model.predict(frame)).all()


def test_scikit_learn_scores_and_tunes_it_on_frames_with_text():
    frame = pd.DataFrame({"size": SIZE, "colour": COLOUR})
    ridge = tables.TableModel(linear.RidgeRegression())
    assert is_regressor(ridge)
    scores = cross_val_score(ridge, frame, PRICE, cv=4)
    assert scores.min() > 0.9
    search = GridSearchCV(ridge, {"estimator__alpha": [0.1, 1e4]}, cv=3).fit(frame, PRICE)
    assert search.best_params_ == {"estimator__alpha": 0.1}
    lower, upper = search.best_estimator_.predict_interval(frame)
    assert 0.8 <= np.mean((lower <= PRICE) & (upper >= PRICE)) <= 1.0


@for_each("kind", ["text", "number", "truth"])
def test_classes_come_back_in_the_type_of_y(kind):
    y = {"text": KIND, "number": (KIND == "dear") + 3, "truth": KIND == "dear"}[kind]
    frame = pl.DataFrame({"size": SIZE, "colour": COLOUR})
    model = tables.TableModel(linear.BayesianLogisticRegression())
    assert is_classifier(model)
    losses = cross_val_score(model, frame, y, cv=3, scoring="neg_log_loss")
    assert losses.mean() > -0.5
    model.fit(frame, y)
    answers = model.predict(frame)
    assert answers.dtype == (object if kind == "text" else y.dtype)
    assert model.score(frame, y) == np.mean(answers == y)


EXTENSION_ARRAYS = {
    "whole numbers": pd.array(PRICE.round().astype(int), dtype="Int64"),
    "missing numbers": pd.array([None, *PRICE[1:]], dtype="Float64"),
    "array of a series": pd.Series(PRICE).array,
    "index": pd.Index(PRICE),
    "categories": pd.Categorical(KIND),
    "text": pd.array(KIND, dtype="string"),
    "truth": pd.array(KIND == "dear", dtype="boolean"),
}


@for_each("kind", list(EXTENSION_ARRAYS))
def test_extension_arrays_of_pandas_are_targets_as_their_series_are(kind):
    y, X = EXTENSION_ARRAYS[kind], {"size": SIZE, "colour": COLOUR}
    estimator = linear.BayesianLinearRegression()
    if kind in ("categories", "text", "truth"):
        estimator = linear.LogisticRegression()
    model, same = (tables.TableModel(estimator).fit(X, one) for one in (y, pd.Series(y)))
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    assert model.score(X, y) == same.score(X, pd.Series(y))


def test_tables_of_every_library_are_the_same_rows():
    import pyarrow as pa

    X = np.column_stack([SIZE, RNG.normal(size=N)])
    model = tables.TableModel(linear.BayesianLinearRegression()).fit(X, PRICE)
    names = {"x0": X[:, 0], "x1": X[:, 1]}
    for other in (names, pl.DataFrame(names), pd.DataFrame(names), pa.table(names)):
        np.testing.assert_array_equal(model.predict(other), model.predict(X))
    with pytest.raises(ValueError, match=r"80 rows and y has 79"):
        model.fit(X, PRICE[1:])
    with pytest.raises(tables.TableError, match="pass y, or a schema"):
        model.fit(X)
