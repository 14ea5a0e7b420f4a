"""The relevance vector classifier: few vectors, averaged probabilities, and doubt far away."""

import inspect
import pickle

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from support.for_each import for_each

from posterity import RelevanceVectorClassifier, kernels, sparse
from posterity.sparse.problem import Chosen

RBF = kernels.RBF(1.0).fixed()
each_count = pytest.mark.parametrize("n_classes", [2, 3])
each_sharing = pytest.mark.parametrize("vectors", ["shared", "per_class"])


def rings(n=150, n_classes=2, seed=0):
    """Noisy rings about the origin."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    radius = np.hypot(*X.T) + 0.15 * rng.logistic(size=n)
    return X, np.digitize(radius, [1.0, 1.8][: n_classes - 1])


def laplace(model, X, y, w):
    """Columns A at any rows, shift, mode b, Hessian H and evidence, by Newton's method."""
    center = w @ RBF(X, X[model.relevance_]) / w.sum()
    scale = np.sqrt(w @ (RBF(X, X[model.relevance_]) - center) ** 2 / w.sum())

    def columns(rows):
        Z = (RBF(rows, X[model.relevance_]) - center) / scale
        return np.column_stack([Z, np.ones(len(Z))])

    A, p = columns(X), w @ y / w.sum()
    h = np.append(model.precision_, p * (1.0 - p))  # an offset is worth one row
    shift, b = np.log(p / (1.0 - p)), np.zeros(len(h))
    for _ in range(50):
        mu = expit(shift + A @ b)
        H = A.T @ ((w * mu * (1.0 - mu))[:, None] * A) + np.diag(h)
        b = b + np.linalg.solve(H, A.T @ (w * (y - mu)) - h * b)
    evidence = w @ np.log(np.where(y, mu, 1.0 - mu)) - 0.5 * np.sum(h * b * b)
    evidence += 0.5 * np.sum(np.log(h)) - 0.5 * np.linalg.slogdet(H)[1]
    return columns, shift, b, H, mu, evidence


def test_the_posterior_is_laplaces_for_the_columns_of_the_vectors():
    X, y = rings()
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = RelevanceVectorClassifier(RBF, inference="laplace").fit(X, y, w)
    columns, shift, b, H, _, evidence = laplace(model, X, y, w)
    latent, A = model.predict_latent(X), columns(X)
    np.testing.assert_allclose(latent.mean(), shift + A @ b, atol=1e-6)
    variance = np.einsum("ni,ij,nj->n", A, np.linalg.inv(H), A)
    np.testing.assert_allclose(latent.standard_deviation() ** 2, variance, rtol=1e-6)
    assert model.log_evidence_ == pytest.approx(evidence, abs=1e-6)


def test_a_query_column_is_one_more_column_of_the_model():
    X, y = rings()
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = RelevanceVectorClassifier(RBF, query_column=True, inference="laplace").fit(X, y, w)
    columns, shift, b, H, mu, _ = laplace(model, X, y, w)
    for query in np.array([[0.3, 0.2], [2.5, 1.0], [-3.0, 2.0]]):
        z = RBF(X, query[None])[:, 0]
        center = w @ z / w.sum()
        more = np.column_stack([columns(X), z - center])
        K = more.T @ ((w * mu * (1.0 - mu))[:, None] * more)
        K[:-1, :-1] = H
        K[-1, -1] += 1.0 / np.sum(1.0 / model.precision_)  # k(x, x) = 1
        slope = np.append(np.zeros(len(b)), (z - center) @ (w * (y - mu)))
        a = np.append(columns(query[None])[0], 1.0 - center)
        latent = model.predict_latent(query[None])
        expected = shift + a[:-1] @ b + a @ np.linalg.solve(K, slope)
        assert latent.mean()[0] == pytest.approx(expected, abs=1e-6)
        variance = a @ np.linalg.solve(K, a)
        assert latent.standard_deviation()[0] ** 2 == pytest.approx(variance, rel=1e-6)


@each_count
@each_sharing
def test_the_order_of_the_rows_does_not_matter(n_classes, vectors):
    X, y = rings(n_classes=n_classes)
    order = np.random.default_rng(2).permutation(len(y))
    model = RelevanceVectorClassifier(RBF, vectors=vectors)
    relevance, p = model.fit(X, y).relevance_, model.predict_proba(X)
    moved = model.fit(X[order], y[order])
    np.testing.assert_array_equal(np.sort(order[moved.relevance_]), relevance)
    np.testing.assert_allclose(moved.predict_proba(X), p, atol=1e-9)


