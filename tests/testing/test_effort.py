"""What waits for ``--full``, and how much runs without it."""

import pytest
from support import effort

SUITE = """
import pytest

@pytest.mark.parametrize("k", range(10))
@pytest.mark.full(but=3)
def test_some(k): pass

@pytest.mark.full
def test_waiting(): pass

def test_always(): pass
"""


@pytest.mark.parametrize(
    ("arguments", "n_run"),
    [([], 4), (["--full"], 12), (["test_suite.py::test_waiting"], 1)],
    ids=["change", "full", "named"],
)
def test_marked_cases_wait_unless_they_are_named(arguments, n_run, pytester, monkeypatch):
    monkeypatch.setitem(effort._CHOSEN, "full", False)  # nor does the run within change it
    pytester.makeini("[pytest]\nmarkers = full")
    pytester.makepyfile(test_suite=SUITE)
    found = pytester.runpytest_inprocess("-p", "support.effort", *arguments)
    assert found.parseoutcomes()["passed"] == n_run


@pytest.mark.parametrize("full", [False, True])
def test_a_tenth_of_the_draws_and_some_values_stand_for_all(full, monkeypatch):
    monkeypatch.setitem(effort._CHOSEN, "full", full)
    assert effort.draws(200) == (200 if full else 20)
    assert effort.draws(40, least=10) == (40 if full else 10)
    assert effort.draws(5, least=10) == 5
    assert list(effort.some(range(10), 5)) == (list(range(10)) if full else [0, 2, 4, 6, 8])
