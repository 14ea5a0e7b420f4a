"""Bounds that a search ends at: which are named, and which are warned of."""

import warnings

import numpy as np
import pytest
from support.for_each import for_each

import posterity
from posterity import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    kernels,
    likelihoods,
    optimize,
)
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


@for_each("minimise", SEARCHES)
def test_a_reached_bound_says_which_where_and_how_fast_the_evidence_rises_beyond(minimise):
    best = searched(minimise, 3.0, -4.0)
    assert best.at_bounds == ("a (upper)", "b (lower)")
    upper, lower = best.bounds_reached
    np.testing.assert_allclose([upper.value, lower.value], np.exp([2.0, -1.0]))
    np.testing.assert_allclose([upper.rise, lower.rise], [3.0, 4.0])


@for_each("minimise", SEARCHES)
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


SEARCHING = [
    (posterity.BayesianLinearRegression(), "prior_variance (lower)", "noise"),
    (posterity.BayesianLinearRegression(), "noise_variance (lower)", "constant"),
    (posterity.DualLinearRegression(), "prior_variance (lower)", "noise"),
    (posterity.KernelRidgeRegression(), "alpha (upper)", "noise"),
    (posterity.GeneralizedLinearRegression(likelihoods.Normal()), "noise_variance (lower)", "line"),
    (posterity.StagewiseRegressor(1, random_state=0), "noise_variance (lower)", "constant"),
]


@for_each(("model", "label", "kind"), SEARCHING, ids=str)
def test_a_limit_of_the_model_is_named_in_silence_by_every_search(model, label, kind):
    """Weights that explain nothing, noise that is none: there is nothing to do about either."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2))
    noise = rng.normal(size=40)
    y = {
        "noise": noise - np.polynomial.Polynomial.fit(X[:, 0], noise, 1)(X[:, 0]),
        "line": X @ [1.0, 2.0],
        "constant": np.zeros(40),
    }[kind]
    assert label in model.fit(X, y).at_bounds_


def test_relevance_vectors_say_that_their_kernel_was_cut_off():
    X = np.linspace(0.0, 10.0, 60)[:, None]
    y = np.sin(X[:, 0]) + 0.05 * np.random.default_rng(0).normal(size=60)
    kernel = kernels.RBF(ard=True).bounded(length_scale=(0.01, 0.3))
    model = posterity.RelevanceVectorRegressor(kernel, random_state=0)
    with pytest.warns(optimize.ConvergenceWarning, match=r"length_scale\[0\] ended at its upper"):
        model.fit(X, y)
    assert model.at_bounds_ == ("length_scale[0] (upper)",)


def test_a_concentration_is_learned_inside_its_bounds():
    X = np.array([["a"], ["b"], ["a"], ["b"]] * 10)
    assert posterity.DiscreteClassifier().fit(X, [0, 1, 0, 1] * 10).at_bounds_ == ()
