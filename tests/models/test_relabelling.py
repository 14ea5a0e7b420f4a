"""Other names for the classes, in another order, change no probability."""

import itertools

import numpy as np
import pytest
from classification_cases import CASES, data
from scipy.stats import multivariate_normal
from sklearn.base import clone
from support import effort
from support.for_each import for_each

from posterity import LogisticTreeClassifier
from posterity.inference import rows
from posterity.likelihoods import softmax_mean

ORDERS = [(1, 0), (1, 2, 0), (3, 2, 1, 0)]


@for_each("case", effort.some(CASES, 12))
@for_each("order", ORDERS, ids=["two", "three", "four"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_names_of_classes_do_not_matter(case, order):
    X, y = data(60, n_classes=len(order))
    codes = np.unique(y, return_inverse=True)[1]
    probabilities = clone(case).fit(X, codes).predict_proba(X)
    renamed = clone(case).fit(X, np.array(order)[codes]).predict_proba(X)
    np.testing.assert_allclose(renamed[:, order], probabilities, atol=1e-6)


@for_each("seed", [0, 3])
def test_a_depth_that_held_out_rows_choose_does_not_depend_on_names(seed):
    X, y = data(100, n_classes=2, seed=seed)
    model = LogisticTreeClassifier(max_depth=2, n_restarts=1, random_state=0)
    codes = (y == "bee").astype(int)
    probabilities = clone(model).fit(X, codes).predict_proba(X)
    np.testing.assert_allclose(
        clone(model).fit(X, 1 - codes).predict_proba(X)[:, ::-1], probabilities, atol=1e-6
    )


def test_rows_held_out_do_not_depend_on_names():
    groups = np.random.default_rng(0).integers(3, size=50)
    renamed = np.array([2, 0, 1])[groups]

    def drawn(y):
        rng = np.random.default_rng(1)
        held = rows.draw_held_out_rows(y.astype(float), 0.3, rng)
        return held, rows.draw_held_out_counts(y.astype(float), np.ones(50), 0.3, rng=rng)

    for found, expected in zip(drawn(renamed), drawn(groups), strict=True):
        np.testing.assert_array_equal(found, expected)


@for_each("n_classes", [3, 5, 8])
def test_averages_of_a_softmax_do_not_depend_on_the_order_of_classes(n_classes):
    rng = np.random.default_rng(0)
    mean = 2.0 * rng.normal(size=(20, n_classes))
    R = rng.normal(size=(20, n_classes, n_classes))
    S = np.matmul(R, np.swapaxes(R, 1, 2))
    order = rng.permutation(n_classes)
    moved = S[:, order][:, :, order]
    expected = softmax_mean.log_mean_softmax(mean, S)[:, order]
    np.testing.assert_allclose(
        softmax_mean.log_mean_softmax(mean[:, order], moved), expected, atol=1e-10
    )
    p, pp, log_sum = softmax_mean.second_moments(mean, S)
    found = softmax_mean.second_moments(mean[:, order], moved)
    for a, b in zip(found, (p[:, order], pp[:, order][:, :, order], log_sum), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)
    p, pq, log_sum = softmax_mean.expectations(mean, S)
    found = softmax_mean.expectations(mean[:, order], moved)
    for a, b in zip(found, (p[:, order], pq[:, order], log_sum), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)


def test_averages_of_a_softmax_are_those_of_a_grid_in_every_order():
    mean = np.array([0.4, -0.3, 1.1])
    S = np.array([[1.5, 0.2, -0.1], [0.2, 0.7, 0.3], [-0.1, 0.3, 1.0]])
    grid = np.linspace(-6.0, 6.0, 81)
    a = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), axis=-1).reshape(-1, 3)
    density = multivariate_normal(np.zeros(3), S).pdf(a)
    p = np.exp(mean + a) / np.sum(np.exp(mean + a), axis=1, keepdims=True)
    exact = density @ p / np.sum(density)
    for order in itertools.permutations(range(3)):
        o = list(order)
        found = np.exp(softmax_mean.log_mean_softmax(mean[None, o], S[None][:, o][:, :, o]))[0]
        np.testing.assert_allclose(found, exact[o], atol=1e-3)
