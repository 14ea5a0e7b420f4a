"""Principal component analysis as scikit-learn's users know it, and what it says beyond."""

import warnings

import numpy as np
import polars as pl
import pytest
import sklearn.decomposition
from scipy import stats
from sklearn.base import clone
from support.for_each import for_each

from posterity import designs, distributions
from posterity.latent import principal_model
from posterity.latent.pca import PCA


def rows(n=120, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.geomspace(3.0, 0.5, d) @ rng.normal(size=(d, d)) + 1.0


def assert_same_model(a, b, rtol=1e-9):
    np.testing.assert_allclose(a.mean_, b.mean_, rtol=rtol)
    np.testing.assert_allclose(a.components_, b.components_, atol=1e-8)
    np.testing.assert_allclose(a.explained_variance_, b.explained_variance_, rtol=rtol)
    np.testing.assert_allclose(a.noise_variance_, b.noise_variance_, rtol=1e-7)
    assert a.n_samples_seen_ == pytest.approx(b.n_samples_seen_, rel=1e-14)


@for_each("shape", [(120, 6), (12, 40)])
@for_each("n_components", [None, 3, 0.9])
def test_attributes_are_those_of_scikit_learn(shape, n_components):
    X = rows(*shape)
    ours = PCA(n_components).fit(X)
    theirs = sklearn.decomposition.PCA(n_components, svd_solver="full").fit(X)
    r = min(theirs.n_components_, shape[0] - 1)
    assert ours.n_components_ == theirs.n_components_
    np.testing.assert_allclose(ours.mean_, theirs.mean_)
    np.testing.assert_allclose(ours.components_[:r], theirs.components_[:r], atol=1e-10)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-12
        )
    np.testing.assert_allclose(ours.transform(X)[:, :r], theirs.transform(X)[:, :r], atol=1e-10)
    if shape[0] > shape[1]:
        np.testing.assert_allclose(ours.noise_variance_, theirs.noise_variance_, rtol=1e-9)
        np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-9)
        np.testing.assert_allclose(ours.score(X), theirs.score(X), rtol=1e-9)


def test_all_components_lose_nothing():
    for X in (rows(), rows(8, 30)):
        pca = PCA().fit(X)
        np.testing.assert_allclose(pca.inverse_transform(pca.transform(X)), X, rtol=1e-10)
        np.testing.assert_allclose(pca.reconstruction_error(X), 0.0, atol=1e-18 * np.sum(X**2))


def test_largest_variance_is_least_error():
    """The sum of squared residuals is the variance left out, and no other plane has less."""
    X = rows()
    pca = PCA(2).fit(X)
    error = pca.reconstruction_error(X).sum()
    np.testing.assert_allclose(error, 119 * (np.cov(X.T).trace() - pca.explained_variance_.sum()))
    for seed in range(20):
        V = np.linalg.qr(np.random.default_rng(seed).normal(size=(6, 2)))[0]
        centred = X - X.mean(axis=0)
        assert error < np.sum((centred - centred @ V @ V.T) ** 2)


@for_each("method", ["columns", "rows", "randomized"])
def test_methods_agree(method):
    X = rows(60, 50)
    pca, exact = PCA(3, method=method).fit(X), PCA(3).fit(X)
    np.testing.assert_allclose(pca.explained_variance_, exact.explained_variance_, rtol=1e-5)
    np.testing.assert_allclose(np.abs(pca.transform(X)), np.abs(exact.transform(X)), atol=0.02)


def test_projection_is_taken_where_it_is_much_cheaper(monkeypatch):
    pays = principal_model.pays_to_project
    assert pays(10, (20_000, 20_000))
    assert not pays(10, (100_000, 1000))
    assert not pays(50, (200, 20_000))
    assert not pays(None, (20_000, 20_000))
    assert not pays(0.5, (20_000, 20_000))
    monkeypatch.setattr(principal_model, "pays_to_project", lambda *given: True)
    X = rows(60, 50)
    automatic, asked = PCA(3).fit(X), PCA(3, method="randomized").fit(X)
    np.testing.assert_array_equal(automatic.components_, asked.components_)


