"""A display holds the estimator's own numbers and draws every one of them."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from posterity import (
    BayesianLinearRegression,
    GaussianProcessRegressor,
    LinearRegression,
    RelevanceVectorRegressor,
    displays,
    features,
    kernels,
)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(25, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=25)


@pytest.fixture
def model(rows):
    return BayesianLinearRegression(features=features.Radial(6)).fit(*rows)


def band(model, rows, **options):
    return displays.PredictiveBandDisplay.from_estimator(model, *rows, **options)


def test_band_holds_what_the_estimator_predicts(model, rows):
    display = band(model, rows, coverage=(0.9, 0.5), n_grid=40)
    queries = display.x[:, None]
    np.testing.assert_array_equal(display.mean, model.predict(queries))
    assert display.coverage == (0.5, 0.9)
    for level, low, high in zip(display.coverage, display.lower, display.upper, strict=True):
        expected = model.predict_interval(queries, coverage=level)
        np.testing.assert_array_equal([low, high], expected)
    np.testing.assert_array_equal(display.x_train, rows[0][:, 0])
    np.testing.assert_array_equal(display.y_train, rows[1])


def test_grid_reaches_beyond_the_rows_by_the_margin(model, rows):
    x_train = rows[0][:, 0]
    display = band(model, rows, margin=0.5, n_grid=11)
    width = np.ptp(x_train)
    np.testing.assert_allclose(display.x[0], x_train.min() - 0.5 * width)
    np.testing.assert_allclose(display.x[-1], x_train.max() + 0.5 * width)
    assert len(display.x) == 11


def test_functions_are_those_the_posterior_draws(model, rows):
    display = band(model, rows, n_functions=3, random_state=7, n_grid=20)
    expected = model.sample_functions(display.x[:, None], 3, random_state=7)
    np.testing.assert_array_equal(display.functions, expected)


def test_a_model_without_a_posterior_has_no_functions_to_draw(rows):
    fitted = LinearRegression().fit(*rows)
    with pytest.raises(TypeError, match="LinearRegression has no posterior over functions"):
        band(fitted, rows, n_functions=2)


def test_several_inputs_are_refused_with_the_shape(model, rows):
    with pytest.raises(ValueError, match=r"shape \(N, 1\) .* but has \(25, 2\)"):
        band(model, (np.hstack([rows[0], rows[0]]), rows[1]))


def test_several_targets_are_refused(rows):
    X, y = rows
    fitted = BayesianLinearRegression().fit(X, np.column_stack([y, -y]))
    with pytest.raises(ValueError, match="shows one target, but the model predicts 2"):
        band(fitted, rows)
    with pytest.raises(ValueError, match="shows one target, but the model has 2"):
        displays.BasisDisplay.from_estimator(fitted, X)


def test_axes_show_the_intervals_the_mean_the_functions_and_the_points(model, rows):
    axes = band(model, rows, n_functions=4, random_state=0).plot()
    assert isinstance(axes, Axes)
    assert [text for text in axes.get_legend_handles_labels()[1]] == [
        "90 % interval",
        "50 % interval",
        "mean",
        "data",
    ]
    assert len(axes.collections) == 2
    assert len(axes.lines) == 4 + 1 + 1
    np.testing.assert_array_equal(axes.lines[-1].get_ydata(), rows[1])


def test_drawn_band_has_the_ends_of_the_interval(model, rows):
    display = band(model, rows, coverage=(0.9,))
    corners = display.plot().collections[0].get_paths()[0].vertices
    np.testing.assert_allclose(corners[:, 1].max(), display.upper.max())
    np.testing.assert_allclose(corners[:, 1].min(), display.lower.min())


def test_no_interval_is_drawn_where_none_is_asked_for(model, rows):
    display = band(model, rows, coverage=(), n_grid=30)
    assert display.lower.shape == display.upper.shape == (0, 30)
    assert not display.plot().collections


def test_points_are_drawn_only_when_targets_are_given(model, rows):
    axes = displays.PredictiveBandDisplay.from_estimator(model, rows[0]).plot()
    assert "data" not in axes.get_legend_handles_labels()[1]


def test_given_axes_are_drawn_into(model, rows):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    assert band(model, rows).plot(ax) is ax
    assert displays.BasisDisplay.from_estimator(model, rows[0]).plot(ax) is ax
    assert plt.get_fignums() == [figure.number]


def test_column_name_of_a_data_frame_labels_the_axis(rows):
    frame = pd.DataFrame(rows[0], columns=["depth"])
    fitted = BayesianLinearRegression().fit(frame, rows[1])
    assert band(fitted, (frame, rows[1])).plot().get_xlabel() == "depth"


def test_functions_of_a_gaussian_process_are_drawn_from_its_posterior(rows):
    kernel = (2.0 * kernels.RBF(0.7)).fixed()
    fitted = GaussianProcessRegressor(kernel, noise_variance=0.01).fit(*rows)
    display = band(fitted, rows, n_functions=2, random_state=3, n_grid=20)
    expected = fitted.sample_functions(display.x[:, None], 2, random_state=3)
    np.testing.assert_array_equal(display.functions, expected)


@pytest.fixture(scope="module")
def sparse():
    """A model of few vectors; the last row to show repeats one of them under another target."""
    x = np.linspace(-2.0, 2.0, 30)
    y = np.sin(2.0 * x) + 0.1 * np.random.default_rng(0).normal(size=30)
    model = RelevanceVectorRegressor(kernels.RBF(0.5).fixed()).fit(x[:, None], y)
    return model, (np.append(x, model.relevance_vectors_[0, 0])[:, None], np.append(y, 9.0))


def test_relevance_vectors_have_rings_at_their_targets_once_each(sparse):
    model, (X, y) = sparse
    display = band(model, (X, y), n_grid=20)
    assert 1 < len(model.relevance_) < 20
    np.testing.assert_array_equal(display.x_vectors, X[model.relevance_, 0])
    np.testing.assert_array_equal(display.y_vectors, y[model.relevance_])
    line = display.plot().lines[-1]
    assert line.get_label() == "relevance vectors"
    np.testing.assert_array_equal(line.get_xydata()[:, 1], display.y_vectors)


def test_rings_are_drawn_only_about_rows_that_are_shown(sparse, rows):
    model, (X, y) = sparse
    from_estimator = displays.PredictiveBandDisplay.from_estimator
    without = [
        from_estimator(model, X, y, vectors=False),
        from_estimator(model, X),
        from_estimator(model, *rows),  # other rows than it was fitted to
        from_estimator(BayesianLinearRegression().fit(X, y), X, y),
    ]
    for display in without:
        assert not len(display.x_vectors)
        assert "relevance vectors" not in display.plot().get_legend_handles_labels()[1]


def prior(kernel, **options):
    return displays.PredictiveBandDisplay.from_kernel(kernel, [[0.0], [1.0], [4.0]], **options)


def test_prior_has_the_variance_of_its_kernel():
    display = prior(kernels.Linear(2.0), coverage=(0.9, 0.5), n_grid=9)
    np.testing.assert_array_equal(display.x, np.linspace(0.0, 4.0, 9))
    np.testing.assert_array_equal(display.mean, 0.0)
    for factor, low, high in zip((0.67449, 1.644854), display.lower, display.upper, strict=True):
        np.testing.assert_allclose(high, factor * np.sqrt(2.0) * display.x, rtol=1e-5)
        np.testing.assert_array_equal(low, -high)


def test_functions_of_the_prior_have_the_covariance_of_its_kernel():
    kernel = 3.0 * kernels.RBF(1.5)
    display = prior(kernel, n_functions=20_000, random_state=0, n_grid=5)
    expected = kernel(display.x[:, None])
    np.testing.assert_allclose(np.cov(display.functions.T), expected, atol=0.15)


def test_prior_is_the_same_for_the_same_seed_and_starts_unset_parameters_from_the_rows():
    first, second = (prior(kernels.RBF(), random_state=1, n_grid=30) for _ in range(2))
    np.testing.assert_array_equal(first.functions, second.functions)
    started = kernels.RBF().start(np.array([[0.0], [1.0], [4.0]]))
    expected = prior(started, random_state=1, n_grid=30)
    np.testing.assert_array_equal(first.functions, expected.functions)


def test_prior_is_drawn_without_points_and_without_what_was_not_asked_for():
    axes = prior(kernels.RBF(1.0), coverage=(), n_functions=2).plot()
    assert not axes.collections
    assert len(axes.lines) == 2 + 1


def test_weighted_basis_sums_to_the_mean_prediction(model, rows):
    display = displays.BasisDisplay.from_estimator(model, rows[0], n_grid=30)
    np.testing.assert_allclose(display.total, model.predict(display.x[:, None]), rtol=1e-10)
    axes = display.plot(weighted=True)
    np.testing.assert_array_equal(axes.lines[-1].get_ydata(), display.total)
    np.testing.assert_array_equal(axes.lines[2].get_ydata(), display.values[:, 2] * model.coef_[2])


def test_plain_basis_draws_the_features_as_they_are(model, rows):
    display = displays.BasisDisplay.from_estimator(model, rows[0], n_grid=30)
    axes = display.plot()
    assert len(axes.lines) == 6
    expected = model.features_.transform(display.x[:, None])
    np.testing.assert_array_equal(np.transpose([line.get_ydata() for line in axes.lines]), expected)


def test_basis_of_a_model_without_features_is_the_input(rows):
    display = displays.BasisDisplay.from_estimator(LinearRegression().fit(*rows), rows[0])
    np.testing.assert_array_equal(display.values[:, 0], display.x)


def test_style_ends_with_its_block():
    before = dict(mpl.rcParams)
    with displays.style():
        assert mpl.rcParams["legend.frameon"] is False
    assert dict(mpl.rcParams) == before
