"""Labels of pixels are painted in their colours, and entropies are those of SciPy."""

import numpy as np
import pytest
from scipy.stats import entropy

from posterity import vision
from posterity.vision.label_maps import find_lab


@pytest.fixture(scope="module")
def p():
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=(5, 6))
    p[0, :3] = 0.0
    return p


def test_labels_and_entropy_are_those_of_the_probabilities(p):
    display = vision.displays.LabelMapDisplay.from_probabilities(p, "abcd")
    np.testing.assert_array_equal(display.labels[1:], p[1:].argmax(axis=2))
    assert (display.labels[0, :3] == -1).all()
    assert np.isnan(display.entropy[0, :3]).all()
    np.testing.assert_allclose(display.entropy[1:], entropy(p[1:], base=2, axis=2))


def test_paint_mixes_colours_with_the_image():
    image = np.array([[100, 200]], np.uint8)
    display = vision.displays.LabelMapDisplay.from_labels(
        [[0, 255]], ["a"], image=image, colors=[[200, 0, 40]], no_label=255
    )
    assert display.paint(opacity=0.25).tolist() == [[[125, 75, 85], [200, 200, 200]]]


def test_labels_without_image_are_on_white():
    display = vision.displays.LabelMapDisplay.from_labels([[1, -1]])
    assert display.names == ("0", "1")
    np.testing.assert_array_equal(display.paint(opacity=0.3)[0, 0], vision.choose_colors(2)[1])
    assert (display.paint()[0, 1] == 255).all()


def test_the_legend_lists_the_most_frequent_labels_in_order():
    labels = np.repeat([0, 1, 2, 3], [1, 5, 0, 3])[None]
    axes = vision.displays.LabelMapDisplay.from_labels(labels, "wxyz").plot(max_names=2)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["x", "z"]


def test_the_scale_of_entropy_is_fixed_for_few_labels(p):
    display = vision.displays.LabelMapDisplay.from_probabilities(p)
    (shown,) = display.plot_entropy().images
    assert shown.get_clim() == (0.0, 2.0)
    with pytest.raises(ValueError, match="without probabilities"):
        vision.displays.LabelMapDisplay.from_labels([[0]]).plot_entropy()


def test_an_estimator_is_asked_and_its_names_are_used(p):
    class Painter:
        names_ = ("sky", "wall", "floor", "tree")

        def predict_proba(self, X):
            return p

    image = np.zeros((5, 6, 3), np.uint8)
    display = vision.displays.LabelMapDisplay.from_estimator(Painter(), image)
    assert display.names == Painter.names_
    assert display.image is not None
    assert vision.displays.LabelMapDisplay.from_estimator(Painter(), image / 2.0).image is None


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda c: c.from_labels([[0.5]]), "whole numbers"),
        (lambda c: c.from_labels([[3]], ["a"]), "contain 3, but there are 1 names"),
        (lambda c: c.from_labels([[0]], colors=[[0, 0]]), r"shape \(1, 3\)"),
        (lambda c: c.from_labels([[0]], image=np.zeros((2, 2), np.uint8)), r"\(2, 2\)"),
        (lambda c: c.from_probabilities([[0.5]]), r"\(H, W, C\)"),
        (lambda c: c.from_probabilities([[[0.5, 0.5]]], ["a"]), "2 probabilities, but 1 names"),
    ],
)
def test_wrong_arrays_are_refused_in_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(vision.displays.LabelMapDisplay)


def test_colours_of_labels_are_far_apart():
    places = find_lab(vision.choose_colors(32))
    gaps = np.linalg.norm(places[:, None] - places, axis=2) + np.eye(32)
    assert gaps.min() > 0.1
    np.testing.assert_array_equal(vision.choose_colors(32)[:5], vision.choose_colors(5))
    with pytest.raises(ValueError, match="0 to 256 labels"):
        vision.choose_colors(257)
