"""The classifiers that a comparison can measure, cheapest first."""

from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer

from posterity import classification, features, kernels
from posterity.comparison import role_kernels
from posterity.comparison.members import Member, Size

_EXACT_WORK = 1_000  # a Gaussian process beyond is carried by points
_POINTS = 200
_KERNEL_ROWS = 5_000  # of a matrix with an entry for each pair of rows
_TREES, _FERNS, _UNITS, _ROUNDS, _BINS = 100, 50, 10, 100, 4


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


_N2 = "N D^2 C^2 an iteration"
_PROCESS = "C N^3 an iteration, or C N M^2 with M points"

MEMBERS = (
    Member.from_card(
        "linear", classification.BayesianLogisticRegression, _N2,
        lambda size: classification.BayesianLogisticRegression(),
        usual_rows=1e6, on_dask=True,
    ),
    Member.from_card(
        "logistic", classification.LogisticRegression, _N2,
        lambda size: classification.LogisticRegression(),
        on_dask=True,
    ),
    Member.from_card(
        "sparse", classification.SparseLogisticRegression, "N D m, m columns kept",
        lambda size: classification.SparseLogisticRegression(),
        usual_rows=1e5, on_dask=True,
    ),
    Member.from_card(
        "additive", classification.BayesianLogisticRegression, _N2,
        lambda size: classification.BayesianLogisticRegression(features=features.Radial(6)),
        feature_space="bumps along each column", advice="a sum of curves, one for each column",
        most_rows=1e5, most_columns=100, on_dask=True,
    ),
    Member.from_card(
        "linear-groups", classification.GaussianProcessClassifier, _PROCESS,
        lambda size: _process(role_kernels.make_group_kernel(kernels.Linear()), size),
        feature_space="the columns, and an indicator of each group",
        advice="rows of the same group differ from others by an intercept",
        usual_rows=1e5, most_rows=3e5, role="groups",
    ),
    Member.from_card(
        "quadratic", classification.BayesianLogisticRegression, "N D^4 C^2 an iteration",
        lambda size: classification.BayesianLogisticRegression(features=features.Polynomial(2)),
        feature_space="squares and products", advice="few columns, which interact",
        usual_rows=3e4, usual_columns=20, most_rows=1e5, most_columns=40, on_dask=True,
    ),
    Member.from_card(
        "counts", classification.DiscreteClassifier, "N D",
        _counts,
        advice="columns are categories, independent within a class",
    ),
    Member.from_card(
        "forest", classification.RandomForestClassifier, "N log N a tree",
        lambda size: classification.RandomForestClassifier(
            _TREES, n_jobs=-1, random_state=size.seed
        ),
        usual_rows=1e6, on_dask=True,
    ),
    Member.from_card(
        "tree", classification.RandomTreeClassifier, "N log N",
        lambda size: classification.RandomTreeClassifier(random_state=size.seed),
        on_dask=True,
    ),
    Member.from_card(
        "ferns", classification.RandomFernClassifier, "N a fern",
        lambda size: classification.RandomFernClassifier(_FERNS, random_state=size.seed),
        on_dask=True,
    ),
    Member.from_card(
        "boosted", classification.LogitBoostClassifier, "N D a round",
        lambda size: classification.LogitBoostClassifier(
            n_estimators=_ROUNDS, random_state=size.seed
        ),
        usual_rows=1e5,
    ),
    Member.from_card(
        "boosted-trees", classification.BoostedTreesClassifier, "N D a round and member",
        lambda size: classification.BoostedTreesClassifier(n_jobs=-1, random_state=size.seed),
        usual_rows=3e5,
    ),
    Member.from_card(
        "units", classification.StagewiseClassifier, "N D a unit and iteration",
        lambda size: classification.StagewiseClassifier(
            _UNITS, n_restarts=0, validation_fraction=0.2, random_state=size.seed
        ),
        usual_rows=2e5,
    ),
    Member.from_card(
        "experts", classification.MixtureOfExpertsClassifier, "N D C an iteration",
        lambda size: classification.MixtureOfExpertsClassifier(
            n_restarts=0, random_state=size.seed
        ),
        usual_rows=2e5,
    ),
    Member.from_card(
        "logistic-tree", classification.LogisticTreeClassifier, "N D C an iteration",
        lambda size: classification.LogisticTreeClassifier(
            2, n_restarts=0, random_state=size.seed
        ),
    ),
    Member.from_card(
        "dual", classification.DualLogisticRegression, "N^3 an iteration",
        lambda size: classification.DualLogisticRegression(),
        most_rows=_KERNEL_ROWS,
    ),
    Member.from_card(
        "kernel-logistic", classification.KernelLogisticRegression, "N^3 an iteration",
        lambda size: classification.KernelLogisticRegression(kernels.RBF().fixed()),
        inference="variational or Laplace, prior variance by evidence",
        most_rows=_KERNEL_ROWS,
    ),
    Member.from_card(
        "vectors", classification.RelevanceVectorClassifier, "N^2 + N m^2, m rows kept",
        lambda size: classification.RelevanceVectorClassifier(
            kernels.RBF().fixed(), random_state=size.seed
        ),
        inference="variational or Laplace, precisions by evidence",
        usual_rows=2e3, most_rows=5 * _KERNEL_ROWS,
    ),
    Member.from_card(
        "vectors-learned", classification.RelevanceVectorClassifier, "N^2 + N m^2 a kernel tried",
        lambda size: classification.RelevanceVectorClassifier(random_state=size.seed),
        advice="the same, where the width of the kernel matters",
        most_rows=_KERNEL_ROWS,
    ),
    Member.from_card(
        "process", classification.GaussianProcessClassifier, _PROCESS,
        lambda size: _process(kernels.Scaled(kernels.RBF()), size),
        usual_rows=3e4, most_rows=3e5,
    ),
    Member.from_card(
        "process-ard", classification.GaussianProcessClassifier, _PROCESS,
        lambda size: _process(None, size),
        advice="a smooth decision boundary that depends on few of the columns",
        usual_rows=_EXACT_WORK, usual_columns=40, most_rows=3e5,
    ),
    Member.from_card(
        "process-time", classification.GaussianProcessClassifier, _PROCESS,
        lambda size: _process(role_kernels.make_time_kernel(), size),
        feature_space="a walk in time, a trend, and a smooth function",
        advice="later rows depend on earlier ones",
        usual_rows=_EXACT_WORK, usual_columns=40, most_rows=3e5, role="time",
    ),
    Member.from_card(
        "process-groups", classification.GaussianProcessClassifier, _PROCESS,
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
