"""Each feature space against its formula, written out in plain loops."""

import math

import numpy as np
import pytest
from sklearn.cluster import KMeans
from support.for_each import for_each

from posterity import features, kernels

X = np.random.default_rng(0).normal(size=(25, 3)) * [1.0, 10.0, 0.1]
QUERY = np.random.default_rng(1).normal(size=(4, 3)) * [1.0, 10.0, 0.1]


def bump(x, c, l):
    """exp(-r^2 / 2), r^2 the sum of squared scaled differences."""
    return math.exp(-sum(((a - b) / s) ** 2 for a, b, s in zip(x, c, l, strict=True)) / 2)


@for_each("length_scale", [0.8, [0.5, 5.0, 0.2]])
def test_radial_with_given_centers(length_scale):
    centers = X[:6]
    space = features.Radial(centers=centers, length_scale=length_scale).fit(X)
    l = np.broadcast_to(length_scale, 3)
    expected = [[bump(x, c, l) for c in centers] for x in QUERY]
    np.testing.assert_allclose(space.transform(QUERY), expected, rtol=1e-12, atol=1e-300)
    assert list(space.get_feature_names_out()[:2]) == ["radial(center 0)", "radial(center 1)"]


def test_radial_along_columns_is_additive():
    space = features.Radial(4).fit(X)
    centers = [np.quantile(x, [0.125, 0.375, 0.625, 0.875], method="inverted_cdf") for x in X.T]
    np.testing.assert_array_equal(space.centers_[:, 0], np.concatenate(centers))
    l = [np.diff(c).mean() for c in centers]
    np.testing.assert_allclose(space.length_scale_, l)
    expected = [[bump([x[d]], [c], [l[d]]) for d in range(3) for c in centers[d]] for x in QUERY]
    np.testing.assert_allclose(space.transform(QUERY), expected, rtol=1e-12)


def test_radial_in_one_column_is_the_same_given_or_by_quantile():
    x = X[:, :1]
    by_quantile = features.Radial(5, length_scale=0.6).fit(x)
    given = features.Radial(centers=by_quantile.centers_, length_scale=0.6).fit(x)
    np.testing.assert_allclose(
        given.transform(QUERY[:, :1]), by_quantile.transform(QUERY[:, :1]), rtol=1e-13
    )
    assert list(given.get_feature_names_out()) == list(by_quantile.get_feature_names_out())
    assert given.get_feature_names_out()[0].startswith("radial(x0, ")


def test_radial_by_kmeans_clusters_the_standardised_columns():
    space = features.Radial(3, centers="kmeans", random_state=0).fit(X)
    U, C = X / X.std(axis=0), space.centers_ / X.std(axis=0)
    inertia = ((U[:, None] - C) ** 2).sum(axis=2).min(axis=1).sum()
    best = KMeans(3, n_init=20, random_state=0).fit(U).inertia_
    assert inertia < 1.3 * best
    nearest = [min(math.dist(C[i], C[j]) for j in range(3) if j != i) for i in range(3)]
    np.testing.assert_allclose(space.length_scale_, np.mean(nearest) * X.std(axis=0))


def test_radial_by_kmeans_counts_weighted_rows():
    weights = np.arange(25.0)
    space = features.Radial(1, centers="kmeans", random_state=0).fit(X, sample_weight=weights)
    np.testing.assert_allclose(space.centers_[0], np.average(X, axis=0, weights=weights))


def test_radial_by_kmeans_depends_on_its_seed_only():
    first, second = (features.Radial(6, centers="kmeans", random_state=3) for _ in range(2))
    shuffled = X[np.random.default_rng(5).permutation(len(X))]
    np.testing.assert_allclose(first.fit(X).centers_, second.fit(shuffled).centers_, rtol=1e-12)


def test_a_single_center_is_as_wide_as_the_data():
    assert features.Radial(1).fit(X[:, :1]).length_scale_ == pytest.approx(X[:, 0].std())
    joint = features.Radial(1, centers="kmeans", random_state=0).fit(X)
    np.testing.assert_allclose(joint.length_scale_, X.std(axis=0) * math.sqrt(3))


def test_radial_far_from_zero_keeps_its_digits():
    shift = 2.0**30
    near = features.Radial(centers=[[0.0], [0.5]], length_scale=0.3).fit([[0.0]])
    far = features.Radial(centers=[[shift], [shift + 0.5]], length_scale=0.3).fit([[0.0]])
    x = np.array([[0.125], [0.3125]])
    np.testing.assert_allclose(far.transform(x + shift), near.transform(x), rtol=1e-14)


