"""What forests say of their errors, and how large these are."""

import numpy as np
import pytest
from scipy import stats
from sklearn import ensemble

from posterity import RandomFernRegressor, RandomForestRegressor, datasets


def gapped(n=800, seed=0):
    """A curve with a gap in the middle, quiet on the left and loud on the right of it."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(1.0, 4.0, size=n) * np.where(rng.random(n) < 0.5, -1.0, 1.0)
    noise = np.where(x > 0.0, 0.8, 0.15)
    return x[:, None], 2.0 * np.sin(2.0 * x) + 1.5 * x + noise * rng.normal(size=n)


@pytest.fixture(scope="module")
def friedman():
    train, test = (datasets.friedman1(n, random_state=n) for n in (600, 1000))
    return train.X, train.y, test.X, test.y


@pytest.fixture(scope="module")
def forest(friedman):
    return RandomForestRegressor(random_state=0).fit(*friedman[:2])


def test_aleatoric_variance_follows_the_noise_and_epistemic_variance_grows_in_gaps():
    dist = RandomForestRegressor(random_state=0).fit(*gapped()).predict_dist
    quiet, loud, gap = (
        dist(np.linspace(*ends, 50)[:, None]) for ends in ((-4, -1), (1, 4), (-0.7, 0.7))
    )
    aleatoric = [np.sqrt(part.aleatoric_variance().mean()) for part in (quiet, loud)]
    np.testing.assert_allclose(aleatoric, [0.15, 0.8], rtol=0.6)
    epistemic = [np.sqrt(part.epistemic_variance().mean()) for part in (quiet, loud, gap)]
    assert epistemic[2] > max(2.0 * epistemic[0], epistemic[1])


@pytest.mark.full
def test_intervals_cover_what_they_say(forest, friedman):
    low, high = forest.predict_quantiles(friedman[2], (0.05, 0.95)).T
    assert np.mean((low < friedman[3]) & (friedman[3] < high)) == pytest.approx(0.9, abs=0.04)


@pytest.mark.full
def test_errors_are_those_of_other_forests_and_densities_beat_the_spread_of_trees(forest, friedman):
    X, y, X_new, y_new = friedman
    other = ensemble.RandomForestRegressor(random_state=0).fit(X, y)
    each = np.stack([tree.predict(X_new) for tree in other.estimators_])
    mean, dist = each.mean(axis=0), forest.predict_dist(X_new)
    assert np.std(dist.mean() - y_new) < 1.05 * np.std(mean - y_new)
    normal = stats.norm(mean, each.std(axis=0)).logpdf(y_new)
    assert dist.log_prob(y_new).mean() > normal.mean() + 0.03


def test_two_thirds_of_the_columns_are_asked_by_default(forest, friedman):
    told = RandomForestRegressor(max_features=7, random_state=0).fit(*friedman[:2])
    np.testing.assert_array_equal(told.predict(friedman[2]), forest.predict(friedman[2]))


def test_cells_that_nothing_came_to_say_what_is_known_around_them():
    x = np.linspace(0.0, 1.0, 40)
    X, y = np.column_stack([x, x]), 10.0 + x  # no row off the diagonal
    model = RandomFernRegressor(20, 4, max_features=1, random_state=0).fit(X, y)
    off = np.column_stack([x, 1.0 - x])
    assert (model.forest_.leaves.count[model.apply(off)] == 0.0).any()
    assert np.all(np.abs(model.predict(off) - 10.5) <= 0.5)
