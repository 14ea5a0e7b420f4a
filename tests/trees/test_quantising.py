"""Codes keep the order of answers, and margins say between which answers a cut lies."""

import numpy as np
from support.for_each import for_each

from posterity.trees.growth import quantising


def coded(answers, weights=None, start=None):
    m = answers.shape[1]
    w = np.ones(m) if weights is None else weights
    ends = np.array([0, m] if start is None else start)
    return quantising.encode_answers(answers, w, ends, np.random.default_rng(0))


def ranks(answers):
    """How many different answers are smaller; 255 where one is missing."""
    below = np.searchsorted(np.unique(answers[~np.isnan(answers)]), answers)
    return np.where(np.isnan(answers), 255, below)


@for_each("n_values", [1, 5, 63, 64])
def test_up_to_64_different_answers_are_told_apart_in_any_number_of_rows(n_values):
    rng = np.random.default_rng(n_values)
    values = np.concatenate([[-np.inf, np.inf], rng.normal(size=n_values)])[-n_values:]
    rare = rng.permutation(np.concatenate([values, np.full(900, values[0]), [np.nan] * 5]))
    np.testing.assert_array_equal(coded(rare[None])[0], ranks(rare))


def test_infinite_answers_are_answers():
    x = np.resize([np.inf, 1.0, -np.inf, np.nan], 400)
    np.testing.assert_array_equal(coded(x[None])[0], ranks(x))


@for_each("n_values", [65, 66, 5000])
def test_codes_of_more_answers_never_fall_and_are_few(n_values):
    x = np.random.default_rng(0).permutation(np.resize(np.arange(n_values) + 0.5, 5000))
    codes = coded(x[None])[0]
    assert np.all(np.diff(codes[np.argsort(x, kind="stable")].astype(int)) >= 0)
    assert len(np.unique(codes[x == x.max()])) == 1
    assert 35 <= codes.max() <= 63


def test_nodes_and_tests_are_coded_by_themselves():
    rng = np.random.default_rng(1)
    answers = np.round(rng.normal(size=(3, 700)), 1)
    codes = coded(answers, start=[0, 40, 690, 700])
    for a, (s, e) in enumerate([(0, 40), (40, 690), (690, 700)]):
        for k in range(3):
            alone = coded(answers[k : k + 1, s:e])[0]
            if a != 1 or len(np.unique(answers[k, s:e])) <= 64:
                np.testing.assert_array_equal(codes[k, s:e], alone)


def test_the_same_rows_are_told_apart_whether_counted_or_repeated():
    rng = np.random.default_rng(2)
    x, times = rng.normal(size=300), rng.integers(1, 4, size=300)
    x[rng.random(300) < 0.1] = np.nan
    once, often = coded(x[None], times + 0.0)[0], coded(np.repeat(x, times)[None])[0]
    np.testing.assert_array_equal(np.repeat(once, times), often)


@for_each("is_coded", [True, False])
def test_margins_are_the_answers_beside_a_cut(is_coded):
    codes = np.array([[3, 9, 7, 255, 0, 255, 0, 8, 8]], dtype=np.uint8)
    answers = codes if is_coded else np.where(codes == 255, np.nan, codes / 2.0 - 2.0)
    start, code = np.array([0, 4, 6, 9]), np.array([3, 0, 8], dtype=np.int32)
    test = np.array([0, 0, -1], dtype=np.int32)
    found = quantising.margins(answers, codes, start, test, code)
    expected = np.array([[3.0, 7.0], [0.0, np.nan]])
    np.testing.assert_array_equal(found, expected if is_coded else expected / 2.0 - 2.0)
