"""The classifiers that a comparison knows, from the cheap to the dear."""

from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer

from posterity import classification, features, kernels
from posterity.comparison.members import Member, Size

_EXACT_WORK = 1_000  # a Gaussian process beyond is carried by points
_POINTS = 200
_KERNEL_ROWS = 5_000  # of a matrix with an entry for each pair of rows
_TREES, _FERNS, _UNITS, _ROUNDS, _BINS = 100, 50, 10, 100, 4

_CHOICE = "Bernoulli, categorical"
_NORMAL = (_CHOICE, "normal", "explicit", "nearest normal, by evidence")
_SPARSE = (_CHOICE, "Student-t through hidden precisions")
_PROCESS = (
    _CHOICE,
    "normal, over functions",
    "kernel, or inducing points",
    "expectation propagation, or nearest normal",
)
_LEAVES = ("categorical", "Dirichlet")


def _process(kernel: Any, size: Size) -> Any:
    """Exact, or carried by points where rows or classes are many."""
    return classification.GaussianProcessClassifier(
        kernel,
        inducing_points=_POINTS if size.work > _EXACT_WORK else None,
        n_restarts=0,
        random_state=size.seed,
    )


def _counts(size: Size) -> Any:
    """Columns cut into bins of equal width, which leaves indicators as they are."""
    bins = KBinsDiscretizer(_BINS, encode="ordinal", strategy="uniform")
    return make_pipeline(bins, classification.DiscreteClassifier(independent=True))


