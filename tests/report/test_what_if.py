"""What a page is given of a model: small, plain, and never silently less than the model."""

import base64
import inspect
import json

import numpy as np
import polars as pl
import pytest
from report import panel_cases
from sklearn.linear_model import Ridge
from support.for_each import for_each

import posterity
from posterity import (
    features,
    kernels,
    likelihoods,
    linear,
    models,
    page_forms,
    process,
    sparse,
    tables,
    trees,
)
from posterity.process.latent import condensed
from posterity.report import what_if

WITHOUT_A_FORM = {"DiscreteClassifier"}  # of counts, not of rows that are encoded to numbers


def payload_of(estimator: object, n_classes: int = 0) -> dict[str, object]:
    found = what_if.payload(panel_cases.fitted(estimator, n_classes=n_classes))
    assert not isinstance(found, what_if.NoPanel), found.why
    return found


@for_each(
    ("values", "kind"),
    [
        ([0, 255], "u8"),
        ([0, 256], "u16"),
        ([0.5, -1.0, np.inf, np.nan], "f32"),
        ([-1.0, 70_000.0], "f32"),
        ([0.1, np.inf], "f64"),
        ([], "u8"),
    ],
)
def test_packing_takes_the_smallest_type_that_loses_nothing(values: list[float], kind: str) -> None:
    found = page_forms.encode(np.asarray(values, dtype=np.float64))
    dtype = {"u8": "u1", "u16": "<u2", "f32": "<f4", "f64": "<f8"}[found["type"]]
    assert found["type"] == kind
    read = np.frombuffer(base64.b64decode(found["data"]), dtype)
    np.testing.assert_array_equal(read.astype(np.float64), values)


def test_a_payload_is_strict_json_with_every_control() -> None:
    found = payload_of(linear.BayesianLinearRegression())
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["target"] == "y"
    width, age, kind, day = found["inputs"]  # type: ignore[misc]
    assert (width["indicator"], age["indicator"]) == (True, False)
    assert width["low"] < width["start"] < width["high"]
    assert kind["levels"] == ["x", "y", "z"]
    assert kind["start"] in kind["levels"]
    assert (day["written"], day["periods"]) == ("date", [365.2425, 7.0])


def test_controls_say_how_dates_and_whole_numbers_are_given() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "clock": [f"{h:02d}:{m:02d}" for h, m in rng.integers((24, 60), size=(50, 2))],
            "moment": [
                f"2020-01-{d:02d} {h:02d}:30" for d, h in rng.integers((1, 0), (30, 24), (50, 2))
            ],
            "whole": rng.integers(0, 30, 50),
            "y": rng.normal(size=50),
        }
    )
    schema = tables.infer(frame, "y", date=("clock", "moment"), keep=("whole",))
    model = tables.TableModel(linear.BayesianLinearRegression(), schema).fit(frame)
    found = what_if.payload(model, first=["whole", "no such column"])
    assert not isinstance(found, what_if.NoPanel)
    kinds = {part["name"]: part.get("written", part.get("whole")) for part in found["inputs"]}
    assert kinds == {"clock": "time", "moment": "datetime", "whole": True}
    assert found["first"] == ["whole"]


def test_a_column_of_which_nothing_was_seen_starts_as_missing() -> None:
    frame = panel_cases.frame(30).with_columns(width=pl.lit(None, pl.Float64), age=pl.lit(5.0))
    estimator = linear.BayesianLinearRegression()
    found = what_if.payload(tables.TableModel(estimator, panel_cases.schema()).fit(frame))
    assert not isinstance(found, what_if.NoPanel)
    width, age = found["inputs"][:2]
    assert (width["low"], width["start"], width["high"]) == (0.0, None, 0.0)
    assert (age["low"], age["start"], age["high"]) == (5.0, 5.0, 5.0)


