"""Reconstructions are a model's own, strip under strip or line over line."""

import numpy as np
import pytest
from sklearn.decomposition import PCA as Peer
from support.for_each import for_each

from posterity import displays, distributions

X = np.random.default_rng(0).normal(size=(12, 6)) + 3.0


class Unsure:
    """Half of each row comes back, with a deviation of its own for every column."""

    def transform(self, X):
        return np.asarray(X)

    def inverse_transform(self, Z):
        return 0.5 * Z

    def inverse_transform_dist(self, Z):
        return distributions.Normal(0.5 * Z, np.arange(1.0, 7.0))


def reconstruction(model, rows=X[:4], **options):
    return displays.ReconstructionDisplay.from_estimator(model, rows, **options)


def test_fewer_components_are_those_of_a_smaller_model():
    display = reconstruction(Peer(5).fit(X), n_components=(0, 1, 3))
    np.testing.assert_allclose(display.reconstructions[0], np.tile(X.mean(axis=0), (4, 1)))
    for k, block in ((1, display.reconstructions[1]), (3, display.reconstructions[2])):
        smaller = Peer(k).fit(X)
        np.testing.assert_allclose(block, smaller.inverse_transform(smaller.transform(X[:4])))
    assert display.names == ("0 components", "1 component", "3 components")
    assert not display.deviation.size


def test_deviation_is_that_of_the_model():
    display = reconstruction(Unsure())
    np.testing.assert_array_equal(display.reconstructions, [0.5 * X[:4]])
    np.testing.assert_array_equal(display.deviation, np.tile(np.arange(1.0, 7.0), (4, 1)))
    assert display.names == ("6 components",)


def test_strips_are_originals_reconstructions_and_deviation():
    axes = reconstruction(Unsure(), image_shape=(2, 3), n_components=(6,)).plot()
    mosaic = np.asarray(axes.images[0].get_array())
    assert mosaic.shape == (3 * 3, 4 * 4)
    low, high = X[:4].min(), X[:4].max()
    for i in range(4):
        place = slice(4 * i, 4 * i + 3)
        image = X[i].reshape(2, 3)
        np.testing.assert_allclose(mosaic[:2, place], (image - low) / (high - low))
        back = np.clip((0.5 * image - low) / (high - low), 0.0, 1.0)
        np.testing.assert_allclose(mosaic[3:5, place], back)
        np.testing.assert_allclose(mosaic[6:8, place], np.arange(1.0, 7.0).reshape(2, 3) / 6.0)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["original", "6 components", "standard deviation"]
    np.testing.assert_array_equal(axes.get_yticks(), [1.0, 4.0, 7.0])


def test_a_deviation_that_is_the_same_everywhere_has_no_strip():
    class Even(Unsure):
        def inverse_transform_dist(self, Z):
            return distributions.Normal(Z, 2.0)

    labels = reconstruction(Even(), image_shape=(2, 3)).plot().get_yticklabels()
    assert [label.get_text() for label in labels] == ["original", "6 components"]


def test_even_images_are_drawn():
    display = reconstruction(Unsure(), rows=np.ones((2, 6)), image_shape=(2, 3))
    assert np.all(np.isfinite(display.plot().images[0].get_array()))


def test_lines_have_points_and_a_band():
    display = reconstruction(Unsure(), n_components=(3, 6))
    axes = display.plot()
    originals, few, many = axes.lines[:3]
    np.testing.assert_array_equal(originals.get_ydata(), X[0])
    np.testing.assert_allclose(few.get_ydata(), 0.5 * np.where(np.arange(6) < 3, X[0], 0.0))
    np.testing.assert_allclose(many.get_ydata(), 0.5 * X[0])
    second = axes.lines[3].get_ydata()
    step = np.unique((X[1] - second).round(9))
    assert step.size == 1
    assert step[0] > np.ptp(X[:4])  # one row below the other
    assert axes.get_yticks()[1] == pytest.approx(-step[0])
    band = axes.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx((0.5 * X[0] + 2.0 * np.arange(1.0, 7.0)).max())
    assert len(axes.collections) == 4
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    assert words == ["original", "3 components", "6 components"]


def test_a_model_that_is_not_unsure_has_no_band():
    assert not reconstruction(Peer(2).fit(X)).plot().collections


@for_each(
    ("options", "words"),
    [
        ({"n_components": (7,)}, r"n_components=\(7,\) must be .* from 0 to 6"),
        ({"n_components": ()}, "must be one or more"),
        ({"image_shape": (3, 3)}, r"image_shape=\(3, 3\) does not match rows with 6"),
    ],
)
def test_what_does_not_fit_is_named(options, words):
    with pytest.raises(ValueError, match=words):
        reconstruction(Unsure(), **options)


def test_given_axes_are_drawn_into():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    assert reconstruction(Unsure()).plot(ax) is ax
    assert plt.get_fignums() == [figure.number]