MEMBERS = (
    Member(
        "linear", "classification", "BayesianLogisticRegression", *_NORMAL,
        "N D^2 C^2 an iteration", "first: the standard against which to hold the others",
        lambda size: classification.BayesianLogisticRegression(),
        usual_rows=1e6,
        on_dask=True,
    ),
    Member(
        "logistic", "classification", "LogisticRegression",
        _CHOICE, "flat", "explicit", "Newton",
        "N D^2 C^2 an iteration", "many more rows than columns; the textbook's answer is wanted",
        lambda size: classification.LogisticRegression(),
        on_dask=True,
    ),
    Member(
        "sparse", "classification", "SparseLogisticRegression", *_SPARSE,
        "explicit, few columns kept", "nearest normal, precisions by evidence",
        "N D m, m columns kept", "few of many inputs matter, and which ones is of interest",
        lambda size: classification.SparseLogisticRegression(),
        usual_rows=1e5,
        on_dask=True,
    ),
    Member(
        "additive", "classification", "BayesianLogisticRegression", _CHOICE, "normal",
        "bumps along each column", "nearest normal, by evidence",
        "N D^2 C^2 an iteration", "a curve in every input, and their sum",
        lambda size: classification.BayesianLogisticRegression(features=features.Radial(6)),
        most_rows=1e5, most_columns=100,
        on_dask=True,
    ),
    Member(
        "quadratic", "classification", "BayesianLogisticRegression", _CHOICE, "normal",
        "squares and products", "nearest normal, by evidence",
        "N D^4 C^2 an iteration", "inputs act together, and are few",
        lambda size: classification.BayesianLogisticRegression(features=features.Polynomial(2)),
        usual_rows=3e4, usual_columns=20, most_rows=1e5, most_columns=40,
        on_dask=True,
    ),
    Member(
        "counts", "classification", "DiscreteClassifier",
        "categorical", "Dirichlet", "categories", "closed form, concentration by evidence",
        "N D", "inputs are categories, independent of each other within a class",
        _counts,
    ),
    Member(
        "forest", "classification", "RandomForestClassifier", *_LEAVES,
        "random tests", "bootstrap, averaged",
        "N log N a tree", "many rows, steps and thresholds",
        lambda size: classification.RandomForestClassifier(
            _TREES, n_jobs=-1, random_state=size.seed
        ),
        usual_rows=1e6,
        on_dask=True,
    ),
    Member(
        "tree", "classification", "RandomTreeClassifier", *_LEAVES,
        "random tests", "greedy, splits by evidence",
        "N log N", "one tree that can be drawn",
        lambda size: classification.RandomTreeClassifier(random_state=size.seed),
        on_dask=True,
    ),
    Member(
        "ferns", "classification", "RandomFernClassifier", *_LEAVES,
        "one random test a level", "greedy, averaged",
        "N a fern", "predictions must be very fast",
        lambda size: classification.RandomFernClassifier(_FERNS, random_state=size.seed),
        on_dask=True,
    ),
    Member(
        "boosted", "classification", "LogitBoostClassifier",
        _CHOICE, "weak normal", "steps, one by one", "stagewise, most probable",
        "N D a round", "a fast sum of steps; many columns",
        lambda size: classification.LogitBoostClassifier(
            n_estimators=_ROUNDS, random_state=size.seed
        ),
        usual_rows=1e5,
    ),
    Member(
        "units", "classification", "StagewiseClassifier",
        _CHOICE, "weak normal", "smooth units, one by one", "stagewise, most probable",
        "N D a unit and iteration", "a small, fast model of a curved border",
        lambda size: classification.StagewiseClassifier(
            _UNITS, n_restarts=0, validation_fraction=0.2, random_state=size.seed
        ),
        usual_rows=2e5,
    ),
    Member(
        "experts", "classification", "MixtureOfExpertsClassifier",
        _CHOICE, "normal", "explicit, with gates", "most probable weights",
        "N D C an iteration", "two regimes, each with a plane border",
        lambda size: classification.MixtureOfExpertsClassifier(
            n_restarts=0, random_state=size.seed
        ),
        usual_rows=2e5,
    ),
    Member(
        "logistic-tree", "classification", "LogisticTreeClassifier",
        _CHOICE, "normal", "explicit, behind a tree of gates", "most probable weights",
        "N D C an iteration", "regimes within regimes, and fast predictions",
        lambda size: classification.LogisticTreeClassifier(
            2, n_restarts=0, random_state=size.seed
        ),
    ),
    Member(
        "dual", "classification", "DualLogisticRegression",
        _CHOICE, "normal", "one weight an example", "nearest normal",
        "N^3 an iteration", "more columns than rows",
        lambda size: classification.DualLogisticRegression(),
        most_rows=_KERNEL_ROWS,
    ),
    Member(
        "kernel-logistic", "classification", "KernelLogisticRegression",
        _CHOICE, "normal", "kernel columns", "nearest normal, variance by evidence",
        "N^3 an iteration", "a smooth border, every row kept",
        lambda size: classification.KernelLogisticRegression(kernels.RBF().fixed()),
        most_rows=_KERNEL_ROWS,
    ),
    Member(
        "vectors", "classification", "RelevanceVectorClassifier", *_SPARSE,
        "kernel columns, few rows kept", "nearest normal, precisions by evidence",
        "N^2 + N m^2, m rows kept", "a smooth border that must predict fast from a small file",
        lambda size: classification.RelevanceVectorClassifier(
            kernels.RBF().fixed(), random_state=size.seed
        ),
        usual_rows=2e3, most_rows=5 * _KERNEL_ROWS,
    ),
    Member(
        "vectors-learned", "classification", "RelevanceVectorClassifier", *_SPARSE,
        "kernel columns, few rows kept",
        "nearest normal, precisions and kernel by evidence",
        "N^2 + N m^2 a kernel tried", "the same, where the width of the kernel matters",
        lambda size: classification.RelevanceVectorClassifier(random_state=size.seed),
        most_rows=_KERNEL_ROWS,
    ),
    Member(
        "process", "classification", "GaussianProcessClassifier", *_PROCESS,
        "C N^3 an iteration, or C N M^2 with M points", "a smooth border, sure only near the rows",
        lambda size: _process(kernels.Scaled(kernels.RBF()), size),
        usual_rows=3e4, most_rows=3e5,
    ),
    Member(
        "process-ard", "classification", "GaussianProcessClassifier", *_PROCESS,
        "C N^3 an iteration, or C N M^2 with M points", "a smooth border, few of the inputs matter",
        lambda size: _process(None, size),
        usual_rows=_EXACT_WORK, usual_columns=40, most_rows=3e5,
    ),
)  # fmt: skip
