"""Fitted models asked about Dask rows: lazy answers, equal to those of rows in memory."""

import inspect

import dask_rows
import numpy as np
import pytest

import posterity
from posterity import distributions, kernels, likelihoods
from posterity.models import lazy_queries

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pytestmark = [
    pytest.mark.filterwarnings("ignore:stopped after"),  # latent points are not at their best
]

SIZES = (7, 0, 1, 12)
N = sum(SIZES)
ROWS = dask_rows.measured(60, weighted=False)
PAIRS = np.column_stack([ROWS.y, ROWS.X[:, 0] - ROWS.y])
TWO, THREE = (dask_rows.classified(60, n_classes=C, weighted=False) for C in (2, 3))
RBF = kernels.RBF(3.0).fixed()
REGRESSORS = {
    "linear": (posterity.LinearRegression(), ROWS.y),
    "bayesian": (posterity.BayesianLinearRegression(), ROWS.y),
    "bayesian of two targets": (posterity.BayesianLinearRegression(), PAIRS),
    "process": (posterity.GaussianProcessRegressor(RBF, noise_variance=0.1), ROWS.y),
    "process of two targets": (posterity.GaussianProcessRegressor(RBF, noise_variance=0.1), PAIRS),
    "process with a likelihood": (
        posterity.GaussianProcessRegressor(RBF, likelihood=likelihoods.StudentT(4.0, 0.3)),
        ROWS.y[:, None],
    ),
    "relevance vectors": (posterity.RelevanceVectorRegressor(RBF), ROWS.y),
    "robust": (posterity.RobustRegression(degrees_of_freedom=4.0), ROWS.y),
    "forest": (posterity.RandomForestRegressor(5, random_state=0), ROWS.y),
    "forest of two targets": (posterity.RandomForestRegressor(5, random_state=0), PAIRS),
}
CLASSIFIERS = {
    "logistic": (posterity.LogisticRegression(), TWO),
    "bayesian of three": (posterity.BayesianLogisticRegression(), THREE),
    "process": (posterity.GaussianProcessClassifier(RBF), TWO),
    "forest": (posterity.RandomForestClassifier(5, random_state=0), THREE),
}
LATENT = {
    "PCA": posterity.PCA(2),
    "whitening": posterity.Whitening(),
    "kernel PCA": posterity.KernelPCA(2, RBF),
    "GPLVM": posterity.GPLVM(1, max_iter=3),
    "hierarchy": posterity.HierarchicalGPLVM(n_components=1, root_components=1, max_iter=3),
}


