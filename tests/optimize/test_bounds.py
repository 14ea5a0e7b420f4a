"""Bounds that a search ends at: which are named, and which are warned of."""

import warnings

import numpy as np
import pytest

from posterity import GaussianProcessClassifier, GaussianProcessRegressor, kernels, optimize
from posterity.optimize.bounds import CUT_OFF

SEARCHES = [optimize.minimise_bfgs, optimize.minimise_lbfgs]


def rising(*rises):
    """Minus an evidence that rises by so much for e times each parameter."""
    rises = np.asarray(rises)
    return lambda x: (-float(rises @ x), -rises)


def searched(minimise, *rises):
    return minimise(
        rising(*rises),
        np.zeros(len(rises)),
        bounds=[(-1.0, 2.0)] * len(rises),
        names="abc"[: len(rises)],
    )


@pytest.mark.parametrize("minimise", SEARCHES)
def test_a_reached_bound_says_which_where_and_how_fast_the_evidence_rises_beyond(minimise):
    best = searched(minimise, 3.0, -4.0)
    assert best.at_bounds == ("a (upper)", "b (lower)")
    upper, lower = best.bounds_reached
    np.testing.assert_allclose([upper.value, lower.value], np.exp([2.0, -1.0]))
    np.testing.assert_allclose([upper.rise, lower.rise], [3.0, 4.0])


@pytest.mark.parametrize("minimise", SEARCHES)
def test_only_bounds_beyond_which_the_evidence_rises_noticeably_are_warned_of(minimise):
    flat = searched(minimise, 0.9 * CUT_OFF, -0.9 * CUT_OFF)
    assert optimize.report_bounds(flat) == ("a (upper)", "b (lower)")  # warnings are errors here
    steep = searched(minimise, 0.9 * CUT_OFF, -1.1 * CUT_OFF)
    with pytest.warns(optimize.ConvergenceWarning) as told:
        assert optimize.report_bounds(steep, advice="Widen it.") == flat.at_bounds
    (message,) = (str(w.message) for w in told)
    assert message.startswith("b ended at its lower bound, 0.367879, beyond which")
    assert message.endswith("Widen it.")
    assert told[0].filename.endswith("test_bounds.py")


def test_a_natural_limit_is_reported_without_a_warning():
    best = searched(optimize.minimise_bfgs, 30.0)
    assert optimize.report_bounds(best, natural=("a (upper)",)) == ("a (upper)",)


def test_a_search_without_bounds_reaches_none():
    best = optimize.minimise_bfgs(lambda x: (x @ x, 2 * x), np.ones(2))
    assert best.bounds_reached == best.at_bounds == optimize.report_bounds(best) == ()


@pytest.mark.parametrize("model", [GaussianProcessRegressor, GaussianProcessClassifier])
def test_a_length_scale_that_is_cut_off_is_named_in_a_sentence_for_the_line_that_fits(model):
    X = np.linspace(0.0, 10.0, 40)[:, None]
    y = np.sin(X[:, 0]) > 0.0 if model is GaussianProcessClassifier else np.sin(X[:, 0])
    kernel = kernels.Scaled(kernels.RBF().bounded(length_scale=(0.01, 0.2)))
    fit = model(kernel, n_restarts=0).fit
    with pytest.warns(optimize.ConvergenceWarning, match=r"length_scale ended at its upper") as w:
        fitted = fit(X, y)
    assert "kernel__length_scale (upper)" in fitted.at_bounds_
    assert {record.filename for record in w} == {__file__}


def test_a_straight_line_is_no_search_that_was_cut_off():
    X = np.random.default_rng(0).normal(size=(40, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GaussianProcessRegressor(kernels.Scaled(kernels.RBF(ard=True))).fit(X, X[:, 0])
    assert "kernel__length_scale[1] (upper)" in model.at_bounds_


def test_names_of_a_kernel_whose_bounds_were_given():
    kernel = 2.0 * kernels.RBF([1.0, 2.0]).bounded(length_scale=(0.1, 9.0)) + kernels.White(1.0)
    assert kernel.bounded_names == [
        "left__kernel__length_scale[0]",
        "left__kernel__length_scale[1]",
    ]
