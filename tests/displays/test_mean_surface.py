"""A surface holds a regressor's own mean and deviation, and rows share the scale of the mean."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression as Peer

from posterity import (
    BayesianLinearRegression,
    GaussianProcessRegressor,
    RelevanceVectorRegressor,
    displays,
    kernels,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(30, 2)) * [1.0, 30.0]
    return X, 2.0 * X[:, 0] - 0.1 * X[:, 1] + 0.2 * rng.normal(size=30)


@pytest.fixture(scope="module")
def model(rows):
    return BayesianLinearRegression().fit(*rows)


def surface(estimator, *args, **options):
    return displays.MeanSurfaceDisplay.from_estimator(estimator, *args, **options)


def test_surface_holds_what_the_estimator_predicts(rows):
    process = GaussianProcessRegressor(kernels.RBF((1.0, 30.0)).fixed()).fit(*rows)
    display = surface(process, *rows, n_grid=6, margin=0.5)
    for i, second in enumerate(display.x1):
        for j, first in enumerate(display.x0):
            mean, deviation = process.predict([[first, second]], return_std=True)
            assert display.mean[i, j] == pytest.approx(mean[0], rel=1e-9)
            assert display.deviation[i, j] == pytest.approx(deviation[0], rel=1e-9)
    low, high = rows[0].min(axis=0), rows[0].max(axis=0)
    np.testing.assert_allclose([display.x0[0], display.x1[0]], low - 0.5 * (high - low))
    np.testing.assert_array_equal(display.X, rows[0])
    np.testing.assert_array_equal(display.y, rows[1])


def test_rows_have_the_colours_of_their_targets_on_the_scale_of_the_mean(model, rows):
    y = np.append(rows[1][:-1], 40.0)  # far from any mean
    display = surface(model, rows[0], y, n_grid=9)
    axes = display.plot()
    (image,) = axes.images
    points = next(c for c in axes.collections if c.get_label() == "data")
    assert points.norm is image.norm
    assert points.get_cmap() == image.get_cmap()
    np.testing.assert_array_equal(points.get_array(), y)
    assert (image.norm.vmin, image.norm.vmax) == (display.mean.min(), 40.0)
    np.testing.assert_array_equal(image.get_array(), display.mean)
    assert image.origin == "lower"
    np.testing.assert_allclose(image.get_extent()[:2], display.x0[[0, -1]])


def test_deviation_is_shown_on_its_own_scale(model, rows):
    display = surface(model, *rows, n_grid=9)
    axes = display.plot(show="deviation")
    (image,) = axes.images
    np.testing.assert_array_equal(image.get_array(), display.deviation)
    assert image.norm.vmax == display.deviation.max()
    assert axes.figure.axes[1].get_ylabel() == "standard deviation"


def test_contours_are_lines_of_equal_mean(model, rows):
    axes = surface(model, *rows, n_grid=40).plot()
    lines = next(c for c in axes.collections if type(c).__name__ == "QuadContourSet")
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        if len(path.vertices):
            np.testing.assert_allclose(model.predict(path.vertices), level, atol=1e-6)


def test_scale_stands_beside_the_axes_unless_it_is_not_wanted(model, rows):
    display = surface(model, *rows, n_grid=9)
    scale = display.plot().figure.axes
    assert [axes.get_ylabel() for axes in scale] == ["x1", "mean"]
    assert len(display.plot(colorbar=False).figure.axes) == 1


def test_a_peer_has_a_mean_and_no_deviation(rows):
    display = surface(Peer().fit(*rows), rows[0], n_grid=5)
    assert display.deviation.size == 0
    assert not [c for c in display.plot().collections if c.get_label() == "data"]
    with pytest.raises(ValueError, match="predicts no standard deviation"):
        display.plot(show="deviation")


def test_a_constant_mean_has_no_contours(rows):
    flat = surface(Peer().fit(rows[0], np.ones(30)), rows[0], n_grid=5)
    assert not flat.plot().collections


def test_relevance_vectors_have_rings(rows):
    model = RelevanceVectorRegressor(kernels.RBF((1.0, 30.0)).fixed()).fit(*rows)
    rings = [
        [c for c in display.plot().collections if c.get_label() == "relevance vectors"]
        for display in (surface(model, *rows, n_grid=5), surface(model, *rows, vectors=False))
    ]
    np.testing.assert_array_equal(rings[0][0].get_offsets(), model.relevance_vectors_)
    assert not rings[1]


def test_column_names_of_a_data_frame_label_the_axes(rows):
    frame = pd.DataFrame(rows[0], columns=["width", "height"])
    axes = surface(BayesianLinearRegression().fit(frame, rows[1]), frame, n_grid=5).plot()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("width", "height")


def test_given_axes_are_drawn_into(model, rows):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    assert surface(model, *rows, n_grid=5).plot(ax) is ax
    assert plt.get_fignums() == [figure.number]


def test_what_cannot_be_drawn_is_named(model, rows):
    X, y = rows
    with pytest.raises(ValueError, match=r"shape \(N, 2\) .* but has \(30, 1\)"):
        surface(model, X[:, :1])
    with pytest.raises(ValueError, match="X has 30 rows, but y has 2"):
        surface(model, X, y[:2])
    with pytest.raises(ValueError, match="shows one target, but the model predicts 2"):
        surface(BayesianLinearRegression().fit(X, np.column_stack([y, y])), X)
    with pytest.raises(ValueError, match="show='variance' must be 'mean' or 'deviation'"):
        surface(model, X, n_grid=5).plot(show="variance")
