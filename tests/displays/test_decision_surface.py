"""A surface holds a classifier's own probabilities, and shows which class and how surely."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.for_each import for_each

from posterity import BayesianLogisticRegression, RelevanceVectorClassifier, displays, kernels


class Told:
    """A classifier of known probabilities."""

    def __init__(self, classes, probabilities):
        self.classes_ = np.array(classes)
        self.predict_proba = probabilities


def by_first_input(*, n_classes=2):
    """The second of two classes, or the first of three, has the first input as probability."""

    def probabilities(X):
        p = np.clip(X[:, 0], 0.0, 1.0)
        if n_classes == 2:
            return np.column_stack([1.0 - p, p])
        return np.column_stack([p, 0.6 * (1.0 - p), 0.4 * (1.0 - p)])

    return Told(["a", "b", "c"][:n_classes], probabilities)


CORNERS = np.array([[0.0, 0.0], [1.0, 5.0]])


def surface(estimator, *args, **options):
    return displays.DecisionSurfaceDisplay.from_estimator(estimator, *args, **options)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * [1.0, 30.0]
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0.0, "yes", "no")


def test_surface_holds_what_the_estimator_predicts(rows):
    model = BayesianLogisticRegression().fit(*rows)
    display = surface(model, *rows, n_grid=7)
    for i, second in enumerate(display.x1):
        for j, first in enumerate(display.x0):
            expected = model.predict_proba([[first, second]])[0]
            np.testing.assert_allclose(display.probabilities[i, j], expected, rtol=1e-12)
    np.testing.assert_array_equal(display.X, rows[0])
    np.testing.assert_array_equal(display.classes[display.codes], rows[1])


def test_surface_reaches_beyond_the_rows_by_the_margin():
    display = surface(by_first_input(), CORNERS, margin=0.5, n_grid=5)
    np.testing.assert_allclose([display.x0[0], display.x0[-1]], [-0.5, 1.5])
    np.testing.assert_allclose([display.x1[0], display.x1[-1]], [-2.5, 7.5])


def test_classifiers_and_pipelines_of_others_are_drawn(rows):
    peer = make_pipeline(StandardScaler(), Peer()).fit(*rows)
    assert surface(peer, *rows, n_grid=6).probabilities.shape == (6, 6, 2)


def test_column_names_of_a_data_frame_label_the_axes(rows):
    frame = pd.DataFrame(rows[0], columns=["width", "height"])
    model = BayesianLogisticRegression().fit(frame, rows[1])
    axes = surface(model, frame, rows[1], n_grid=6).plot()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("width", "height")


def test_other_than_two_inputs_are_refused_with_the_shape():
    with pytest.raises(ValueError, match=r"shape \(N, 2\) .* but has \(2, 1\)"):
        surface(by_first_input(), CORNERS[:, :1])


def test_a_class_the_model_does_not_know_is_named():
    with pytest.raises(ValueError, match=r"Row 1 has the class 'z'.* known classes: \['a', 'b'\]"):
        surface(by_first_input(), CORNERS, ["a", "z"])


def test_a_classifier_of_one_class_is_refused():
    sure = Told(["a"], lambda X: np.ones((len(X), 1)))
    with pytest.raises(ValueError, match=r"single class, \['a'\]; a plot needs"):
        surface(sure, CORNERS)


@for_each("n_classes", [2, 3])
def test_colour_is_that_of_the_most_probable_class_and_stronger_the_surer(n_classes):
    display = surface(by_first_input(n_classes=n_classes), CORNERS, margin=0.0, n_grid=201)
    image = display.plot().images[0]
    assert (image.origin, image.get_extent()) == ("lower", [0.0, 1.0, 0.0, 5.0])
    colors = np.asarray(image.get_array())
    full = [1.0 - np.array(to_rgb(displays.COLORS[name])) for name in ("blue", "orange")]
    low, high = full if n_classes == 2 else full[::-1]
    for j, hue in ((20, low), (180, high)):  # proportional to the colour's distance from white
        shade = 1.0 - colors[0, j]
        np.testing.assert_allclose(shade / shade.sum(), hue / hue.sum(), rtol=1e-10)
    strength = (1.0 - colors[0]).sum(axis=1)
    assert strength[180] > strength[150] > strength[120]
    np.testing.assert_array_equal(colors[0], colors[-1])


def contours(axes):
    """The first input along each line that is drawn, and whether the line is dashed."""
    for collection in axes.collections:
        dashed = collection.get_linestyle()[0][1] is not None
        for path in collection.get_paths():
            if len(path.vertices):
                yield float(path.vertices[:, 0].mean()), dashed


def test_lines_are_at_even_odds_and_where_a_class_is_sure():
    display = surface(by_first_input(), CORNERS, margin=0.0, n_grid=101)
    found = sorted(contours(display.plot()))
    np.testing.assert_allclose([x for x, _ in found], [0.1, 0.5, 0.9], atol=1e-9)
    assert [dashed for _, dashed in found] == [True, False, True]
    assert len(list(contours(display.plot(sure=())))) == 1


def test_of_three_classes_the_line_is_where_the_best_two_are_even():
    display = surface(by_first_input(n_classes=3), CORNERS, margin=0.0, n_grid=401)
    solid = {round(x, 3) for x, dashed in contours(display.plot(sure=())) if not dashed}
    assert solid == {0.375}  # p = 0.6 (1 - p)


def test_no_line_is_drawn_where_there_is_none():
    sure_of_b = Told(["a", "b"], lambda X: np.tile([0.01, 0.99], (len(X), 1)))
    assert not surface(sure_of_b, CORNERS, n_grid=5).plot().collections


def test_rows_of_each_class_have_a_marker_of_their_own():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.2]])
    axes = surface(by_first_input(), X, ["a", "b", "b"], n_grid=5).plot(sure=())
    points = {c.get_label(): c for c in axes.collections if c.get_label() in ("a", "b")}
    np.testing.assert_array_equal(points["b"].get_offsets(), X[1:])
    shapes = [len(points[name].get_paths()[0].vertices) for name in ("a", "b")]
    assert shapes[0] != shapes[1]
    bare = surface(by_first_input(), X, n_grid=5).plot()
    assert not {c.get_label() for c in bare.collections} & {"a", "b"}


def rings(axes):
    """Where rings are drawn."""
    return [c.get_offsets() for c in axes.collections if c.get_label() == "relevance vectors"]


def test_relevance_vectors_have_rings_of_their_own():
    model = by_first_input()
    model.relevance_vectors_ = CORNERS[1:]
    axes = surface(model, CORNERS, ["a", "b"], n_grid=5).plot()
    np.testing.assert_array_equal(rings(axes), [CORNERS[1:]])
    assert not rings(surface(model, CORNERS, n_grid=5, vectors=False).plot())
    assert not rings(surface(by_first_input(), CORNERS, n_grid=5).plot())


def test_a_model_that_kept_no_row_has_no_rings():
    model = by_first_input()
    model.relevance_vectors_ = np.empty((0, 2))
    display = surface(model, CORNERS, ["a", "b"], n_grid=5)
    assert display.vectors.shape == (0, 2)
    assert not rings(display.plot())


def test_rings_are_about_the_vectors_of_the_estimator(rows):
    model = RelevanceVectorClassifier(kernels.RBF((1.0, 30.0)).fixed()).fit(*rows)
    display = surface(model, *rows, n_grid=5)
    np.testing.assert_array_equal(display.vectors, rows[0][model.relevance_])
    assert len(display.vectors)


def test_given_axes_are_drawn_into():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    assert surface(by_first_input(), CORNERS, n_grid=5).plot(ax) is ax
    assert plt.get_fignums() == [figure.number]
