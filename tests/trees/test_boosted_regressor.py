"""Boosted trees of numbers: what only they promise."""

import numpy as np
import pytest
from scipy import stats
from support.for_each import for_each

from posterity import BoostedTreesRegressor, designs, distributions, likelihoods, scoring


def waves(n, seed=0):
    """Numbers whose mean and spread depend on different columns."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 3))
    spread = np.exp(0.6 * X[:, 1])
    return X, 3.0 * np.sin(2.0 * X[:, 0]) + spread * rng.standard_t(5.0, size=n), spread


def latent_rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.5, 1.5, size=(n, 2))
    return X, 1.0 + X[:, 0], rng


def boosted(n_estimators=60, **options):
    return BoostedTreesRegressor(n_estimators, random_state=0, **options)


def test_location_spread_and_tails_are_learned_and_calibrated():
    X, y, _ = waves(600)
    model = boosted().fit(X, y)
    X_new, y_new, spread = waves(3000, seed=1)
    dist = model.predict_dist(X_new)
    assert scoring.rmse(dist.mean(), 3.0 * np.sin(2.0 * X_new[:, 0])) < 0.7
    assert np.corrcoef(np.log(dist.standard_deviation()), np.log(spread))[0, 1] > 0.85
    assert 0.87 < scoring.interval_coverage(dist, y_new) < 0.93
    constant = stats.t(*stats.t.fit(y)).logpdf(y_new).mean()
    found = dist.log_prob(y_new).mean()
    assert found > constant + 0.2
    assert model.oob_log_score_ == pytest.approx(found, abs=0.1)
    assert model.noise_.likelihood.degrees_of_freedom < 30.0
    assert model.feature_importances_.argmax() == 0


@for_each(
    ("likelihood", "kind"),
    [
        (likelihoods.Normal(), distributions.Normal),
        (likelihoods.StudentT(), distributions.StudentTPlusNormal),
        (likelihoods.LogNormal(), distributions.LogNormal),
        (likelihoods.Gamma(), distributions.Mixture),
        (likelihoods.Poisson(), distributions.PoissonLogNormal),
        (likelihoods.NegativeBinomial(), distributions.NegativeBinomialLogNormal),
    ],
)
def test_every_likelihood_beats_its_constant(likelihood, kind):
    X, a, rng = latent_rows()
    started, _ = likelihood.search_start(np.ones(2), np.ones(2))
    parameters = [0.3, 5.0] if len(started.names) == 2 else [4.0]
    truth = started.with_parameters(np.log(parameters[: len(started.names)]))
    y = truth.sample(a, rng=rng)
    model = boosted(40, likelihood=likelihood, cv=3).fit(X, y)
    X_new, a_new, rng = latent_rows(seed=1)
    y_new = truth.sample(a_new, rng=rng)
    dist = model.predict_dist(X_new)
    assert isinstance(dist, kind)
    best = truth.log_prob(y_new, a_new).mean()
    alone = truth.log_prob(y_new, truth.fit_constant(y, np.ones(len(y)))[0]).mean()
    assert dist.log_prob(y_new).mean() > 0.5 * (best + alone)
    np.testing.assert_allclose(model.predict_latent(X_new).mean(), model.activation(X_new))


def test_what_is_given_of_a_likelihood_is_kept():
    X, y, _ = waves(200)
    tails = boosted(10, likelihood=likelihoods.StudentT(degrees_of_freedom=5.0)).fit(X, y)
    assert tails.noise_.likelihood.degrees_of_freedom == pytest.approx(5.0)
    known = boosted(10, likelihood=likelihoods.Normal(2.0)).fit(X, y)
    assert known.spread_trees_ is None
    aleatoric = known.predict_dist(X).variance() - known.predict_latent(X).variance()
    np.testing.assert_allclose(aleatoric, 2.0)
    with pytest.raises(TypeError, match="must be a likelihood of one latent value"):
        boosted(likelihood="normal").fit(X, y)
    with pytest.raises(ValueError, match="needs counts"):
        boosted(likelihood=likelihoods.Poisson()).fit(X, y)


@for_each(("factor", "shift"), [(1e-12, 0.0), (1e12, 0.0), (1.0, 1e6)])
def test_units_of_the_target_do_not_matter(factor, shift):
    X, y, _ = waves(150)
    one, other = (boosted(10, cv=3).fit(X, t) for t in (y, factor * y + shift))
    mean, std = one.predict(X, return_std=True)
    mean_other, std_other = other.predict(X, return_std=True)
    np.testing.assert_allclose((mean_other - shift) / factor, mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(std_other / factor, std, rtol=1e-5)


def test_locations_are_uncertain_away_from_the_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 2))
    X = X[~((X[:, 0] > 0.6) & (X[:, 1] > 0.6))]
    model = boosted(100).fit(X, X[:, 0] + 0.1 * rng.normal(size=len(X)))
    inside, outside = model.predict_latent([[0.3, 0.3], [0.9, 0.9]]).standard_deviation()
    assert outside > 1.5 * inside > 0.0


@for_each("n", [2, 3, 7, 20])
def test_few_rows_suffice(n):
    X, y, _ = waves(n)
    low, high = boosted(5).fit(X, y).predict_interval(X)
    assert np.all(np.isfinite(low) & (low <= high) & np.isfinite(high))


@for_each("value", [0.0, 5.0, -3e8])
def test_constant_targets_are_predicted(value):
    X, _, _ = waves(40)
    dist = boosted(5).fit(X, np.full(40, value)).predict_dist(X)
    np.testing.assert_allclose(dist.mean(), value, rtol=1e-9, atol=1e-9)
    assert np.all(dist.standard_deviation() <= 1e-5 * max(1.0, abs(value)))


def test_stages_end_in_the_prediction():
    X, y, _ = waves(150)
    model = boosted(6, n_iter_no_change=6, cv=3).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_estimators_ > 1
    np.testing.assert_allclose(stages[-1], model.predict(X))
    np.testing.assert_allclose(model.truncate(2).predict(X), stages[1])
    np.testing.assert_allclose(list(model.staged_activation(X))[1], stages[1])


def test_a_warm_start_continues_the_location():
    X, y, _ = waves(200)
    model = boosted(5, warm_start=True, n_iter_no_change=50, cv=3).fit(X, y)
    before, kept = model.trees_, model.n_estimators_
    model.set_params(n_estimators=12).fit(X, y)
    assert model.n_estimators_ > kept == 5
    np.testing.assert_array_equal(model.trees_.truncate(5).values, before.values)


def test_an_activation_is_taken_off_the_location():
    X, y, _ = waves(300)
    start = 10.0 + 3.0 * np.sin(2.0 * X[:, 0])
    model = boosted(20).fit(X, y + 10.0, activation=start)
    assert np.abs(model.activation(X)).max() < 1.0
    with pytest.raises(ValueError, match=r"activation has shape \(2,\); it must be finite"):
        boosted().fit(X, y, activation=[0.0, 1.0])


def test_categories_missing_values_groups_and_chunks_are_taken():
    X, y, _ = waves(300)
    X = np.column_stack([X, np.arange(300) % 7])
    X[::9, 0] = np.nan
    model = boosted(20, categorical_features=[3], cv=3).fit(X, y, groups=np.arange(300) // 3)
    assert np.all(np.isfinite(model.predict(X)))
    assert model.column_gain_.shape == (4,)
    whole = np.nan_to_num(X)
    chunks = designs.Chunks.from_arrays(whole, y, rows=100)
    assert boosted(10, cv=3).fit(chunks).oob_prediction_.shape == (300,)
    with pytest.raises(ValueError, match="rows in memory"):
        boosted(categorical_features=[3]).fit(chunks)


def test_a_broken_model_is_found_inconsistent():
    X, y, _ = waves(60)
    model = boosted(3, cv=3).fit(X, y)
    model.check_consistency()
    model.noise_ = 3.0
    with pytest.raises(ValueError, match="noise_ must be noise"):
        model.check_consistency()


def test_weights_equal_repetition_where_rows_differ_in_information():
    X, a, rng = latent_rows(80)
    w, y = rng.integers(0, 4, len(a)), rng.poisson(np.exp(a)).astype(float)
    options = {"bootstrap": False, "random_strength": 0.0, "cv": 1}
    model = boosted(5, likelihood=likelihoods.Poisson(), **options)
    weighted = model.fit(X, y, sample_weight=w).predict(X)
    repeated = model.fit(X.repeat(w, 0), y.repeat(w)).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)


def test_counts_of_poisson_have_trees_of_any_large_shape():
    """Hardly any information about the shape: steps of its log were without end."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2000, 4))
    y = rng.poisson(np.exp(0.4 * X[:, 0] - 2.5)).astype(float)
    model = boosted(40, likelihood=likelihoods.NegativeBinomial(), cv=3).fit(X, y)
    poisson = boosted(40, likelihood=likelihoods.Poisson(), cv=3).fit(X, y)
    assert model.oob_log_score_ == pytest.approx(poisson.oob_log_score_, abs=0.01)