def test_far_away_everything_is_defined():
    query = np.array([[1e300, -1e300, 1e300]])
    for space in [features.Radial(3), features.Radial(3, centers=X[:3])]:
        np.testing.assert_array_equal(space.fit(X).transform(query), 0.0)
    steps = features.Arctan(2).fit(X).transform(query)[0]
    np.testing.assert_allclose(steps, np.repeat([1, -1, 1], 2) * math.pi / 2)


def test_huge_columns_are_legal():
    big = X * 1e300
    for space in [features.Radial(3), features.Arctan(3), features.Heaviside(3)]:
        np.testing.assert_allclose(
            space.fit_transform(big), space.fit_transform(X), rtol=1e-9, atol=1e-300
        )


def test_arctan_along_columns():
    space = features.Arctan(3).fit(X)
    offsets = [np.quantile(x, [1 / 6, 0.5, 5 / 6], method="inverted_cdf") for x in X.T]
    slope = [1.0 / np.diff(o).mean() for o in offsets]
    expected = [
        [math.atan(slope[d] * (x[d] - o)) for d in range(3) for o in offsets[d]] for x in QUERY
    ]
    np.testing.assert_allclose(space.transform(QUERY), expected, rtol=1e-12)


def test_arctan_with_given_places():
    space = features.Arctan(offsets=[[0.0, -1.5, 1.0], [1.0, 2.0, 3.0]], slope=[1, 2, 3]).fit(X)
    x, y, z = QUERY[0]
    angles = [x, x - 1, 2 * (y + 1.5), 2 * (y - 2), 3 * (z - 1), 3 * (z - 3)]
    np.testing.assert_allclose(space.transform(QUERY[:1])[0], np.arctan(angles), rtol=1e-13)
    assert list(space.get_feature_names_out(["a", "b", "c"]))[:3] == [
        "arctan(a - 0)",
        "arctan(a - 1)",
        "arctan(b + 1.5)",
    ]


def test_the_same_places_serve_every_column():
    space = features.Heaviside(thresholds=[0.5, -1.0]).fit(X)
    expected = [[float(v >= t) for v in x for t in (0.5, -1.0)] for x in QUERY]
    np.testing.assert_array_equal(space.transform(QUERY), expected)


def test_heaviside_includes_its_threshold():
    space = features.Heaviside(thresholds=[0.5]).fit([[0.0]])
    np.testing.assert_array_equal(space.transform([[0.4], [0.5], [0.6]])[:, 0], [0, 1, 1])
    assert list(space.get_feature_names_out(["dose"])) == ["dose>=0.5"]


def test_every_step_parts_the_training_rows():
    Z = features.Heaviside(6).fit_transform(X)
    assert Z.shape == (25, 18)
    assert ((Z.mean(axis=0) > 0) & (Z.mean(axis=0) < 1)).all()


def test_kernel_columns_are_the_kernel_matrix():
    linear = features.KernelColumns().fit(X)
    np.testing.assert_allclose(linear.transform(QUERY), QUERY @ X.T)
    product = features.KernelColumns(lambda A, B: (1 + A @ B.T) ** 2).fit(X)
    expected = [
        [(1 + sum(a * b for a, b in zip(x, t, strict=True))) ** 2 for t in X] for x in QUERY
    ]
    np.testing.assert_allclose(product.transform(QUERY), expected, rtol=1e-12)


def test_kernel_columns_keep_their_own_copy_of_the_rows():
    rows = X.copy()
    space = features.KernelColumns().fit(rows)
    before = space.transform(QUERY)
    rows[:] = 0.0
    np.testing.assert_array_equal(space.transform(QUERY), before)


@for_each(
    ("kernel", "match"),
    [
        (lambda A, B: A @ B.T[:, :-1], r"returned shape \(4, 24\); expected \(4, 25\)"),
        (lambda A, B: (A @ B.T) * 1j, "returned complex128 values; expected real"),
        (
            lambda A, B: np.where(A @ B.T > 0, np.nan, 0.0),
            "is nan for row . of X and row",
        ),
    ],
)
def test_a_broken_kernel_is_named(kernel, match):
    with pytest.raises(ValueError, match=match):
        features.KernelColumns(kernel).fit(X).transform(QUERY)


def test_a_kernel_without_a_length_starts_from_the_rows():
    X = 1e3 * np.random.default_rng(0).normal(size=(9, 2))
    dual = features.KernelColumns(kernels.RBF()).fit(X)
    assert dual.kernel_ == kernels.RBF().start(X)
    assert dual.kernel_.length_scale > 1e3
    np.testing.assert_array_equal(dual.transform(X), dual.kernel_(X, X))