@pytest.fixture(autouse=True)
def here():
    """In this thread, where warnings are errors and nothing runs at the same time."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def idle():
    """Where anything that is computed is an error."""

    def refuse(*args, **kwargs):
        raise AssertionError("something was computed")

    with dask.config.set(scheduler=refuse):
        yield


def fitted(cases, name):
    model, y = cases[name]
    return model.fit(ROWS.X, y)


@pytest.fixture(scope="module", params=REGRESSORS)
def regressor(request):
    return fitted(REGRESSORS, request.param)


@pytest.fixture(scope="module", params=CLASSIFIERS)
def classifier(request):
    model, rows = CLASSIFIERS[request.param]
    return model.fit(rows.X, rows.y)


@pytest.fixture(scope="module", params=LATENT)
def latent(request):
    return LATENT[request.param].fit(ROWS.X)


@pytest.fixture(scope="module")
def bayesian():
    return posterity.BayesianLinearRegression().fit(ROWS.X, ROWS.y)


def blocks(rows):
    return np.split(rows, np.cumsum(SIZES)[:-1])


def by_block(ask, rows):
    """What a model says of each partition in memory: to the last bit what a worker says."""
    return np.concatenate([ask(block) for block in blocks(rows) if len(block)])


def assert_lazy(answer, expected):
    """A Dask array that knows what it will be, cut as the rows are."""
    assert isinstance(answer, da.Array)
    assert answer.chunks == (SIZES, *((n,) for n in expected.shape[1:]))
    assert answer.dtype == expected.dtype
    found = answer.compute()
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


X = ROWS.X[:N]
LAZY = dask_rows.lazily(X, SIZES)


def test_means_deviations_and_quantiles(regressor):
    assert_lazy(regressor.predict(LAZY), by_block(regressor.predict, X))
    assert_lazy(regressor.predict_quantiles(LAZY), by_block(regressor.predict_quantiles, X))
    for ask in (lambda rows: regressor.predict(rows, return_std=True), regressor.predict_interval):
        answers, parts = ask(LAZY), [ask(rows) for rows in blocks(X) if len(rows)]
        for answer, expected in zip(answers, zip(*parts, strict=True), strict=True):
            assert_lazy(answer, np.concatenate(expected))


def test_predictions_of_regressors_come_together(regressor):
    lazy, whole = regressor.predict_dist(LAZY), regressor.predict_dist(X)
    joined = lazy.compute()
    assert type(joined) is type(whole)
    assert lazy.shape == joined.shape == whole.shape
    np.testing.assert_allclose(joined.mean(), whole.mean(), rtol=1e-10)
    np.testing.assert_allclose(joined.variance(), whole.variance(), rtol=1e-10)


def test_classes_and_probabilities(classifier):
    for method in ("predict", "predict_proba", "predict_log_proba"):
        ask = getattr(classifier, method)
        assert_lazy(ask(LAZY), by_block(ask, X))
    assert classifier.predict(LAZY).dtype == classifier.classes_.dtype
    joined, whole = classifier.predict_dist(LAZY).compute(), classifier.predict_dist(X)
    assert type(joined) is type(whole)
    np.testing.assert_allclose(joined.probabilities(), whole.probabilities(), rtol=1e-10)


@pytest.mark.parametrize("name", ["logistic", "bayesian of three"])
def test_latent_values_of_classes(name):
    model, rows = CLASSIFIERS[name]
    latent = model.fit(rows.X, rows.y).predict_latent
    assert_lazy(latent(LAZY).variance(), by_block(lambda X: latent(X).variance(), X))


def test_latent_points_and_the_way_back(latent):
    assert_lazy(latent.transform(LAZY), by_block(latent.transform, X))
    points = latent.transform(X)
    there = latent.inverse_transform(dask_rows.lazily(points, SIZES))
    assert_lazy(there, by_block(latent.inverse_transform, points))
    if hasattr(latent, "inverse_transform_dist"):
        spread = latent.inverse_transform_dist(dask_rows.lazily(points, SIZES))
        expected = by_block(lambda Z: latent.inverse_transform_dist(Z).variance(), points)
        assert_lazy(spread.variance(), expected)


def test_densities_and_errors_of_latent_models():
    model = posterity.PCA(2).fit(ROWS.X)
    for method in ("score_samples", "reconstruction_error"):
        assert_lazy(getattr(model, method)(LAZY), by_block(getattr(model, method), X))
    spread = model.inverse_transform_dist(model.transform(LAZY)).standard_deviation()
    assert spread.shape == (N, 3)
    clusters = posterity.KernelKMeans(2, RBF).fit(ROWS.X)
    assert_lazy(clusters.predict(LAZY), by_block(clusters.predict, X))


def test_data_frames_are_asked_by_the_names_of_their_columns():
    pd = pytest.importorskip("pandas")
    frame = dask_rows.as_frames(ROWS)
    table = pd.DataFrame(ROWS.X, columns=list(frame.X.columns))
    model = posterity.BayesianLinearRegression().fit(table, ROWS.y)
    mean = model.predict(frame.X)
    assert np.isnan(mean.shape[0])  # nobody knows yet how many rows there are
    assert mean.numblocks == (frame.X.npartitions,)
    np.testing.assert_allclose(mean.compute(), model.predict(table), rtol=1e-12)
    log_prob = model.predict_dist(frame.X).log_prob(frame.y)
    expected = model.predict_dist(table).log_prob(ROWS.y)
    np.testing.assert_allclose(log_prob.compute(), expected, rtol=1e-10)
    assert np.isnan(model.predict_dist(frame.X).shape[0])


def test_bags_of_objects_are_rows_for_a_kernel_that_takes_those():
    bag = pytest.importorskip("dask.bag")
    words = ["ape", "apes", "bee", "bees", "cat", "cats"]
    kernel = kernels.Spectrum(2).fixed()
    model = posterity.GaussianProcessRegressor(kernel, noise_variance=0.1)
    model.fit(words, np.arange(6.0))
    lazy = bag.from_sequence(words, npartitions=2)
    np.testing.assert_allclose(model.predict(lazy).compute(), model.predict(words), rtol=1e-12)


def test_nothing_is_computed_before_it_is_asked_for(idle):
    y = dask_rows.lazily(ROWS.y[:N], SIZES)
    for name in REGRESSORS:
        model = fitted(REGRESSORS, name)
        model.predict(LAZY, return_std=True)
        model.predict_interval(LAZY)
        model.predict_quantiles(LAZY)
        prediction = model.predict_dist(LAZY)
        prediction.sample(3, rng=np.random.default_rng(0))
        prediction.cdf(0.0)
        prediction.map(lambda part: part.mean())
        repr(prediction)
    fitted(REGRESSORS, "bayesian").predict_dist(LAZY).log_prob(y)
    for model, rows in CLASSIFIERS.values():
        model.fit(rows.X, rows.y).predict(LAZY)
        model.predict_proba(LAZY)
    for model in LATENT.values():
        points = model.fit(ROWS.X).transform(LAZY)
        model.inverse_transform(points)


def test_the_model_stands_in_the_graph_once(bayesian):
    many = da.zeros((200, 3), chunks=(2, 3))
    graph = bayesian.predict_dist(many).mean().__dask_graph__()
    assert len(graph.layers) < 10
    holders = [key for key in graph if bayesian.__class__.__name__ in repr(graph[key])]
    assert len(holders) == 1


def test_a_later_fit_does_not_change_what_was_asked_before():
    model = posterity.RidgeRegression().fit(ROWS.X, ROWS.y)
    expected = by_block(model.predict, X)
    asked = model.predict(LAZY)
    model.fit(ROWS.X, -ROWS.y)
    np.testing.assert_array_equal(asked.compute(), expected)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("mean", ()),
        ("variance", ()),
        ("standard_deviation", ()),
        ("entropy", ()),
        ("median", ()),
        ("aleatoric_variance", ()),
        ("epistemic_variance", ()),
        ("cdf", (0.3,)),
        ("ccdf", (0.3,)),
        ("logcdf", (0.3,)),
        ("logccdf", (0.3,)),
        ("icdf", (0.3,)),
        ("iccdf", (0.3,)),
        ("pdf", ("y",)),
        ("logpdf", ("y",)),
        ("log_prob", ("y",)),
        ("crps", ("y",)),
    ],
)
def test_distributions_are_asked_as_those_in_memory(name, given):
    model = posterity.RandomForestRegressor(3, random_state=0).fit(ROWS.X, PAIRS)
    Y = PAIRS[:N]
    lazily = [dask_rows.lazily(Y, SIZES) if value == "y" else value for value in given]
    answer = getattr(model.predict_dist(LAZY), name)(*lazily)
    parts = [
        getattr(model.predict_dist(rows), name)(*(y if value == "y" else value for value in given))
        for rows, y in zip(blocks(X), blocks(Y), strict=True)
        if len(rows)
    ]
    assert_lazy(answer, np.concatenate(parts))


@pytest.mark.parametrize(
    "name",
    ["probabilities", "log_probabilities", "mode", "aleatoric_entropy", "epistemic_entropy"],
)
def test_predictions_of_classes_are_asked_as_those_in_memory(name):
    model, rows = CLASSIFIERS["forest"]
    model.fit(rows.X, rows.y)
    answer = getattr(model.predict_dist(LAZY), name)()
    assert_lazy(answer, by_block(lambda rows: getattr(model.predict_dist(rows), name)(), X))


def test_one_number_for_all_rows_may_be_lazy_too(bayesian):
    y = dask_rows.lazily(ROWS.y, len(ROWS.y)).mean()
    expected = by_block(lambda rows: bayesian.predict_dist(rows).log_prob(ROWS.y.mean()), X)
    assert_lazy(bayesian.predict_dist(LAZY).log_prob(y), expected)


def test_draws_are_of_their_distribution_and_the_same_whenever_computed():
    model = posterity.BayesianLinearRegression().fit(ROWS.X, PAIRS)
    prediction = model.predict_dist(LAZY)
    draws = prediction.sample((50, 40), rng=np.random.default_rng(0))
    assert draws.shape == (50, 40, N, 2)
    assert draws.chunks[2] == SIZES
    found = draws.compute()
    np.testing.assert_array_equal(found, draws.compute())
    whole = prediction.compute()
    z = (found.mean(axis=(0, 1)) - whole.mean()) / whole.standard_deviation()
    assert np.all(np.abs(z) < 5.0 / np.sqrt(2000))
    other = prediction.sample((50, 40), rng=np.random.default_rng(1))
    assert not np.array_equal(found, other.compute())


def test_partitions_of_equal_rows_draw_differently(bayesian):
    equal = da.zeros((4, 3), chunks=(2, 3))
    draws = bayesian.predict_dist(equal).sample(100, rng=np.random.default_rng(0)).compute()
    assert abs(np.corrcoef(draws[:, 0], draws[:, 2])[0, 1]) < 0.4


def test_draws_of_classes_are_whole_numbers(classifier):
    draws = classifier.predict_dist(LAZY).sample(rng=np.random.default_rng(0))
    assert draws.dtype == draws.compute().dtype == np.intp


def test_any_function_of_the_distributions_is_asked_where_they_are(bayesian):
    prediction = bayesian.predict_dist(LAZY)
    answer = prediction.map(lambda part: np.stack([part.mean(), part.cdf(0.0)], axis=1), shape=(2,))
    parts = [bayesian.predict_dist(rows) for rows in blocks(X) if len(rows)]
    assert_lazy(answer, np.concatenate([np.c_[part.mean(), part.cdf(0.0)] for part in parts]))
    kept = prediction.persist()
    assert kept.compute() == prediction.compute()
    np.testing.assert_array_equal(kept.mean().compute(), prediction.mean().compute())
    found = dask.compute(*prediction.to_delayed())
    assert [None if part is None else len(part) for part in found] == [7, None, 1, 12]


def test_rows_that_are_cut_between_columns_are_made_whole(bayesian):
    assert_lazy(bayesian.predict(LAZY.rechunk({1: 2})), by_block(bayesian.predict, X))


def test_noise_of_each_row_is_cut_as_the_rows_are(bayesian):
    noise = np.linspace(0.1, 2.0, N)
    lazily = bayesian.predict_dist(LAZY, noise_variance=da.from_array(noise, chunks=9))
    expected = bayesian.predict_dist(X, noise_variance=noise)
    np.testing.assert_allclose(lazily.variance().compute(), expected.variance(), rtol=1e-12)
    one = bayesian.predict_dist(LAZY, noise_variance=0.0).variance()
    assert_lazy(one, by_block(lambda X: bayesian.predict_dist(X, noise_variance=0.0).variance(), X))


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda m: m.predict(LAZY, return_cov=True), "pairs of rows.*partition"),
        (lambda m: m.predict_cov(LAZY), "predict_cov answers of rows.*in memory"),
        (lambda m: m.sample_functions(LAZY), "sample_functions answers of rows.*in memory"),
        (lambda m: m.predict_dist(LAZY, noise_variance=np.ones(N)), "noise_variance.*in memory"),
        (lambda m: m.predict_dist(LAZY).log_prob(np.ones(N)), "y is an array in memory"),
        (lambda m: m.predict_dist(LAZY).icdf([0.1, 0.2]), "p is an array in memory"),
        (lambda m: m.predict_dist(LAZY).pmf(1.0).compute(), "which have no pmf"),
        (lambda m: m.predict(dask.delayed(X)), "X is a Delayed object"),
        (lambda m: m.predict_dist(LAZY).cdf(z=3), "'y'"),
        (lambda m: m.score(LAZY, ROWS.y[:N]), "y is an array in memory"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_words(ask, says, bayesian):
    with pytest.raises(TypeError, match=says):
        ask(bayesian)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda m: m.predict_dist(LAZY).cdf(da.zeros(N + 1)), "y has 21 rows, but X has 20"),
        (lambda m: m.predict(da.zeros((N, 5))).compute(), "In partition 0 of X:.* 5 features"),
        (lambda m: m.predict(da.full((N, 3), np.nan, chunks=N)).compute(), "partition 0 of X.*NaN"),
        (lambda m: m.predict_dist(da.zeros((0, 3))).compute(), "nothing to predict"),
        (lambda m: m.score(da.zeros((0, 3)), da.zeros(0)), "No row of the partitions"),
        (lambda m: m.score(LAZY[:, :2], LAZY[:, 0]), "In partition .* of X:.* 2 features"),
    ],
)
def test_what_is_wrong_with_the_rows_is_said(ask, says, bayesian):
    with pytest.raises(ValueError, match=says):
        ask(bayesian)


def test_values_that_are_cut_otherwise_are_refused(bayesian):
    frame = dask_rows.as_frames(ROWS)
    unnamed = frame.X.to_dask_array()
    prediction = bayesian.predict_dist(unnamed)
    with pytest.raises(ValueError, match="y has 1 partitions, but the rows have 5"):
        prediction.cdf(frame.y.repartition(npartitions=1))
    moved = dask_rows.as_frames(ROWS, sizes=(10, 0, 20, 10, 20)).y
    with pytest.raises(ValueError, match=r"has \d+ rows, but \d+ values were given"):
        prediction.cdf(moved).compute()


def test_rows_of_one_motion_are_not_cut():
    model = posterity.GPLVM(1, dynamics=kernels.RBF(), max_iter=2).fit(ROWS.X[:20])
    with pytest.raises(TypeError, match="with dynamics places rows of one motion together"):
        model.transform(LAZY)
    still = posterity.GPLVM(1, max_iter=2).fit(ROWS.X[:20])
    with pytest.raises(TypeError, match="places rows of one motion together"):
        still.transform(LAZY, groups=np.zeros(N))


def test_a_model_that_is_not_fitted_says_so_at_once():
    with pytest.raises(ValueError, match="not fitted yet"):
        posterity.RidgeRegression().predict(LAZY)


def test_frames_that_a_transformer_would_answer_with_become_arrays():
    pytest.importorskip("pandas")
    model = posterity.PCA(2).set_output(transform="pandas").fit(ROWS.X)
    expected = by_block(lambda rows: model.transform(rows).to_numpy(), X)
    assert_lazy(model.transform(LAZY), expected)


@pytest.mark.parametrize("y", [ROWS.y, PAIRS, np.ones_like(ROWS.y)], ids=["one", "two", "constant"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_share_explained_is_that_of_all_rows(y, weighted):
    weights = dask_rows.weights(len(y), np.random.default_rng(3)) if weighted else None
    model = posterity.LinearRegression().fit(ROWS.X, ROWS.y if y.ndim == 1 else y)
    lazily = dask_rows.as_arrays(dask_rows.Rows(ROWS.X, y, weights))
    expected = model.score(ROWS.X, y, weights)
    assert model.score(*lazily.parts) == pytest.approx(expected, rel=1e-12)


def test_accuracy_and_density_are_those_of_all_rows(classifier):
    rows = THREE if len(classifier.classes_) == 3 else TWO
    weights = dask_rows.weights(60, np.random.default_rng(3))
    for given in (rows, dask_rows.Rows(rows.X, rows.y, weights)):
        lazily = dask_rows.as_arrays(given).parts
        assert classifier.score(*lazily) == pytest.approx(classifier.score(*given.parts))
    model = posterity.PCA(1).fit(rows.X)
    assert model.score(dask_rows.as_arrays(rows).X) == pytest.approx(model.score(rows.X))


def test_one_row_explains_no_share(bayesian):
    with pytest.warns(UserWarning, match="less than two rows"):
        assert np.isnan(bayesian.score(LAZY[:1], LAZY[:1, 0]))


def test_predictions_of_numbers_have_no_probabilities(bayesian):
    with pytest.raises(ValueError, match=r"probabilities.* is defined for predictions of classes"):
        bayesian.predict_dist(LAZY).probabilities()


def test_methods_keep_their_signatures_and_docstrings():
    predict = posterity.GaussianProcessRegressor.predict_dist
    parameters = ["self", "X", "noise_variance", "exposure"]
    assert list(inspect.signature(predict).parameters) == parameters
    assert "Variance of the noise of the new targets" in predict.__doc__
    assert "central interval" in distributions.Partitioned.interval.__doc__
    assert list(inspect.signature(distributions.Partitioned.cdf).parameters) == ["self", "y"]
    assert hasattr(posterity.LinearRegression(), "set_score_request")


@pytest.mark.usefixtures("client")
def test_worker_processes_answer():
    model = fitted(REGRESSORS, "bayesian")
    with dask.config.set(scheduler=None):
        mean, std = dask.compute(*model.predict(LAZY, return_std=True))
        assert model.predict_dist(LAZY).compute().shape == (N,)
        score = model.score(LAZY, dask_rows.lazily(ROWS.y[:N], SIZES))
    np.testing.assert_allclose(mean, model.predict(X), rtol=1e-10)
    np.testing.assert_allclose(std, model.predict(X, return_std=True)[1], rtol=1e-10)
    assert score == pytest.approx(model.score(X, ROWS.y[:N]))


DERIVED = {"predict_interval", "predict_log_proba", "predict_proba", "predict_quantiles"}


@pytest.mark.parametrize(
    "estimator",
    [c for c in vars(posterity).values() if hasattr(c, "fit")],
    ids=lambda c: c.__name__,
)
def test_every_method_that_takes_rows_says_what_it_does_with_partitions(estimator):
    for name, method in inspect.getmembers(estimator, inspect.isfunction):
        if name.startswith(("_", "fit", "partial_fit")) or name in DERIVED:
            continue
        if next(iter(list(inspect.signature(method).parameters)[1:]), None) != "X":
            continue
        inner = method
        while not hasattr(inner, lazy_queries.MARK) and hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        assert hasattr(inner, lazy_queries.MARK), f"{estimator.__name__}.{name} is not decorated"
