"""The regressors that a comparison can measure, cheapest first."""

from typing import Any

from posterity import features, kernels, likelihoods, linear, local, process, sparse, trees
from posterity.comparison import role_kernels
from posterity.comparison.lagged import LaggedRegressor
from posterity.comparison.members import Member, Size

_EXACT_ROWS = 1_500  # a Gaussian process beyond is carried by points
_POINTS, _POINT_STEPS = 200, 40
_KERNEL_ROWS = 5_000  # of a matrix with an entry for each pair of rows
_PAIR_COLUMNS = 60  # 1,890 squares and products
_TREES, _UNITS = 50, 10


def _process(kernel: Any, size: Size, likelihood: Any = None) -> Any:
    """Exact, or carried by points where rows are many."""
    many = size.spread or size.n_rows > _EXACT_ROWS
    return process.GaussianProcessRegressor(
        kernel,
        likelihood=likelihood,
        inducing_points=_POINTS if many else None,
        max_iter=_POINT_STEPS if many else None,
        n_restarts=0,
        random_state=size.seed,
    )


def _quadratic(estimator: Any) -> Any:
    return estimator(features=features.Polynomial(2))


def _lasso(size: Size) -> Any:
    return linear.LqRegression(random_state=size.seed)


def _median(size: Size) -> Any:
    return linear.LqRegression(loss_power=1.0, random_state=size.seed)


_PROCESS = "N^3 an iteration, or N M^2 with M points"

