"""Files know things by names that stay, wherever the things are now."""

import pytest

from posterity import optimize, persistence, priors
from posterity.persistence import decoding, registry, upgrades


@pytest.fixture
def moved(monkeypatch):
    """The registry as if ``Optimum`` had moved within the library from another module."""
    monkeypatch.setitem(registry.ROOMS, "inference.old", "Ending")
    monkeypatch.delitem(registry.ROOMS, "optimize.optimum")
    monkeypatch.setitem(registry.PLACES, "inference.old", "optimize.optimum")
    monkeypatch.setitem(registry.RENAMED, "inference.old.Ending", "Optimum")
    for cached in (registry.list_known_names, registry._map_places_to_names):
        cached.cache_clear()
    yield
    monkeypatch.undo()
    for cached in (registry.list_known_names, registry._map_places_to_names):
        cached.cache_clear()


@pytest.mark.usefixtures("moved")
def test_a_thing_that_moved_keeps_its_name_in_files():
    names = registry.Registry()
    assert names.find_name(optimize.Optimum) == "inference.old.Ending"
    assert names.find_class("inference.old.Ending") is optimize.Optimum
    with pytest.raises(persistence.FileError):
        names.find_class("optimize.optimum.Optimum")


def test_every_name_stands_for_one_thing_and_back():
    names = registry.Registry()
    known = sorted(name for name in registry.list_known_names() if not name.startswith("sklearn."))
    assert [names.find_name(names.find_class(name)) for name in known] == known


def test_places_are_those_of_names_that_files_may_use():
    modules = {name.rpartition(".")[0] for name in registry.list_known_names()}
    assert modules >= registry.PLACES.keys()
    assert registry.list_known_names() >= registry.RENAMED.keys()


def test_an_object_of_an_earlier_layout_is_read_with_the_fields_of_today(monkeypatch):
    monkeypatch.setitem(upgrades.UPGRADES, "priors.Normal", upgrades.rename(variance="width"))
    entry = {"class": "priors.Normal", "fields": {"width": 4.0}}
    document = {"objects": [entry], "root": {"ref": 0}}
    assert decoding.decode(document, None, 0, registry.Registry()) == priors.Normal(4.0)
    entry["fields"] = {"length": 4.0}
    with pytest.raises(persistence.FileError):
        decoding.decode(document, None, 0, registry.Registry())


def test_parameters_of_older_files_have_their_present_names():
    old = {"n_trees": 5, "min_leaf": 2.0, "bootstrap": True}
    named = upgrades.upgrade("regression.RandomForestRegressor", old)
    assert named == {"n_estimators": 5, "min_samples_leaf": 2.0, "bootstrap": True}
    assert upgrades.upgrade("regression.RandomForestRegressor", named) == named
    with pytest.raises(persistence.FileError, match="both its old and its new name"):
        upgrades.upgrade("regression.RandomForestRegressor", old | named)


def test_what_an_upgrade_cannot_read_is_a_fault_of_the_file(monkeypatch):
    monkeypatch.setitem(upgrades.UPGRADES, "priors.Normal", lambda parts: parts["missing"])
    with pytest.raises(persistence.FileError, match="earlier version"):
        upgrades.upgrade("priors.Normal", {})


def test_upgrades_are_of_names_that_files_may_use():
    assert registry.list_known_names() >= upgrades.UPGRADES.keys()