def test_a_mean_far_from_zero_costs_no_digits():
    """scikit-learn's route for many rows, by X.T @ X, is left with none."""
    X = np.round(rows(6000, 4) * 2**20) / 2**20
    near, far = PCA(4).fit(X), PCA(4).fit(X + 2.0**27)
    np.testing.assert_allclose(far.explained_variance_, near.explained_variance_, rtol=1e-11)
    np.testing.assert_allclose(far.transform(X + 2.0**27), near.transform(X), atol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sklearn.decomposition.PCA(4, svd_solver="covariance_eigh").fit(X + 2.0**27)
    assert np.max(np.abs(theirs.explained_variance_ / near.explained_variance_ - 1.0)) > 1e-3


def test_wide_rows_have_a_density_at_the_cost_of_their_length():
    """A precision matrix of these columns would fill 30 GB."""
    X = np.random.default_rng(0).normal(size=(20, 60_000))
    pca = PCA(2).fit(X)
    expected = stats.norm(0.0, np.sqrt(pca.noise_variance_)).logpdf(0.0) * 60_000
    assert abs(pca.score_samples(pca.mean_[None])[0] - expected) < 30.0


def test_reconstructions_come_with_the_noise_about_them():
    X = rows()
    pca = PCA(2).fit(X)
    dist = pca.inverse_transform_dist(pca.transform(X))
    assert isinstance(dist, distributions.Normal)
    np.testing.assert_allclose(dist.mean(), pca.inverse_transform(pca.transform(X)))
    np.testing.assert_allclose(dist.variance(), pca.noise_variance_)


def test_the_evidence_chooses_and_is_published():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 12)) + 0.3 * rng.normal(size=(200, 12))
    pca = PCA("evidence").fit(X)
    assert pca.n_components_ == 3
    assert pca.log_evidences_.shape == (13,)
    np.testing.assert_allclose(pca.log_evidence_, pca.log_evidences_[3], rtol=1e-12)
    np.testing.assert_allclose(PCA(5).fit(X).log_evidence_, pca.log_evidences_[5], rtol=1e-12)
    theirs = sklearn.decomposition.PCA("mle").fit(X)
    assert theirs.n_components_ == 3


def test_noise_alone_has_no_components():
    X = np.random.default_rng(0).normal(size=(500, 8))
    pca = PCA("evidence").fit(X)
    assert pca.n_components_ == 0
    assert pca.transform(X).shape == (500, 0)
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(X)) - pca.mean_, 0.0, atol=1e-15)


@for_each("shape", [(120, 6), (12, 40)])
def test_parts_add_up_to_the_whole(shape):
    X, weights = rows(*shape), np.random.default_rng(1).integers(0, 3, shape[0])
    weights[:4] = 1
    whole = PCA(4).fit(X, sample_weight=weights)
    parts = PCA(4)
    for chosen in (slice(0, 4), slice(4, 5), slice(5, 9), slice(9, None)):
        if weights[chosen].any():
            parts.partial_fit(X[chosen], sample_weight=weights[chosen])
    assert_same_model(parts, whole)
    assert_same_model(PCA(4).fit(np.repeat(X, weights, axis=0)), whole)
    assert len(parts._fitted.statistics.factor) <= min(shape[0], shape[1] + 1)


def test_a_new_fit_forgets_and_adding_to_one_says_so():
    X = rows()
    pca = PCA(2).partial_fit(X[:50]).fit(X)
    assert_same_model(pca, PCA(2).fit(X))
    with pytest.warns(UserWarning, match="forgotten"):
        pca.partial_fit(X[:60])
    assert_same_model(pca, PCA(2).fit(X[:60]))


def test_chunks_are_fitted_like_the_rows_they_hold(tmp_path):
    X, weights = rows(), np.random.default_rng(1).uniform(0.5, 2.0, 120)
    memory = PCA(3).fit(X, sample_weight=weights)
    arrays = designs.Chunks.from_arrays(X, None, weights, rows=37)
    assert_same_model(PCA(3).fit(arrays), memory)
    once = designs.Chunks.from_iterable(
        (X[i : i + 50], None, weights[i : i + 50]) for i in range(0, 120, 50)
    )
    assert_same_model(PCA(3).fit(once), memory)
    names = [f"x{j}" for j in range(6)]
    path = tmp_path / "rows.parquet"
    pl.DataFrame(X, schema=names).with_columns(w=weights).write_parquet(path)
    files = designs.Chunks.from_parquet(path, target=None, sample_weight="w", rows=37)
    pca = PCA(3).fit(files)
    assert_same_model(pca, memory)
    assert list(pca.feature_names_in_) == names


def test_few_chunked_rows_of_many_columns_stay_few():
    X = rows(9, 50)
    pca = PCA(3).fit(designs.Chunks.from_arrays(X, rows=4))
    assert_same_model(pca, PCA(3).fit(X))


