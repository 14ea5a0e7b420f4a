"""Curves hold a classifier's own probabilities, and the band its doubt about them."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from scipy.special import expit
from scipy.stats import norm
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression as Peer

from posterity import (
    BayesianLogisticRegression,
    GaussianProcessClassifier,
    LogisticRegression,
    displays,
    features,
    kernels,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(loc=1.0, size=(40, 1))
    return X, np.where(X[:, 0] + 0.5 * rng.logistic(size=40) > 1.0, "yes", "no")


@pytest.fixture(scope="module")
def model(rows):
    return BayesianLogisticRegression().fit(*rows)


@pytest.fixture(scope="module")
def three(rows):
    y = np.digitize(rows[0][:, 0], [0.5, 1.5])
    return BayesianLogisticRegression(prior_variance=1.0).fit(rows[0], y), y


def curves(estimator, *args, **options):
    return displays.ProbabilityDisplay.from_estimator(estimator, *args, **options)


def test_curve_is_what_the_classifier_predicts(model, rows):
    display = curves(model, *rows, n_grid=30, margin=0.5)
    np.testing.assert_array_equal(display.probabilities, model.predict_proba(display.x[:, None]))
    x = rows[0][:, 0]
    np.testing.assert_allclose(
        display.x[[0, -1]], [x.min() - np.ptp(x) / 2, x.max() + np.ptp(x) / 2]
    )
    np.testing.assert_array_equal(display.x_train, x)
    np.testing.assert_array_equal(display.classes[display.codes], rows[1])


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_band_is_the_latent_interval_through_the_sigmoid(model, rows, coverage):
    display = curves(model, *rows, coverage=coverage, n_grid=30)
    latent = model.predict_latent(display.x[:, None])
    reach = norm.ppf(0.5 + coverage / 2.0) * latent.standard_deviation()
    np.testing.assert_allclose(display.lower, expit(latent.mean() - reach), rtol=1e-10)
    np.testing.assert_allclose(display.upper, expit(latent.mean() + reach), rtol=1e-10)


def test_a_gaussian_process_has_a_band(rows):
    process = GaussianProcessClassifier((2.0 * kernels.RBF(1.0)).fixed()).fit(*rows)
    display = curves(process, *rows, n_grid=20)
    assert (display.lower < display.probabilities[:, 1]).all()
    assert (display.upper > display.probabilities[:, 1]).all()


def test_a_classifier_without_doubt_has_no_band(rows):
    for estimator in (Peer(), LogisticRegression()):
        display = curves(estimator.fit(*rows), *rows, n_grid=20)
        assert not len(display.lower)
        assert "90 % interval" not in display.plot().get_legend_handles_labels()[1]


@pytest.mark.parametrize("basis", [None, features.Radial(4)])
def test_functions_have_the_weights_of_the_posterior(rows, basis):
    fitted = BayesianLogisticRegression(features=basis).fit(*rows)
    display = curves(fitted, *rows, n_functions=4000, random_state=1, n_grid=7)
    latents = np.log(display.functions / (1.0 - display.functions))
    expected = fitted.predict_latent(display.x[:, None])
    size = expected.standard_deviation()
    np.testing.assert_allclose(latents.mean(axis=0) / size, expected.mean() / size, atol=0.06)
    np.testing.assert_allclose(latents.std(axis=0) / size, 1.0, atol=0.04)


def test_functions_come_again_from_the_same_state(model, rows):
    first, again = (curves(model, *rows, n_functions=2, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.functions, again.functions)
    assert curves(model, *rows).functions.shape == (0, 200)


def test_picture_of_two_classes_has_band_curves_and_rows_at_both_ends(model, rows):
    display = curves(model, *rows, n_functions=2, random_state=0, n_grid=20)
    axes = display.plot()
    assert axes.get_legend_handles_labels()[1] == ["90 % interval", "probability", "data"]
    assert len(axes.lines) == 2 + 1 + 1
    np.testing.assert_array_equal(axes.lines[2].get_ydata(), display.probabilities[:, 1])
    np.testing.assert_array_equal(axes.lines[3].get_ydata(), rows[1] == "yes")
    assert axes.get_ylabel() == "probability of yes"
    low, high = (getattr(display, name) for name in ("lower", "upper"))
    corners = axes.collections[0].get_paths()[0].vertices
    np.testing.assert_allclose([corners[:, 1].min(), corners[:, 1].max()], [low.min(), high.max()])
    assert "data" not in curves(model, rows[0]).plot().get_legend_handles_labels()[1]


def test_of_more_classes_each_has_a_curve_and_ticks_in_its_colour(three, rows):
    fitted, y = three
    display = curves(fitted, rows[0], y, n_grid=20)
    axes = display.plot()
    assert axes.get_legend_handles_labels()[1] == ["0", "1", "2"]
    assert not axes.collections
    for c in range(3):
        curve, ticks = axes.lines[2 * c : 2 * c + 2]
        np.testing.assert_array_equal(curve.get_ydata(), display.probabilities[:, c])
        np.testing.assert_array_equal(ticks.get_xdata(), rows[0][y == c, 0])
        assert to_rgba(curve.get_color()) == to_rgba(ticks.get_color())
        assert (ticks.get_ydata() < 0.0).all()
    assert len({line.get_linestyle() for line in axes.lines[::2]}) == 3
    assert len(curves(fitted, rows[0]).plot().lines) == 3


def test_column_name_of_a_data_frame_labels_the_axis(rows):
    frame = pd.DataFrame(rows[0], columns=["dose"])
    fitted = BayesianLogisticRegression().fit(frame, rows[1])
    display = curves(fitted, frame, rows[1], n_functions=1, random_state=0)
    assert display.plot().get_xlabel() == "dose"


def test_given_axes_are_drawn_into(model, rows):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    assert curves(model, *rows).plot(ax) is ax
    assert plt.get_fignums() == [figure.number]


def test_what_cannot_be_drawn_is_named(model, rows, three):
    X, y = rows
    with pytest.raises(ValueError, match=r"shape \(N, 1\) .* but has \(40, 2\)"):
        curves(model, np.hstack([X, X]), y)
    with pytest.raises(ValueError, match=r"Row 0 has the class .*'maybe'"):
        curves(model, X, ["maybe"] * len(X))
    with pytest.raises(ValueError, match=r"coverage=1.0 must lie strictly"):
        curves(model, X, y, coverage=1.0)
    with pytest.raises(ValueError, match=r"a single class, \['yes'\]"):
        curves(DummyClassifier().fit(X, ["yes"] * len(X)), X)
    with pytest.raises(ValueError, match="available for two classes only"):
        curves(three[0], X, n_functions=1)
    with pytest.raises(TypeError, match="LogisticRegression has no posterior of weights to draw"):
        curves(Peer().fit(X, y), X, y, n_functions=1)
