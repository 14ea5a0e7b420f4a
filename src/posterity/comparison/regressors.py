"""The regressors that a comparison can measure, cheapest first."""

from typing import Any

from posterity import features, kernels, likelihoods, regression
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
    return regression.GaussianProcessRegressor(
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
    return regression.LqRegression(random_state=size.seed)


def _median(size: Size) -> Any:
    return regression.LqRegression(loss_power=1.0, random_state=size.seed)


_PROCESS = "N^3 an iteration, or N M^2 with M points"

MEMBERS = (
    Member.from_card(
        "linear", regression.BayesianLinearRegression, "N D^2",
        lambda size: regression.BayesianLinearRegression(),
        usual_rows=1e7, on_dask=True,
    ),
    Member.from_card(
        "least-squares", regression.LinearRegression, "N D^2",
        lambda size: regression.LinearRegression(),
        on_dask=True,
    ),
    Member.from_card(
        "ridge", regression.RidgeRegression, "N D^2",
        lambda size: regression.RidgeRegression(),
        on_dask=True,
    ),
    Member.from_card("lasso", regression.LqRegression, "N D^2", _lasso, on_dask=True),
    Member.from_card(
        "sparse", regression.SparseLinearRegression, "N D m, m columns kept",
        lambda size: regression.SparseLinearRegression(),
        usual_rows=1e6, on_dask=True,
    ),
    Member.from_card(
        "additive", regression.BayesianLinearRegression, "N D^2",
        lambda size: regression.BayesianLinearRegression(features=features.Radial(6)),
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
        "linear-groups", regression.GaussianProcessRegressor, _PROCESS,
        lambda size: _process(role_kernels.make_group_kernel(kernels.Linear()), size),
        feature_space="the columns, and an indicator of each group",
        inference="closed form, variance of the groups by evidence",
        likelihood="normal", advice="rows of the same group differ from others by an intercept",
        usual_rows=1e5, most_rows=1e6, role="groups",
    ),
    Member.from_card(
        "quadratic", regression.BayesianLinearRegression, "N D^4",
        lambda size: _quadratic(regression.BayesianLinearRegression),
        feature_space="squares and products", advice="few columns, which interact",
        most_columns=_PAIR_COLUMNS, on_dask=True,
    ),
    Member.from_card(
        "sparse-quadratic", regression.SparseLinearRegression, "N D^2 m, m products kept",
        lambda size: _quadratic(regression.SparseLinearRegression),
        feature_space="squares and products, few kept",
        advice="some columns interact, and you want to know which",
        usual_rows=1e5, usual_columns=40, most_columns=_PAIR_COLUMNS, on_dask=True,
    ),
    Member.from_card(
        "robust", regression.RobustRegression, "N D^2 an iteration",
        lambda size: regression.RobustRegression(),
        usual_rows=1e5,
    ),
    Member.from_card(
        "gamma", regression.GammaRegression, "N D^2 an iteration",
        lambda size: regression.GammaRegression(),
        target="positive", usual_rows=1e5,
    ),
    Member.from_card(
        "poisson", regression.GeneralizedLinearRegression, "N D^2 an iteration",
        lambda size: regression.GeneralizedLinearRegression(likelihoods.Poisson()),
        likelihood="Poisson: counts", advice="counts of events",
        target="counts", usual_rows=1e7, on_dask=True,
    ),
    Member.from_card(
        "negative-binomial", regression.GeneralizedLinearRegression, "N D^2 an iteration",
        lambda size: regression.GeneralizedLinearRegression(likelihoods.NegativeBinomial()),
        likelihood="negative binomial: counts", advice="counts that vary more than Poisson's",
        target="counts",
    ),
    Member.from_card(
        "median", regression.LqRegression, "N D^2 an iteration", _median,
        likelihood="absolute error", prior="absolute weight",
        advice="the median instead of the mean",
        most_rows=1e5,
    ),
    Member.from_card(
        "forest", regression.RandomForestRegressor, "N log N a tree",
        lambda size: regression.RandomForestRegressor(
            _TREES, n_jobs=-1, random_state=size.seed
        ),
        usual_rows=1e5, on_dask=True,
    ),
    Member.from_card(
        "boosted-trees", regression.BoostedTreesRegressor, "N D a round and member",
        lambda size: regression.BoostedTreesRegressor(n_jobs=-1, random_state=size.seed),
        usual_rows=3e5,
    ),
    Member.from_card(
        "boosted-counts", regression.BoostedTreesRegressor, "N D a round and member",
        lambda size: regression.BoostedTreesRegressor(
            likelihood=likelihoods.NegativeBinomial(), n_jobs=-1, random_state=size.seed
        ),
        likelihood="negative binomial: counts", advice="counts of events, many rows",
        target="counts",
    ),
    Member.from_card(
        "tree", regression.RandomTreeRegressor, "N log N",
        lambda size: regression.RandomTreeRegressor(random_state=size.seed),
        on_dask=True,
    ),
    Member.from_card(
        "ferns", regression.RandomFernRegressor, "N a fern",
        lambda size: regression.RandomFernRegressor(_TREES, random_state=size.seed),
        on_dask=True,
    ),
    Member.from_card(
        "units", regression.StagewiseRegressor, "N D a unit and iteration",
        lambda size: regression.StagewiseRegressor(
            _UNITS, n_restarts=0, random_state=size.seed
        ),
        likelihood="normal", advice="a small, fast model of a curved surface",
        usual_rows=2e4,
    ),
    Member.from_card(
        "dual", regression.DualLinearRegression, "N^2 D + N^3",
        lambda size: regression.DualLinearRegression(),
        most_rows=_KERNEL_ROWS,
    ),
    Member.from_card(
        "kernel-ridge", regression.KernelRidgeRegression, "N^3",
        lambda size: regression.KernelRidgeRegression(),
        most_rows=_KERNEL_ROWS,
    ),
    Member.from_card(
        "process", regression.GaussianProcessRegressor, _PROCESS,
        lambda size: _process(kernels.Scaled(kernels.RBF()), size),
        likelihood="normal", inference="closed form, kernel by evidence",
        usual_rows=5e3, most_rows=1e5, on_dask=True,
    ),
    Member.from_card(
        "process-ard", regression.GaussianProcessRegressor, _PROCESS,
        lambda size: _process(None, size),
        likelihood="normal", inference="closed form, a length scale for each column by evidence",
        advice="a smooth function that depends on few of the columns",
        usual_rows=2e4, usual_columns=40, most_rows=1e5, on_dask=True,
    ),
    Member.from_card(
        "process-time", regression.GaussianProcessRegressor, _PROCESS,
        lambda size: _process(role_kernels.make_time_kernel(), size),
        likelihood="normal", inference="closed form, kernel by evidence",
        feature_space="a walk in time, a trend, and a smooth function",
        advice="later rows depend on earlier ones",
        usual_rows=5e3, usual_columns=40, most_rows=1e5, role="time",
    ),
    Member.from_card(
        "process-groups", regression.GaussianProcessRegressor, _PROCESS,
        lambda size: _process(
            role_kernels.make_group_kernel(kernels.Scaled(kernels.RBF(ard=True)), slopes=True), size
        ),
        likelihood="normal", inference="closed form, variances of the groups by evidence",
        feature_space="a smooth function, and an intercept and slopes of each group",
        advice="groups differ by an intercept and by slopes",
        usual_rows=3e4, usual_columns=40, most_rows=1e5, role="groups",
    ),
    Member.from_card(
        "process-robust", regression.GaussianProcessRegressor, _PROCESS,
        lambda size: _process(kernels.Scaled(kernels.RBF()), size, likelihoods.StudentT()),
        likelihood="Student-t: outliers", inference="variational, by a bound of the evidence",
        advice="a smooth function, and some targets are outliers",
        most_rows=_KERNEL_ROWS,
    ),
    Member.from_card(
        "vectors", regression.RelevanceVectorRegressor, "N^2 + N m^2, m rows kept",
        lambda size: regression.RelevanceVectorRegressor(random_state=size.seed),
        usual_rows=1e3, most_rows=_KERNEL_ROWS,
    ),
)  # fmt: skip
