"""Contours: borders against scikit-image, regions, points at equal distances."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from posterity.vision import masks


@pytest.fixture(scope="module")
def blobs():
    noise = gaussian_filter(np.random.default_rng(0).normal(size=(40, 50)), 2.0)
    mask = np.zeros((42, 52), dtype=bool)
    mask[1:-1, 1:-1] = noise > 0.0
    return mask


def test_borders_are_those_of_marching_squares(blobs):
    measure = pytest.importorskip("skimage.measure")
    expected = measure.find_contours(blobs.astype(float), 0.5, fully_connected="high")
    found = masks.trace_borders(blobs)
    assert _as_sets([border - 0.5 for border in found]) == _as_sets([b[:-1] for b in expected])


def test_borders_are_closed_walks_of_short_steps(blobs):
    for border in masks.trace_borders(blobs):
        steps = np.linalg.norm(np.roll(border, -1, axis=0) - border, axis=1)
        assert steps.max() <= 1.0 + 1e-12


def test_outer_borders_run_clockwise_and_holes_against_it():
    ring = np.zeros((9, 9), dtype=bool)
    ring[1:8, 1:8] = True
    ring[3:6, 3:6] = False
    areas = [_signed_area(border) for border in masks.trace_borders(ring)]
    assert sorted(np.sign(areas)) == [-1.0, 1.0]
    assert max(areas) == pytest.approx(49 - 0.5)  # corners are cut off by an eighth each
    assert min(areas) == pytest.approx(-(9 - 0.5))


def test_the_largest_region_is_found_and_regions_are_counted():
    mask = np.zeros((8, 8), dtype=bool)
    mask[0, 0] = mask[3:6, 3:6] = True
    mask[6, 6] = True  # touches at a corner
    region, n = masks.find_largest_region(mask)
    assert n == 2
    assert region.sum() == 10


def test_points_are_equally_spaced_on_borders_that_are_long_enough():
    ring = np.zeros((60, 60), dtype=bool)
    ring[5:55, 5:55] = True
    ring[20:40, 20:40] = False
    ring[8, 8] = False  # a hole of one pixel is noise
    points = masks.sample_contour(ring, 140)
    inner = np.all((points > 15) & (points < 45), axis=1)
    assert inner.sum() == 40  # of 280 pixels of borders, 80 are inside
    gaps = np.linalg.norm(np.diff(points[~inner], axis=0), axis=1)
    assert gaps.max() < 2.05
    assert not np.any(np.linalg.norm(points - 8.5, axis=1) < 1.0)


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        (np.zeros((3, 3)), "empty"),
        (np.ones((3, 3), dtype=bool), "no background"),
        (np.zeros(3), r"array \(height, width\)"),
        (np.array([["a"]]), r"array \(height, width\)"),
    ],
)
def test_masks_without_a_figure_are_refused(mask, sentence):
    with pytest.raises(ValueError, match=sentence):
        masks.check_mask(mask)


def _as_sets(borders):
    return sorted(sorted(map(tuple, np.round(border, 6).tolist())) for border in borders)


def _signed_area(border):
    """Positive where the walk is clockwise, with rows down."""
    y, x = border.T
    return 0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)
