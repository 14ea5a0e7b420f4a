"""Latent points that explain many columns, and what they say of rows."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from support.for_each import for_each

from posterity import kernels
from posterity.latent import GPLVM
from posterity.latent.gplvm import latent_fit
from posterity.optimize.optimum import ConvergenceWarning

SHARED = Path(__file__).parents[3] / "shared" / "data" / "gplvm"


def arc(n=40, noise=0.02, seed=0):
    """Points along a bent curve in five columns, and where on the curve they are."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1.5, 1.5, n)
    X = np.column_stack([np.sin(t), np.cos(t), t, t**2, np.sin(2.0 * t)])
    return X + noise * rng.normal(size=X.shape), t


def in_order(z, t):
    """Whether points lie along z as they do along t, either way round."""
    order = np.argsort(t)
    return abs(np.corrcoef(np.argsort(np.argsort(z[order])), np.arange(len(t)))[0, 1])


@pytest.fixture(scope="module")
def bent():
    X, t = arc()
    return X, t, GPLVM(1, random_state=0).fit(X)


def test_a_bent_curve_is_laid_out_in_order(bent):
    _, t, model = bent
    assert in_order(model.embedding_[:, 0], t) > 0.999


def test_rows_that_were_fitted_keep_their_places(bent):
    X, _, model = bent
    assert np.array_equal(model.transform(X[::-1]), model.embedding_[::-1])


def test_new_rows_are_placed_among_the_old(bent):
    _, t, model = bent
    new, t_new = arc(seed=1)
    z = np.concatenate([model.embedding_[:, 0], model.transform(new)[:, 0]])
    assert in_order(z, np.concatenate([t, t_new])) > 0.99


def test_new_rows_are_rebuilt_within_the_noise(bent):
    _, _, model = bent
    new, _ = arc(seed=2)
    rebuilt = model.inverse_transform_dist(model.transform(new))
    z = (new - rebuilt.mean()) / rebuilt.standard_deviation()
    assert np.sqrt(np.mean((new - rebuilt.mean()) ** 2)) < 0.05
    assert 0.5 < np.sqrt(np.mean(z**2)) < 2.0


def test_missing_values_are_filled_in_and_the_rest_is_kept(bent):
    _, _, model = bent
    new, _ = arc(n=200, seed=3)
    holes = new.copy()
    holes[:, 3:] = np.nan
    filled = model.complete(holes)
    assert np.array_equal(filled.mean()[:, :3], new[:, :3])
    assert not filled.standard_deviation()[:, :3].any()
    error = filled.mean()[:, 3:] - new[:, 3:]
    assert np.sqrt(np.mean(error**2)) < 0.2 * new[:, 3:].std()
    low, high = filled.interval(0.9)
    inside = (low <= new) & (new <= high)
    assert 0.75 < inside[:, 3:].mean() < 0.99


def test_a_row_that_says_nothing_is_any_row(bent):
    X, _, model = bent
    nothing = np.full((1, 5), np.nan)
    latent = model.transform_dist(nothing)
    assert latent.mean() == pytest.approx(0.0)
    assert latent.standard_deviation() == pytest.approx(1.0)
    filled = model.complete(nothing)
    assert np.all(np.abs(filled.mean() - X.mean(axis=0)) < X.std(axis=0))


def test_a_fitted_row_that_says_nothing_is_any_row_and_moves_no_other():
    t = np.linspace(0.0, 3.0, 30)
    curve = np.column_stack([np.sin(t), np.cos(t), t, t**2])
    with_empty = np.vstack([curve, np.full((1, 4), np.nan)])
    alone, model = GPLVM(1).fit(curve), GPLVM(1).fit(with_empty)
    np.testing.assert_allclose(model.embedding_[30], 0.0, atol=1e-3)  # the mode of its prior
    assert model.embedding_[:30].std() == pytest.approx(alone.embedding_.std(), rel=0.01)
    placed = model.transform_dist(with_empty)
    np.testing.assert_allclose(placed.standard_deviation()[30], 1.0, atol=1e-3)


