"""Files know things by names that stay, wherever the things are now."""

import pytest

from posterity import optimize, persistence
from posterity.persistence import registry


@pytest.fixture
def moved(monkeypatch):
    """The registry as if ``Optimum`` had moved within the library from another module."""
    monkeypatch.setitem(registry.ROOMS, "inference.old", "Ending")
    monkeypatch.delitem(registry.ROOMS, "optimize.optimum")
    monkeypatch.setitem(registry.PLACES, "inference.old", "optimize.optimum")
    monkeypatch.setitem(registry.RENAMED, "inference.old.Ending", "Optimum")
    for cached in (registry.known, registry._names_by_place):
        cached.cache_clear()
    yield
    monkeypatch.undo()
    for cached in (registry.known, registry._names_by_place):
        cached.cache_clear()


@pytest.mark.usefixtures("moved")
def test_a_thing_that_moved_keeps_its_name_in_files():
    names = registry.Registry()
    assert names.name_of(optimize.Optimum) == "inference.old.Ending"
    assert names.found("inference.old.Ending") is optimize.Optimum
    with pytest.raises(persistence.FileError):
        names.found("optimize.optimum.Optimum")


def test_every_name_stands_for_one_thing_and_back():
    names = registry.Registry()
    known = sorted(name for name in registry.known() if not name.startswith("sklearn."))
    assert [names.name_of(names.found(name)) for name in known] == known


def test_places_are_those_of_names_that_files_may_use():
    modules = {name.rpartition(".")[0] for name in registry.known()}
    assert modules >= registry.PLACES.keys()
    assert registry.known() >= registry.RENAMED.keys()
