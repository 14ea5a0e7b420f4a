"""A Gaussian process through inducing points, of rows that stay on the workers of Dask."""

import pickle

import dask_rows
import numpy as np
import pandas as pd
import pytest

import posterity
from posterity import GaussianProcessRegressor, designs, kernels, likelihoods
from posterity.designs import dask_graph
from posterity.inference.observations import HeldRows, Observations
from posterity.process import PartitionedTraining, normal_process
from posterity.process.inducing import bound

dask = pytest.importorskip("dask")

KERNEL = (2.0 * kernels.RBF([0.6, 1.5])).fixed()
FEW = 150  # rows that a search looks at, where a test makes them few


@pytest.fixture(autouse=True)
def here():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(normal_process, "_SHOWN_ROWS", FEW)


def data(N=400, outputs=0, seed=0, weighted=True, least=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 3.0, size=(N, 2))
    f = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
    noise = 0.1 * rng.normal(size=(N, max(1, outputs)))
    y = f + noise[:, 0] if not outputs else f[:, None] + noise
    return dask_rows.Rows(X, y, rng.integers(least, 4, N).astype(float) if weighted else None)


def fixed(points, **settings):
    return GaussianProcessRegressor(KERNEL, 0.01, inducing_points=points, **settings)


def named(rows):
    """The same rows with names, in memory."""
    table = pd.DataFrame(rows.X, columns=list(dask_rows.NAMES[:2]))
    return dask_rows.Rows(table, rows.y, rows.sample_weight)


def both(model, rows, lazily=dask_rows.as_arrays):
    """The same fit in memory and on Dask."""
    again = posterity.GaussianProcessRegressor(**model.get_params(deep=False))
    held = named(rows) if lazily is dask_rows.as_frames else rows
    return model.fit(*held.parts), again.fit(*lazily(rows).parts)


def assert_same(one, other, X, rtol=1e-8):
    np.testing.assert_allclose(other.kernel_.theta, one.kernel_.theta, rtol, rtol)
    np.testing.assert_allclose(other.noise_variance_, one.noise_variance_, rtol)
    np.testing.assert_allclose(other.inducing_points_, one.inducing_points_, 10 * rtol, 10 * rtol)
    np.testing.assert_allclose(other.log_evidence_, one.log_evidence_, rtol)
    np.testing.assert_allclose(other.target_center_, one.target_center_, rtol, rtol)
    np.testing.assert_allclose(other.target_scale_, one.target_scale_, rtol)
    assert (other.n_iter_, other.stop_reason_) == (one.n_iter_, one.stop_reason_)
    for a, b in zip(
        other.predict(X, return_std=True), one.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol, rtol)


@pytest.mark.parametrize("outputs", [0, 2])
def test_the_bound_and_its_slopes_are_those_of_memory(outputs):
    rows = data(outputs=outputs, least=0)
    kernel = kernels.Scaled(kernels.RBF([0.6, 1.5]), 2.0) + kernels.Constant(0.5)
    centre, scale = np.full(max(1, outputs), 0.3), np.full(max(1, outputs), 1.7)
    Z = rows.X[:9] + 0.1
    partitions = designs.Partitions.from_collections(*dask_rows.as_arrays(rows).parts)
    observed = PartitionedTraining(partitions, merges=False).standardise_targets(centre, scale)
    counts = rows.sample_weight > 0.0
    Y = ((rows.y.reshape(len(rows.X), -1) - centre) / scale)[counts]
    y = Observations.from_targets(Y, weights=rows.sample_weight[counts])
    held = HeldRows(rows.X[counts], y)
    assert (observed.n_rows, observed.n_outputs) == (held.n_rows, held.n_outputs)
    found = bound.compute_bound(kernel, 0.02, observed, Z)
    expected = bound.compute_bound(kernel, 0.02, held, Z)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8 * np.max(np.abs(b)))


