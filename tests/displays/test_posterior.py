"""Ellipses hold two weights as often as they say, and draws come from the same normal."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.path import Path
from support.for_each import for_each

from posterity import (
    BayesianLinearRegression,
    BayesianLogisticRegression,
    GaussianProcessRegressor,
    SparseLinearRegression,
    displays,
    distributions,
    features,
)

NORMAL = distributions.MultivariateNormal([3.0, -100.0], [[4.0, -30.0], [-30.0, 400.0]])


def believed(*args, **options):
    return displays.PosteriorDisplay.from_distribution(*args, **options)


def of_model(*args, **options):
    return displays.PosteriorDisplay.from_estimator(*args, **options)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(loc=[4.0, -2.0], size=(30, 2)), columns=["width", "height"])
    return table, table["width"] - 3.0 * table["height"] + rng.normal(size=30)


@for_each("coverage", [0.1, 0.5, 0.9, 0.99])
def test_an_ellipse_holds_its_share_of_many_draws(coverage):
    display = believed(NORMAL, coverage=(coverage,), n_draws=40_000, random_state=0)
    inside = Path(display.ellipse(coverage)).contains_points(display.draws)
    assert inside.mean() == pytest.approx(coverage, abs=0.01)


def test_the_border_of_an_ellipse_has_one_density():
    density = NORMAL.logpdf(believed(NORMAL).ellipse(0.7))
    np.testing.assert_allclose(density, density[0], rtol=1e-10)
    assert density[0] < NORMAL.logpdf(NORMAL.mean())


def test_draws_are_those_of_the_normal():
    display = believed(NORMAL, n_draws=4, random_state=7)
    np.testing.assert_array_equal(display.draws, NORMAL.sample(4, rng=np.random.default_rng(7)))
    assert believed(NORMAL).draws.shape == (0, 2)


@pytest.mark.parametrize("prior", [False, True])
def test_numbers_are_what_the_model_believes_of_its_weights(frame, prior):
    model = BayesianLinearRegression().fit(*frame)
    display = of_model(model, ("height", "intercept"), prior=prior, coverage=(0.9, 0.5))
    expected = model.weight_distribution(["height", "intercept"], prior=prior)
    np.testing.assert_array_equal(display.mean, expected.mean())
    np.testing.assert_array_equal(display.covariance, expected.covariance)
    assert display.coverage == (0.5, 0.9)


def test_of_several_classes_one_is_shown(frame):
    X, y = frame
    model = BayesianLogisticRegression().fit(X, np.digitize(y, [8.0, 12.0]))
    display = of_model(model, (0, 1), output=2)
    np.testing.assert_allclose(display.mean, model.coef_[2])


@pytest.mark.parametrize(
    ("weights", "names"),
    [
        (("intercept", 0), ("intercept", "weight of width")),
        (("height", -2), ("weight of height", "weight of width")),
    ],
)
def test_axes_have_the_names_of_the_weights(frame, weights, names):
    model = BayesianLinearRegression().fit(*frame)
    axes = of_model(model, weights).plot()
    assert (axes.get_xlabel(), axes.get_ylabel()) == names


def test_columns_without_names_have_their_numbers(frame):
    X, y = np.asarray(frame[0]), frame[1]
    names = [
        of_model(BayesianLinearRegression().fit(X, y), (0, 1)).names,
        of_model(BayesianLinearRegression().fit(X[:, :1], y)).names,
        of_model(BayesianLinearRegression(features=features.Polynomial(2)).fit(X, y), (0, 3)).names,
    ]
    assert names == [
        ("weight of x0", "weight of x1"),
        ("intercept", "weight of x"),
        ("weight 0", "weight 3"),
    ]


def test_picture_has_the_regions_the_mean_and_the_draws():
    display = believed(NORMAL, ("a", "b"), coverage=(0.5, 0.9), n_draws=3, random_state=0)
    axes = display.plot()
    assert axes.get_legend_handles_labels()[1] == ["90 % region", "50 % region", "mean", "draws"]
    np.testing.assert_allclose(axes.patches[1].get_xy()[:-1], display.ellipse(0.5))
    *_, mean, draws = axes.lines
    np.testing.assert_array_equal(mean.get_xydata(), [display.mean])
    np.testing.assert_array_equal(draws.get_xydata(), display.draws)
    assert "draws" not in believed(NORMAL).plot().get_legend_handles_labels()[1]


def test_given_axes_are_drawn_into():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    assert believed(NORMAL).plot(ax) is ax
    assert plt.get_fignums() == [figure.number]


def test_what_cannot_be_drawn_is_named(frame):
    X, y = frame
    model = BayesianLinearRegression().fit(X, y)
    with pytest.raises(ValueError, match=r"must have shape \(2,\), but has \(3,\)"):
        believed(distributions.MultivariateNormal(np.zeros(3), np.eye(3)))
    with pytest.raises(ValueError, match="must name exactly two weights"):
        of_model(model, (0,))
    with pytest.raises(ValueError, match="Weight 'depth' does not exist"):
        of_model(model, ("depth", 0))
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        of_model(model, coverage=(0.5, 1.0))
    noise = np.random.default_rng(5).normal(size=30)
    with_noise = SparseLinearRegression().fit(np.column_stack([X, noise]), y)
    with pytest.raises(ValueError, match="variance of the weight of x2 is zero"):
        of_model(with_noise, (0, 2))
    process = GaussianProcessRegressor().fit(X, y)
    with pytest.raises(
        TypeError, match="GaussianProcessRegressor has no normal posterior of weigh"
    ):
        of_model(process)