@pytest.mark.full(but=1)
@each_count
@each_sharing
@for_each("fit_intercept", [True, False])
def test_the_dual_weights_give_the_latent_mean(n_classes, vectors, fit_intercept):
    X, y = rings(n_classes=n_classes)
    model = RelevanceVectorClassifier(RBF, vectors=vectors, fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])
    assert np.all(np.diff(model.relevance_) > 0)
    queries = np.random.default_rng(3).normal(size=(9, 2))
    by_hand = RBF(queries, model.relevance_vectors_) @ model.dual_coef_.T + model.intercept_
    mean = model.predict_latent(queries).mean().reshape(9, -1)
    np.testing.assert_allclose(by_hand, mean, atol=1e-7)
    if vectors == "per_class" and n_classes == 3:
        np.testing.assert_array_equal(model.dual_coef_.T != 0.0, np.isfinite(model.precision_))
        assert not np.all(np.isfinite(model.precision_))
    else:
        assert model.precision_.shape == model.relevance_.shape


@each_count
@each_sharing
def test_the_names_of_the_classes_do_not_matter(n_classes, vectors):
    X, y = rings(n_classes=n_classes)
    model = RelevanceVectorClassifier(RBF, vectors=vectors)
    p = model.fit(X, y).predict_proba(X)
    evidence = model.log_evidence_
    other = model.fit(X, n_classes - 1 - y).predict_proba(X)
    assert model.log_evidence_ == pytest.approx(evidence, abs=1.0)
    np.testing.assert_allclose(other[:, ::-1], p, atol=0.1)
    assert np.mean(np.argmax(other[:, ::-1], axis=1) == np.argmax(p, axis=1)) > 0.95


def test_a_kernel_that_is_learned_knows_no_units():
    X, y = rings(100)
    unit, origin = np.array([1e3, 1e-2]), np.array([5.0, -2.0])
    model = RelevanceVectorClassifier().fit(X, y)
    relevance, p = model.relevance_, model.predict_proba(X)
    width = np.asarray(model.kernel_.length_scale)
    moved = model.fit((X + origin) * unit, y)
    np.testing.assert_array_equal(moved.relevance_, relevance)
    np.testing.assert_allclose(np.asarray(moved.kernel_.length_scale), width * unit, rtol=1e-4)
    np.testing.assert_allclose(moved.predict_proba((X + origin) * unit), p, atol=1e-4)


def test_a_kernel_that_is_given_stays():
    model = RelevanceVectorClassifier(RBF.fixed()).fit(*rings())
    assert model.kernel_ == RBF.fixed()


def test_equal_rows_are_told_by_the_first():
    X, y = rings(60)
    again, labels = np.vstack([X, X]), np.concatenate([y, 1 - y[:5], y[5:]])
    model = RelevanceVectorClassifier(RBF).fit(again, labels)
    assert np.all(model.relevance_ < 60)
    assert len(np.unique(model.relevance_)) == len(model.relevance_)


@each_sharing
@for_each("n", [2, 3])
def test_as_many_rows_as_classes(n, vectors):
    X = np.arange(2.0 * n).reshape(n, 2)
    model = RelevanceVectorClassifier(vectors=vectors).fit(X, np.arange(n))
    p = model.predict_proba(X)
    assert np.all(np.isfinite(p))
    assert np.isfinite(model.log_evidence_)


@each_count
def test_without_signal_the_frequencies_are_predicted(n_classes):
    y = np.random.default_rng(0).integers(0, n_classes, 60)
    model = RelevanceVectorClassifier().fit(np.ones((60, 2)), y)
    assert model.relevance_.shape == (0,)
    assert model.dual_coef_.shape == (1 if n_classes == 2 else n_classes, 0)
    assert "none is kept" in model.stop_reason_
    p = model.predict_proba([[0.0, 3.0]])[0]
    np.testing.assert_allclose(p, np.bincount(y) / 60, atol=0.01)


def test_labels_of_chance_are_not_learned():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    p = RelevanceVectorClassifier().fit(X, y).predict_proba(rng.normal(size=(500, 2)))
    assert np.mean(np.abs(p[:, 1] - 0.5)) < 0.12


@pytest.mark.full(but=1)
@each_sharing
@for_each("half", [0, 1])
def test_iris_needs_few_vectors(vectors, half):
    X, y = load_iris(return_X_y=True)
    kernel = kernels.RBF(tuple(4.0 * X.std(axis=0))).fixed()
    model = RelevanceVectorClassifier(kernel, vectors=vectors).fit(X[half::2], y[half::2])
    assert model.score(X[1 - half :: 2], y[1 - half :: 2]) > 0.93
    assert len(model.relevance_) <= 8


def test_the_kernel_is_learned_for_several_classes():
    X, y = load_iris(return_X_y=True)
    model = RelevanceVectorClassifier().fit(X, y)
    assert model.score(X, y) > 0.95
    assert len(model.relevance_) <= 8