def test_an_input_of_text_is_refused_in_words() -> None:
    words = np.random.default_rng(0).choice(["old", "red", "big", "dry", "hot", "wet"], (60, 4))
    frame = panel_cases.frame(60).with_columns(kind=pl.Series([" ".join(w) for w in words]))
    inputs = (tables.Column("age", "number"), tables.Column("kind", "text"))
    schema = tables.Schema("y", "regression", inputs)
    model = tables.TableModel(linear.BayesianLinearRegression(), schema).fit(frame)
    found = what_if.payload(model)
    assert isinstance(found, what_if.NoPanel)
    assert found.why == "The input 'kind' is text, which cannot run in a page."


def test_classes_are_named_in_the_order_of_their_probabilities() -> None:
    found = payload_of(trees.LogitBoostClassifier(n_estimators=5), n_classes=3)
    assert found["classes"] == ["class 0", "class 1", "class 2"]


def test_every_estimator_has_a_form_or_is_known_to_have_none() -> None:
    for name in posterity.__all__:
        found = getattr(posterity, name)
        if inspect.isclass(found) and issubclass(found, models.Regressor | models.Classifier):
            has_form = hasattr(found, "page_form")
            assert has_form != (name in WITHOUT_A_FORM), name


@for_each(
    ("estimator", "sentence"),
    [
        (Ridge(), "Ridge cannot run"),
        (
            trees.BoostedTreesRegressor(5, likelihood=likelihoods.LogNormal(), random_state=0),
            "LogNormal cannot run",
        ),
        (trees.RandomFernRegressor(random_state=0), "leaves do not fit"),
        (linear.DualLinearRegression(lambda A, B: A @ B.T), "user-defined kernel function"),
        (process.GaussianProcessRegressor(kernels.Cosine()), "kernel Cosine()"),
        (linear.LinearRegression(features=features.Polynomial(3)), "fit all rows exactly"),
        (
            sparse.RelevanceVectorRegressor(kernels.RBF(3.0).fixed(), query_column=True),
            "query_column=True",
        ),
    ],
)
def test_what_does_not_run_in_a_page_is_refused_in_words(estimator: object, sentence: str) -> None:
    found = what_if.payload(panel_cases.fitted(estimator, 40))
    assert isinstance(found, what_if.NoPanel)
    assert sentence in found.why
    assert found.why.endswith(".")


@for_each("columns", ["shared", "per_class"])
def test_the_nearest_normal_is_told_as_laplaces_is(columns: str) -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    y, told = np.digitize(X[:, 0] - 2.0 * X[:, 1], [-1.5, 1.5]), []
    for how in ("auto", "laplace"):
        model = sparse.SparseLogisticRegression(columns=columns, inference=how).fit(X, y)
        told.append(page_forms.encode(model.posterior_.page_form()))
    assert type(model.posterior_.fit).__name__ == "LaplaceFit"
    differ = {name for name in told[0].keys() | told[1].keys() if told[0][name] != told[1][name]}
    assert differ == {"lower"}


def test_a_payload_is_never_larger_than_a_page_should_carry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = panel_cases.fitted(linear.BayesianLinearRegression())
    monkeypatch.setattr(page_forms, "LIMIT", 3000)
    found = what_if.payload(model)
    assert isinstance(found, what_if.NoPanel)
    assert "too large for a page" in found.why


def test_what_few_rows_cannot_tell_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(condensed, "MOST_PAGE_ROWS", 50)
    monkeypatch.setattr(condensed, "PAGE_ROWS", 20)
    estimator = process.GaussianProcessRegressor(kernels.RBF(0.3).fixed(), random_state=0)
    found = what_if.payload(panel_cases.fitted(estimator))
    assert isinstance(found, what_if.NoPanel)
    assert "covariances of 60 rows" in found.why


def test_the_script_can_stand_in_a_page_under_a_strict_policy() -> None:
    script = what_if.script()
    for word in ("</", "<!--", "eval(", "Function(", "innerHTML", "insertAdjacentHTML", "http://"):
        assert word not in script.replace("http://www.w3.org/2000/svg", ""), word
    assert script.isascii()
    assert what_if.style().isascii()
