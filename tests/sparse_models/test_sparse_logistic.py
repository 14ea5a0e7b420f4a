"""Sparse logistic regression keeps the columns that matter, whatever their units."""

import pickle

import numpy as np
import pytest
from scipy import optimize as scipy_optimize
from scipy.special import expit, log_softmax, logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from support.for_each import for_each
from support.latents import with_covariance

from posterity import (
    BayesianLogisticRegression,
    SparseLogisticRegression,
    designs,
    features,
    likelihoods,
    priors,
)
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import (
    ColumnEngine,
    LatentOutputs,
    SparsePosterior,
    SparseProblem,
)

each_offset = pytest.mark.parametrize("fit_intercept", [True, False])


def data(n=200, n_classes=2, n_columns=8, seed=0):
    """Column 5 tells the first class from the others, and column 2 the last."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    A = np.zeros((n, n_classes))
    A[:, 0] += 2.0 * X[:, 5]
    A[:, -1] += 2.0 * X[:, 2]
    return X, np.argmax(A + rng.gumbel(size=A.shape), axis=1)


def test_the_columns_that_matter_are_found_and_sorted():
    X, y = data(500, n_columns=30)
    model = SparseLogisticRegression().fit(X, y)
    assert {2, 5} <= set(model.relevance_)
    assert np.all(np.diff(model.relevance_) > 0)
    out = np.setdiff1d(np.arange(30), model.relevance_)
    assert np.all(model.coef_[:, out] == 0.0)
    np.testing.assert_allclose(model.coef_[0, [2, 5]], [2.0, -2.0], atol=0.4)
    assert np.all(np.abs(np.delete(model.coef_[0], [2, 5])) < 0.3)


def brute_force(Z, codes, weights, precision, offset_precision, n_classes):
    """Mode, covariance and evidence of weights (C, w) of C latent values, by a general method."""
    C, w = n_classes, Z.shape[1] + 1
    A = np.column_stack([Z, np.ones(len(Z))])
    h = np.column_stack([precision.T, offset_precision])
    used = np.isfinite(h)
    shares = np.bincount(codes, weights, minlength=C) / weights.sum()
    shift = np.log(shares) - np.mean(np.log(shares))

    def loss(x):
        W = np.zeros((C, w))
        W[used] = x
        F = shift + A @ W.T
        R = weights[:, None] * (softmax(F, axis=1) - np.eye(C)[codes])
        value = -weights @ log_softmax(F, axis=1)[np.arange(len(Z)), codes]
        return value + 0.5 * np.sum(h[used] * x**2), (R.T @ A)[used] + h[used] * x

    best = scipy_optimize.minimize(
        loss, np.zeros(used.sum()), jac=True, method="BFGS", options={"gtol": 1e-9}
    )
    W = np.zeros((C, w))
    W[used] = best.x
    P = softmax(shift + A @ W.T, axis=1)
    B = weights[:, None, None] * (P[:, :, None] * np.eye(C) - P[:, :, None] * P[:, None, :])
    H = np.einsum("ncd,ni,nj->cidj", B, A, A).reshape(C * w, C * w)
    H = H[np.ix_(used.ravel(), used.ravel())] + np.diag(h[used])
    evidence = -best.fun + 0.5 * np.sum(np.log(h[used])) - 0.5 * np.linalg.slogdet(H)[1]
    S = np.zeros((C * w, C * w))
    S[np.ix_(used.ravel(), used.ravel())] = np.linalg.inv(H)
    return shift, W, S.reshape(C, w, C, w), evidence


@for_each("columns", ["shared", "per_class"])
def test_evidence_and_latent_values_are_those_of_the_dense_model(columns):
    X, y = data(150, 3)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = SparseLogisticRegression(columns=columns).fit(X, y, weights)
    Z = X[:, model.relevance_]
    center = weights @ Z / weights.sum()
    scale = np.sqrt(weights @ (Z - center) ** 2 / weights.sum())
    precision = model.precision_ if columns == "per_class" else np.tile(model.precision_, (3, 1)).T
    targets = RowTargets.from_observations(
        y.astype(float), weights, likelihoods.Categorical(3), offset=True
    )
    shift, W, S, evidence = brute_force(
        (Z - center) / scale, y, weights, precision, 1.0 / targets.offset_variance, 3
    )
    assert model.log_evidence_ == pytest.approx(evidence, abs=1e-5)
    queries = np.random.default_rng(2).normal(size=(5, X.shape[1]))
    A = np.column_stack([(queries[:, model.relevance_] - center) / scale, np.ones(5)])
    mean, covariance = with_covariance(model.posterior_.latent(queries[:, model.relevance_]))
    D = np.eye(3) - 1.0 / 3.0  # the softmax sees differences only
    expected = (shift + A @ W.T) @ D
    np.testing.assert_allclose(mean @ D, expected, atol=1e-5)
    spread = D @ np.einsum("ni,cidj,nj->ncd", A, S, A) @ D
    np.testing.assert_allclose(D @ covariance @ D, spread, atol=1e-5)
    by_coef = queries @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(by_coef, mean, atol=1e-9)


def test_two_classes_agree_with_the_softmax_of_two():
    X, y = data()
    model = SparseLogisticRegression().fit(X, y)
    targets = RowTargets.from_observations(
        y.astype(float), None, likelihoods.Categorical(2), offset=True
    )
    problem = SparseProblem(priors.Sparse(among=X.shape[1]), max_iter=100)
    chosen, fit = ColumnEngine(X, LatentOutputs(targets), problem).select()
    order = np.argsort(chosen.places)
    np.testing.assert_array_equal(chosen.places[order], model.relevance_)
    softmax_of_two = SparsePosterior.from_fit(chosen, fit, order, offset=True)
    mean, covariance = with_covariance(softmax_of_two.latent(X[:, model.relevance_]))
    difference = np.array([-1.0, 1.0])
    latent = model.predict_latent(X)
    # Each search ends within its tolerance of a nat, and the evidence is level there.
    np.testing.assert_allclose(mean @ difference, latent.mean(), atol=0.05)
    np.testing.assert_allclose(
        difference @ covariance @ difference, latent.standard_deviation() ** 2, atol=0.05
    )
    assert softmax_of_two.log_evidence == pytest.approx(model.log_evidence_, abs=1e-2)


@each_offset
@for_each("weighted", [True, False])
def test_rows_read_in_chunks_give_the_model_of_rows_in_memory(fit_intercept, weighted):
    X, y = data()
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None
    model = SparseLogisticRegression(fit_intercept=fit_intercept).fit(X, y, w)
    p, evidence = model.predict_proba(X), model.log_evidence_
    streamed = model.fit(designs.Chunks.from_arrays(X, y.astype(float), w, rows=60))
    assert streamed.log_evidence_ == pytest.approx(evidence, abs=1e-2)
    np.testing.assert_allclose(streamed.predict_proba(X), p, atol=5e-3)


def test_three_classes_choose_the_same_columns_in_chunks():
    X, y = data(n_classes=3)
    near = SparseLogisticRegression().fit(X, y)
    far = SparseLogisticRegression().fit(designs.Chunks.from_arrays(X, y.astype(float), rows=60))
    np.testing.assert_array_equal(far.relevance_, near.relevance_)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-8, atol=1e-10)
    assert far.log_evidence_ == pytest.approx(near.log_evidence_, rel=1e-12)


def test_what_chunks_cannot_do_gets_a_sentence():
    X, y = data(n_classes=3)
    chunks = designs.Chunks.from_arrays(X, y.astype(float), rows=60)
    with pytest.raises(ValueError, match="'per_class' needs all rows in memory"):
        SparseLogisticRegression(columns="per_class").fit(chunks)


@for_each("columns", ["shared", "per_class"])
def test_units_do_not_matter(columns):
    X, y = data(n_classes=3)
    unit, origin = 10.0 ** np.arange(-4.0, 4.0), 3.0 * np.arange(8.0)
    plain = SparseLogisticRegression(columns=columns).fit(X, y)
    relevance, p, evidence = plain.relevance_, plain.predict_proba(X), plain.log_evidence_
    moved = plain.fit((X + origin) * unit, y)
    np.testing.assert_array_equal(moved.relevance_, relevance)
    assert moved.log_evidence_ == pytest.approx(evidence, abs=1e-6)
    np.testing.assert_allclose(moved.predict_proba((X + origin) * unit), p, atol=1e-6)


@for_each("columns", ["shared", "per_class"])
@for_each("n_classes", [2, 3])
def test_the_names_of_the_classes_do_not_matter(n_classes, columns):
    X, y = data(n_classes=n_classes)
    model = SparseLogisticRegression(columns=columns)
    p = model.fit(X, y).predict_proba(X)
    reversed_p = model.fit(X, n_classes - 1 - y).predict_proba(X)
    np.testing.assert_allclose(reversed_p[:, ::-1], p, atol=2e-3)


@for_each("n_classes", [2, 3])
def test_without_signal_the_frequencies_are_predicted(n_classes):
    rng = np.random.default_rng(5)
    X, y = np.ones((90, 4)), rng.integers(0, n_classes, 90)
    model = SparseLogisticRegression().fit(X, y)
    assert model.relevance_.shape == (0,)
    assert np.all(model.coef_ == 0.0)
    assert "none is kept" in model.stop_reason_
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(model.predict_proba(rng.normal(size=(2, 4)))[0], shares, atol=0.01)
    even = SparseLogisticRegression(fit_intercept=False).fit(0.0 * X, y)
    np.testing.assert_allclose(even.predict_proba(X), 1.0 / n_classes)
    assert np.all(even.predict_latent(X).standard_deviation() == 0.0)


def test_columns_of_noise_are_rarely_kept():
    rng = np.random.default_rng(0)
    kept = 0
    for _ in range(20):
        X, y = rng.normal(size=(200, 10)), rng.integers(0, 2, 200)
        kept += len(SparseLogisticRegression().fit(X, y).relevance_)
    assert kept / 200 < 0.05


@for_each("columns", ["shared", "per_class"])
@for_each("n_classes", [2, 3])
def test_separable_classes_have_finite_weights(n_classes, columns):
    X = np.repeat(np.arange(n_classes, dtype=float), 20)[:, None]
    y = X[:, 0].astype(int)
    model = SparseLogisticRegression(columns=columns).fit(X, y)
    assert np.all(np.isfinite(model.coef_))
    assert np.isfinite(model.log_evidence_)
    np.testing.assert_array_equal(model.predict(X), y)


@for_each("n", [2, 3])
def test_as_many_rows_as_classes(n):
    X = np.arange(2.0 * n).reshape(n, 2)
    for columns in ("shared", "per_class"):
        p = SparseLogisticRegression(columns=columns).fit(X, np.arange(n)).predict_proba(X)
        assert np.all(np.isfinite(p))


def test_equal_columns_are_kept_once_and_constant_ones_never():
    X, y = data()
    doubled = np.column_stack([X, X, np.full(len(X), 7.0)])
    model = SparseLogisticRegression().fit(doubled, y)
    alone = SparseLogisticRegression().fit(X, y)
    np.testing.assert_array_equal(np.sort(model.relevance_ % 8), alone.relevance_)
    assert 16 not in model.relevance_


def test_each_class_chooses_its_own_columns():
    X, y = data(500, 3)
    model = SparseLogisticRegression(columns="per_class").fit(X, y)
    used = np.isfinite(model.precision_)
    assert used.shape == (len(model.relevance_), 3)
    np.testing.assert_array_equal(model.coef_[:, model.relevance_].T != 0.0, used)
    assert np.abs(model.coef_[0, 5]) > 1.0
    assert np.abs(model.coef_[2, 2]) > 1.0
    assert np.sum(used) < used.size


def test_probabilities_are_averaged_over_the_posterior():
    X, y = data(60)
    model = SparseLogisticRegression(inference="laplace").fit(X, y)
    sure = SparseLogisticRegression(averaging="none").fit(X, y)
    p, q = model.predict_proba(X)[:, 1], sure.predict_proba(X)[:, 1]
    np.testing.assert_allclose(q, expit(model.predict_latent(X).mean()), atol=1e-12)
    assert np.all(np.abs(p - 0.5) <= np.abs(q - 0.5) + 1e-12)
    assert np.max(np.abs(p - q)) > 0.01
    latent = model.predict_latent(X[:1])
    a = latent.mean() + latent.standard_deviation() * np.random.default_rng(0).normal(size=200_000)
    assert p[0] == pytest.approx(np.mean(expit(a)), abs=2e-3)


def apart(n_classes, seed=0):
    """Rows of classes that hardly overlap: few to learn from, many to be judged by."""
    rng = np.random.default_rng(seed)
    centres = 1.6 * rng.normal(size=(n_classes, 6))
    y = np.arange(45) % n_classes
    labels = np.arange(600) % n_classes
    X = centres[y] + rng.normal(size=(45, 6))
    return X, y, centres[labels] + rng.normal(size=(600, 6)), labels


@pytest.mark.full
@for_each("n_classes", [2, 3])
def test_classes_that_hardly_overlap_are_told_apart_with_more_certainty(n_classes):
    losses = []
    for seed in range(4):
        X, y, queries, labels = apart(n_classes, seed)
        both = [SparseLogisticRegression(inference=how).fit(X, y) for how in ("auto", "laplace")]
        losses.append([log_loss(labels, model.predict_proba(queries)) for model in both])
    nearest, laplace = np.mean(losses, axis=0)
    assert nearest < laplace - 0.01


@for_each("columns", ["shared", "per_class"])
@for_each("n_classes", [2, 3])
def test_columns_and_evidence_are_those_of_laplace(n_classes, columns):
    X, y, _, _ = apart(n_classes)
    nearest, laplace = (
        SparseLogisticRegression(columns=columns, inference=how).fit(X, y)
        for how in ("auto", "laplace")
    )
    np.testing.assert_array_equal(nearest.relevance_, laplace.relevance_)
    np.testing.assert_array_equal(nearest.precision_, laplace.precision_)
    assert nearest.log_evidence_ == laplace.log_evidence_
    assert np.max(np.abs(nearest.coef_ - laplace.coef_)) > 0.1


@for_each("columns", ["shared", "per_class"])
def test_where_nothing_is_averaged_the_weights_are_the_most_probable(columns):
    X, y, queries, _ = apart(3)
    plain = SparseLogisticRegression(columns=columns, averaging="none").fit(X, y)
    laplace = SparseLogisticRegression(columns=columns, inference="laplace").fit(X, y)
    np.testing.assert_array_equal(plain.coef_, laplace.coef_)
    nearest = SparseLogisticRegression(columns=columns).fit(X, y)
    assert np.linalg.norm(nearest.coef_) > 1.02 * np.linalg.norm(laplace.coef_)
    widths = [m.predict_latent(queries).standard_deviation() for m in (nearest, laplace)]
    assert np.mean(widths[0]) < np.mean(widths[1])


def test_rows_in_chunks_have_the_same_nearest_normal():
    X, y, queries, _ = apart(2)
    one = SparseLogisticRegression().fit(X, y)
    blocks = designs.Chunks.from_arrays(X, y.astype(float), rows=16)
    other = SparseLogisticRegression().fit(blocks)
    assert type(one.posterior_.fit).__name__ == "NearestNormal"
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(other.predict_proba(queries), one.predict_proba(queries), atol=1e-5)


@pytest.mark.full
@for_each("columns", ["shared", "per_class"])
@for_each("n_classes", [2, 3])
def test_a_row_that_counts_twice_is_two_rows(n_classes, columns):
    X, y, queries, _ = apart(n_classes)
    counts = np.where(np.arange(45) % 4 == 0, 2, 1)
    model = SparseLogisticRegression(columns=columns)
    weighted = model.fit(X, y, counts).predict_proba(queries)
    assert type(model.posterior_.fit).__name__.startswith("Nearest")
    repeated = model.fit(X.repeat(counts, 0), y.repeat(counts)).predict_proba(queries)
    np.testing.assert_allclose(weighted, repeated, atol=1e-5)


@for_each("columns", ["shared", "per_class"])
def test_beliefs_about_weights_are_those_of_the_nearest_normal(columns):
    X, y, _, _ = apart(3)
    model = SparseLogisticRegression(columns=columns).fit(X, y)
    assert type(model.posterior_.fit).__name__.startswith("Nearest")
    belief = model.weight_distribution(output=1)
    np.testing.assert_allclose(belief.mean(), np.append(model.intercept_[1], model.coef_[1]))
    before = model.weight_distribution(output=1, prior=True)
    kept = 1 + model.relevance_
    spread = [np.diagonal(b.covariance)[kept] for b in (belief, before)]
    assert np.all(spread[0] <= spread[1] * (1.0 + 1e-9))
    np.testing.assert_allclose(before.mean()[kept], 0.0)


def test_log_loss_is_near_that_of_the_truth_and_below_that_of_a_dense_model():
    X, y = data(200, n_columns=40)
    test_X, test_y = data(4000, n_columns=40, seed=1)
    truth = np.column_stack([2.0 * test_X[:, 5], 2.0 * test_X[:, 2]])
    best = -np.mean(truth[np.arange(4000), test_y] - logsumexp(truth, axis=1))
    sparse = SparseLogisticRegression().fit(X, y).predict_proba(test_X)
    dense = BayesianLogisticRegression().fit(X, y).predict_proba(test_X)
    assert log_loss(test_y, sparse) < log_loss(test_y, dense)
    assert log_loss(test_y, sparse) < best + 0.06


def test_features_are_what_is_chosen_from():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = 3.0 * X[:, 0] * X[:, 1] + rng.logistic(size=300) > 0.0
    model = SparseLogisticRegression(features=features.Polynomial(2)).fit(X, y)
    product = list(model.features_.get_feature_names_out()).index("x0 x1")
    assert list(model.relevance_) == [product]


def test_a_fitted_model_holds_no_rows():
    X, y = data(4000)
    for columns in ("shared", "per_class"):
        for classes in (y, y + (X[:, 0] > 1.0)):
            model = SparseLogisticRegression(columns=columns).fit(X, classes)
            assert len(pickle.dumps(model)) < 20_000
            again = pickle.loads(pickle.dumps(model))
            np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_an_early_end_is_announced():
    X, y = data(500)
    with pytest.warns(
        ConvergenceWarning, match=r"limit of 1 .* not enough: raise max_iter"
    ) as found:
        SparseLogisticRegression(max_iter=1).fit(X, y)
    assert found[0].filename == __file__  # of the line that called


@for_each(
    ("wrong", "sentence"),
    [
        ({"columns": "own"}, "columns='own' must be one of"),
        ({"max_iter": 0}, "max_iter=0 must be a whole number"),
        ({"degrees_of_freedom": -1.0}, "degrees_of_freedom must be"),
    ],
)
def test_wrong_choices_get_a_sentence(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        SparseLogisticRegression(**wrong).fit(*data(n_classes=3))
