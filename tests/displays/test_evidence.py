"""A curve of the evidence is that of refits, and its best value is marked."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import (
    BayesianLinearRegression,
    GaussianProcessRegressor,
    LinearRegression,
    displays,
    features,
    kernels,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(25, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=25)


def evidence(*args, **options):
    return displays.EvidenceDisplay.from_estimator(*args, **options)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_evidence_is_that_of_refits(rows, n_jobs):
    model, values = BayesianLinearRegression(prior_variance=3.0), [0.01, 0.1, 1.0]
    display = evidence(model, *rows, param_name="noise_variance", param_range=values, n_jobs=n_jobs)
    refits = [
        BayesianLinearRegression(prior_variance=3.0, noise_variance=v).fit(*rows).log_evidence_
        for v in values
    ]
    np.testing.assert_array_equal(display.values, values)
    np.testing.assert_array_equal(display.log_evidences, refits)
    assert display.best == values[int(np.argmax(refits))]
    assert model.noise_variance is None
    assert not hasattr(model, "log_evidence_")


def test_parameters_of_kernels_and_features_are_varied_by_nested_names(rows):
    process = GaussianProcessRegressor(kernels.RBF(1.0).fixed(), noise_variance=0.01)
    scales = evidence(
        process, *rows, param_name="kernel__length_scale", param_range=[0.05, 0.7, 10.0]
    )
    assert (scales.best, scales.name) == (0.7, "length scale")
    degrees = evidence(
        BayesianLinearRegression(features=features.Polynomial(1)),
        *rows,
        param_name="features__degree",
        param_range=[1, 2, 5],
    )
    assert degrees.best == 5.0


def test_best_is_where_the_free_fit_ends(rows):
    free = BayesianLinearRegression().fit(*rows)
    values = free.noise_variance_ * np.array([0.5, 0.9, 1.0, 1.1, 2.0])
    display = evidence(
        BayesianLinearRegression(), *rows, param_name="noise_variance", param_range=values
    )
    assert display.best == values[2]
    assert display.log_evidences.max() == pytest.approx(free.log_evidence_)


def test_values_are_put_in_order():
    display = displays.EvidenceDisplay.from_values([3.0, 1.0, 2.0], [-3.0, -1.0, -2.0])
    np.testing.assert_array_equal(display.values, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(display.log_evidences, [-1.0, -2.0, -3.0])
    assert (display.best, display.name) == (1.0, "setting")


@for_each(
    ("values", "scale"), [([1.0, 31.0], "log"), ([1.0, 29.0], "linear"), ([0.0, 99.0], "linear")]
)
def test_a_wide_range_has_a_logarithmic_axis(values, scale):
    assert displays.EvidenceDisplay.from_values(values, [0.0, 1.0]).plot().get_xscale() == scale


def test_picture_has_the_curve_and_its_best():
    display = displays.EvidenceDisplay.from_values([1, 2, 4], [-9.0, -2.0, -5.0], name="degree")
    axes = display.plot()
    curve, mark = axes.lines
    np.testing.assert_array_equal(curve.get_xydata(), [[1, -9], [2, -2], [4, -5]])
    np.testing.assert_array_equal(mark.get_xydata(), [[2.0, -2.0]])
    assert mark.get_label() == "best: 2"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("degree", "log evidence")


def test_given_axes_are_drawn_into():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    assert displays.EvidenceDisplay.from_values([1.0], [2.0]).plot(ax) is ax
    assert plt.get_fignums() == [figure.number]


def test_what_has_no_evidence_or_no_axis_is_named(rows):
    with pytest.raises(TypeError, match="LinearRegression has no log_evidence_ after the fit"):
        evidence(
            LinearRegression(features=features.Polynomial(1)),
            *rows,
            param_name="features__degree",
            param_range=[1],
        )
    with pytest.raises(ValueError, match="values of predictive must be numbers"):
        evidence(LinearRegression(), *rows, param_name="predictive", param_range=["plug_in"])
    with pytest.raises(ValueError, match=r"shapes are \(2,\) and \(1,\)"):
        displays.EvidenceDisplay.from_values([1.0, 2.0], [1.0])
