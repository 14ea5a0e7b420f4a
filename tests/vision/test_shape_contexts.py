"""Shape contexts: counts by brute force, invariances, codes and votes; coarse pictures."""

import numpy as np
import pytest

from posterity.vision import ShapeContexts, masks, silhouettes


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(30, 2))


def make_figures(n=12):
    """Ellipses with an arm."""
    rows, columns = np.mgrid[:48, :48]
    masks = []
    for k in range(n):
        angle = 0.1 * k
        mask = ((rows - 24) / 18) ** 2 + ((columns - 24) / 8) ** 2 < 1.0
        along = (rows - 16) * np.sin(angle) + (columns - 24) * np.cos(angle)
        across = (rows - 16) * np.cos(angle) - (columns - 24) * np.sin(angle)
        masks.append(mask | ((along > 0) & (along < 18) & (np.abs(across) < 2)))
    return np.array(masks)


def test_contexts_count_points_in_rings_and_sectors(points):
    found = silhouettes.describe_points(points, 3, 4)
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    scale = np.median(distances)
    edges = scale * np.geomspace(0.125, 2.0, 4)
    edges[0] = 0.0
    for i in (0, 7):
        counts = np.zeros((3, 4))
        for j in range(30):
            down, right = points[j] - points[i]
            inside = (edges[:-1] < distances[i, j]) & (distances[i, j] <= edges[1:])
            quarter = int((np.degrees(np.arctan2(down, right)) + 180.0) // 90.0)
            counts[inside, quarter] += i != j
        np.testing.assert_allclose(found[i], counts.ravel() / counts.sum())


def test_contexts_do_not_depend_on_size_and_place(points):
    moved = 3.7 * points + np.array([5.0, -2.0])
    np.testing.assert_array_equal(
        silhouettes.describe_points(moved), silhouettes.describe_points(points)
    )


def test_points_without_extent_are_refused():
    with pytest.raises(ValueError, match="extent"):
        silhouettes.describe_points(np.ones((5, 2)))


def test_histograms_are_soft_votes_for_codes():
    masks = make_figures()
    model = ShapeContexts(8, n_points=40, random_state=1).fit(masks)
    histograms = model.transform(list(masks))  # lists of masks, too
    assert histograms.shape == (12, 8)
    np.testing.assert_allclose(histograms.sum(axis=1), 1.0)
    contexts = model._describe(masks[3])
    squares = ((contexts[:, None] - model.codes_) ** 2).sum(axis=2)
    votes = np.exp(-0.5 * squares / model.width_**2)
    expected = (votes / votes.sum(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(histograms[3], expected)
    assert list(model.get_feature_names_out())[:2] == ["context0", "context1"]


def test_the_same_figure_larger_has_nearly_the_same_histogram():
    masks = make_figures()
    model = ShapeContexts(8, n_points=60).fit(masks)
    small, other = model.transform([masks[2], masks[9]])
    large = model.transform([np.kron(masks[2], np.ones((3, 3), dtype=bool))])[0]
    assert np.abs(large - small).sum() < 0.3 * np.abs(other - small).sum()


def test_too_few_points_for_the_codes_are_refused():
    with pytest.raises(ValueError, match="too few"):
        ShapeContexts(100, n_points=8).fit(make_figures(2))


def test_an_empty_mask_is_refused_by_its_number():
    masks = make_figures(3)
    masks[1] = False
    with pytest.raises(ValueError, match="Mask 1 is empty"):
        ShapeContexts(4, n_points=20).fit(masks)


def test_coarse_pictures_count_pixels_of_cells():
    mask = np.zeros((20, 20), dtype=bool)
    mask[4:16, 8:12] = True
    picture = masks.measure_occupancy(mask, (3, 3)).reshape(3, 3)
    np.testing.assert_allclose(picture, [[0.0, 1.0, 0.0]] * 3)