def test_missing_values_at_the_fit_cost_little():
    X, t = arc(n=60)
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    model = GPLVM(1).fit(holes)
    assert in_order(model.embedding_[:, 0], t) > 0.95
    gaps = np.isnan(holes)
    filled = model.complete(holes)
    error = (filled.mean() - X)[gaps]
    assert np.sqrt(np.mean(error**2)) < 0.3 * X.std()


@for_each("inducing_points", [None, 15])
def test_points_that_carry_the_process_change_little(inducing_points):
    X, t = arc(n=60)
    model = GPLVM(1, inducing_points=inducing_points).fit(X)
    assert in_order(model.embedding_[:, 0], t) > 0.999
    rebuilt = model.inverse_transform(model.embedding_)
    assert np.sqrt(np.mean((rebuilt - X) ** 2)) < 0.05


def test_with_a_linear_kernel_it_is_pca():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 6)) + 0.1 * rng.normal(size=(30, 6))
    model = GPLVM(2, kernel=kernels.Linear(1.0).fixed(), noise_variance=0.05).fit(X)
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    Q, _ = np.linalg.qr(model.embedding_)
    angles = np.linalg.svd(Q.T @ U[:, :2])[1]
    np.testing.assert_allclose(angles, 1.0, atol=1e-6)
    # Along each component the sum of squares v is where the slope of the log posterior is zero.
    v, noise = np.linalg.svd(model.embedding_, compute_uv=False) ** 2, 0.05
    of_rows = (s[:2] / (v + noise)) ** 2 - 6 / (v + noise)
    np.testing.assert_allclose(of_rows - 1.0 + (30 - 2 - 2) / v, 0.0, atol=1e-3)


def test_back_constraints_place_rows_by_a_map():
    X, t = arc(n=60)
    model = GPLVM(1, back_constraints=True).fit(X)
    assert in_order(model.embedding_[:, 0], t) > 0.999
    near = model.transform(X + 1e-6)
    np.testing.assert_allclose(near, model.embedding_, atol=1e-3)


def test_back_constraints_fill_in_what_rows_miss():
    X, t = arc(n=60)
    holes = X.copy()
    holes[[3, 8, 20], [1, 2, 4]] = np.nan
    model = GPLVM(1, back_constraints=True).fit(holes)
    assert in_order(model.embedding_[:, 0], t) > 0.999
    assert np.abs(model.complete(holes).mean() - X).max() < 0.1


def test_a_row_that_misses_something_does_not_move_its_company():
    X, _ = arc(n=60)
    model = GPLVM(1, back_constraints=True).fit(X)
    new, _ = arc(n=5, seed=1)
    holes = new.copy()
    holes[2, 0] = np.nan
    others = [0, 1, 3, 4]
    np.testing.assert_allclose(model.transform(holes)[others], model.transform(new)[others])
    np.testing.assert_allclose(model.transform(holes)[2], model.transform(new)[2], atol=0.1)


def test_dimensions_that_are_not_needed_switch_off():
    X, t = arc(n=60)
    model = GPLVM(4, inference="variational", inducing_points=20).fit(X)
    best = model.effective_components_
    assert len(best) <= 2
    assert in_order(model.embedding_[:, best[0]], t) > 0.98
    unused = np.setdiff1d(np.arange(4), best)
    np.testing.assert_allclose(model.embedding_variance_[:, unused], 1.0, atol=0.1)
    assert model.relevances_[best[0]] == 1.0


def test_more_of_the_truth_has_more_evidence():
    X, _ = arc(n=60)
    straight = GPLVM(1, kernels.Linear(), inference="variational", inducing_points=20).fit(X)
    bent = GPLVM(1, inference="variational", inducing_points=20).fit(X)
    assert bent.log_evidence_ > straight.log_evidence_ + 50.0


