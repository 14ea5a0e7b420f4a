"""Every public estimator answers what it answered when the record was frozen."""

import sys
from pathlib import Path

import numpy as np
import pytest
from support.for_each import for_each

sys.path.insert(0, str(Path(__file__).parent))

from support.frozen_answers import PATH, TOLERANCE, answer, cases_by_key, machine

pytestmark = [
    pytest.mark.filterwarnings("ignore::posterity.optimize.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
RECORD = dict(np.load(PATH))
CASES = cases_by_key()


def frozen(key):
    """The answers recorded for a case, by name."""
    return {name.rpartition("/")[2]: v for name, v in RECORD.items() if name.startswith(f"{key}/")}


def test_the_record_is_of_every_case():
    assert {name.rpartition("/")[0] for name in RECORD} - {""} == set(CASES)


@pytest.mark.skipif(str(RECORD["machine"]) != machine(), reason="frozen on another kind of machine")
@for_each("key", CASES)
def test_answers_are_those_of_the_record(key):
    found, expected = answer(CASES[key]), frozen(key)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if value.dtype.kind == "f":
            scale = max(1.0, np.abs(value[np.isfinite(value)]).max(initial=0.0))
            np.testing.assert_allclose(
                found[name], value, rtol=TOLERANCE, atol=TOLERANCE * scale, err_msg=name
            )
        else:
            np.testing.assert_array_equal(found[name], value, err_msg=name)
