"""The classifiers that a comparison can measure, cheapest first."""

from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer

from posterity import features, kernels, linear, local, process, sparse, trees
from posterity.comparison import role_kernels
from posterity.comparison.members import Member, Size

_EXACT_WORK = 1_000  # a Gaussian process beyond is carried by points
_POINTS = 200
_KERNEL_ROWS = 5_000  # of a matrix with an entry for each pair of rows
_TREES, _FERNS, _UNITS, _ROUNDS, _BINS = 100, 50, 10, 100, 4


def _process(kernel: Any, size: Size) -> Any:
    """Exact, or carried by points where rows or classes are many."""
    return process.GaussianProcessClassifier(
        kernel,
        inducing_points=_POINTS if size.work > _EXACT_WORK else None,
        n_restarts=0,
        random_state=size.seed,
    )


def _counts(size: Size) -> Any:
    """Columns cut into bins of equal width, which leaves indicators as they are."""
    bins = KBinsDiscretizer(_BINS, encode="ordinal", strategy="uniform")
    return make_pipeline(bins, local.DiscreteClassifier(independent=True))


_N2 = "N D^2 C^2 an iteration"
_PROCESS = "C N^3 an iteration, or C N M^2 with M points"

MEMBERS = (
    Member.from_card(
        "linear", linear.BayesianLogisticRegression, _N2,
        lambda size: linear.BayesianLogisticRegression(),
        usual_rows=1e6, on_dask=True,
    ),
    Member.from_card(
        "logistic", linear.LogisticRegression, _N2,
        lambda size: linear.LogisticRegression(),
        on_dask=True,
    ),
    Member.from_card(
        "sparse", sparse.SparseLogisticRegression, "N D m, m columns kept",
        lambda size: sparse.SparseLogisticRegression(),
        usual_rows=1e5, on_dask=True,
    ),
    Member.from_card(
        "additive", linear.BayesianLogisticRegression, _N2,
        lambda size: linear.BayesianLogisticRegression(features=features.Radial(6)),
        feature_space="bumps along each column", advice="a sum of curves, one for each column",
        most_rows=1e5, most_columns=100, on_dask=True,
    ),
    Member.from_card(
        "linear-groups", process.GaussianProcessClassifier, _PROCESS,
        lambda size: _process(role_kernels.make_group_kernel(kernels.Linear()), size),
        feature_space="the columns, and an indicator of each group",
        advice="rows of the same group differ from others by an intercept",
        usual_rows=1e5, most_rows=3e5, role="groups",
    ),
    Member.from_card(
        "quadratic", linear.BayesianLogisticRegression, "N D^4 C^2 an iteration",
        lambda size: linear.BayesianLogisticRegression(features=features.Polynomial(2)),
        feature_space="squares and products", advice="few columns, which interact",
        usual_rows=3e4, usual_columns=20, most_rows=1e5, most_columns=40, on_dask=True,
    ),
    Member.from_card(
        "counts", local.DiscreteClassifier, "N D",
        _counts,
        advice="columns are categories, independent within a class",
    ),
    Member.from_card(
        "forest", trees.RandomForestClassifier, "N log N a tree",
        lambda size: trees.RandomForestClassifier(
            _TREES, n_jobs=-1, random_state=size.seed
        ),
        usual_rows=1e6, on_dask=True,
    ),
    Member.from_card(
        "tree", trees.RandomTreeClassifier, "N log N",
        lambda size: trees.RandomTreeClassifier(random_state=size.seed),
        on_dask=True,
    ),
    Member.from_card(
        "ferns", trees.RandomFernClassifier, "N a fern",
        lambda size: trees.RandomFernClassifier(_FERNS, random_state=size.seed),
        on_dask=True,
    ),
    Member.from_card(
        "boosted", trees.LogitBoostClassifier, "N D a round",
        lambda size: trees.LogitBoostClassifier(
            n_estimators=_ROUNDS, random_state=size.seed
        ),
        usual_rows=1e5,
    ),
    Member.from_card(
        "boosted-trees", trees.BoostedTreesClassifier, "N D a round and member",
        lambda size: trees.BoostedTreesClassifier(n_jobs=-1, random_state=size.seed),
        usual_rows=3e5,
    ),
    Member.from_card(
        "units", local.StagewiseClassifier, "N D a unit and iteration",
        lambda size: local.StagewiseClassifier(
            _UNITS, n_restarts=0, validation_fraction=0.2, random_state=size.seed
        ),
        usual_rows=2e5,
    ),
    Member.from_card(
        "experts", local.MixtureOfExpertsClassifier, "N D C an iteration",
        lambda size: local.MixtureOfExpertsClassifier(
            n_restarts=0, random_state=size.seed
        ),
        usual_rows=2e5,
    ),
    Member.from_card(
        "logistic-tree", local.LogisticTreeClassifier, "N D C an iteration",
        lambda size: local.LogisticTreeClassifier(
            2, n_restarts=0, random_state=size.seed
        ),
    ),
    Member.from_card(
        "dual", linear.DualLogisticRegression, "N^3 an iteration",
        lambda size: linear.DualLogisticRegression(),
        most_rows=_KERNEL_ROWS,
    ),
    Member.from_card(
        "kernel-logistic", process.KernelLogisticRegression, "N^3 an iteration",
        lambda size: process.KernelLogisticRegression(kernels.RBF().fixed()),
        inference="variational or Laplace, prior variance by evidence",
        most_rows=_KERNEL_ROWS,
    ),
    Member.from_card(
        "vectors", sparse.RelevanceVectorClassifier, "N^2 + N m^2, m rows kept",
        lambda size: sparse.RelevanceVectorClassifier(
            kernels.RBF().fixed(), random_state=size.seed
        ),
        inference="variational or Laplace, precisions by evidence",
        usual_rows=2e3, most_rows=5 * _KERNEL_ROWS,
    ),
    Member.from_card(
        "vectors-learned", sparse.RelevanceVectorClassifier, "N^2 + N m^2 a kernel tried",
        lambda size: sparse.RelevanceVectorClassifier(random_state=size.seed),
        advice="the same, where the width of the kernel matters",
        most_rows=_KERNEL_ROWS,
    ),
    Member.from_card(
        "process", process.GaussianProcessClassifier, _PROCESS,
        lambda size: _process(kernels.Scaled(kernels.RBF()), size),
        usual_rows=3e4, most_rows=3e5,
    ),
    Member.from_card(
        "process-ard", process.GaussianProcessClassifier, _PROCESS,
        lambda size: _process(None, size),
        advice="a smooth decision boundary that depends on few of the columns",
        usual_rows=_EXACT_WORK, usual_columns=40, most_rows=3e5,
    ),
    Member.from_card(
        "process-time", process.GaussianProcessClassifier, _PROCESS,
        lambda size: _process(role_kernels.make_time_kernel(), size),
        feature_space="a walk in time, a trend, and a smooth function",
        advice="later rows depend on earlier ones",
        usual_rows=_EXACT_WORK, usual_columns=40, most_rows=3e5, role="time",
    ),
    Member.from_card(
        "process-groups", process.GaussianProcessClassifier, _PROCESS,
        lambda size: _process(
            role_kernels.make_group_kernel(
                kernels.Scaled(kernels.RBF(ard=True)), slopes=True
            ),
            size,
        ),
        feature_space="a smooth function, and an intercept and slopes of each group",
        advice="groups differ by an intercept and by slopes",
        usual_rows=3e4, usual_columns=40, most_rows=3e5, role="groups",
    ),
)  # fmt: skip