def test_a_partition_of_which_no_row_counts_adds_nothing():
    rows = data(100)
    rows.sample_weight[:60] = 0.0
    lazy = dask_rows.as_arrays(rows, (60, 0, 40))
    training = PartitionedTraining(designs.Partitions.from_collections(*lazy.parts), merges=True)
    whole, kept = training.target_moments, slice(60, None)
    assert training.standardise_targets(np.zeros(1), np.ones(1)).n_rows == 40
    assert training.total_weight == rows.sample_weight.sum()
    np.testing.assert_allclose(
        whole.mean, np.average(rows.y[kept], weights=rows.sample_weight[kept])
    )
    assert len(training.sample_rows(100, np.random.default_rng(0)).Y) == 40


@pytest.mark.parametrize("lazily", [dask_rows.as_arrays, dask_rows.as_frames])
def test_few_rows_are_fitted_as_in_memory(lazily):
    rows = data(120, least=0)
    kernel = kernels.Scaled(kernels.RBF(ard=True))
    one, other = both(
        GaussianProcessRegressor(kernel, inducing_points=8, max_iter=12), rows, lazily
    )
    queries = named(rows) if lazily is dask_rows.as_frames else rows
    assert_same(one, other, queries.X[:20])
    np.testing.assert_array_equal(other.X_train_, one.X_train_)
    names = [getattr(model, "feature_names_in_", None) for model in (one, other)]
    np.testing.assert_array_equal(*names)
    assert len(other.partial_fit(queries.X, queries.y).X_train_) > len(rows.X)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"mean": "linear", "normalize_y": True},
        {"mean": "zero", "outputs": 2, "normalize_y": True},
    ],
)
def test_rows_on_workers_are_fitted_as_in_memory(settings):
    rows = data(outputs=settings.pop("outputs", 0))
    points = np.random.default_rng(1).uniform(0.0, 3.0, size=(12, 2))
    one, other = both(fixed(points, max_iter=15, **settings), rows)
    assert_same(one, other, rows.X[:20])
    np.testing.assert_allclose(other.evidence_gap_, one.evidence_gap_, rtol=1e-6)
    assert len(one.X_train_) == 400
    assert len(other.X_train_) == FEW
    assert set(map(tuple, other.X_train_)) < set(map(tuple, rows.X))


@pytest.mark.usefixtures("few")
def test_what_is_learned_and_chosen_is_that_of_memory():
    """To what a climb makes of the last digits of sums that were added in another order."""
    rows = data()
    kernel = kernels.Scaled(kernels.RBF(ard=True))
    one, other = both(GaussianProcessRegressor(kernel, inducing_points=8, max_iter=4), rows)
    assert_same(one, other, rows.X[:20], rtol=1e-5)
    np.testing.assert_allclose(one.restarts_log_evidence_, other.restarts_log_evidence_)
    assert other.irrelevant_inputs_ == one.irrelevant_inputs_


@pytest.mark.usefixtures("few")
def test_noise_that_points_cannot_resolve_is_lifted_as_in_memory():
    rows = data(300, least=1)
    f = np.sin(2.0 * rows.X[:, 0]) + 0.5 * np.cos(3.0 * rows.X[:, 1])  # without noise
    exact = dask_rows.Rows(rows.X, f, rows.sample_weight)
    kernel = kernels.Scaled(kernels.RBF(ard=True))
    one, other = both(GaussianProcessRegressor(kernel, inducing_points=12, max_iter=3), exact)
    assert_same(one, other, rows.X[:20], rtol=1e-5)
    assert other.evidence_gap_ < 2.0 * rows.sample_weight.sum()


def test_a_sample_shows_a_search_what_all_rows_show_it(monkeypatch):
    rows = data(weighted=False)
    kernel = kernels.Scaled(kernels.RBF(ard=True))
    model = GaussianProcessRegressor(kernel, inducing_points=20)
    whole = model.fit(rows.X, rows.y).log_evidence_
    monkeypatch.setattr(normal_process, "_SHOWN_ROWS", FEW)
    assert model.fit(rows.X, rows.y).log_evidence_ == pytest.approx(whole, abs=1.0)
    assert len(model.X_train_) == len(rows.X)


@pytest.mark.usefixtures("few")
def test_a_sample_of_repeated_rows_holds_each_once():
    rows = data(FEW, weighted=False)
    again = dask_rows.Rows(np.tile(rows.X, (3, 1)), np.tile(rows.y, 3))
    one, other = both(fixed(rows.X[:10], max_iter=5), again)
    np.testing.assert_allclose(other.predict(rows.X), one.predict(rows.X), rtol=1e-7)
    assert len(np.unique(other.X_train_, axis=0)) == len(other.X_train_)