@pytest.mark.full
def test_two_spirals_are_told_apart():
    t = np.sqrt(np.random.default_rng(0).uniform(0.02, 1.0, 200)) * 3.0 * np.pi
    y = np.arange(200) % 2
    X = (t * np.array([np.cos(t + np.pi * y), np.sin(t + np.pi * y)])).T
    X += 0.3 * np.random.default_rng(1).normal(size=X.shape)
    model = RelevanceVectorClassifier(kernels.RBF(2.0).fixed()).fit(X[:150], y[:150])
    assert model.score(X[150:], y[150:]) > 0.9
    assert len(model.relevance_) < 75


@each_count
def test_log_loss_is_near_that_of_the_truth(n_classes):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(1300, 1))
    A = np.column_stack([3.0 * np.sin(1.5 * X[:, 0] + phase) for phase in (0.0, 2.0, 4.0)])
    A = A[:, :n_classes]
    y = np.argmax(A + rng.gumbel(size=A.shape), axis=1)
    truth = np.exp(A) / np.exp(A).sum(axis=1, keepdims=True)
    model = RelevanceVectorClassifier(kernels.RBF(0.8).fixed()).fit(X[:300], y[:300])
    found = log_loss(y[300:], model.predict_proba(X[300:]))
    assert found < log_loss(y[300:], truth[300:]) + 0.05
    assert len(model.relevance_) <= 20


def test_probabilities_are_averaged_over_the_posterior():
    X, y = rings(60)
    model = RelevanceVectorClassifier(RBF, inference="laplace").fit(X, y)
    sure = RelevanceVectorClassifier(RBF, averaging="none").fit(X, y)
    latent = model.predict_latent(X)
    np.testing.assert_allclose(sure.predict_proba(X)[:, 1], expit(latent.mean()), atol=1e-9)
    p = model.predict_proba(X)[:, 1]
    assert np.max(np.abs(p - expit(latent.mean()))) > 0.01
    a = latent.mean()[0] + latent.standard_deviation()[0] * np.random.default_rng(0).normal(
        size=200_000
    )
    assert p[0] == pytest.approx(np.mean(expit(a)), abs=2e-3)


@pytest.mark.full(but=1)
@each_sharing
def test_the_nearest_normal_keeps_vectors_and_evidence_and_tells_more(vectors):
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = kernels.RBF(4.0).fixed()
    both = [
        RelevanceVectorClassifier(kernel, vectors=vectors, inference=inference).fit(X[::2], y[::2])
        for inference in ("auto", "laplace")
    ]
    np.testing.assert_array_equal(both[0].relevance_, both[1].relevance_)
    np.testing.assert_array_equal(both[0].precision_, both[1].precision_)
    assert both[0].log_evidence_ == both[1].log_evidence_
    losses = [log_loss(y[1::2], model.predict_proba(X[1::2])) for model in both]
    assert losses[0] < losses[1] - 0.05


@pytest.mark.full
def test_of_two_classes_few_rows_claim_less_than_precisions_led_astray():
    """Ten columns of which few matter, sixty rows: the chosen precisions are far too small."""
    losses = {"auto": [], "laplace": []}
    for seed in range(4):
        X, y = make_classification(660, 10, n_informative=4, class_sep=1.5, random_state=seed)
        for inference, found in losses.items():
            model = RelevanceVectorClassifier(kernels.RBF(3.0).fixed(), inference=inference)
            found.append(log_loss(y[60:], model.fit(X[:60], y[:60]).predict_proba(X[60:])))
    assert np.mean(losses["auto"]) < 1.1 * np.mean(losses["laplace"]) < np.log(2.0)


@each_count
def test_the_query_column_of_the_nearest_normal_doubts_far_away(n_classes):
    X, y = rings(50, n_classes)
    model = RelevanceVectorClassifier(RBF, query_column=True).fit(X, y)
    assert type(model.posterior_.fit).__name__ == "NearestNormal"
    plain = RelevanceVectorClassifier(RBF, hyperparameters="maximise").fit(X, y)
    near, far = X, X + 100.0
    spread = [
        m.predict_latent(rows).standard_deviation() for rows in (near, far) for m in (model, plain)
    ]
    assert np.all(spread[0] >= spread[1] * (1.0 - 1e-9))
    assert np.min(spread[2]) > 2.0 * np.max(spread[3])