MEMBERS = (
    Member.from_card(
        "linear", linear.BayesianLinearRegression, "N D^2",
        lambda size: linear.BayesianLinearRegression(),
        usual_rows=1e7, on_dask=True,
    ),
    Member.from_card(
        "least-squares", linear.LinearRegression, "N D^2",
        lambda size: linear.LinearRegression(),
        on_dask=True,
    ),
    Member.from_card(
        "ridge", linear.RidgeRegression, "N D^2",
        lambda size: linear.RidgeRegression(),
        on_dask=True,
    ),
    Member.from_card("lasso", linear.LqRegression, "N D^2", _lasso, on_dask=True),
    Member.from_card(
        "sparse", sparse.SparseLinearRegression, "N D m, m columns kept",
        lambda size: sparse.SparseLinearRegression(),
        usual_rows=1e6, on_dask=True,
    ),
    Member.from_card(
        "additive", linear.BayesianLinearRegression, "N D^2",
        lambda size: linear.BayesianLinearRegression(features=features.Radial(6)),
        feature_space="bumps along each column", advice="a sum of curves, one for each column",
        usual_rows=1e5, usual_columns=100, most_columns=500, on_dask=True,
    ),
    Member(
        "lagged", "regression", "LaggedRegressor",
        likelihood="normal, wider at longer horizons", prior="normal",
        feature_space="the columns, the last target before a row, and the mean of the last four",
        inference="closed form, a linear model for each horizon", cost="N D^2 a horizon",
        advice="later rows depend on the last ones before them",
        make=lambda size: LaggedRegressor(),
        usual_rows=1e6, role="time",
    ),
    Member.from_card(
        "linear-groups", process.GaussianProcessRegressor, _PROCESS,
        lambda size: _process(role_kernels.make_group_kernel(kernels.Linear()), size),
        feature_space="the columns, and an indicator of each group",
        inference="closed form, variance of the groups by evidence",
        likelihood="normal", advice="rows of the same group differ from others by an intercept",
        usual_rows=1e5, most_rows=1e6, role="groups",
    ),
    Member.from_card(
        "quadratic", linear.BayesianLinearRegression, "N D^4",
        lambda size: _quadratic(linear.BayesianLinearRegression),
        feature_space="squares and products", advice="few columns, which interact",
        most_columns=_PAIR_COLUMNS, on_dask=True,
    ),
    Member.from_card(
        "sparse-quadratic", sparse.SparseLinearRegression, "N D^2 m, m products kept",
        lambda size: _quadratic(sparse.SparseLinearRegression),
        feature_space="squares and products, few kept",
        advice="some columns interact, and you want to know which",
        usual_rows=1e5, usual_columns=40, most_columns=_PAIR_COLUMNS, on_dask=True,
    ),
    Member.from_card(
        "robust", linear.RobustRegression, "N D^2 an iteration",
        lambda size: linear.RobustRegression(),
        usual_rows=1e5,
    ),
    Member.from_card(
        "gamma", linear.GammaRegression, "N D^2 an iteration",
        lambda size: linear.GammaRegression(),
        target="positive", usual_rows=1e5,
    ),
    Member.from_card(
        "poisson", linear.GeneralizedLinearRegression, "N D^2 an iteration",
        lambda size: linear.GeneralizedLinearRegression(likelihoods.Poisson()),
        likelihood="Poisson: counts", advice="counts of events",
        target="counts", usual_rows=1e7, on_dask=True,
    ),
    Member.from_card(
        "negative-binomial", linear.GeneralizedLinearRegression, "N D^2 an iteration",
        lambda size: linear.GeneralizedLinearRegression(likelihoods.NegativeBinomial()),
        likelihood="negative binomial: counts", advice="counts that vary more than Poisson's",
        target="counts",
    ),
    Member.from_card(
        "median", linear.LqRegression, "N D^2 an iteration", _median,
        likelihood="absolute error", prior="absolute weight",
        advice="the median instead of the mean",
        most_rows=1e5,
    ),
    Member.from_card(
        "forest", trees.RandomForestRegressor, "N log N a tree",
        lambda size: trees.RandomForestRegressor(
            _TREES, n_jobs=-1, random_state=size.seed
        ),
        usual_rows=1e5, on_dask=True,
    ),
    Member.from_card(
        "boosted-trees", trees.BoostedTreesRegressor, "N D a round and member",
        lambda size: trees.BoostedTreesRegressor(n_jobs=-1, random_state=size.seed),
        usual_rows=3e5,
    ),
    Member.from_card(
        "boosted-counts", trees.BoostedTreesRegressor, "N D a round and member",
        lambda size: trees.BoostedTreesRegressor(
            likelihood=likelihoods.NegativeBinomial(), n_jobs=-1, random_state=size.seed
        ),
        likelihood="negative binomial: counts", advice="counts of events, many rows",
        target="counts",
    ),
    Member.from_card(
        "tree", trees.RandomTreeRegressor, "N log N",
        lambda size: trees.RandomTreeRegressor(random_state=size.seed),
        on_dask=True,
    ),
    Member.from_card(
        "ferns", trees.RandomFernRegressor, "N a fern",
        lambda size: trees.RandomFernRegressor(_TREES, random_state=size.seed),
        on_dask=True,
    ),
    Member.from_card(
        "units", local.StagewiseRegressor, "N D a unit and iteration",
        lambda size: local.StagewiseRegressor(
            _UNITS, n_restarts=0, random_state=size.seed
        ),
        likelihood="normal", advice="a small, fast model of a curved surface",
        usual_rows=2e4,
    ),
    Member.from_card(
        "dual", linear.DualLinearRegression, "N^2 D + N^3",
        lambda size: linear.DualLinearRegression(),
        most_rows=_KERNEL_ROWS,
    ),
    Member.from_card(
        "kernel-ridge", process.KernelRidgeRegression, "N^3",
        lambda size: process.KernelRidgeRegression(),
        most_rows=_KERNEL_ROWS,
    ),
    Member.from_card(
        "process", process.GaussianProcessRegressor, _PROCESS,
        lambda size: _process(kernels.Scaled(kernels.RBF()), size),
        likelihood="normal", inference="closed form, kernel by evidence",
        usual_rows=5e3, most_rows=1e5, on_dask=True,
    ),
    Member.from_card(
        "process-ard", process.GaussianProcessRegressor, _PROCESS,
        lambda size: _process(None, size),
        likelihood="normal", inference="closed form, a length scale for each column by evidence",
        advice="a smooth function that depends on few of the columns",
        usual_rows=2e4, usual_columns=40, most_rows=1e5, on_dask=True,
    ),
    Member.from_card(
        "process-time", process.GaussianProcessRegressor, _PROCESS,
        lambda size: _process(role_kernels.make_time_kernel(), size),
        likelihood="normal", inference="closed form, kernel by evidence",
        feature_space="a walk in time, a trend, and a smooth function",
        advice="later rows depend on earlier ones",
        usual_rows=5e3, usual_columns=40, most_rows=1e5, role="time",
    ),
    Member.from_card(
        "process-groups", process.GaussianProcessRegressor, _PROCESS,
        lambda size: _process(
            role_kernels.make_group_kernel(kernels.Scaled(kernels.RBF(ard=True)), slopes=True), size
        ),
        likelihood="normal", inference="closed form, variances of the groups by evidence",
        feature_space="a smooth function, and an intercept and slopes of each group",
        advice="groups differ by an intercept and by slopes",
        usual_rows=3e4, usual_columns=40, most_rows=1e5, role="groups",
    ),
    Member.from_card(
        "process-robust", process.GaussianProcessRegressor, _PROCESS,
        lambda size: _process(kernels.Scaled(kernels.RBF()), size, likelihoods.StudentT()),
        likelihood="Student-t: outliers", inference="variational, by a bound of the evidence",
        advice="a smooth function, and some targets are outliers",
        most_rows=_KERNEL_ROWS,
    ),
    Member.from_card(
        "vectors", sparse.RelevanceVectorRegressor, "N^2 + N m^2, m rows kept",
        lambda size: sparse.RelevanceVectorRegressor(random_state=size.seed),
        usual_rows=1e3, most_rows=_KERNEL_ROWS,
    ),
)  # fmt: skip
