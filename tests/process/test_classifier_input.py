"""The classifier over latent Gaussian processes at the edges: odd rows, far queries, refusals."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from support.for_each import for_each

from posterity import GaussianProcessClassifier, kernels, optimize

KERNEL = (4.0 * kernels.RBF(1.2)).fixed()


def data(n=40, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    noisy = 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.5 * rng.logistic(size=n)
    return X, np.digitize(noisy, np.linspace(-1.0, 1.0, n_classes + 1)[1:-1])


def assert_probabilities(model, X):
    p, log_p = model.predict_proba(X), model.predict_log_proba(X)
    assert np.all((p >= 0.0) & (p <= 1.0))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0.0, atol=1e-12)
    assert np.all(np.isfinite(log_p))


@pytest.mark.full
@for_each("seed", range(10))
def test_no_variance_is_negative_in_three_hundred_configurations(seed):
    rng = np.random.default_rng(seed)
    for _ in range(30):
        n, d, n_classes = rng.integers(4, 13), rng.integers(1, 4), rng.integers(2, 4)
        X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3)
        X[-1] = X[0] + rng.choice([0.0, 1e-9])
        y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
        kind = (kernels.RBF, kernels.Matern)[rng.integers(2)]
        kernel = 10.0 ** rng.uniform(-4, 4) * kind(10.0 ** rng.uniform(-3, 3) * np.ptp(X))
        model = GaussianProcessClassifier(
            kernel.fixed(),
            rng.choice(["zero", "constant"]),
            inference=rng.choice(["auto", "laplace"]),
            inducing_points=rng.choice([None, None, 3]),
        ).fit(X, y)
        queries = np.vstack([X, X + 1e-9, rng.normal(size=(3, d)), [[1e6] * d]])
        assert np.all(model.predict_latent(queries).standard_deviation() >= 0.0)
        assert np.isfinite(model.log_evidence_)
        assert_probabilities(model, queries)


@for_each("n_classes", [2, 3])
def test_far_away_the_offset_is_all_there_is(n_classes):
    X, y = data(60, n_classes)
    y[:20] = 0
    far, shares = np.array([[1e7, -1e7]]), np.bincount(y) / len(y)
    kernel = (1e-4 * kernels.RBF(1.0)).fixed()
    offset = GaussianProcessClassifier(kernel).fit(X, y)
    np.testing.assert_allclose(offset.predict_proba(far)[0], shares, atol=0.02)
    zero = GaussianProcessClassifier(KERNEL, "zero").fit(X, y)
    np.testing.assert_allclose(zero.predict_proba(far)[0], 1.0 / n_classes, atol=1e-3)
    learned = GaussianProcessClassifier().fit(X, y)
    assert np.argmax(learned.predict_proba(far)[0]) == 0
    assert np.all(np.isfinite(learned.predict_log_proba(far)))


@pytest.mark.full
@for_each("inference", ["auto", "laplace", "propagation"])
def test_classes_that_are_told_apart_do_not_run_away(inference):
    X, _ = data()
    X = X[np.abs(X[:, 0]) > 0.2]
    y = X[:, 0] > 0.0
    model = GaussianProcessClassifier(inference=inference).fit(X, y)
    assert np.all(model.predict(X) == y)
    start = 1.0 / (np.mean(y) * np.mean(~y))
    assert model.kernel_.variance <= 1e6 * start * (1.0 + 1e-9)
    at_the_end = model.kernel_.variance > 1e6 * start * (1.0 - 1e-6)
    assert ("variance (upper)" in model.at_bounds_) == at_the_end
    assert_probabilities(model, np.vstack([X, 1e3 * X]))
    assert model.predict_proba([[0.0, 0.0]])[0, 1] == pytest.approx(0.5, abs=0.25)


def test_a_parameter_at_the_end_of_its_range_is_named():
    X, _ = data()
    bounded = kernels.Scaled(kernels.RBF(1.0).fixed()).bounded(variance=(0.01, 0.1))
    with pytest.warns(optimize.ConvergenceWarning, match="variance ended at its upper bound, 0.1"):
        model = GaussianProcessClassifier(bounded).fit(X, X[:, 0] > 0.0)
    assert model.at_bounds_ == ("variance (upper)",)


def test_two_rows_are_enough():
    model = GaussianProcessClassifier().fit([[0.0], [1.0]], ["a", "b"])
    p = model.predict_proba([[0.0], [1.0], [1e3]])[:, 1]
    assert p[0] < 0.5 < p[1]
    assert p[2] == pytest.approx(0.5, abs=1e-6)


def test_every_row_a_class_of_its_own():
    X, _ = data(5)
    model = GaussianProcessClassifier().fit(X, list("edcba"))
    assert model.classes_.tolist() == list("abcde")
    assert_probabilities(model, X)


def test_equal_rows_of_different_classes_are_undecided():
    X, y = data(25)
    two = GaussianProcessClassifier(KERNEL, "zero").fit(np.vstack([X, X]), np.append(y, 1 - y))
    np.testing.assert_allclose(two.predict_proba(X), 0.5, atol=1e-6)
    labels = np.concatenate([y, (y + 1) % 3, (y + 2) % 3])
    three = GaussianProcessClassifier(KERNEL, "zero").fit(np.vstack([X] * 3), labels)
    np.testing.assert_allclose(three.predict_proba(X), 1.0 / 3.0, atol=1e-3)


def test_equal_rows_of_one_class_are_held_once():
    X, y = data(20)
    twice = GaussianProcessClassifier(KERNEL, inference="laplace")
    twice.fit(np.vstack([X, X]), np.append(y, y))
    assert len(twice.X_train_) == 20
    weighted = GaussianProcessClassifier(KERNEL, inference="laplace").fit(X, y, np.full(20, 2.0))
    assert twice.log_evidence_ == pytest.approx(weighted.log_evidence_, abs=1e-9)


def test_a_constant_column_changes_nothing_and_is_named():
    X, y = data()
    with_one = GaussianProcessClassifier(n_restarts=0).fit(np.column_stack([X, np.ones(40)]), y)
    without = GaussianProcessClassifier(n_restarts=0).fit(X, y)
    assert 2 in with_one.irrelevant_inputs_
    assert with_one.log_evidence_ == pytest.approx(without.log_evidence_, abs=1e-2)
    only = GaussianProcessClassifier().fit(np.ones((40, 1)), y)
    np.testing.assert_allclose(only.predict_proba([[1.0]])[0, 1], np.mean(y), atol=0.02)


def test_latent_functions_are_those_that_probabilities_come_from():
    X, y = data()
    model = GaussianProcessClassifier(KERNEL).fit(X, y)
    latent = model.predict_latent(X)
    assert latent.mean().shape == (40,)
    certain = 1.0 / (1.0 + np.exp(-latent.mean()))
    p = model.predict_proba(X)[:, 1]
    assert np.all(np.abs(p - 0.5) <= np.abs(certain - 0.5) + 1e-12)
    rng = np.random.default_rng(0)
    draws = latent.mean() + latent.standard_deviation() * rng.normal(size=(20_000, 40))
    np.testing.assert_allclose(np.mean(1.0 / (1.0 + np.exp(-draws)), axis=0), p, atol=0.01)
    three = GaussianProcessClassifier(KERNEL).fit(*data(n_classes=3)).predict_latent(X[:7])
    assert three.mean().shape == three.standard_deviation().shape == (7, 3)


def test_averaging_may_be_approximate():
    X, y = data()
    exact, closed = (
        GaussianProcessClassifier(KERNEL, averaging=how).fit(X, y).predict_proba(X)
        for how in ("exact", "approximate")
    )
    assert 1e-5 < np.max(np.abs(exact - closed)) < 0.03


def test_what_was_fitted_does_not_change_with_the_array():
    X, y = data()
    model = GaussianProcessClassifier(KERNEL).fit(X, y)
    queries = X.copy()
    expected = model.predict_proba(queries)
    X[:] = 0.0
    np.testing.assert_array_equal(model.predict_proba(queries), expected)


@for_each(
    ("options", "error", "says"),
    [
        ({"mean": "linear"}, ValueError, "mean='linear' must be one of"),
        ({"inference": "exact"}, ValueError, "inference='exact' cannot be used with"),
        ({"averaging": "some"}, ValueError, "averaging='some'"),
        ({"learning_rows": 0}, ValueError, "learning_rows=0 must be a whole number of at least 1"),
        ({"learning_rows": 2.5}, ValueError, "learning_rows=2.5 must be a whole number"),
        ({"inducing_points": 0}, ValueError, "inducing_points=0 must be a whole number of at"),
        ({"inducing_points": 0, "learning_rows": 9}, ValueError, "inducing_points=0 must be"),
        ({"inducing_points": 2.5}, ValueError, "Expected 2D array"),
        ({"inducing_points": np.zeros((3, 5))}, ValueError, "X has 5 features"),
        ({"kernel": "rbf"}, TypeError, "kernel='rbf' must be a kernel of posterity.kernels"),
        ({"kernel": kernels.RBF}, TypeError, "must be a kernel of posterity.kernels"),
    ],
    ids=str,
)
def test_unknown_options_are_refused_in_words(options, error, says):
    with pytest.raises(error, match=says):
        GaussianProcessClassifier(**{"kernel": KERNEL, **options}).fit(*data())


def test_rows_that_cannot_be_used_are_refused_in_words():
    X, y = data()
    model = GaussianProcessClassifier(KERNEL)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(ValueError, match="only one class, 3"):
        model.fit(X, np.full(40, 3))
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model.fit(X[:, 0], y)
    with pytest.raises(ValueError, match="should be a 1d array"):
        model.fit(X, np.column_stack([y, y]))
    broken = X.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(broken, y)
    with pytest.raises(ValueError, match="row 2 has no class"):
        model.fit(X, np.where(np.arange(40) == 2, np.nan, y))
    model.fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features"):
        model.predict(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="NaN"):
        model.predict(broken)


def test_tensors_are_refused_in_words():
    torch = pytest.importorskip("torch")
    X, y = data()
    with pytest.raises(ValueError, match="pass NumPy arrays"):
        GaussianProcessClassifier(KERNEL).fit(torch.asarray(X), y)
    with pytest.raises(ValueError, match="pass NumPy arrays"):
        GaussianProcessClassifier(KERNEL).fit(X, y).predict(torch.asarray(X))
