"""The tasks that the README shows, as data: representative ones, and those that posterity loses."""

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
SECONDS = Measure("seconds", "{} s")
PROCESS = Measure("wall_s", "{} s")
MEMORY = Measure("peak_mib", "{} MiB", 3)
DIGITS = Measure("digits", "{:.1f} digits", None)
EVIDENCE = Measure("log_evidence", "log evidence {}", 4)
LOG_LOSS = Measure("log_loss", "log loss {}", 3)
VECTORS = Measure("vectors", "{} vectors")


@dataclass(frozen=True)
class Row:
    """What the README shows of one task: our contender, and peers with the names they get."""

    label: str
    benchmark: str
    task: str
    ours: str
    peers: tuple[tuple[str, str], ...] = ()
    measures: tuple[Measure, ...] = (FIT,)


_COVER = "cover types, drawn from a known law; 7 classes, 50,000 x 54"
_LATENT = "5 draws of smooth functions of 2 latent coordinates, 500 x 12"
_RIDGE = (("scikit-learn BayesianRidge", "scikit-learn `BayesianRidge`"),)
_LEAST = (("scikit-learn LinearRegression", "scikit-learn `LinearRegression`"),)
_FAST = (("fastrvm RVR", "fastrvm"),)

ROWS = (
    Row(
        "Bayesian linear fit, 100,000 x 100",
        "bayesian_linear",
        "twenty live weights, 100,000 x 100",
        "posterity BayesianLinearRegression",
        _RIDGE,
    ),
    Row(
        "Bayesian linear fit, 500 x 5,000",
        "bayesian_linear",
        "twenty live weights, 500 x 5,000",
        "posterity BayesianLinearRegression",
        _RIDGE,
        (FIT, MEMORY),
    ),
    Row(
        "least squares, 100,000 x 100",
        "linear",
        "independent normal columns, 100,000 x 100",
        "posterity LinearRegression",
        _LEAST,
        (FIT, DIGITS),
    ),
    Row(
        "least squares, 1,000 x 500",
        "linear",
        "independent normal columns, 1,000 x 500",
        "posterity LinearRegression",
        _LEAST,
        (FIT, DIGITS),
    ),
    Row(
        "NIST's Filip, correct digits",
        "nist",
        "correct digits of the worst coefficient",
        "posterity",
        (
            ("scikit-learn", "scikit-learn `LinearRegression`"),
            ("statsmodels OLS, method='qr'", "statsmodels `OLS`, QR"),
        ),
        (Measure("Filip", "{:.1f}", None),),
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
        "... one evidence with its gradient, 20,000 x 8, H200",
        "device_process",
        "20,000 rows",
        "posterity",
        (("GPyTorch, Cholesky", "GPyTorch"),),
        (SECONDS, Measure("gigabytes", "{} GB")),
    ),
    Row(
        "kernel ridge, 4,000 x 8, penalty chosen",
        "kernel_ridge_chosen",
        "Friedman's function, 4,000 x 8",
        "posterity KernelRidgeRegression, leave one out",
        (("scikit-learn GridSearchCV, 5 folds, 13 penalties", "scikit-learn `GridSearchCV`"),),
    ),
    Row(
        "logistic regression, 100,000 x 100",
        "logistic",
        "two classes, independent columns, 100,000 x 100",
        "posterity LogisticRegression",
        (("scikit-learn lbfgs, to the gradient", "scikit-learn, lbfgs, same gradient"),),
    ),
    Row(
        "... related columns in mixed units",
        "logistic",
        "two classes, related columns in units from 0.01 to 100, 100,000 x 100",
        "posterity LogisticRegression",
        (("scikit-learn newton-cholesky, to the gradient", "scikit-learn, newton-cholesky"),),
        (FIT, LOG_LOSS),
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
        _FAST,
        (FIT, EVIDENCE),
    ),
    Row(
        "relevance vectors, 4,000 x 8",
        "relevance_vectors",
        "Friedman's function, 4,000 x 8",
        "posterity RelevanceVectorRegressor",
        _FAST,
        (FIT, Measure("rmse", "RMSE {}", 3), VECTORS),
    ),
    Row(
        "... learned width, Friedman 1, 240 x 10: squared error",
        "relevance_sets",
        "Friedman 1, 240 x 10",
        "posterity RelevanceVectorRegressor",
        (("scikit-learn SVR", "scikit-learn `SVR`, 5 folds"),),
        (Measure("error", "{}", 3), VECTORS),
    ),
    Row(
        "100 trees, 50,000 x 54, seven classes",
        "forests",
        _COVER,
        "posterity RandomForestClassifier",
        (
            ("scikit-learn RandomForestClassifier", "scikit-learn `RandomForestClassifier`"),
            ("LightGBM LGBMClassifier", "LightGBM"),
        ),
        (FIT, LOG_LOSS, Measure("pickle_mb", "{} MB", 3)),
    ),
    Row(
        "... predicting one row",
        "forest_rows",
        _COVER,
        "posterity RandomForestClassifier",
        (("LightGBM LGBMClassifier", "LightGBM"),),
        (Measure("row_1_ms", "{} ms"),),
    ),
    Row(
        "... of numbers, kin8nm, 7,373 x 8",
        "regression_forests",
        "kin8nm, 7,373 x 8",
        "posterity RandomForestRegressor",
        (
            ("scikit-learn RandomForestRegressor", "scikit-learn `RandomForestRegressor`"),
            ("LightGBM LGBMRegressor", "LightGBM, means only"),
        ),
        (FIT, Measure("rmse", "RMSE {}", 3), Measure("crps", "CRPS {}", 3)),
    ),
    Row(
        "200 boosted stumps, 10,000 x 50",
        "boosting",
        "sum of five squares, 10,000 x 50",
        "posterity LogitBoostClassifier, rate 0.5",
        (("LightGBM LGBMClassifier, rate 0.5", "LightGBM, the same rate"),),
        (FIT, LOG_LOSS),
    ),
    Row(
        "PCA, 100,000 x 100, 50 axes",
        "principal",
        "60 latent directions and noise, 100,000 x 100",
        "posterity PCA",
        (("scikit-learn PCA, auto", "scikit-learn `PCA`"),),
        (FIT, DIGITS),
    ),
    Row(
        "... 100,000 x 1,000, in chunks",
        "principal_blocks",
        "60 latent directions and noise, 100,000 x 1,000",
        "posterity PCA, chunks",
        (("scikit-learn IncrementalPCA", "scikit-learn `IncrementalPCA`"),),
        (FIT, DIGITS),
    ),
    Row(
        "GPLVM, 500 x 12, 100 steps, five sets",
        "latent_variables",
        _LATENT,
        "posterity GPLVM",
        (("GPy GPLVM", "GPy"),),
        (FIT, Measure("log_density", "log density {}", 4)),
    ),
    Row(
        "saving a Gaussian process of 2,000 rows",
        "saving",
        "GaussianProcessRegressor, 2,000 x 8",
        "posterity",
        (("pickle, protocol 5", "pickle"),),
        (Measure("save_wall_s", "{} s"),),
    ),
    Row(
        "10,000,000 x 50 from Parquet, whole process",
        "out_of_core",
        "10,000,000 x 50",
        "BayesianLinearRegression.fit",
        (),
        (PROCESS, Measure("absolute_peak_mib", "{} MiB", 3)),
    ),
    Row(
        "`posterity demo`: models compared, report, winner saved",
        "command",
        "whole processes",
        "posterity demo",
        (),
        (PROCESS, Measure("absolute_peak_mib", "{} MiB", 3)),
    ),
)
