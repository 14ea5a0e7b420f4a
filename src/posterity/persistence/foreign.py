"""Objects of other libraries that model files may contain, and how they are restored.

Classes of scikit-learn are restored by their fields. Trees, neighbours and k-means are not in the
list, because their compiled code uses indices of the file without checks. Other objects are made
by the constructors of a table, which validate their arguments, and random generators by their
state.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import sklearn
from scipy import interpolate, stats
from sklearn.isotonic import IsotonicRegression
from sklearn.utils import Bunch

from posterity.persistence.errors import FileError

CLASSES = {
    "sklearn.calibration": "CalibratedClassifierCV",
    "sklearn.compose": "ColumnTransformer TransformedTargetRegressor make_column_selector",
    "sklearn.cross_decomposition": "PLSRegression",
    "sklearn.decomposition": """FactorAnalysis FastICA IncrementalPCA KernelPCA NMF PCA SparsePCA
        TruncatedSVD""",
    "sklearn.ensemble": """AdaBoostClassifier AdaBoostRegressor BaggingClassifier BaggingRegressor
        StackingClassifier StackingRegressor VotingClassifier VotingRegressor""",
    "sklearn.feature_selection": """GenericUnivariateSelect RFE RFECV SelectFdr SelectFpr
        SelectFromModel SelectFwe SelectKBest SelectPercentile SequentialFeatureSelector
        VarianceThreshold""",
    "sklearn.impute": "IterativeImputer KNNImputer MissingIndicator SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.kernel_approximation": """AdditiveChi2Sampler Nystroem PolynomialCountSketch
        RBFSampler SkewedChi2Sampler""",
    "sklearn.linear_model": """BayesianRidge ElasticNet ElasticNetCV Lasso LassoCV LinearRegression
        LogisticRegression Ridge RidgeCV RidgeClassifier""",
    "sklearn.model_selection": """FixedThresholdClassifier GridSearchCV GroupKFold
        GroupShuffleSplit HalvingGridSearchCV HalvingRandomSearchCV KFold LeaveOneGroupOut
        LeaveOneOut PredefinedSplit RandomizedSearchCV RepeatedKFold RepeatedStratifiedKFold
        ShuffleSplit StratifiedGroupKFold StratifiedKFold StratifiedShuffleSplit TimeSeriesSplit
        TunedThresholdClassifierCV""",
    "sklearn.multiclass": "OneVsOneClassifier OneVsRestClassifier OutputCodeClassifier",
    "sklearn.multioutput": """ClassifierChain MultiOutputClassifier MultiOutputRegressor
        RegressorChain""",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": """Binarizer FunctionTransformer KBinsDiscretizer KernelCenterer
        LabelBinarizer LabelEncoder MaxAbsScaler MinMaxScaler Normalizer OneHotEncoder
        OrdinalEncoder PolynomialFeatures PowerTransformer QuantileTransformer RobustScaler
        SplineTransformer StandardScaler TargetEncoder""",
    "sklearn.random_projection": "GaussianRandomProjection",
}
INNER = {  # classes of fitted attributes
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration _TemperatureScaling",
    "sklearn.impute._iterative": "_ImputerTriplet",
    "sklearn.metrics._scorer": "_CurveScorer _MultimetricScorer _PassthroughScorer _Scorer",
    "sklearn.model_selection._search_successive_halving": "_SubsampleMetaSplitter",
    "sklearn.multiclass": "_ConstantPredictor",
    "sklearn.utils._metadata_requests": "MetadataRequest MethodMetadataRequest",
}
FUNCTIONS = {
    "sklearn.feature_selection": """chi2 f_classif f_regression mutual_info_classif
        mutual_info_regression r_regression""",
    "sklearn.metrics": """accuracy_score average_precision_score balanced_accuracy_score
        brier_score_loss d2_absolute_error_score explained_variance_score f1_score jaccard_score
        log_loss matthews_corrcoef max_error mean_absolute_error mean_absolute_percentage_error
        mean_gamma_deviance mean_pinball_loss mean_poisson_deviance mean_squared_error
        mean_squared_log_error median_absolute_error precision_score r2_score recall_score
        roc_auc_score root_mean_squared_error root_mean_squared_log_error top_k_accuracy_score""",
}
ENABLED_BY = {  # available only after another module was imported
    "sklearn.impute.IterativeImputer": "sklearn.experimental.enable_iterative_imputer",
    "sklearn.model_selection.HalvingGridSearchCV": "sklearn.experimental.enable_halving_search_cv",
    "sklearn.model_selection.HalvingRandomSearchCV": (
        "sklearn.experimental.enable_halving_search_cv"
    ),
}
TRAINING_ROWS = {"KernelPCA": "X_fit_", "KNNImputer": "_fit_X", "Nystroem": "components_"}


_WRONG = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError)
_FROZEN = type(stats.norm(0.0, 1.0)), type(stats.randint(0, 1))
_SCIPY = """beta cauchy chi2 expon exponnorm gamma halfcauchy halfnorm invgamma laplace loggamma
    logistic lognorm loguniform norm pareto powerlaw reciprocal t triang truncexpon truncnorm
    uniform weibull_min binom geom nbinom poisson randint"""
_DISTRIBUTIONS = frozenset(_SCIPY.split())


class _ForeignKind(NamedTuple):
    """Functions that decompose and restore objects of some types."""

    types: tuple[type, ...]
    take_apart: Callable[[Any], list[Any]]
    make: Callable[..., Any]


def find_kind(value: Any) -> str | None:
    """Return the kind of a foreign object; None for all others."""
    if type(value) in _FROZEN and not _is_scipy_distribution(value.dist):
        return None
    return next((name for name, kind in _KINDS.items() if type(value) in kind.types), None)


def take_apart(value: Any) -> list[Any]:
    """Return the parts of an object of a known kind."""
    return _KINDS[str(find_kind(value))].take_apart(value)


def make_object(name: Any, parts: list[Any]) -> Any:
    """Build an object from its parts; raise FileError if they are invalid."""
    if not isinstance(name, str) or name not in _KINDS:
        raise FileError(f"model.json describes an unknown kind of object: {name!r:.80}.")
    try:
        return _KINDS[name].make(*parts)
    except _WRONG as error:
        raise FileError(f"model.json describes an invalid {name}: {error}") from error


def restore_derived_state(value: Any, parts: dict[str, Any]) -> None:
    """Restore state that scikit-learn does not store."""
    if type(value) is IsotonicRegression:
        try:
            value.__setstate__({**parts, "_sklearn_version": sklearn.__version__})
        except _WRONG as error:
            raise FileError(f"The file contains an invalid curve: {error}") from error


def _take_masked(value: Any) -> list[Any]:
    return [np.asarray(value.data), np.ma.getmaskarray(value), value.fill_value]


def _make_masked(data: Any, mask: Any, fill_value: Any) -> Any:
    if type(data) is not np.ndarray or type(mask) is not np.ndarray or mask.dtype != np.bool_:
        raise TypeError("it needs an array and a mask.")
    if data.shape != mask.shape:
        raise ValueError("the mask has a different shape.")
    return np.ma.MaskedArray(data, mask=mask, fill_value=fill_value)


def _is_scipy_distribution(dist: Any) -> bool:
    """Return whether this is a distribution of SciPy."""
    return dist.name in _DISTRIBUTIONS and type(dist) is type(getattr(stats, dist.name))


def _take_frozen(value: Any) -> list[Any]:
    return [value.dist.name, list(value.args), dict(value.kwds)]


def _make_frozen(name: Any, args: Any, kwds: Any) -> Any:
    if name not in _DISTRIBUTIONS:
        raise ValueError(f"{name!r:.40} is not a supported distribution.")
    if not all(isinstance(number, numbers.Real) for number in (*args, *kwds.values())):
        raise TypeError("its parameters are not numbers.")
    return getattr(stats, name)(*args, **kwds)


def _take_spline(value: Any) -> list[Any]:
    return [value.t, value.c, value.k, value.extrapolate, value.axis]


def _make_spline(t: Any, c: Any, k: Any, extrapolate: Any, axis: Any) -> Any:
    if extrapolate not in (True, False, "periodic"):
        raise ValueError(f"extrapolate={extrapolate!r:.40}.")
    return interpolate.BSpline(t, c, k, extrapolate, axis)


_KINDS = {
    "bunch": _ForeignKind((Bunch,), lambda value: [dict(value)], lambda named: Bunch(**named)),
    "distribution": _ForeignKind(_FROZEN, _take_frozen, _make_frozen),
    "masked array": _ForeignKind((np.ma.MaskedArray,), _take_masked, _make_masked),
    "spline": _ForeignKind((interpolate.BSpline,), _take_spline, _make_spline),
}


Random: TypeAlias = np.random.Generator | np.random.RandomState

_BIT_GENERATORS = {"PCG64": np.random.PCG64, "MT19937": np.random.MT19937}
_GENERATORS = {"Generator": np.random.Generator, "RandomState": np.random.RandomState}
_MT19937_WORDS = 624


def is_random(value: Any) -> bool:
    """Return whether a value is a random generator of NumPy."""
    return type(value) in _GENERATORS.values()


def read_state(random: Random, where: str) -> dict[str, Any]:
    """Return the state of a generator; raise if its kind is not supported."""
    if isinstance(random, np.random.RandomState):
        state: dict[str, Any] = random.get_state(legacy=False)
    else:
        state = dict(random.bit_generator.state)
    if state["bit_generator"] not in _BIT_GENERATORS:
        raise FileError(
            f"{where} is a generator of kind {state['bit_generator']}, which a model file cannot "
            f"contain: use {' or '.join(_BIT_GENERATORS)}, or an integer."
        )
    return state


def restore_generator(kind: Any, state: Any) -> Random:
    """Restore a generator from its state."""
    name = state.get("bit_generator") if isinstance(state, dict) else None
    if kind not in _GENERATORS or not isinstance(name, str) or name not in _BIT_GENERATORS:
        raise FileError("model.json contains a random generator of unknown kind.")
    bits = _BIT_GENERATORS[name]()
    try:
        if name == "MT19937":
            _check_mt19937(state["state"])
        bits.state = {key: value for key, value in state.items() if key in bits.state}
        if kind == "Generator":
            return np.random.Generator(bits)
        random = np.random.RandomState(bits)
        random.set_state(state)
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
        raise FileError("model.json contains a random generator with an invalid state.") from error
    return random


def _check_mt19937(state: Any) -> None:
    """Check a Mersenne Twister state, which NumPy does not validate."""
    key, position = state["key"], state["pos"]
    if key.shape != (_MT19937_WORDS,) or key.dtype.kind not in "iu":
        raise ValueError("the key has the wrong length")
    if type(position) is not int or not 0 <= position <= _MT19937_WORDS:
        raise ValueError("the position is outside the key")