@each_count
def test_far_away_the_vectors_say_nothing_and_the_query_column_doubts(n_classes):
    X, y = rings(n_classes=n_classes)
    far = np.array([[60.0, -60.0]])
    plain = RelevanceVectorClassifier(RBF, hyperparameters="maximise").fit(X, y)
    doubting = RelevanceVectorClassifier(RBF, query_column=True).fit(X, y)
    one, other = plain.predict_latent(far), doubting.predict_latent(far)
    # With no kernel within reach the mean is the offset's, and known as well as any.
    np.testing.assert_allclose(one.mean(), np.squeeze(plain.intercept_)[None], atol=1e-9)
    np.testing.assert_allclose(other.mean(), one.mean(), atol=1e-6)
    spread = other.standard_deviation() ** 2 - one.standard_deviation() ** 2
    # Standardised columns: the average prior variance of the function is the sum of 1 / h.
    share = 1.0 if n_classes == 2 else 1.0 - 1.0 / n_classes
    np.testing.assert_allclose(spread, share * np.sum(1.0 / plain.precision_), rtol=1e-6)
    p, q = plain.predict_proba(far), doubting.predict_proba(far)
    assert np.max(q) < np.max(p)
    near_p, near_q = plain.predict_proba(X), doubting.predict_proba(X)
    assert np.mean(np.abs(near_p - near_q)) < 0.05


def test_the_query_column_keeps_the_rows_and_nothing_else_does():
    X, y = rings(1500)
    model = RelevanceVectorClassifier(RBF, query_column=True).fit(X, y)
    assert len(model.X_train_) == 1500
    model.set_params(query_column=False).fit(X, y)
    assert "X_train_" not in vars(model)
    dump = pickle.dumps(model)
    assert len(dump) < 20_000
    np.testing.assert_array_equal(pickle.loads(dump).predict_proba(X), model.predict_proba(X))


def test_vectors_of_a_class_have_no_query_column():
    X, y = rings(n_classes=3)
    model = RelevanceVectorClassifier(RBF, vectors="per_class", query_column=True)
    with pytest.raises(ValueError, match="vectors that the classes share"):
        model.fit(X, y)
    model.fit(X, y > 0)  # two classes share one latent function


@each_count
def test_strings_are_rows_too(n_classes):
    rng = np.random.default_rng(0)
    letters = ["ab", "bc", "ca"][:n_classes]
    y = np.arange(60) % n_classes
    X = ["".join(rng.choice(list(letters[k]), 8)) for k in y]
    model = RelevanceVectorClassifier(kernels.Spectrum(1)).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.relevance_vectors_ == [X[i] for i in model.relevance_]


def test_a_function_is_a_kernel():
    X, y = rings()
    model = RelevanceVectorClassifier(lambda A, B: np.asarray(RBF(A, B))).fit(X, y)
    expected = RelevanceVectorClassifier(RBF.fixed()).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-9)


@each_count
@pytest.mark.parametrize("query_column", [False, True])
def test_tensors_give_what_arrays_give(n_classes, query_column):
    torch = pytest.importorskip("torch")
    X, y = rings(n_classes=n_classes)
    model = RelevanceVectorClassifier(RBF, query_column=query_column)
    p = model.fit(X, y).predict_proba(X)
    there = model.fit(torch.asarray(X), y)
    assert isinstance(there.relevance_vectors_, torch.Tensor)
    np.testing.assert_allclose(there.predict_proba(torch.asarray(X)), p, atol=0.02)
    placed = RelevanceVectorClassifier(RBF, device="cpu").fit(X, y)
    assert placed.predict_proba(X).shape == p.shape
    model.fit(X, y).set_params(device="nowhere")  # the rows of the fit are on the host
    np.testing.assert_array_equal(model.predict_proba(X), p)


def test_an_early_end_is_announced():
    def fit():
        line = inspect.currentframe().f_lineno + 1
        RelevanceVectorClassifier(kernels.RBF(0.3).fixed(), max_iter=1).fit(*rings())
        return line

    with pytest.warns(ConvergenceWarning, match="raise max_iter") as found:
        line = fit()
    assert (found[0].filename, found[0].lineno) == (__file__, line)


def test_more_passes_are_not_advised_where_they_would_not_help():
    ended = Chosen(*[np.zeros(0)] * 4, 0.0, 3, "it is not level", converged=False)
    with pytest.warns(ConvergenceWarning, match=r"^it is not level\.$"):
        sparse.report_choice(ended, "vector", 5)


@for_each(
    ("wrong", "sentence"),
    [
        ({"vectors": "own"}, "vectors='own' must be one of"),
        ({"max_iter": 0}, "max_iter=0 must be a whole number"),
    ],
)
def test_wrong_choices_get_a_sentence(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        RelevanceVectorClassifier(RBF, **wrong).fit(*rings(n_classes=3))


def test_a_prediction_costs_no_more_vectors_than_allowed():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (150, 1))
    y = np.sin(4.0 * X[:, 0]) > 0.2 * rng.normal(size=150)
    kernel = kernels.RBF(0.3).fixed()
    free = RelevanceVectorClassifier(kernel).fit(X, y)
    few = RelevanceVectorClassifier(kernel, max_vectors=3).fit(X, y)
    assert len(few.relevance_) <= 3 < len(free.relevance_)
    assert few.score(X, y) > 0.55
