"""A map holds the places of rows and a model's own doubt, and is bright where that is small."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from matplotlib.offsetbox import AnnotationBbox
from sklearn.decomposition import PCA as Peer
from support.for_each import for_each

from posterity import GPLVM, displays, distributions
from posterity.displays import latent_map as latents


class Curved:
    """A latent space of three dimensions under six columns; doubt grows along the first."""

    embedding_ = np.random.default_rng(0).normal((0.0, 0.0, 5.0), size=(20, 3))

    def transform(self, X):
        return np.asarray(X)[:, :3]

    def inverse_transform_dist(self, X):
        mean = X @ np.arange(18.0).reshape(3, 6)
        scale = np.exp(X[:, :1] + 0.1 * X[:, 1:2] + 3.0 * (X[:, 2:] - 5.0)) * [1, 1, 1, 1, 1, 7.0]
        return distributions.Normal(mean, scale)


class Unsure(Curved):
    embedding_variance_ = np.abs(Curved.embedding_) + 1.0


def latent_map(model, *args, **options):
    return displays.LatentMapDisplay.from_estimator(model, *args, **options)


def test_map_holds_the_mean_deviation_with_other_dimensions_at_their_mean():
    model = Curved()
    display = latent_map(model, dimensions=(2, 0), n_grid=4)
    middle = model.embedding_[:, 1].mean()
    for i, second in enumerate(display.x1):
        for j, first in enumerate(display.x0):
            told = model.inverse_transform_dist(np.array([[second, middle, first]]))
            assert display.deviation[i, j] == pytest.approx(told.standard_deviation().mean())
    np.testing.assert_array_equal(display.points, model.embedding_[:, [2, 0]])
    assert display.names == ("latent 2", "latent 0")


def test_blocks_of_places_agree_with_one(monkeypatch):
    whole = latent_map(Curved(), n_grid=7).deviation
    monkeypatch.setattr(latents, "_HELD", 13)
    np.testing.assert_array_equal(latent_map(Curved(), n_grid=7).deviation, whole)


def test_rows_given_are_placed_by_transform():
    X = np.arange(24.0).reshape(4, 6)
    display = latent_map(Unsure(), X, shading=False)
    np.testing.assert_array_equal(display.points, X[:, :2])
    assert not display.deviation.size
    assert not display.spread.size  # the variances are those of the rows of the fit


def test_map_reaches_beyond_the_points_by_the_margin():
    display = latent_map(Curved(), np.array([[0.0, 0.0, 5.0], [1.0, 10.0, 5.0]]), margin=0.5)
    np.testing.assert_allclose([display.x0[0], display.x0[-1]], [-0.5, 1.5])
    np.testing.assert_allclose([display.x1[0], display.x1[-1]], [-5.0, 15.0])


def test_bright_is_sure():
    display = latent_map(Curved(), n_grid=30)
    image = display.plot().images[0]
    brightness = np.asarray(image.get_array())
    assert brightness.max() == 1.0
    assert 0.0 < brightness.min() < 0.5
    assert np.all(np.diff(brightness, axis=1) < 0.0)  # doubt grows along the first dimension
    np.testing.assert_allclose(np.diff(brightness, 2, axis=1), 0.0, atol=1e-12)  # evenly in the log
    extent = [display.x0[0], display.x0[-1], display.x1[0], display.x1[-1]]
    assert (image.origin, image.get_extent()) == ("lower", extent)
    assert image.get_cmap().name == "gray"
    assert image.get_clim() == (0.0, 1.0)


@for_each("deviation", [0.0, 2.5])
def test_where_all_is_as_sure_the_map_is_white(deviation):
    class Even(Curved):
        def inverse_transform_dist(self, X):
            return distributions.Normal(np.zeros((len(X), 6)), deviation)

    brightness = np.asarray(latent_map(Even(), n_grid=5).plot().images[0].get_array())
    np.testing.assert_array_equal(brightness, 1.0)


def test_a_place_without_any_doubt_is_brightest():
    class Sure(Curved):
        def inverse_transform_dist(self, X):
            return distributions.Normal(np.zeros((len(X), 6)), np.maximum(X[:, :1], 0.0))

    brightness = np.asarray(latent_map(Sure(), n_grid=9).plot().images[0].get_array())
    assert np.all(np.isfinite(brightness))
    assert brightness[0, 0] == 1.0 > brightness[0, -1]


def test_a_gplvm_is_surer_at_its_rows_than_beyond_them():
    t = np.linspace(0.0, 3.0, 15)
    model = GPLVM(n_components=2).fit(np.column_stack([np.sin(t), np.cos(t), t]))
    display = latent_map(model, n_grid=25, margin=1.0)
    at_rows = model.inverse_transform_dist(model.embedding_).standard_deviation().mean(axis=1)
    assert at_rows.max() < display.deviation[[0, 0, -1, -1], [0, -1, 0, -1]].min()


def test_models_of_others_have_a_map_without_shading():
    X = np.random.default_rng(1).normal(size=(15, 4))
    model = Peer(3).fit(pd.DataFrame(X, columns=list("abcd")))
    model.set_output(transform="pandas")
    display = latent_map(model, pd.DataFrame(X, columns=list("abcd")))
    assert not display.deviation.size
    assert not display.plot().images


def test_points_have_the_colour_and_name_of_their_label():
    labels = np.repeat(["b", "a"], 10)
    display = latent_map(Curved(), y=labels, n_grid=3)
    axes = display.plot()
    clouds = {c.get_label(): c for c in axes.collections}
    np.testing.assert_array_equal(clouds["a"].get_offsets(), display.points[10:])
    np.testing.assert_array_equal(
        clouds["b"].get_facecolor()[0], to_rgba(displays.COLORS["orange"])
    )
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    assert display.plot(legend=False).get_legend() is None
    assert latent_map(Curved(), n_grid=3).plot().get_legend() is None


def test_ten_labels_are_told_apart_by_colour_or_marker():
    display = latent_map(Curved(), y=np.arange(20) % 10, n_grid=3)
    looks = {
        (
            tuple(c.get_facecolor()[0]),
            len(c.get_paths()[0].vertices),
            c.get_paths()[0].vertices.sum(),
        )
        for c in display.plot().collections
    }
    assert len(looks) == 10


def test_trajectories_join_the_rows_of_a_group_in_order():
    groups = np.tile([3, 1], 10)
    display = latent_map(Curved(), y=groups, groups=groups, n_grid=3)
    lines = display.plot().lines
    assert len(lines) == 2
    np.testing.assert_array_equal(lines[0].get_xydata(), display.points[1::2])
    assert lines[0].get_color() == displays.COLORS["blue"]
    assert lines[1].get_color() == displays.COLORS["orange"]


def test_crosses_are_as_long_as_the_points_are_unsure():
    display = latent_map(Unsure(), dimensions=(1, 2), n_grid=3)
    np.testing.assert_allclose(display.spread**2, Unsure.embedding_variance_[:, 1:])
    across, along = display.plot().containers[0].lines[2]
    ends = np.array([segment[:, 0] for segment in across.get_segments()])
    np.testing.assert_allclose(np.ptp(ends, axis=1), 2.0 * display.spread[:, 0])
    ends = np.array([segment[:, 1] for segment in along.get_segments()])
    np.testing.assert_allclose(np.ptp(ends, axis=1), 2.0 * display.spread[:, 1])


def test_images_are_the_means_at_their_points():
    model = Curved()
    display = latent_map(model, image_shape=(2, 3), n_images=5, n_grid=3)
    assert len(set(display.shown.tolist())) == 5
    told = model.inverse_transform_dist(model.embedding_[display.shown]).mean()
    np.testing.assert_allclose(display.images, told.reshape(5, 2, 3))
    boxes = [a for a in display.plot().artists if isinstance(a, AnnotationBbox)]
    np.testing.assert_allclose([box.xy for box in boxes], display.points[display.shown])


def test_images_lie_apart():
    points = np.concatenate([np.zeros((40, 2)), np.eye(2)]) + 1e-3 * np.random.default_rng(
        0
    ).normal(size=(42, 2))
    assert sorted(latents.separate_images(points, 30)[1:]) == [40, 41]
    assert len(latents.separate_images(np.ones((5, 2)), 3)) == 1
    assert len(latents.separate_images(points, 0)) == 0


@for_each(
    ("options", "words"),
    [
        ({"dimensions": (0, 3)}, r"dimensions=\(0, 3\) must be two different latent dimensions"),
        ({"dimensions": (1, 1)}, r"dimensions=\(1, 1\)"),
        ({"dimensions": (-1, 1)}, r"dimensions=\(-1, 1\)"),
        ({"y": [1, 2]}, "y must have one value per row: 20, not 2"),
        ({"groups": [1]}, "groups must have one value per row: 20, not 1"),
        ({"image_shape": (2, 2)}, r"image_shape=\(2, 2\) does not match rows with 6"),
    ],
)
def test_what_does_not_fit_is_named(options, words):
    with pytest.raises(ValueError, match=words):
        latent_map(Curved(), n_grid=3, **options)


def test_a_model_that_keeps_no_places_needs_rows():
    with pytest.raises(TypeError, match=r"PCA does not store latent points .* pass X"):
        latent_map(Peer(2).fit(np.eye(4)))


def test_a_model_without_a_way_back_has_a_map_but_no_images():
    class OneWay:
        embedding_ = Curved.embedding_

    assert not latent_map(OneWay()).deviation.size
    with pytest.raises(TypeError, match="OneWay has no inverse_transform"):
        latent_map(OneWay(), image_shape=(2, 3))


def test_given_axes_are_drawn_into():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    assert latent_map(Curved(), n_grid=3).plot(ax) is ax
    assert plt.get_fignums() == [figure.number]