def test_chunks_are_added_and_their_columns_compared():
    X = rows()
    pca = PCA(3).partial_fit(
        designs.Chunks.from_arrays(X[:50], rows=20, feature_names=list("abcdef"))
    )
    pca.partial_fit(designs.Chunks.from_arrays(X[50:], rows=20))
    assert_same_model(pca, PCA(3).fit(X))
    with pytest.raises(ValueError, match="expecting 6 features"):
        pca.partial_fit(designs.Chunks.from_arrays(X[:, :5]))
    with pytest.raises(ValueError, match="are not those that were fitted"):
        pca.partial_fit(designs.Chunks.from_arrays(X, feature_names=list("bacdef")))
    with pytest.raises(ValueError, match="their own targets and weights"):
        pca.partial_fit(designs.Chunks.from_arrays(X), sample_weight=np.ones(120))
    with pytest.raises(ValueError, match="rows in memory"):
        PCA(2, method="rows").fit(designs.Chunks.from_arrays(X))
    for fit in (PCA(2).partial_fit, PCA(2).fit):
        with pytest.raises(ValueError, match="no rows of positive weight"):
            fit(designs.Chunks.from_arrays(X, None, np.zeros(120)))


@for_each(
    "X",
    [
        np.full((5, 3), 0.1),
        np.full((3, 5), 0.1),
        np.column_stack([np.arange(5.0), np.full(5, 1e8), 2.0 * np.arange(5.0)]),
        np.repeat([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]], 3, axis=0),
        np.arange(5.0)[:, None],
    ],
    ids=["constant", "wide and constant", "collinear", "duplicates", "one column"],
)
def test_degenerate_rows_give_zeros_and_no_nan(X):
    for method in ("columns", "rows"):
        pca = PCA(method=method).fit(X)
        Z = pca.transform(X)
        assert np.isfinite(pca.components_).all()
        null = pca.explained_variance_ == 0.0
        assert null.sum() == min(X.shape) - np.linalg.matrix_rank(X[1:] - X[0])
        np.testing.assert_allclose(Z[:, null], 0.0, atol=1e-7)
        np.testing.assert_allclose(pca.inverse_transform(Z), X, rtol=1e-12, atol=1e-12)
        assert not np.isnan(pca.log_evidences_).any()
        assert not np.isnan(pca.explained_variance_ratio_).any()


def test_bad_values_are_placed_and_answered():
    X = rows()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN: column 2 \(row 3\).*GPLVM\(kernel=kernels.Linear"):
        PCA().fit(X)
    with pytest.raises(ValueError, match="infinity") as caught:
        PCA().fit(np.where(np.isnan(X), np.inf, X))
    assert "GPLVM" not in str(caught.value)


@for_each("method", ["columns", "rows"])
def test_squares_that_overflow_are_refused_in_words(method):
    with pytest.raises(ValueError, match=r"column 0 holds values up to .* beyond double precision"):
        PCA(method=method).fit(1e200 * rows())


def test_one_row_is_refused():
    with pytest.raises(ValueError, match="1 sample"):
        PCA().fit(rows(1))
    with pytest.raises(ValueError, match="1 sample"):
        PCA().partial_fit(rows(1))
    with pytest.raises(ValueError, match="more than one sample"):
        PCA().fit(rows(3), sample_weight=[1, 0, 0])


@for_each(
    ("parameters", "message"),
    [
        ({"n_components": -1}, "whole number"),
        ({"n_components": 1.5}, "whole number"),
        ({"n_components": True}, "whole number"),
        ({"n_components": "mle"}, "'evidence'"),
        ({"n_components": 7}, "more than 6"),
        ({"method": "full"}, "must be one of"),
        ({"method": "randomized"}, "whole number"),
        ({"n_components": 0.5, "method": "randomized"}, "whole number"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        PCA(**parameters).fit(rows())


def test_no_density_is_said_in_words():
    X = rows(5, 8)
    with pytest.raises(ValueError, match="no variance in some direction"):
        PCA().fit(X).score_samples(X)


def test_coordinates_must_be_as_many_as_components():
    pca = PCA(2).fit(rows())
    with pytest.raises(ValueError, match="takes 2: the coordinates"):
        pca.inverse_transform(np.zeros((3, 4)))


def test_before_a_fit_there_is_nothing():
    for ask in (
        lambda p: p.transform(rows()),
        lambda p: p.log_evidence_,
        lambda p: p.log_evidences_,
    ):
        with pytest.raises(AttributeError, match="fitted"):
            ask(PCA())


def test_the_same_seed_gives_the_same_numbers():
    X = rows(60, 50)
    pca = PCA(3, method="randomized", random_state=7)
    np.testing.assert_array_equal(pca.fit(X).components_, clone(pca).fit(X).components_)


def test_all_axes_but_one_are_never_taken_for_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8)) * [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 0.5]
    assert PCA("evidence").fit(X).n_components_ == 7
