"""Columns taken apart, and what is said where they cannot be."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity.latent.parts import Parts

NAMES = ["hip", "knee", "hand"]


def as_lists(parts):
    return {name: c.tolist() for name, c in zip(parts.names, parts.columns, strict=True)}


def test_names_and_positions_say_the_same():
    by_name = Parts.from_columns({"leg": ["knee", "hip"], "arm": ["hand"]}, 3, NAMES)
    by_position = Parts.from_columns({"leg": [1, np.int64(0)], "arm": (2,)}, 3, None)
    assert as_lists(by_name) == as_lists(by_position) == {"leg": [1, 0], "arm": [2]}


def test_a_list_of_lists_is_named_by_number():
    assert as_lists(Parts.from_columns([[2], [0, 1]], 3, NAMES)) == {"0": [2], "1": [0, 1]}


@for_each(
    ("n_columns", "expected"),
    [(1, {"0": [0]}), (2, {"0": [0], "1": [1]}), (3, {"0": [0, 1], "1": [2]})],
)
def test_none_is_two_halves(n_columns, expected):
    assert as_lists(Parts.from_columns(None, n_columns, None)) == expected


@for_each(
    ("given", "sentence"),
    [
        ({"leg": ["hip", "knee"]}, "Column 'hand' is in no part"),
        ({"leg": ["hip", "knee"], "arm": ["knee", "hand"]}, "Column 'knee' is in part 'leg' and"),
        ({"leg": ["hip", "knee", "hip", "hand"]}, "in part 'leg' and in part 'leg'"),
        ({"leg": ["hip", "toe"]}, "Part 'leg' names column 'toe', but X has no such column"),
        ({"leg": [0, 1, 2], "arm": []}, "Part 'arm' has no columns"),
        ([[0, 1], [3]], "positions from 0 to 2"),
        ([[0, 1], [-1]], "positions from 0 to 2"),
        ([[0, 1], [1.5]], "positions from 0 to 2"),
    ],
)
def test_misfits_are_refused_in_words(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        Parts.from_columns(given, 3, NAMES)


@for_each("given", ["hip", 3, [0, 1, 2], {"leg": "hip"}, ["hip", "knee"]])
def test_what_is_no_list_is_refused(given):
    with pytest.raises(TypeError, match="must be a mapping"):
        Parts.from_columns(given, 3, NAMES)


def test_without_names_columns_are_numbered():
    with pytest.raises(ValueError, match="Column 1 is in no part"):
        Parts.from_columns([[0], [2]], 3, None)