@pytest.mark.filterwarnings("ignore:The inducing points leave")  # few suffice here
@pytest.mark.usefixtures("few")
def test_nothing_of_dask_is_left(tmp_path):
    rows = data()
    model = fixed(6, max_iter=3).fit(*dask_rows.as_arrays(rows).parts)
    assert b"dask" not in pickle.dumps(model)
    posterity.save(model, tmp_path / "model.posterity")
    again = posterity.load(tmp_path / "model.posterity")
    np.testing.assert_array_equal(again.predict(rows.X), model.predict(rows.X))
    with pytest.raises(TypeError, match="stayed on the workers of Dask; fit all rows again"):
        again.partial_fit(rows.X, rows.y)


@pytest.mark.usefixtures("few")
def test_what_comes_back_does_not_grow_with_the_rows(monkeypatch):
    sizes = []
    computed = dask_graph.compute_task

    def weighed(task, **settings):
        answer = computed(task, **settings)
        sizes.append(len(pickle.dumps(answer)))
        return answer

    monkeypatch.setattr(dask_graph, "compute_task", weighed)
    largest = []
    for N in (400, 1200):
        sizes.clear()
        fixed(10, max_iter=3).fit(*dask_rows.as_arrays(data(N)).parts)
        largest.append(max(sizes))
        assert len(sizes) > 5
    assert largest[1] < largest[0] + 200
    assert largest[1] < FEW * 4 * 8 + 2000  # the sample is the largest


@pytest.mark.filterwarnings("ignore:The inducing points leave")  # few suffice here
@pytest.mark.usefixtures("few")
def test_worker_processes_find_the_same(client):
    rows = data()
    points = named(rows).X[:8] + 0.05
    expected = fixed(points, max_iter=3).fit(*named(rows).parts)
    with dask.config.set(scheduler=client):
        found = fixed(points, max_iter=3).fit(*dask_rows.as_frames(rows).parts)
    assert_same(expected, found, named(rows).X[:20])
    assert list(found.feature_names_in_) == ["age", "height"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"inducing_points": None}, r"pass inducing_points=512, .* or X\.compute\(\)"),
        ({"likelihood": likelihoods.StudentT()}, "or likelihood=None for normal noise"),
        ({"noise_variance": 0.0}, "one variance above zero"),
        ({"device": "cpu"}, "use device=None"),
    ],
)
def test_what_needs_rows_in_memory_says_what_to_pass(settings, told):
    model = fixed(5).set_params(**settings)
    with pytest.raises(ValueError, match=told):
        model.fit(*dask_rows.as_arrays(data(20)).parts)


def test_targets_and_noise_of_rows_are_asked_for_as_they_can_be_had():
    lazy = dask_rows.as_arrays(data(20))
    with pytest.raises(ValueError, match="one variance above zero"):
        fixed(5).fit(lazy.X, lazy.y, noise_variance=lazy.y**2)
    with pytest.raises(ValueError, match="y is missing"):
        fixed(5).fit(lazy.X, None)
    with pytest.raises(ValueError, match="asks for its rows many times"):
        fixed(5).fit(designs.Chunks.from_arrays(np.ones((4, 2)), np.ones(4)), None)
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        GaussianProcessRegressor(inducing_points=5).fit(lazy.X[:1], lazy.y[:1])


@pytest.mark.usefixtures("few")
def test_rows_that_do_not_count_are_refused():
    rows = data(weighted=False)
    nothing = dask_rows.as_arrays(dask_rows.Rows(rows.X, rows.y, np.zeros(400)))
    with pytest.raises(ValueError, match="sample_weight is zero in every row"):
        fixed(5).fit(*nothing.parts)
    one = dask_rows.as_arrays(dask_rows.Rows(rows.X, rows.y, (np.arange(400) == 7) * 1.0))
    training = PartitionedTraining(designs.Partitions.from_collections(*one.parts), merges=True)
    with pytest.raises(ValueError, match="None of 3 rows drawn at random counts"):
        training.sample_rows(3, np.random.default_rng(0))
