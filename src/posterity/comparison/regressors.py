"""The regressors that a comparison knows, from the cheap to the dear."""

from typing import Any

from posterity import features, kernels, likelihoods, regression
from posterity.comparison.members import Member, Size

_EXACT_ROWS = 1_500  # a Gaussian process beyond is carried by points
_POINTS, _POINT_STEPS = 200, 40
_KERNEL_ROWS = 5_000  # of a matrix with an entry for each pair of rows
_PAIR_COLUMNS = 60  # 1,890 squares and products
_TREES, _UNITS = 50, 10

_REAL = ("normal", "normal", "explicit", "closed form, variances by evidence")
_LAPLACE = ("normal", "explicit", "Laplace, by evidence")
_NEAREST = ("normal", "explicit", "nearest normal, by evidence")
_SPARSE = ("normal", "Student-t through hidden precisions")
_PROCESS = ("normal, over functions", "kernel, or inducing points")
_LEAVES = ("normal leaves", "pooled variance")


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


MEMBERS = (
    Member(
        "linear", "regression", "BayesianLinearRegression", *_REAL,
        "N D^2", "first: a line in every input, and the standard against which to hold the others",
        lambda size: regression.BayesianLinearRegression(),
        usual_rows=1e7,
        on_dask=True,
    ),
    Member(
        "least-squares", "regression", "LinearRegression",
        "normal", "flat", "explicit", "closed form",
        "N D^2", "many more rows than columns; the textbook's answer is wanted",
        lambda size: regression.LinearRegression(),
        on_dask=True,
    ),
    Member(
        "ridge", "regression", "RidgeRegression",
        "normal", "normal, tied to the noise", "explicit", "closed form",
        "N D^2", "the penalty is known",
        lambda size: regression.RidgeRegression(),
        on_dask=True,
    ),
    Member(
        "lasso", "regression", "LqRegression",
        "powers of the error", "powers of the weight", "explicit", "point estimate",
        "N D^2", "the penalty is known; otherwise sparse",
        _lasso,
        on_dask=True,
    ),
    Member(
        "sparse", "regression", "SparseLinearRegression", *_SPARSE,
        "explicit, few columns kept", "closed form, precisions by evidence",
        "N D m, m columns kept", "few of many inputs matter, and which ones is of interest",
        lambda size: regression.SparseLinearRegression(),
        usual_rows=1e6,
        on_dask=True,
    ),
    Member(
        "additive", "regression", "BayesianLinearRegression", "normal", "normal",
        "bumps along each column", "closed form, variances by evidence",
        "N D^2", "a curve in every input, and their sum",
        lambda size: regression.BayesianLinearRegression(features=features.Radial(6)),
        usual_rows=1e5, usual_columns=100, most_columns=500,
        on_dask=True,
    ),
    Member(
        "quadratic", "regression", "BayesianLinearRegression", "normal", "normal",
        "squares and products", "closed form, variances by evidence",
        "N D^4", "inputs act together, and are few",
        lambda size: _quadratic(regression.BayesianLinearRegression),
        most_columns=_PAIR_COLUMNS,
        on_dask=True,
    ),
    Member(
        "sparse-quadratic", "regression", "SparseLinearRegression", *_SPARSE,
        "squares and products, few kept", "closed form, precisions by evidence",
        "N D^2 m, m products kept", "some inputs act together; which ones is of interest",
        lambda size: _quadratic(regression.SparseLinearRegression),
        usual_rows=1e5, usual_columns=40, most_columns=_PAIR_COLUMNS,
        on_dask=True,
    ),
    Member(
        "robust", "regression", "RobustRegression", "Student-t: outliers", *_LAPLACE,
        "N D^2 an iteration", "some targets are far off, by mistake or by nature",
        lambda size: regression.RobustRegression(),
        usual_rows=1e5,
    ),
    Member(
        "gamma", "regression", "GammaRegression", "gamma: positive amounts", *_NEAREST,
        "N D^2 an iteration", "amounts above zero whose scatter grows with their size",
        lambda size: regression.GammaRegression(),
        target="positive", usual_rows=1e5,
    ),
    Member(
        "poisson", "regression", "GeneralizedLinearRegression", "Poisson: counts", *_NEAREST,
        "N D^2 an iteration", "counts of events",
        lambda size: regression.GeneralizedLinearRegression(likelihoods.Poisson()),
        target="counts", usual_rows=1e5,
        on_dask=True,
    ),
    Member(
        "median", "regression", "LqRegression",
        "absolute error", "absolute weight", "explicit", "point estimate",
        "N D^2 an iteration", "the median is wanted, not the mean",
        _median, most_rows=1e5,
    ),
    Member(
        "forest", "regression", "RandomForestRegressor", *_LEAVES,
        "random tests", "bootstrap, averaged",
        "N log N a tree", "many rows, steps and thresholds",
        lambda size: regression.RandomForestRegressor(
            _TREES, n_jobs=-1, random_state=size.seed
        ),
        usual_rows=1e5,
        on_dask=True,
    ),
    Member(
        "tree", "regression", "RandomTreeRegressor", *_LEAVES,
        "random tests", "greedy, splits by evidence",
        "N log N", "one tree that can be drawn",
        lambda size: regression.RandomTreeRegressor(random_state=size.seed),
        on_dask=True,
    ),
    Member(
        "ferns", "regression", "RandomFernRegressor", *_LEAVES,
        "one random test a level", "greedy, averaged",
        "N a fern", "predictions must be very fast",
        lambda size: regression.RandomFernRegressor(_TREES, random_state=size.seed),
        on_dask=True,
    ),
    Member(
        "units", "regression", "StagewiseRegressor",
        "normal", "weak normal", "smooth units, one by one", "stagewise, most probable",
        "N D a unit and iteration", "a small, fast model of a curved surface",
        lambda size: regression.StagewiseRegressor(
            _UNITS, n_restarts=0, random_state=size.seed
        ),
        usual_rows=2e4,
    ),
    Member(
        "dual", "regression", "DualLinearRegression", "normal", "normal",
        "one weight an example", "closed form",
        "N^2 D + N^3", "more columns than rows",
        lambda size: regression.DualLinearRegression(),
        most_rows=_KERNEL_ROWS,
    ),
    Member(
        "kernel-ridge", "regression", "KernelRidgeRegression", "normal", "normal",
        "kernel", "closed form, penalty by leave-one-out",
        "N^3", "a smooth function, quickly",
        lambda size: regression.KernelRidgeRegression(),
        most_rows=_KERNEL_ROWS,
    ),
    Member(
        "process", "regression", "GaussianProcessRegressor", "normal", *_PROCESS,
        "closed form, kernel by evidence",
        "N^3 an iteration, or N M^2 with M points", "a smooth function, sure only near the rows",
        lambda size: _process(kernels.Scaled(kernels.RBF()), size),
        usual_rows=5e3, most_rows=1e5,
        on_dask=True,
    ),
    Member(
        "process-ard", "regression", "GaussianProcessRegressor", "normal", *_PROCESS,
        "closed form, a length scale for each input by evidence",
        "N^3 an iteration, or N M^2 with M points", "a smooth function of inputs, few of them",
        lambda size: _process(None, size),
        usual_rows=2e4, usual_columns=40, most_rows=1e5,
        on_dask=True,
    ),
    Member(
        "process-robust", "regression", "GaussianProcessRegressor", "Student-t: outliers",
        *_PROCESS, "variational, by a bound of the evidence",
        "N^3 an iteration, or N M^2 with M points", "a smooth function, and targets far off it",
        lambda size: _process(kernels.Scaled(kernels.RBF()), size, likelihoods.StudentT()),
        most_rows=_KERNEL_ROWS,
    ),
    Member(
        "vectors", "regression", "RelevanceVectorRegressor", *_SPARSE,
        "kernel columns, few rows kept", "closed form, precisions and kernel by evidence",
        "N^2 + N m^2, m rows kept", "a smooth function that must predict fast from a small file",
        lambda size: regression.RelevanceVectorRegressor(random_state=size.seed),
        usual_rows=1e3, most_rows=_KERNEL_ROWS,
    ),
)  # fmt: skip