def test_a_warm_start_under_another_likelihood_or_with_other_missing_columns_is_refused():
    X, y, _ = waves(90)
    model = boosted(3, warm_start=True, cv=2).fit(X, y)
    holes = np.where(np.arange(3) == np.arange(90)[:, None] % 7, np.nan, X)
    with pytest.raises(ValueError, match=r"columns with missing values, .* are others now"):
        model.fit(holes, y)
    model.set_params(likelihood=likelihoods.Poisson())
    with pytest.raises(ValueError, match="likelihood of the last fit, StudentT, not with Poisson"):
        model.fit(X, np.abs(y).round())


@for_each("signs", [[0.5, 0, 0], [257, 0, 0], {0: 0.5}, {0: 257}, ["up", 0, 0]])
def test_directions_other_than_up_and_down_are_refused(signs):
    X, y, _ = waves(30)
    with pytest.raises(ValueError, match="for column 0; it must be 1, 0 or -1"):
        boosted(2, monotonic_cst=signs).fit(X, y)


@for_each("likelihood", [likelihoods.Poisson(), likelihoods.Gamma()])
def test_locations_of_counts_and_amounts_rise_with_monotone_columns(likelihood):
    X, a, rng = latent_rows()
    y = rng.poisson(np.exp(a)) + (likelihood != likelihoods.Poisson())
    model = boosted(30, likelihood=likelihood, monotonic_cst=[1, 0], growth="leaf").fit(X, y)
    along = np.repeat(X[:10], 30, axis=0)
    along[:, 0] = np.tile(np.linspace(-1.5, 1.5, 30), 10)
    assert np.all(np.diff(model.activation(along).reshape(10, 30), axis=1) >= -1e-9)
    assert np.all(np.diff(np.log(model.predict(along)).reshape(10, 30), axis=1) >= -0.03)


@pytest.mark.full
@for_each("rate", [10.0, 1e5])
def test_counts_of_any_rate_lie_in_their_intervals(rate):
    """Of large counts the error of the trees is many times the noise of Poisson's."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(1300, 2))
    y = rng.poisson(rate * np.exp(0.5 * np.sin(2.0 * X[:, 0]) + 0.2 * X[:, 1])).astype(float)
    model = boosted(60, likelihood=likelihoods.Poisson()).fit(X[:1000], y[:1000])
    low, high = model.predict_interval(X[1000:], 0.9)
    assert 0.83 < np.mean((low <= y[1000:]) & (y[1000:] <= high)) < 0.96
    np.testing.assert_allclose(model.predict(X), np.exp(model.activation(X)), rtol=1e-6)
