"""Data at the door is read exactly, or refused with a sentence that says where and why."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted
from support.for_each import for_each

from posterity import PCA, GammaRegression, tables, validation


class WeightedMean(RegressorMixin, BaseEstimator):
    """The smallest regressor that uses every check."""

    def __init__(self, multi_output=True):
        self.multi_output = multi_output

    def fit(self, X, y, sample_weight=None):
        X_train, t = validation.check_X_y(self, X, y, multi_output=self.multi_output)
        weights = validation.check_sample_weight(sample_weight, len(X_train))
        self.mean_ = np.average(t, axis=0, weights=weights)
        return self

    def predict(self, X):
        check_is_fitted(self)
        n = len(validation.check_X(self, X, reset=False))
        return np.broadcast_to(self.mean_, (n, *np.shape(self.mean_))).copy()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.multi_output
        tags.regressor_tags.poor_score = True
        return tags


@parametrize_with_checks([WeightedMean(), WeightedMean(multi_output=False)])
def test_messages_are_those_scikit_learn_expects(estimator, check):
    check(estimator)


def door(X, **options):
    return validation.check_X(BaseEstimator(), X, reset=True, **options)


def targets(y, **options):
    return validation.check_X_y(BaseEstimator(), np.zeros((len(y), 1)), y, **options)[1]


FRAMES = [pd.DataFrame, pl.DataFrame]


@for_each("order", ["C", "F"])
def test_a_float64_array_is_not_copied(order):
    X = np.asarray(np.arange(6.0).reshape(3, 2), order=order)
    assert door(X) is X


@for_each("frame", FRAMES)
def test_names_of_a_data_frame_are_kept_and_compared(frame):
    estimator = BaseEstimator()
    X = validation.check_X(estimator, frame({"age": [1, 2], "rich": [True, False]}), reset=True)
    np.testing.assert_array_equal(X, [[1.0, 1.0], [2.0, 0.0]])
    assert X.dtype == np.float64
    assert list(estimator.feature_names_in_) == ["age", "rich"]
    with pytest.raises(ValueError, match="feature names should match"):
        validation.check_X(estimator, frame({"rich": [1], "age": [2]}), reset=False)


def test_nullable_columns_are_numbers():
    X = pd.DataFrame(
        {
            "a": pd.array([1, 2], dtype="Int64"),
            "b": pd.array([True, False], dtype="boolean"),
            "c": pd.array([0.5, 1.5], dtype="Float32"),
            "d": pd.Categorical([7, 8]),
        }
    )
    np.testing.assert_array_equal(door(X), [[1, 1, 0.5, 7], [2, 0, 1.5, 8]])


@for_each("frame", FRAMES)
def test_missing_value_in_a_frame_names_its_column_and_row(frame):
    X = frame({"city": [1.0, 2.0, 3.0], "age": [4.0, None, float("nan")]})
    match = r"Input X contains NaN: column 'age' \(row 1\) and 1 other place\. Fill or drop"
    with pytest.raises(ValueError, match=match):
        door(X)


@for_each("dtype", ["Int64", "object"])
def test_pandas_missing_marker_is_a_missing_value(dtype):
    X = pd.DataFrame({"age": pd.Series([1, pd.NA, 3], dtype=dtype)})
    with pytest.raises(ValueError, match=r"Input X contains NaN: column 'age' \(row 1\)"):
        door(X)


def test_non_finite_value_in_an_array_is_counted_from_zero():
    X = np.ones((20, 3))
    X[17, 2] = np.inf
    match = r"Input X contains infinity: column 2 \(row 17\)\. Clip"
    with pytest.raises(ValueError, match=match):
        door(X)
    X[[3, 18, 19], 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN: column 1 \(row 3\) and 2 other places\. Fill"):
        door(X)


def test_infinities_that_cancel_are_found():
    with pytest.raises(ValueError, match=r"infinity: column 0 \(row 0\) and 1 other place\."):
        door([[np.inf], [-np.inf]])


def test_huge_values_are_legal_though_their_sum_overflows():
    X = np.full((4, 2), 1e308)
    assert door(X) is X


@for_each("frame", FRAMES)
def test_text_names_its_column_row_and_value(frame):
    X = frame({"age": [1, 2, 3], "city": ["4", "Paris", "Rome"]})
    match = r"column 'city' \(row 1\) holds the text 'Paris'; encode it .*OneHotEncoder"
    with pytest.raises(ValueError, match=match):
        door(X)


@for_each("column", [pd.Categorical(["low", "high"]), ["low", None]])
def test_text_of_every_pandas_kind_is_named(column):
    with pytest.raises(ValueError, match=r"column 'level' \(row 0\) holds the text 'low'"):
        door(pd.DataFrame({"level": column}))


def test_text_in_an_array_and_in_a_list_is_named():
    with pytest.raises(ValueError, match=r"column 1 \(row 0\) holds the text 'a'"):
        door(np.array([["1", "a"]]))
    with pytest.raises(ValueError, match=r"column 0 \(row 1\) holds the text 'b'"):
        door([[1, 2], ["b", None]])
    with pytest.raises(ValueError, match=r"column 0 \(row 1\) holds the text 'b'"):
        door([[None, 2], ["b", 3]])


def test_text_that_reads_as_a_number_is_one():
    np.testing.assert_array_equal(door([["1", " 2.5 "]]), [[1.0, 2.5]])


def test_integer_beyond_float64_is_named():
    with pytest.raises(ValueError, match=r"column 0 \(row 1\) is too large for a float64"):
        door([[1], [10**400]])


def test_what_is_not_a_table_keeps_scikit_learns_message():
    with pytest.raises(ValueError, match="inhomogeneous"):
        door([[1, 2], [3]])
    with pytest.raises(TypeError, match="not 'dict'"):
        door([[{"a": 1}]])
    with pytest.raises(ValueError, match="Complex data not supported"):
        door(np.ones((2, 2)) * 1j)
    with pytest.raises(ValueError, match="could not convert string to float"):
        door(np.array([[["a"]]]))
    with pytest.raises(ValueError, match="minimum of 3 is required"):
        door([[1.0], [2.0]], min_rows=3)


@for_each("frame", FRAMES)
def test_dates_are_refused_rather_than_counted(frame):
    when = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[us]")
    with pytest.raises(ValueError, match=r"X contains dates or times \(column 'when'\)"):
        door(frame({"age": [1.0, 2.0], "when": when}))
    with pytest.raises(ValueError, match="y contains dates or times"):
        targets(frame({"when": when})["when"])


def test_dates_with_a_time_zone_and_durations_are_refused():
    when = pd.date_range("2020-01-01", periods=2, tz="UTC")
    for column in [when, when - when[0]]:
        with pytest.raises(ValueError, match=r"X contains dates or times \(column 'a'\)"):
            door(pd.DataFrame({"a": column}))
    with pytest.raises(ValueError, match="X contains dates or times"):
        door(np.array([["2020-01-01"]], dtype="datetime64[D]"))


def test_duplicated_column_names_are_listed():
    X = pd.DataFrame(np.ones((2, 5)), columns=["a", "b", "a", "c", "b"])
    with pytest.raises(ValueError, match="more than one column named 'a', 'b'; rename"):
        door(X)


@for_each("y", [[1, 2, 3], [[1], [2], [3]], [[1, 4], [2, 5], [3, 6]]])
def test_targets_keep_their_shape(y):
    checked = targets(y)
    assert checked.dtype == np.float64
    np.testing.assert_array_equal(checked, y)
    assert checked.shape == np.shape(y)


def test_targets_of_a_single_output_are_flattened_with_a_warning():
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert targets([[1], [2]], multi_output=False).shape == (2,)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        targets([[1, 2], [3, 4]], multi_output=False)


def test_bad_targets_name_their_row():
    with pytest.raises(ValueError, match=r"Input y contains NaN: row 1 and 1 other place\."):
        targets([1.0, np.nan, None])
    with pytest.raises(ValueError, match=r"Input y contains infinity: row 0\."):
        targets([np.inf, 1.0])
    with pytest.raises(ValueError, match=r"y contains NaN: column 1 \(row 0\)"):
        targets([[0.0, np.nan]])
    with pytest.raises(ValueError, match="y: row 1 holds the text 'no'"):
        targets(pd.Series([1, "no"]))
    with pytest.raises(ValueError, match="requires y to be passed"):
        validation.check_X_y(BaseEstimator(), [[1.0]], None)
    with pytest.raises(ValueError, match="y is the single value 3"):
        validation.check_X_y(BaseEstimator(), [[1.0]], 3.0)
    with pytest.raises(ValueError, match="y has no columns"):
        targets(np.ones((3, 0)))


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="X has 3 rows but y has 2"):
        validation.check_X_y(BaseEstimator(), np.ones((3, 1)), [1, 2])


@for_each("weights", [[1, 0, 2], pd.Series([1, 0, 2]), pl.Series([1, 0, 2])])
def test_weights_become_floats(weights):
    checked = validation.check_sample_weight(weights, 3)
    assert checked.dtype == np.float64
    np.testing.assert_array_equal(checked, [1.0, 0.0, 2.0])


def test_a_single_weight_is_repeated():
    np.testing.assert_array_equal(validation.check_sample_weight(2, 3), [2.0, 2.0, 2.0])


@for_each(
    ("weights", "match"),
    [
        ([1, -2, 3], r"sample_weight is -2 in row 1; weights must not be negative"),
        ([1, np.nan, 3], r"sample_weight contains NaN: row 1\."),
        ([1, np.inf, 3], r"sample_weight contains infinity: row 1\."),
        ([0, 0, 0], "sample_weight is zero in every row"),
        ([1, 2], r"sample_weight has shape \(2,\) but there are 3 rows"),
        ([[1], [2], [3]], r"sample_weight has shape \(3, 1\)"),
        (["a", 1, 2], "sample_weight: row 0 holds the text 'a'"),
    ],
)
def test_bad_weights_name_their_row(weights, match):
    with pytest.raises(ValueError, match=match):
        validation.check_sample_weight(weights, 3)


def test_positive_numbers_pass():
    assert validation.check_positive(np.float32(0.5), "length_scale") == 0.5
    assert type(validation.check_positive(2, "length_scale")) is float
    np.testing.assert_array_equal(validation.check_positive(2, "noise", length=2), [2.0, 2.0])
    np.testing.assert_array_equal(validation.check_positive([1, 3], "noise", length=2), [1.0, 3.0])


@for_each("value", [0, -1.0, np.nan, np.inf, True, "1", None, [1.0], 1j])
def test_what_is_not_a_positive_number_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"length_scale=.* must be a"):
        validation.check_positive(value, "length_scale")


@for_each(
    ("value", "match"),
    [
        ([1, 0, -1], r"noise_variance is 0 in row 1 and 1 other place; it must be greater"),
        ([1, np.nan, 1], r"noise_variance contains NaN: row 1"),
        ([1, 1], r"noise_variance has shape \(2,\) but there are 3 rows"),
    ],
)
def test_what_is_not_a_positive_column_names_its_row(value, match):
    with pytest.raises(ValueError, match=match):
        validation.check_positive(value, "noise_variance", length=3)


@for_each("marker", [np.nan, pd.NA])
def test_further_advice_is_of_missing_values_only(marker):
    X = pd.DataFrame({"age": pd.Series([1.0, marker], dtype=object)})
    with pytest.raises(ValueError, match=r"SimpleImputer\. Or ask\.$"):
        validation.check_X(WeightedMean(), X, reset=True, advice="Or ask.")
    with pytest.raises(ValueError, match=r"infinite values first\.$"):
        validation.check_X(WeightedMean(), [[np.inf]], reset=True, advice="Or ask.")


def test_masked_values_are_not_taken_for_data():
    X = np.ma.masked_array([[1.0, 2.0], [3.0, 999.0]], [[False, False], [False, True]])
    with pytest.raises(ValueError, match=r"filled\(np.nan\)"):
        door(X)
    np.testing.assert_array_equal(door(X[:1]), [[1.0, 2.0]])


@for_each("frame", FRAMES)
def test_a_frame_without_columns_is_refused_in_words(frame):
    with pytest.raises(ValueError, match="data frame without columns"):
        door(frame())


def test_coordinates_are_as_many_as_there_are_components():
    def door(X, n=2):
        return validation.check_coordinates(BaseEstimator(), X, n)

    np.testing.assert_array_equal(door(pd.DataFrame({"a": [1], "b": [2]})), [[1.0, 2.0]])
    assert door(np.empty((3, 0)), 0).shape == (3, 0)
    with pytest.raises(ValueError, match=r"X has 3 columns, but .* takes 2: the coordinates"):
        door(np.ones((4, 3)))
    with pytest.raises(ValueError, match=r"infinity: column 1 \(row 0\)"):
        door([[0.0, np.inf]])
    with pytest.raises(ValueError, match="holds the text 'a'"):
        door([["a", "b"]])


def test_missing_values_pass_where_they_are_allowed_and_infinities_never():
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    checked = validation.check_X(WeightedMean(), X, reset=True, allow_missing=True)
    np.testing.assert_array_equal(checked, X)
    X[1, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity: column 1 \(row 1\)"):
        validation.check_X(WeightedMean(), X, reset=True, allow_missing=True)


def test_plain_queries_are_compared_with_the_columns_of_fit_all_the_same():
    model = WeightedMean()
    validation.check_X(model, np.eye(3), reset=True)
    query = np.ones((1, 3))
    assert validation.check_X(model, query, reset=False) is query
    with pytest.raises(ValueError, match="X has 2 features"):
        validation.check_X(model, np.ones((1, 2)), reset=False)
    with pytest.raises(ValueError, match="0 sample"):
        validation.check_X(model, np.ones((0, 3)), reset=False)
    with pytest.raises(ValueError, match="NaN"):
        validation.check_X(model, np.full((1, 3), np.nan), reset=False)


def test_plain_queries_of_a_model_that_knows_names_are_warned_about():
    model = WeightedMean()
    validation.check_X(model, pd.DataFrame(np.eye(2), columns=["a", "b"]), reset=True)
    with pytest.warns(UserWarning, match="feature names"):
        validation.check_X(model, np.ones((1, 2)), reset=False)


def test_a_refused_refit_leaves_the_earlier_fit_of_a_table_and_of_axes():
    X, y = {"a": [1.0, 2.0, 3.0], "b": [1, 2, 4]}, [1.0, 2.0, 3.5]
    table = tables.TableModel(GammaRegression()).fit(X, y)
    axes = PCA().fit(np.diag([1.0, 2.0, 3.0]))
    before = [dict(vars(model)) for model in (table, axes)]
    with pytest.raises(ValueError, match="positive"):
        table.fit({"c": [1.0, 2.0, 3.0]}, [-1.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="negative"):
        axes.fit(np.eye(4), sample_weight=[-1.0] * 4)
    assert [vars(model) for model in (table, axes)] == before
