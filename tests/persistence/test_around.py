"""Models inside scikit-learn's transformers, searches and ensembles survive a file."""

import importlib
import io

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import (
    calibration,
    compose,
    cross_decomposition,
    decomposition,
    ensemble,
    feature_selection,
    impute,
    isotonic,
    kernel_approximation,
    linear_model,
    model_selection,
    multiclass,
    multioutput,
    preprocessing,
    random_projection,
)
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401
from sklearn.pipeline import make_pipeline, make_union
from support.for_each import for_each

from posterity import (
    BayesianLinearRegression,
    BayesianLogisticRegression,
    LinearRegression,
    RidgeRegression,
    persistence,
)
from posterity.persistence import errors, foreign, registry

# AdaBoost scales weights to a sum of one, which models of repetitions point out.
pytestmark = pytest.mark.filterwarnings("ignore:sample_weight says how often:UserWarning")
RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 1.0, size=(36, 3))
Y = X @ [1.0, 2.0, 3.0] + 0.1 * RNG.normal(size=36)
TWO = np.where(Y + 0.3 * RNG.normal(size=36) > np.median(Y), "high", "low")
THREE = np.array(["a", "b", "c"])[np.argsort(np.argsort(Y + RNG.normal(size=36))) // 12]
HOLES = np.where(RNG.uniform(size=X.shape) < 0.1, np.nan, X)
FRAME = pd.DataFrame({"size": X[:, 0], "colour": RNG.choice(["red", "blue"], 36), "b": X[:, 1]})
NUMBERS, LABELS = RidgeRegression(), BayesianLogisticRegression(prior_variance=1.0)
f_regression = feature_selection.f_regression
TRANSFORMERS = [
    preprocessing.SplineTransformer(4),
    preprocessing.SplineTransformer(4, extrapolation="periodic"),
    preprocessing.QuantileTransformer(n_quantiles=9),
    preprocessing.PowerTransformer(),
    preprocessing.PowerTransformer("box-cox"),
    preprocessing.Normalizer(),
    preprocessing.MaxAbsScaler(),
    preprocessing.MinMaxScaler(),
    preprocessing.RobustScaler(),
    preprocessing.StandardScaler(),
    preprocessing.Binarizer(threshold=0.5),
    preprocessing.KBinsDiscretizer(
        3, encode="onehot-dense", quantile_method="averaged_inverted_cdf"
    ),
    preprocessing.TargetEncoder(cv=2),
    preprocessing.PolynomialFeatures(2),
    preprocessing.FunctionTransformer(np.log1p),
    decomposition.PCA(2),
    decomposition.KernelPCA(2),
    decomposition.TruncatedSVD(2),
    decomposition.FastICA(2, random_state=0),
    decomposition.FactorAnalysis(2),
    decomposition.NMF(2, max_iter=2000),
    decomposition.IncrementalPCA(2),
    decomposition.SparsePCA(2),
    feature_selection.SelectKBest(f_regression, k=2),
    feature_selection.SelectPercentile(feature_selection.r_regression, percentile=70),
    feature_selection.SelectFpr(f_regression),
    feature_selection.SelectFdr(f_regression),
    feature_selection.SelectFwe(f_regression),
    feature_selection.GenericUnivariateSelect(f_regression),
    feature_selection.VarianceThreshold(),
    feature_selection.SelectFromModel(NUMBERS),
    feature_selection.RFE(LinearRegression(), n_features_to_select=2),
    feature_selection.RFECV(LinearRegression(), cv=2),
    feature_selection.SequentialFeatureSelector(NUMBERS, n_features_to_select=2, cv=2),
    impute.SimpleImputer(add_indicator=True),
    impute.KNNImputer(),
    impute.IterativeImputer(random_state=0, tol=0.1),
    make_union(impute.SimpleImputer(), impute.MissingIndicator(features="all")),
    kernel_approximation.Nystroem(n_components=5, random_state=0),
    kernel_approximation.RBFSampler(n_components=5, random_state=0),
    kernel_approximation.AdditiveChi2Sampler(),
    kernel_approximation.SkewedChi2Sampler(n_components=5, random_state=0),
    kernel_approximation.PolynomialCountSketch(n_components=8, random_state=0),
    random_projection.GaussianRandomProjection(2, random_state=0),
]
SPLINES = ("splines", preprocessing.SplineTransformer(3), ["size", "b"])
TABLES = [
    [("colour", preprocessing.OneHotEncoder(handle_unknown="ignore"), ["colour"]), SPLINES],
    [("colour", preprocessing.OrdinalEncoder(), ["colour"]), ("size", "drop", ["size"])],
    [
        ("colour", preprocessing.TargetEncoder(cv=2), ["colour"]),
        ("rest", preprocessing.StandardScaler(), compose.make_column_selector(dtype_include=float)),
    ],
]
SPLITTERS = [
    model_selection.KFold(2, shuffle=True, random_state=0),
    model_selection.LeaveOneOut(),
    model_selection.PredefinedSplit(np.arange(36) % 2),
    model_selection.RepeatedKFold(n_splits=2, n_repeats=1, random_state=0),
    model_selection.ShuffleSplit(2, random_state=0),
    model_selection.TimeSeriesSplit(2),
]
CLASS_SPLITTERS = [
    model_selection.StratifiedKFold(2),
    model_selection.RepeatedStratifiedKFold(n_splits=2, n_repeats=1, random_state=0),
    model_selection.StratifiedShuffleSplit(2, random_state=0),
]
GROUP_SPLITTERS = [
    model_selection.GroupKFold(2),
    model_selection.GroupShuffleSplit(2, random_state=0),
    model_selection.LeaveOneGroupOut(),
    model_selection.StratifiedGroupKFold(2),
]
PENALTIES = {"alpha": [0.1, 1.0]}
VARIANCES = {"prior_variance": [0.1, 1.0]}
GRID = model_selection.GridSearchCV
SOME = {"n_iter": 2, "cv": 2, "random_state": 0}
SEARCHES = [
    *(GRID(NUMBERS, PENALTIES, cv=cv, scoring="neg_mean_squared_error") for cv in SPLITTERS),
    GRID(
        make_pipeline(preprocessing.SplineTransformer(), NUMBERS), {"ridgeregression__alpha": [1]}
    ),
    model_selection.RandomizedSearchCV(NUMBERS, {"alpha": stats.loguniform(0.1, 9.0)}, **SOME),
    model_selection.HalvingRandomSearchCV(NUMBERS, PENALTIES, n_candidates=2, cv=2, random_state=0),
]
CLASS_SEARCHES = [
    *(GRID(LABELS, VARIANCES, cv=cv, scoring="neg_log_loss") for cv in CLASS_SPLITTERS),
    GRID(LABELS, VARIANCES, cv=2, scoring=["accuracy", "roc_auc"], refit="accuracy"),
    model_selection.HalvingGridSearchCV(LABELS, VARIANCES, cv=2, random_state=0),
    model_selection.TunedThresholdClassifierCV(LABELS, cv=2),
    model_selection.FixedThresholdClassifier(LABELS),
]
PAIR = [("one", NUMBERS), ("two", LinearRegression())]
CLASS_PAIR = [("one", LABELS), ("two", BayesianLogisticRegression(prior_variance=5.0))]
LINEAR = [
    linear_model.BayesianRidge(),
    linear_model.ElasticNet(0.1),
    linear_model.ElasticNetCV(cv=2),
    linear_model.Lasso(0.1),
    linear_model.LassoCV(cv=2),
    linear_model.LinearRegression(),
    linear_model.Ridge(),
    linear_model.RidgeCV(),
]
ENSEMBLES = [
    compose.TransformedTargetRegressor(NUMBERS, func=np.log, inverse_func=np.exp),
    compose.TransformedTargetRegressor(NUMBERS, transformer=preprocessing.PowerTransformer()),
    *(ensemble.StackingRegressor(PAIR, final_estimator=last, cv=2) for last in (None, *LINEAR)),
    ensemble.VotingRegressor(PAIR),
    ensemble.BaggingRegressor(NUMBERS, n_estimators=2, random_state=0),
    ensemble.AdaBoostRegressor(NUMBERS, n_estimators=2, random_state=0),
    cross_decomposition.PLSRegression(2),
]
CLASS_ENSEMBLES = [
    calibration.CalibratedClassifierCV(LABELS, cv=2),
    calibration.CalibratedClassifierCV(LABELS, cv=2, ensemble=False),
    calibration.CalibratedClassifierCV(LABELS, cv=2, method="isotonic"),
    calibration.CalibratedClassifierCV(LABELS, cv=2, method="temperature"),
    multiclass.OneVsRestClassifier(LABELS),
    multiclass.OneVsOneClassifier(LABELS),
    multiclass.OutputCodeClassifier(LABELS, random_state=0),
    ensemble.StackingClassifier(CLASS_PAIR, cv=2),
    ensemble.StackingClassifier(CLASS_PAIR, final_estimator=linear_model.RidgeClassifier(), cv=2),
    ensemble.VotingClassifier(CLASS_PAIR, voting="soft"),
    ensemble.BaggingClassifier(LABELS, n_estimators=2, random_state=0),
    ensemble.AdaBoostClassifier(LABELS, n_estimators=2, random_state=0),
]
CASES = [
    *((make_pipeline(clone(step), NUMBERS), X, Y) for step in TRANSFORMERS),
    *((make_pipeline(clone(step), NUMBERS), HOLES, Y) for step in TRANSFORMERS[-10:-6]),
    *((make_pipeline(compose.ColumnTransformer(table), NUMBERS), FRAME, Y) for table in TABLES),
    *((model, X, Y) for model in [*SEARCHES, *ENSEMBLES]),
    *((model, X, TWO) for model in CLASS_SEARCHES),
    *((model, X, THREE) for model in CLASS_ENSEMBLES),
    (multioutput.MultiOutputRegressor(NUMBERS), X, np.column_stack([Y, -Y])),
    (multioutput.RegressorChain(NUMBERS), X, np.column_stack([Y, -Y])),
    (multioutput.MultiOutputClassifier(LABELS), X, np.column_stack([TWO, THREE])),
    (multioutput.ClassifierChain(LABELS), X, np.column_stack([TWO == "low", THREE == "a"])),
]


def name_of(value):
    return " ".join(repr(value).split())[:70] if hasattr(value, "fit") else ""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.posterity"


@pytest.mark.full(but=20)
@pytest.mark.parametrize(("model", "rows", "target"), CASES, ids=name_of)
def test_a_model_around_ours_predicts_the_same_after_a_file(model, rows, target, path):
    fitted = clone(model).fit(rows, target)
    persistence.save(fitted, path)
    loaded = persistence.load(path)
    np.testing.assert_array_equal(fitted.predict(rows), loaded.predict(rows))
    assert loaded.get_params().keys() == fitted.get_params().keys()


@pytest.mark.parametrize("splitter", GROUP_SPLITTERS, ids=lambda splitter: type(splitter).__name__)
def test_a_splitter_is_the_same_after_a_file(splitter, path):
    persistence.save(GRID(NUMBERS, PENALTIES, cv=splitter), path)
    one, two = splitter, persistence.load(path).cv
    groups = np.arange(36) % 3
    for ours, theirs in zip(one.split(X, TWO, groups), two.split(X, TWO, groups), strict=True):
        np.testing.assert_array_equal(ours[1], theirs[1])


def test_results_of_a_search_are_the_same_after_a_file(path):
    search = GRID(NUMBERS, [PENALTIES, {"fit_intercept": [False]}], cv=2).fit(X, Y)
    persistence.save(search, path)
    one, two = search.cv_results_, persistence.load(path).cv_results_
    assert one.keys() == two.keys()
    assert type(two["param_alpha"]) is np.ma.MaskedArray
    for name in one:
        np.testing.assert_array_equal(np.ma.filled(one[name]), np.ma.filled(two[name]))


def test_a_search_is_described_by_the_model_it_found(path):
    target = compose.TransformedTargetRegressor(
        BayesianLinearRegression(), func=np.log, inverse_func=np.exp
    )
    pipeline = make_pipeline(preprocessing.StandardScaler(), target)
    grid = {"transformedtargetregressor__regressor__fit_intercept": [True]}
    persistence.save(GRID(pipeline, grid, cv=2).fit(X, Y), path)
    said = persistence.describe(path)
    assert (said.class_name, said.estimator) == ("GridSearchCV", "BayesianLinearRegression")
    assert said.log_evidence is not None


def test_every_class_that_files_may_name_is_tried():
    def held(value):
        yield type(value).__name__
        parts = value if isinstance(value, list | tuple) else ()
        params = value.get_params(deep=False) if hasattr(value, "get_params") else {}
        for part in (*parts, *params.values()):
            yield from held(part)

    tried = {name for model, *_ in CASES for name in held(model)}
    tried |= {type(splitter).__name__ for splitter in [*SPLITTERS, *CLASS_SPLITTERS]}
    tried |= {type(splitter).__name__ for splitter in GROUP_SPLITTERS}
    within = {"IsotonicRegression", "KernelCenterer", "LabelBinarizer", "LabelEncoder"}
    within |= {"LogisticRegression"}  # fitted by others of the table
    named = {name for names in foreign.CLASSES.values() for name in names.split()}
    assert named - tried - within == set()


@for_each("table", [foreign.CLASSES, foreign.INNER, foreign.FUNCTIONS])
def test_every_name_is_found_and_gives_itself(table):
    known = registry.Registry()
    for module, names in table.items():
        for name in names.split():
            assert known.find_name(known.find_class(f"{module}.{name}")) == f"{module}.{name}"


def test_a_name_that_this_scikit_learn_does_not_have_is_refused_with_a_sentence(monkeypatch):
    monkeypatch.delattr(importlib.import_module("sklearn.calibration"), "_SigmoidCalibration")
    with pytest.raises(errors.FileError, match=r"_SigmoidCalibration, which scikit-learn .* does"):
        registry.Registry().find_class("sklearn.calibration._SigmoidCalibration")


@for_each(
    ("kind", "parts", "words"),
    [
        ("spline", [np.zeros(3), np.zeros(9), 3, True, 0], "invalid spline"),
        ("spline", [np.arange(9.0), np.zeros(5), 3, "__import__", 0], "extrapolate="),
        ("distribution", ["rv_histogram", [], {}], "not a supported distribution"),
        ("distribution", ["norm", ["0"], {}], "not numbers"),
        ("distribution", ["norm", [0.0], {"seed": 1}], "invalid distribution"),
        ("masked array", [np.zeros(3), np.zeros(2, dtype=bool), 0.0], "a different shape"),
        ("masked array", [[1.0], [False], 0.0], "an array and a mask"),
        ("bunch", [[1]], "invalid bunch"),
        ("bunch", [], "invalid bunch"),
        ("eval", ["1"], "unknown kind"),
    ],
)
def test_parts_that_make_no_object_are_refused(kind, parts, words):
    with pytest.raises(errors.FileError, match=words):
        foreign.make_object(kind, parts)


def test_a_curve_that_cannot_be_is_refused():
    curve = isotonic.IsotonicRegression().fit([0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
    parts = {**curve.__getstate__(), "y_thresholds_": np.zeros(7)}
    with pytest.raises(errors.FileError, match="an invalid curve"):
        foreign.restore_derived_state(isotonic.IsotonicRegression(), parts)


def test_a_distribution_that_files_may_not_name_is_refused_before_it_is_written(path):
    odd = stats.rv_histogram((np.ones(2), np.arange(3.0)))(0.0, 1.0)
    search = model_selection.RandomizedSearchCV(NUMBERS, {"alpha": odd})
    with pytest.raises(errors.FileError, match=r"\['alpha'\]"):
        persistence.save(search, path)


@pytest.mark.parametrize("data", [3, None, "model", [NUMBERS], {"a": NUMBERS}, X], ids=repr)
def test_data_are_not_a_model(data, path):
    with pytest.raises(TypeError, match="save expects a model, not"):
        persistence.save(data, path)
    assert not path.exists()


@for_each("place", [io.BytesIO(), 3, None, b"model"], ids=lambda p: type(p).__name__)
@for_each(
    "act",
    [lambda place: persistence.save(NUMBERS, place), persistence.load, persistence.describe],
    ids=["save", "load", "describe"],
)
def test_what_is_not_the_name_of_a_file_is_refused_with_a_sentence(act, place):
    with pytest.raises(TypeError, match=r"A file path must be a str or a pathlib.Path, not"):
        act(place)


def test_a_file_is_described_only_if_it_is_whole(path):
    persistence.save(BayesianLinearRegression().fit(X, Y), path)
    whole = path.read_bytes()
    assert persistence.describe(path).class_name == "BayesianLinearRegression"
    at = whole.index(b"\x93NUMPY") + 140  # in the numbers of the first array
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(errors.FileError, match=r"arrays/0.npy is damaged or was changed"):
        persistence.describe(path)
