"""HierarchicalGPLVM: two people who walk together."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from support.for_each import for_each

from posterity import distributions, kernels, optimize
from posterity.latent.hierarchical_gplvm import HierarchicalGPLVM

NAMES = [f"{who}_{j}" for who in ("ann", "bob") for j in range(6)]
PARTS = {"ann": NAMES[:6], "bob": NAMES[6:]}


def people(t, seed=0, noise=0.05):
    """Two motions of one phase; the second is half a step behind."""
    rng = np.random.default_rng(seed)
    A, B = np.random.default_rng(7).normal(size=(2, 4, 6)) / 2.0
    waves = [
        np.column_stack([np.sin(s), np.cos(s), np.sin(2 * s), np.cos(2 * s)]) for s in (t, t + 1)
    ]
    X = np.hstack([waves[0] @ A, waves[1] @ B])
    return pd.DataFrame(X + noise * rng.normal(size=X.shape), columns=NAMES)


def fitted(**changes):
    t = np.linspace(0.0, 4 * np.pi, 60, endpoint=False)
    return HierarchicalGPLVM(PARTS, **changes).fit(people(t))


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(scope="module")
def unseen():
    return people(np.random.default_rng(3).uniform(0.0, 4 * np.pi, 80), seed=4)


@pytest.fixture(scope="module")
def filled(model, unseen):
    return model.complete(unseen.assign(**dict.fromkeys(PARTS["bob"], np.nan)))


def test_one_part_tells_of_the_other(filled, unseen):
    truth = unseen[PARTS["bob"]].to_numpy()
    error = np.sqrt(np.mean((filled.mean()[:, 6:] - truth) ** 2))
    assert error < 0.3 * truth.std()


def test_what_is_filled_in_is_as_sure_as_it_says(filled, unseen):
    low, high = filled.interval(0.9)
    truth = unseen[PARTS["bob"]].to_numpy()
    covered = np.mean((low[:, 6:] <= truth) & (truth <= high[:, 6:]))
    assert 0.75 < covered < 0.99


def test_what_was_there_stays_as_it_is(filled, unseen):
    np.testing.assert_array_equal(filled.mean()[:, :6], unseen[PARTS["ann"]])
    np.testing.assert_array_equal(filled.standard_deviation()[:, :6], 0.0)
    assert np.all(filled.standard_deviation()[:, 6:] > 0.0)


def test_a_single_missing_value_is_filled_in(model, unseen):
    holes = unseen.copy()
    holes.iloc[:, 8] = np.nan
    error = model.complete(holes).mean()[:, 8] - unseen.iloc[:, 8]
    assert np.sqrt(np.mean(error**2)) < 0.3 * unseen.iloc[:, 8].std()


def test_rows_that_were_fitted_keep_their_places(model):
    X = people(np.linspace(0.0, 4 * np.pi, 60, endpoint=False))
    np.testing.assert_array_equal(model.transform(X.iloc[[5, 3]]), model.embedding_[[5, 3]])


def test_new_rows_are_near_those_that_they_resemble(model):
    t = np.linspace(0.0, 4 * np.pi, 60, endpoint=False)
    places = model.transform(people(t, seed=11))
    distance = np.linalg.norm(places - model.embedding_, axis=1)
    assert np.median(distance) < 0.2 * np.linalg.norm(model.embedding_.std(axis=0))


def test_parts_without_noise_are_no_reason_for_a_warning():
    t = np.linspace(0.0, 3.0, 20)
    X = np.column_stack([np.sin(t), np.cos(t), t, np.cos(t + 1.0), np.sin(t + 1.0)])
    model = HierarchicalGPLVM({"a": [0, 1, 2], "b": [3, 4]}, 1, 1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X)
    assert "a__noise_variance (lower)" in model.at_bounds_
    assert not [w for w in told if "ended at its lower bound" in str(w.message)]


def test_rows_come_back_from_their_root_points(model):
    X = people(np.linspace(0.0, 4 * np.pi, 60, endpoint=False))
    back = model.inverse_transform_dist(model.embedding_)
    assert isinstance(back, distributions.Normal)
    assert back.mean().shape == X.shape
    assert np.sqrt(np.mean((back.mean() - X.to_numpy()) ** 2)) < 0.3 * X.to_numpy().std()


def test_what_was_learned_is_said(model):
    assert model.embedding_.shape == (60, 2)
    assert {name: E.shape for name, E in model.part_embeddings_.items()} == {
        "ann": (60, 2),
        "bob": (60, 2),
    }
    assert model.parts_["bob"].tolist() == [6, 7, 8, 9, 10, 11]
    assert set(model.kernels_) == set(model.noise_variances_) == {"ann", "bob"}
    assert all(noise < 0.02 for noise in model.noise_variances_.values())
    assert np.isfinite(model.log_posterior_)
    assert 0 < model.n_iter_ < 1000
    assert "gained less" in model.stop_reason_
    assert model.get_feature_names_out().tolist() == ["hierarchicalgplvm0", "hierarchicalgplvm1"]


def test_units_do_not_matter_when_standardized():
    t = np.linspace(0.0, 4 * np.pi, 60, endpoint=False)
    X = people(t)
    scale = np.geomspace(0.01, 100.0, 12)
    given = {"parts": PARTS, "standardize": True, "max_iter": 30}
    with pytest.warns(optimize.ConvergenceWarning):
        a, b = (HierarchicalGPLVM(**given).fit(Z) for Z in (X, X * scale + 5.0))
    np.testing.assert_allclose(a.embedding_, b.embedding_, atol=1e-4)
    np.testing.assert_allclose(
        b.noise_variances_["bob"], a.noise_variances_["bob"] * scale[6:] ** 2, rtol=1e-3
    )
    assert b.log_posterior_ == pytest.approx(a.log_posterior_ - 60 * np.sum(np.log(scale)), abs=1.0)
    R = a.embedding_[:4]
    np.testing.assert_allclose(
        b.inverse_transform(R),
        a.inverse_transform(R) * scale + 5.0,
        rtol=1e-2,
        atol=1e-2,
    )


def test_missing_values_are_no_obstacle_to_a_fit():
    X = people(np.linspace(0.0, 4 * np.pi, 60, endpoint=False))
    whole = X.to_numpy().copy()
    X.iloc[10:14, 6:] = np.nan
    X.iloc[30, 2] = np.nan
    with pytest.warns(optimize.ConvergenceWarning):
        model = HierarchicalGPLVM(PARTS, max_iter=200).fit(X)
    missing = X.isna().to_numpy()
    error = (model.complete(X).mean() - whole)[missing]
    assert np.sqrt(np.mean(error**2)) < 0.4 * whole.std()


def test_times_and_groups_shape_the_root():
    t = np.linspace(0.0, 4 * np.pi, 60, endpoint=False)
    X, groups = people(t), np.repeat(["first", "second"], 30)
    moving = HierarchicalGPLVM(PARTS, dynamics=kernels.RBF(), max_iter=30)
    with pytest.warns(optimize.ConvergenceWarning):
        together, apart = (clone(moving).fit(X, times=t, groups=g) for g in (None, groups))
    assert together.log_posterior_ != apart.log_posterior_
    assert isinstance(together.dynamics_, kernels.RBF)


def test_a_path_tells_of_frames_that_nothing_was_seen_of():
    t = np.linspace(0.0, 4 * np.pi, 60, endpoint=False)
    moving = HierarchicalGPLVM(PARTS, dynamics=kernels.RBF(), max_iter=60)
    with pytest.warns(optimize.ConvergenceWarning):
        moving.fit(people(t), times=t)
    frames = people(t + 0.1, seed=8)
    gone = frames.copy()
    gone.iloc[20:23] = np.nan
    along, apart = moving.complete(gone, times=t), moving.complete(gone)
    truth = frames.to_numpy()[20:23]
    errors = [np.sqrt(np.mean((guess.mean()[20:23] - truth) ** 2)) for guess in (along, apart)]
    assert errors[0] < 0.5 * errors[1]
    assert np.mean(along.standard_deviation()[20:23]) < np.mean(apart.standard_deviation()[20:23])
    assert moving.transform(gone, times=t).shape == (60, 2)


def test_a_new_fit_forgets_the_old_one():
    X = people(np.linspace(0.0, 4 * np.pi, 30))
    model = HierarchicalGPLVM(PARTS, dynamics=kernels.RBF(), max_iter=5)
    with pytest.warns(optimize.ConvergenceWarning):
        model.fit(X).set_params(dynamics=None).fit(X)
    assert not hasattr(model, "dynamics_")


def test_data_frames_come_out_as_they_went_in(model, unseen):
    frame = clone(model).set_output(transform="pandas")
    with pytest.warns(optimize.ConvergenceWarning):
        places = frame.set_params(max_iter=5).fit(unseen).transform(unseen)
    assert list(places.columns) == ["hierarchicalgplvm0", "hierarchicalgplvm1"]
    assert places.index.equals(unseen.index)


def test_times_without_dynamics_are_refused():
    with pytest.raises(ValueError, match="dynamics"):
        HierarchicalGPLVM().fit(np.eye(5), times=np.arange(5.0))


@for_each("root_kernel", ["rbf", kernels.RBF, np.dot])
def test_a_root_kernel_that_is_none_is_refused(root_kernel):
    with pytest.raises(TypeError, match=r"root_kernel=.* must be a kernel of posterity\.kernels"):
        HierarchicalGPLVM(root_kernel=root_kernel).fit(np.eye(5))


def test_parameters_of_its_kernels_are_parameters():
    model = HierarchicalGPLVM(root_kernel=kernels.RBF(1.0), dynamics=kernels.RBF(3.0))
    model.set_params(root_kernel__length_scale=5.0, dynamics__length_scale=7.0)
    assert model.root_kernel == kernels.RBF(5.0)
    assert model.dynamics == kernels.RBF(7.0)


def test_a_spare_column_is_refused():
    with pytest.raises(ValueError, match="Column 4 is in no part"):
        HierarchicalGPLVM([[0, 1], [2, 3]]).fit(np.eye(5))


@for_each(
    ("name", "value"),
    [("n_components", 0), ("root_components", -1), ("node_noise", 0.0), ("noise_variance", -1.0)],
)
def test_impossible_parameters_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        HierarchicalGPLVM(**{name: value}).fit(np.eye(5))


def test_root_points_of_another_size_are_refused(model):
    with pytest.raises(ValueError, match="takes 2: the coordinates"):
        model.inverse_transform(np.zeros((3, 5)))


def test_an_unfitted_model_says_so():
    for method in ("transform", "inverse_transform", "complete"):
        with pytest.raises(NotFittedError):
            getattr(HierarchicalGPLVM(), method)(np.zeros((2, 2)))


@pytest.mark.full
def test_the_same_seed_gives_the_same_numbers(model):
    np.testing.assert_array_equal(fitted().embedding_, model.embedding_)