def test_evidence_is_in_the_units_of_the_columns():
    X, _ = arc(n=30)
    plain = GPLVM(1, inference="variational", inducing_points=10).fit(X)
    wide = GPLVM(1, inference="variational", inducing_points=10).fit(1000.0 * X)
    shift = X.size * np.log(1000.0)
    assert wide.log_evidence_ == pytest.approx(plain.log_evidence_ - shift, abs=1.0)


@for_each("inference", ["map", "variational"])
def test_scores_are_densities_of_rows(inference):
    X, _ = arc(n=40)
    model = GPLVM(1, inference=inference, inducing_points=15).fit(X)
    new, _ = arc(seed=5)
    far = new + 3.0
    assert model.score(new) > model.score(far) + 20.0
    np.testing.assert_allclose(
        model.score_samples(new)[:3], model.score_samples(new[:3]), rtol=1e-4
    )


def test_columns_of_other_units_do_not_matter_when_standardized():
    X, _ = arc()
    units = np.array([1.0, 1e3, 1e-3, 5.0, 1.0])
    plain, scaled = (GPLVM(1, standardize=True).fit(rows) for rows in (X, X * units))
    np.testing.assert_allclose(
        scaled.inverse_transform([[0.3]]) / units,
        plain.inverse_transform([[0.3]]),
        atol=1e-3,
    )
    np.testing.assert_allclose(scaled.noise_variance_ / units**2, plain.noise_variance_, rtol=1e-2)
    own = plain._fitted.model.decoder.noise_variance  # in units of standard deviations
    np.testing.assert_allclose(plain.noise_variance_, own * X.var(axis=0), rtol=1e-6)


def walk(n=60, seed=0, lag=0.0):
    """A periodic motion in six columns, with noise that hides where each frame is."""
    rng = np.random.default_rng(seed)
    phase = 0.35 * np.arange(n) + lag
    X = np.column_stack([np.sin(phase + shift) for shift in np.linspace(0.0, 2.0, 6)])
    return X + 0.3 * rng.normal(size=X.shape), phase


def test_dynamics_make_paths_smooth():
    X, _ = walk()
    still = GPLVM(2).fit(X)
    moving = GPLVM(2, dynamics=kernels.RBF()).fit(X)

    def roughness(Z):
        return np.mean(np.diff(Z, axis=0) ** 2) / np.mean(Z**2)

    assert roughness(moving.embedding_) < roughness(still.embedding_)
    assert 1.0 < moving.dynamics_.length_scale < 20.0


def test_frames_between_others_are_filled_in_by_the_motion():
    X, _ = walk(seed=1)
    model = GPLVM(2, dynamics=kernels.RBF()).fit(X)
    new, phase = walk(n=30, seed=2, lag=0.7)
    clean = np.column_stack([np.sin(phase + shift) for shift in np.linspace(0.0, 2.0, 6)])
    holes = new.copy()
    holes[10:13] = np.nan  # nothing is seen of these frames but what comes before and after
    filled = model.complete(holes).mean()[10:13]
    assert np.sqrt(np.mean((filled - clean[10:13]) ** 2)) < 0.4


