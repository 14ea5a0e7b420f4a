"""What the README shows of measurements, as data: eight typical tasks, four of which posterity
loses, and the seconds of one fit of each kind of model.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks import report
from benchmarks.readings import Value


@dataclass(frozen=True)
class Measure:
    """A measurement, how it is written, and its significant digits; None: the pattern knows."""

    key: str
    pattern: str
    digits: int | None = 2

    def of(self, numbers: Mapping[str, Value]) -> str:
        """The number in words; nothing where it was not measured."""
        value = numbers.get(self.key)
        if value is None:
            return ""
        if self.digits is None or isinstance(value, str):
            return self.pattern.format(value)
        return self.pattern.format(report.number(value, self.digits))


FIT = Measure("fit_wall_s", "{} s")
DIGITS = Measure("digits", "{:.1f} digits", None)
EVIDENCE = Measure("log_evidence", "log evidence {}", 4)


@dataclass(frozen=True)
class Row:
    """What the README shows of one task: our contender, and peers with the names they get."""

    label: str
    benchmark: str
    task: str
    ours: str
    peers: tuple[tuple[str, str], ...] = ()
    measures: tuple[Measure, ...] = (FIT,)


ROWS = (
    Row(
        "Bayesian linear fit, 100,000 x 100",
        "bayesian_linear",
        "twenty live weights, 100,000 x 100",
        "posterity BayesianLinearRegression",
        (("scikit-learn BayesianRidge", "scikit-learn `BayesianRidge`"),),
    ),
    Row(
        "least squares, 1,000 x 500",
        "linear",
        "independent normal columns, 1,000 x 500",
        "posterity LinearRegression",
        (("scikit-learn LinearRegression", "scikit-learn `LinearRegression`"),),
        (FIT, DIGITS),
    ),
    Row(
        "logistic regression, 100,000 x 100",
        "logistic",
        "two classes, independent columns, 100,000 x 100",
        "posterity LogisticRegression",
        (("scikit-learn lbfgs, to the gradient", "scikit-learn, lbfgs, same gradient"),),
    ),
    Row(
        "Gaussian process, 2,000 x 8, all learned",
        "gaussian_process",
        "Friedman's function, 2,000 x 8",
        "posterity GaussianProcessRegressor",
        (
            ("scikit-learn GaussianProcessRegressor", "scikit-learn"),
            ("GPyTorch ExactGP, L-BFGS", "GPyTorch"),
        ),
        (FIT, EVIDENCE),
    ),
    Row(
        "Gaussian process classification, 2,000 x 2",
        "gaussian_process_classification",
        "2 bananas, 2,000 x 2",
        "posterity, the model of the others",
        (("scikit-learn GaussianProcessClassifier", "scikit-learn, the same model"),),
        (FIT, EVIDENCE),
    ),
    Row(
        "relevance vectors, 500 x 8",
        "relevance_vectors",
        "Friedman's function, 500 x 8",
        "posterity RelevanceVectorRegressor",
        (("fastrvm RVR", "fastrvm"),),
        (FIT, EVIDENCE),
    ),
    Row(
        "boosted trees, kin8nm, 2,000 x 8",
        "boosted_trees_numbers",
        "kin8nm, 2,000 x 8",
        "posterity BoostedTreesRegressor",
        (
            ("CatBoost with uncertainty", "CatBoost with uncertainty"),
            ("LightGBM, cross-validated spread", "LightGBM, spread of five folds"),
        ),
        (Measure("fit_cpu_s", "{} s"), Measure("log_score", "log score {}", 2)),
    ),
    Row(
        "saving a Gaussian process of 2,000 rows",
        "saving",
        "GaussianProcessRegressor, 2,000 x 8",
        "posterity",
        (("pickle, protocol 5", "pickle"),),
        (Measure("save_wall_s", "{} s"),),
    ),
)


@dataclass(frozen=True)
class Advice:
    """A model to take for some data, and its contenders in ``durations``, by kind of target."""

    data: str
    models: str
    contenders: Mapping[str, tuple[str, ...]]


_REGRESSION, _CLASSES = "regression, 10,000 x 20", "classification, 10,000 x 20"
_LATENT = "latent, 10,000 x 20"

ADVICE = (
    Advice(
        "most tables",
        "`BoostedTreesRegressor`, `BoostedTreesClassifier`",
        {_REGRESSION: ("boosted-trees",), _CLASSES: ("boosted-trees",)},
    ),
    Advice(
        "a first look, coefficients",
        "`BayesianLinearRegression`, `BayesianLogisticRegression`",
        {_REGRESSION: ("linear",), _CLASSES: ("linear",)},
    ),
    Advice(
        "few rows, smooth functions",
        "`GaussianProcessRegressor`, `GaussianProcessClassifier`",
        {_REGRESSION: ("process-ard",), _CLASSES: ("process",)},
    ),
    Advice(
        "many columns, few of which matter",
        "`SparseLinearRegression`, `SparseLogisticRegression`",
        {_REGRESSION: ("sparse",), _CLASSES: ("sparse",)},
    ),
    Advice(
        "counts, amounts, outliers",
        "`GeneralizedLinearRegression`, `GammaRegression`, `RobustRegression`",
        {_REGRESSION: ("poisson", "gamma", "robust")},
    ),
    Advice("a map of the rows, no target", "`PCA`, `GPLVM`", {_LATENT: ("PCA", "GPLVM")}),
)
