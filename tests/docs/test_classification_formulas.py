"""Equations on the pages of classifiers and trees are what these compute, letter by letter."""

import numpy as np
import pytest
from docs import formulas
from numpy.testing import assert_allclose
from scipy import integrate, stats
from scipy.special import expit, softmax
from support.for_each import for_each

from posterity import (
    BayesianLogisticRegression,
    DiscreteClassifier,
    LogisticTreeClassifier,
    LogitBoostClassifier,
    MixtureOfExpertsClassifier,
    RandomForestClassifier,
    StagewiseRegressor,
)


@pytest.fixture
def classes():
    X = np.random.default_rng(1).normal(size=(60, 2))
    return X, X[:, 0] * X[:, 1] + 0.3 * X[:, 0] > 0.0


def test_laplace_evidence_of_weights(classes):
    X, y = classes
    model = BayesianLogisticRegression(
        fit_intercept=False,
        standardize=False,
        averaging="none",  # the weights are those of the mode
    ).fit(X, y)
    w, tau2 = model.coef_[0], model.prior_variance_
    p = expit(X @ w)
    H = X.T @ (X * (p * (1.0 - p))[:, None]) + np.eye(2) / tau2
    evidence = np.log(np.where(y, p, 1.0 - p)).sum() - w @ w / (2.0 * tau2)
    evidence -= np.log(tau2) + 0.5 * np.linalg.slogdet(H)[1]
    assert_allclose(model.log_evidence_, evidence, rtol=1e-8)
    formulas.assert_printed(
        "classification", r"- \frac{M}{2}\log\tau^2 - \frac{1}{2}\log\lvert\mathbf{H}"
    )


@for_each(("m", "v"), [(1.0, 0.5), (2.0, 4.0), (-3.0, 10.0)])
def test_average_of_the_sigmoid_in_closed_form(m, v):
    def averaged(a):
        return expit(a) * stats.norm(m, np.sqrt(v)).pdf(a)

    exact = integrate.quad(averaged, m - 30.0, m + 30.0, points=[m])[0]
    assert abs(expit(m / np.sqrt(1.0 + np.pi * v / 8.0)) - exact) < 0.02
    formulas.assert_printed("classification", r"\frac{m}{\sqrt{1 + \pi v/8}}")


def test_mixture_of_experts(classes):
    X, y = classes
    model = MixtureOfExpertsClassifier(n_restarts=0, random_state=0).fit(X, y)
    gates = softmax(X @ model.gate_coef_.T + model.gate_intercept_, axis=1)
    experts = expit(X @ model.expert_coef_.T + model.expert_intercept_)
    assert_allclose(model.predict_proba(X)[:, 1], np.sum(gates * experts, axis=1))
    formulas.assert_printed(
        "classification", r"\sum_k g_k(\mathbf{z})\,\mathrm{sig}(\mathbf{w}_k^T\mathbf"
    )


def test_counted_configurations():
    X, y = [["a"], ["a"], ["b"], ["a"]], [0, 0, 1, 1]
    model = DiscreteClassifier(concentration=3.0).fit(X, y)
    base = (2 + 1) / (4 + 2)
    assert_allclose(model.predict_proba([["a"]])[0, 0], (2 + 3.0 * base) / (3 + 3.0))
    formulas.assert_printed("classification", r"$b_c = (N_c + 1)/(N + C)$")


def leaves_of(trees, root, X):
    """The leaf of each row, walked by hand."""

    def walk(x):
        node = root
        while node >= 0:
            right = x[trees.tests[node, 0]] > trees.thresholds[node]
            node = trees.children[node, int(right)]
        return node

    return np.array([walk(x) for x in X])


def test_a_forest_averages_smoothed_leaves_and_sharpens(classes):
    X, y = classes
    model = RandomForestClassifier(4, bootstrap=False, concentration=2.0, sharpness=1.7)
    model = model.set_params(random_state=0).fit(X, y)
    base = (np.array([np.sum(~y), np.sum(y)]) + 1.0) / (len(y) + 2.0)
    average = np.zeros((len(X), 2))
    for root in model.forest_.trees.roots:
        leaf = leaves_of(model.forest_.trees, root, X)
        together = np.equal.outer(leaf, leaf).astype(float)
        n_c = together @ np.column_stack([~y, y])
        average += (n_c + 2.0 * base) / (n_c.sum(axis=1, keepdims=True) + 2.0) / 4.0
    p = average**1.7
    assert_allclose(model.predict_proba(X), p / p.sum(axis=1, keepdims=True), rtol=1e-5)
    formulas.assert_printed(
        "trees", r"p_c = \frac{n_c + s\,b_c}{n + s}, \qquad b_c = \frac{N_c + 1}{N + C}"
    )
    formulas.assert_printed("trees", r"p_c \propto \left(\frac{1}{T}\sum_t p_{tc}\right)^{\beta}")


def test_boosted_steps_and_units_are_sums(classes):
    X, y = classes
    steps = LogitBoostClassifier(n_estimators=5).fit(X, y)
    a = np.full(len(X), steps.offset_[0])
    for test, tau, values in zip(
        steps.steps_.tests[:, 0], steps.steps_.thresholds, steps.steps_.values[:, :, 0], strict=True
    ):
        a += np.where(X[:, test] > tau, values[1], values[0])
    assert_allclose(steps.predict_proba(X)[:, 1], expit(a))
    units = StagewiseRegressor(2, n_restarts=0, random_state=0).fit(X, X[:, 0] ** 2)
    assert_allclose(units.predict(X), units.units_.transform(X) @ units.coef_ + units.intercept_)
    formulas.assert_printed("trees", r"a_n = b + \sum_k w_k\, f(\mathbf{x}_n; \boldsymbol\theta_k)")


def test_a_gate_averages_two_activations(classes):
    X, y = classes
    model = LogisticTreeClassifier(depth=1, random_state=0).fit(X, y)
    g = expit(X @ model.gate_coef_[0] + model.gate_intercept_[0])
    said = X @ model.expert_coef_.T + model.expert_intercept_
    a = (1.0 - g) * said[:, 0] + g * said[:, 1]
    assert_allclose(model.predict_proba(X)[:, 1], expit(a))
    formulas.assert_printed("trees", r"g_n = \mathrm{sig}(\mathbf{v}^T\mathbf{z}_n + c)")