def test_times_and_groups_need_dynamics():
    X, _ = arc()
    with pytest.raises(ValueError, match="no dynamics"):
        GPLVM(1).fit(X, times=np.arange(40.0))
    with pytest.raises(ValueError, match="no dynamics"):
        GPLVM(1).fit(X, groups=np.arange(40) // 4).transform(X + 0.1, groups=np.zeros(40))
    with pytest.raises(ValueError, match="groups has shape"):
        GPLVM(1).fit(X, groups=np.zeros(3))


def test_a_search_that_is_cut_short_says_so():
    X, _ = arc()
    with pytest.warns(ConvergenceWarning, match="5 L-BFGS iterations were not enough"):
        model = GPLVM(1, max_iter=5).fit(X)
    assert "not enough" in model.stop_reason_
    assert model.n_iter_ == 5


def test_restarts_keep_the_best():
    X, _ = arc()
    one, three = (GPLVM(2, n_restarts=n, n_jobs=2).fit(X) for n in (0, 2))
    assert three.restarts_.shape == (3,)
    assert three.log_posterior_ == pytest.approx(three.restarts_.max())
    assert three.log_posterior_ >= one.log_posterior_ - 1e-6


@for_each("options", [{}, {"inference": "variational"}, {"inducing_points": 5}])
def test_equal_rows_and_constant_columns_are_no_trouble(options):
    X, _ = arc(n=15)
    X = np.vstack([X, X[:5]])
    X = np.column_stack([X, np.full(20, 7.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GPLVM(2, **options).fit(X)
    assert np.all(np.isfinite(model.embedding_))
    np.testing.assert_allclose(model.embedding_[:5], model.embedding_[15:], atol=0.1)
    rebuilt = model.inverse_transform(model.embedding_)
    np.testing.assert_allclose(rebuilt[:, 5], 7.0, atol=1e-6)


@for_each("options", [{}, {"inference": "variational"}])
def test_rows_that_are_all_alike_have_a_model(options):
    model = GPLVM(2, max_iter=50, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(np.full((6, 3), 2.0))
    np.testing.assert_allclose(model.inverse_transform([[0.0, 0.0]]), 2.0)


@for_each(
    ("options", "message"),
    [
        ({"inference": "exact"}, "inference='exact' must be one of"),
        ({"n_components": 0}, "n_components=0 must be a whole number"),
        ({"n_restarts": -1}, "n_restarts=-1 must be"),
        ({"inducing_points": 0}, "inducing_points=0 must be"),
        ({"inference": "variational", "back_constraints": True}, "back_constraints are for"),
        ({"dynamics": "smooth"}, "must be a kernel over time"),
        ({"back_constraints": "smooth"}, "must be True, False or a kernel"),
    ],
)
def test_what_cannot_be_is_refused_in_words(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        GPLVM(**options).fit(arc()[0])


def test_columns_without_a_value_and_few_rows_are_refused():
    X, _ = arc()
    with pytest.raises(ValueError, match="minimum of 3"):
        GPLVM().fit(X[:2])
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match="Column 2 of X has no value at all"):
        GPLVM().fit(X)


def test_latent_points_of_the_wrong_shape_are_refused(bent):
    with pytest.raises(ValueError, match="takes 1: the coordinates"):
        bent[2].inverse_transform([[0.0, 1.0]])


def test_parameters_of_its_kernels_are_parameters():
    model = GPLVM(kernel=2.0 * kernels.RBF(1.0), dynamics=kernels.RBF(3.0))
    model.set_params(kernel__kernel__length_scale=5.0, dynamics__length_scale=7.0)
    assert model.kernel == 2.0 * kernels.RBF(5.0)
    assert model.dynamics == kernels.RBF(7.0)


def _errors(Z, y):
    """Rows whose nearest neighbour is of another class."""
    distance = np.sum((Z[:, None] - Z[None]) ** 2, axis=2)
    np.fill_diagonal(distance, np.inf)
    return int(np.sum(y[np.argmin(distance, axis=1)] != y))


@pytest.mark.skipif(not SHARED.exists(), reason="the oil flow data are not here")
def test_oil_flow_is_parted_better_than_by_pca():
    data = np.load(SHARED / "oil_flow100.npz")
    X, y = data["X"], data["y"]
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    assert _errors(U[:, :2] * s[:2], y) == 20
    assert _errors(GPLVM(2).fit(X).embedding_, y) <= 4


def styles(n_groups=10, n=8, seed=0):
    """Motions along a curve; each has an offset of its own in the last columns."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1.5, 1.5, n_groups * n)
    groups = np.repeat(np.arange(n_groups), n)
    X = np.column_stack([np.sin(t), np.cos(t), t, t**2, np.sin(2.0 * t)])
    X[:, 3:] += 0.5 * rng.normal(size=(n_groups, 2))[groups]
    return X + 0.05 * rng.normal(size=X.shape), groups


def _inside(model, X):
    holes = X.copy()
    holes[:, 3:] = np.nan
    low, high = model.complete(holes).interval(0.9)
    return np.mean(((low <= X) & (high >= X))[:, 3:])


@pytest.mark.full
@for_each("options", [{}, {"inducing_points": 30}, {"inference": "variational"}])
def test_bands_for_further_groups_are_learned_by_leaving_groups_out(options):
    X, groups = styles()
    new, _ = styles(n_groups=40, n=3, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = GPLVM(3, max_iter=150, **options).fit(X)
        grouped = GPLVM(3, max_iter=150, **options).fit(X, groups=groups)
    assert np.array_equal(plain.embedding_, grouped.embedding_)
    assert _inside(plain, new) < (0.75 if options.get("inference") else 0.9)
    assert 0.8 < _inside(grouped, new) <= 0.98


def draw_curve(seed, n=20):
    """Six columns, smooth functions of one coordinate, with noise of variance one."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n + 20, 1))
    K = 25.0 * np.exp(-0.5 * (z - z.T) ** 2 / 1.5**2) + 1e-8 * np.eye(n + 20)
    Y = np.linalg.cholesky(K) @ rng.normal(size=(n + 20, 6))
    return np.split(Y + rng.normal(size=Y.shape), [n])


@pytest.mark.full
def test_noise_and_hidden_values_are_as_uncertain_as_they_are():
    covered, noise = [], []
    for seed in range(20):
        X, new = draw_curve(seed)
        model = GPLVM(1).fit(X)
        covered.append(_inside(model, new))
        noise.append(model.noise_variance_)
    assert np.mean(covered) == pytest.approx(0.9, abs=0.03)
    assert np.exp(np.mean(np.log(noise))) == pytest.approx(1.0, abs=0.12)


def test_one_group_says_nothing_of_others(bent):
    X, _, model = bent
    alone = GPLVM(1, random_state=0).fit(X, groups=np.zeros(len(X)))
    holes = arc(seed=4)[0]
    holes[:, 3:] = np.nan
    one, other = (m.complete(holes).standard_deviation() for m in (model, alone))
    np.testing.assert_array_equal(one, other)


def test_frames_of_a_gap_keep_places_of_their_own():
    X, _ = walk()
    X[20:24] = np.nan
    model = GPLVM(2, dynamics=kernels.RBF()).fit(X)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    assert len(np.unique(model.transform(X)[20:24], axis=0)) == 4
    assert np.all(model.transform_dist(X).standard_deviation()[20:24] < 0.9)  # by the frames about
    part = model.transform(X[15:30], times=np.arange(15.0, 30.0))
    assert len(np.unique(part[5:9], axis=0)) == 4


def test_another_fit_says_nothing_of_the_one_before():
    X, _ = arc(n=20)
    model = GPLVM(1, max_iter=200).fit(X)
    model.set_params(inference="variational", inducing_points=8).fit(X)
    assert not hasattr(model, "log_posterior_")
    assert hasattr(model, "log_evidence_")


def test_bands_are_widened_where_groups_differed():
    """Groups to the left are all alike, those to the right have offsets of their own."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(16), 8)
    t = rng.uniform(0.5, 1.5, len(groups)) * np.where(groups < 8, -1.0, 1.0)
    X = np.column_stack([np.sin(t), np.cos(t), t, t**2, np.sin(2.0 * t)])
    X[:, 3] += 0.6 * rng.normal(size=16)[groups] * (t > 0.0)
    X += 0.02 * rng.normal(size=X.shape)
    model = GPLVM(1).fit(X, groups=groups)
    z, hidden = model.embedding_[[0, -1]], np.zeros((2, 5), dtype=bool)
    hidden[:, 3] = True
    left, right = latent_fit.compute_widening(model._fitted.model, model._fitted.groups, hidden, z)
    assert right[3] > 4.0 * left[3]
    assert np.all(left[[0, 1, 2, 4]] == 1.0)  # nothing was hidden there
