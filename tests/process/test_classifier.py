"""The classifier over latent Gaussian processes: what it learns, and what it makes of odd data."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from support.for_each import for_each

from posterity import GaussianProcessClassifier, kernels
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.variational import NearestNormal
from posterity.process import latent_process
from posterity.process.latent.projected import ProjectedPosterior
from posterity.process.softmax.shared import SharedSoftmaxPosterior

KERNEL = (4.0 * kernels.RBF(1.2)).fixed()
WORDS = ["aab", "aaab", "baab", "aabb", "xyx", "xyyx", "xxy", "yxyx"]


def data(n=40, n_classes=2, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    noisy = 2.0 * np.sin(2.0 * X[:, 0]) + X[:, -1] + 0.5 * rng.logistic(size=n)
    return X, np.digitize(noisy, np.linspace(-1.0, 1.0, n_classes + 1)[1:-1])


def exact_evidence(kernel, X, y, nodes=24):
    """The integral over all latent values, by a product rule after whitening."""
    z, w = np.polynomial.hermite_e.hermegauss(nodes)
    grids = np.meshgrid(*[z] * len(X), indexing="ij")
    f = np.linalg.cholesky(kernel(X)) @ np.stack([g.reshape(-1) for g in grids])
    weight = np.prod(np.meshgrid(*[w / w.sum()] * len(X), indexing="ij"), axis=0).reshape(-1)
    return float(weight @ np.prod(expit(np.where(y[:, None] > 0, f, -f)), axis=0))


@pytest.mark.full
@for_each("y", [[0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0]], ids=str)
@for_each("variance", [1.0, 6.0])
def test_propagation_is_closer_to_the_integral_than_laplace(y, variance):
    X, queries = np.array([[0.0], [0.7], [1.1]])[: len(y)], np.array([[-0.8], [0.2], [0.9], [1.5]])
    kernel = variance * kernels.RBF(1.0)
    evidence = exact_evidence(kernel, X, np.array(y))
    with_one = [exact_evidence(kernel, np.vstack([X, q]), np.array([*y, 1])) for q in queries]
    errors = {}
    for inference in ("laplace", "propagation"):
        model = GaussianProcessClassifier(kernel.fixed(), "zero", inference=inference).fit(X, y)
        off = np.max(np.abs(model.predict_proba(queries)[:, 1] - np.array(with_one) / evidence))
        errors[inference] = np.abs([model.log_evidence_ - np.log(evidence), off])
    assert np.all(errors["propagation"] < 0.3 * errors["laplace"])
    assert np.all(errors["propagation"] < [0.01, 0.005])


def test_auto_learns_by_laplace_and_ends_with_propagation():
    X, y = data()
    best = {"hyperparameters": "maximise"}
    laplace = GaussianProcessClassifier(inference="laplace", **best).fit(X, y)
    auto = GaussianProcessClassifier(**best).fit(X, y)
    assert auto.kernel_ == laplace.kernel_
    assert laplace.posterior_.inference == "laplace"
    at_these = GaussianProcessClassifier(laplace.kernel_.fixed(), inference="propagation")
    expected = at_these.fit(X, y)
    assert auto.log_evidence_ == pytest.approx(expected.log_evidence_, abs=1e-8)
    np.testing.assert_allclose(auto.predict_proba(X), expected.predict_proba(X), atol=1e-8)


def test_auto_stays_with_laplace_where_propagation_cannot():
    X, y = data()
    weight = np.linspace(0.5, 2.0, len(y))
    laplace = GaussianProcessClassifier(KERNEL, inference="laplace")
    auto = GaussianProcessClassifier(KERNEL).fit(X, y, weight)
    assert auto.posterior_.inference == "laplace"
    assert auto.log_evidence_ == laplace.fit(X, y, weight).log_evidence_
    X, y = data(n_classes=3)
    carried = GaussianProcessClassifier(KERNEL, inducing_points=5).fit(X, y)
    assert isinstance(carried.posterior_, ProjectedPosterior)


def test_auto_ends_with_the_nearest_normal_for_several_classes(monkeypatch):
    X, y = data(n_classes=3)
    auto = GaussianProcessClassifier(KERNEL).fit(X, y)
    assert auto.posterior_.inference == "variational"
    monkeypatch.setattr(latent_process, "_SWEPT", 1.0)
    shared = GaussianProcessClassifier(KERNEL).fit(X, y)
    assert isinstance(shared.posterior_, SharedSoftmaxPosterior)
    monkeypatch.setattr(latent_process, "_SWEPT_ROWS", 1)
    laplace = GaussianProcessClassifier(KERNEL, inference="laplace").fit(X, y)
    assert GaussianProcessClassifier(KERNEL).fit(X, y).log_evidence_ == laplace.log_evidence_
    assert auto.log_evidence_ != laplace.log_evidence_


@pytest.mark.full
def test_the_nearest_normal_tells_irises_that_laplace_leaves_open():
    X, y = load_iris(return_X_y=True)

    def loss(inference):
        model = GaussianProcessClassifier(inference=inference).fit(X[::2], y[::2])
        log_p = model.predict_log_proba(X[1::2])
        return -np.take_along_axis(log_p, y[1::2, None], axis=1).mean()

    assert loss("laplace") == pytest.approx(0.70, abs=0.005)
    assert loss("auto") == pytest.approx(0.09, abs=0.005)


def test_classes_far_apart_are_told_with_certainty():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.3, size=(15, 2)) for c in (-3.0, 0.0, 3.0)])
    model = GaussianProcessClassifier(n_restarts=0).fit(X, np.repeat([0, 1, 2], 15))
    assert np.all(model.predict_proba([[-3.0, -3.0], [0.0, 0.0], [3.0, 3.0]]).max(axis=1) > 0.9)


def test_auto_repeats_rows_only_to_a_few_more(monkeypatch):
    X, y = data(12)
    monkeypatch.setattr(latent_process, "_REPEATED_ROWS", 30)
    for weight, inference in ((2, "propagation"), (3, "laplace")):
        model = GaussianProcessClassifier(KERNEL).fit(X, y, np.full(12, weight))
        assert model.posterior_.inference == inference
        many = GaussianProcessClassifier(KERNEL).fit(X.repeat(weight, 0), y.repeat(weight))
        assert many.log_evidence_ == model.log_evidence_


@for_each("inference", ["auto", "propagation"])
def test_whole_weights_repeat_under_propagation(inference):
    X, y = data(20)
    counts = np.random.default_rng(1).integers(0, 4, len(y))
    model = GaussianProcessClassifier(KERNEL, inference=inference)
    weighted = clone(model).fit(X, y, counts)
    repeated = clone(model).fit(X.repeat(counts, 0), y.repeat(counts))
    assert weighted.posterior_.inference == "propagation"
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_what_propagation_cannot_is_a_sentence():
    X, y = data()
    model = GaussianProcessClassifier(KERNEL, inference="propagation")
    weight = np.ones(len(y))
    weight[[0, 5]] = 0.0, 1.5
    with pytest.raises(ValueError, match=r"sample_weight is 1.5 in row 5; expectation"):
        model.fit(X, y, weight)
    with pytest.raises(ValueError, match="Expectation propagation is for two classes"):
        model.fit(*data(n_classes=3))


@for_each("n_classes", [2, 3])
@for_each("mean", ["constant", "zero"])
def test_points_at_all_rows_are_the_exact_process(n_classes, mean):
    X, y = data(n_classes=n_classes)
    kernel = (4.0 * kernels.Matern(1.2)).fixed()
    exact = GaussianProcessClassifier(kernel, mean, inference="laplace").fit(X, y)
    queries = np.vstack([X + 0.3, [[90.0, 90.0]]])
    for points in (X, len(X), 10 * len(X)):
        carried = clone(exact).set_params(inducing_points=points).fit(X, y)
        assert len(carried.inducing_points_) == len(X)
        assert carried.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-7)
        np.testing.assert_allclose(
            carried.predict_proba(queries), exact.predict_proba(queries), atol=1e-7
        )


@for_each("n_classes", [2, 3])
def test_auto_ends_with_the_nearest_normal_where_points_carry_the_functions(n_classes):
    X, y = data(n_classes=n_classes)
    kernel = (40.0 * kernels.RBF(1.2)).fixed()
    model = GaussianProcessClassifier(kernel, inducing_points=8)
    auto = model.fit(X, y).posterior_.fit
    laplace = clone(model).set_params(inference="laplace").fit(X, y)
    assert isinstance(auto, NearestNormal)
    assert isinstance(laplace.posterior_.fit, LaplaceFit)
    assert model.log_evidence_ == laplace.log_evidence_
    sure = clone(model).set_params(averaging="none").fit(X, y)
    np.testing.assert_array_equal(sure.posterior_.fit.weights.W, laplace.posterior_.fit.weights.W)


def test_points_given_are_kept_and_one_is_enough():
    X, y = data()
    given = GaussianProcessClassifier(KERNEL, inducing_points=X[:3] + 0.5).fit(X, y)
    np.testing.assert_array_equal(given.inducing_points_, X[:3] + 0.5)
    one = GaussianProcessClassifier(KERNEL, inducing_points=1).fit(X, y)
    assert one.inducing_points_.shape == (1, 2)
    far = np.full((1, 2), 50.0)
    assert one.predict_latent(far).standard_deviation()[0] > 2.0
    one.set_params(inducing_points=None).fit(X, y)
    assert "inducing_points_" not in vars(one)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_parameters_are_learned_on_some_rows_and_the_rest_is_conditioned_on(n_classes, monkeypatch):
    seen = []
    search = latent_process.maximise_evidence

    def spy(problem, **options):
        seen.append(problem)
        return search(problem, **options)

    monkeypatch.setattr(latent_process, "maximise_evidence", spy)
    X, y = data(90, n_classes)
    options = {"mean": "zero", "inference": "laplace"}
    model = GaussianProcessClassifier(learning_rows=45, **options).fit(X, y)
    part, codes = seen[0].X, seen[0].targets.y
    assert len(part) == 45
    assert all((row == X).all(axis=1).any() for row in part)
    counts = np.bincount(codes.astype(int))
    np.testing.assert_allclose(counts, 0.5 * np.bincount(y), atol=1.0)
    alone = GaussianProcessClassifier(**options).fit(part, codes)
    np.testing.assert_allclose(model.kernel_(part), alone.kernel_(part), rtol=0.02, atol=0.02)
    everything = GaussianProcessClassifier(model.kernel_.fixed(), **options).fit(X, y)
    assert model.log_evidence_ == pytest.approx(everything.log_evidence_, abs=1e-8)
    assert len(model.X_train_) == len(X)


def test_rows_to_learn_on_hold_every_class_however_rare(monkeypatch):
    seen = []
    search = latent_process.maximise_evidence

    def spy(problem, **options):
        seen.append(problem.targets.y)
        return search(problem, **options)

    monkeypatch.setattr(latent_process, "maximise_evidence", spy)
    X, y = data(60)
    y[-1] = 2
    for seed in range(5):
        GaussianProcessClassifier(learning_rows=6, n_restarts=0, random_state=seed).fit(X, y)
        assert sorted(set(seen[-1])) == [0.0, 1.0, 2.0]


@for_each(
    ("labels", "kind"),
    [
        (["no", "yes"], "U"),
        ([False, True], "b"),
        ([-3, -7], "i"),
        ([2.0, -1.0], "f"),
        (["b", "a", "c"], "U"),
        ([10, -10, 0], "i"),
    ],
    ids=str,
)
def test_labels_of_any_kind_come_back(labels, kind):
    X, y = data(n_classes=len(labels))
    model = GaussianProcessClassifier(KERNEL).fit(X, np.array(labels)[y])
    assert model.classes_.tolist() == sorted(labels)
    assert model.predict(X).dtype.kind == kind
    assert np.mean(model.predict(X) == np.array(labels)[y]) > 0.6
    by_code = GaussianProcessClassifier(KERNEL).fit(X, y).predict_proba(X)
    order = np.argsort(labels)
    # Averages over three latent values and more are right to 1e-3, in the order they are taken.
    atol = 1e-6 if len(labels) == 2 else 1e-3
    np.testing.assert_allclose(model.predict_proba(X), by_code[:, order], atol=atol)


def test_objects_are_rows_too():
    two, three = [0] * 4 + [1] * 4, list("aaabbbcc")
    kernel = kernels.Scaled(kernels.Spectrum(2))
    model = GaussianProcessClassifier(kernel).fit(WORDS, two)
    p = model.predict_proba(["aaa", "xyxy"])[:, 1]
    assert p[0] < 0.4 < 0.6 < p[1]
    assert model.irrelevant_inputs_ == []
    assert model.X_train_ == WORDS
    assert "n_features_in_" not in vars(model)
    carried = GaussianProcessClassifier(kernel, inducing_points=["aab", "xyx"]).fit(WORDS, two)
    assert carried.inducing_points_ == ["aab", "xyx"]
    few = GaussianProcessClassifier(kernel, inducing_points=3, learning_rows=5).fit(WORDS, two)
    assert set(few.inducing_points_) < set(WORDS)
    weight = np.array([2, 1, 1, 1, 0, 1, 1, 3])
    options = {"kernel": kernels.Spectrum(2), "inference": "propagation"}
    weighted = GaussianProcessClassifier(**options).fit(WORDS, two, weight)
    words, classes = np.repeat(WORDS, weight).tolist(), np.repeat(two, weight)
    repeated = GaussianProcessClassifier(**options).fit(words, classes)
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, abs=1e-6)
    assert GaussianProcessClassifier(kernel).fit(WORDS, three).predict(["aaa"]) == ["a"]


def test_columns_are_called_by_their_names():
    X, y = data(d=3)
    table = pd.DataFrame(X, columns=["age", "noise", "dose"])
    by_name = kernels.Scaled(kernels.Columns(kernels.RBF(), ["age", "dose"]))
    by_number = kernels.Scaled(kernels.Columns(kernels.RBF(), [0, 2]))
    named = GaussianProcessClassifier(by_name).fit(table, y)
    numbered = GaussianProcessClassifier(by_number).fit(X, y)
    np.testing.assert_allclose(named.predict_proba(table), numbered.predict_proba(X), atol=1e-8)
    assert named.irrelevant_inputs_ == ["noise"]


def test_nested_parameters_are_set_and_searched():
    X, y = data(60)
    model = GaussianProcessClassifier(KERNEL)
    moved = clone(model).set_params(kernel__kernel__length_scale=3.0)
    assert moved.kernel == (4.0 * kernels.RBF(3.0)).fixed()
    assert model.kernel == KERNEL
    grid = {"kernel__kernel__length_scale": [1e-3, 1.2], "mean": ["zero", "constant"]}
    search = GridSearchCV(model, grid, scoring="neg_log_loss", cv=3).fit(X, y)
    assert search.best_params_["kernel__kernel__length_scale"] == 1.2


def test_a_warm_start_goes_on_from_where_it_was():
    X, y = data(60, 3)
    model = GaussianProcessClassifier(warm_start=True, n_restarts=0).fit(X, y)
    cold, kernel = model.n_iter_, model.kernel_
    assert model.fit(X, y).n_iter_ < cold
    np.testing.assert_allclose(model.kernel_(X), kernel(X), rtol=0.05, atol=0.05)
    assert model.set_params(warm_start=False).fit(X, y).n_iter_ == cold
    model.set_params(warm_start=True, kernel=kernels.Scaled(kernels.RBF())).fit(X, y)
    assert len(np.atleast_1d(model.kernel_.kernel.length_scale)) == 1


def test_a_fit_that_failed_leaves_nothing_to_start_from():
    model = GaussianProcessClassifier(KERNEL, inference="propagation", warm_start=True)
    with pytest.raises(ValueError, match="two classes"):
        model.fit(*data(n_classes=3))
    model.set_params(inference="laplace").fit(*data(n_classes=3))


def test_the_same_number_is_the_same_fit_by_any_number_of_jobs_and_through_pickle():
    X, y = data()
    one, again, jobs = (
        GaussianProcessClassifier(random_state=3, n_jobs=n).fit(X, y) for n in (None, None, 2)
    )
    assert one.kernel_ == again.kernel_ == jobs.kernel_
    expected = one.predict_proba(X)
    np.testing.assert_array_equal(jobs.predict_proba(X), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict_proba(X), expected)
    assert clone(one).get_params().keys() == one.get_params().keys()
    assert "posterior_" not in vars(clone(one))


def test_a_column_of_noise_is_named():
    X, y = data(150, d=3, seed=1)  # labels with noise: the latent variance of others has no end
    assert GaussianProcessClassifier().fit(X, y).irrelevant_inputs_ == [1]
