"""What may be in a file follows from the code: public classes, and records that these may hold."""

import json
from dataclasses import dataclass, field
from typing import NamedTuple

import model_files
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from support.for_each import for_each

import posterity
from posterity import kernels, persistence
from posterity.persistence import decoding, encoding, fields, registry
from posterity.persistence.registry import Registry
from posterity.process.normal_fit import NormalFit


def test_names_of_files_are_of_the_front_door_of_a_room_or_of_a_record():
    known = Registry()
    assert known.find_name(posterity.RidgeRegression) == "RidgeRegression"
    assert known.find_name(kernels.RBF) == "kernels.RBF"
    assert known.find_name(NormalFit) is None
    known.find_name(posterity.GaussianProcessRegressor)
    assert known.find_name(NormalFit) == "NormalFit"
    assert known.find_class("NormalFit") is NormalFit


def test_every_class_has_one_name(classes):
    known = Registry()
    for cls in classes:
        known.find_name(cls)  # which admits its records
    names = {cls: known.find_name(cls) for cls in classes}
    assert None not in names.values()
    assert all(known.find_class(name) is cls for cls, name in names.items())


def test_every_field_is_declared_with_a_type_that_is_known(classes):
    for cls in classes:
        if declared := fields._list_declared_fields(cls):
            assert set(fields._resolve_annotations(cls)) == set(declared), cls


def test_attributes_that_hold_training_rows_are_of_classes_of_files(classes):
    names = {cls.__name__ for cls in classes} | {n.rpartition(".")[2] for n in registry._SKLEARN}
    assert set(registry.TRAINING_ROWS) <= names


@for_each(
    "name",
    [
        *("NormalFit", "models.NormalFit", "models.normal_fit.NormalFit", "kernels.stationary.RBF"),
        *("os.system", "posterity.kernels.RBF", "kernels.kernels", "load", "persistence.load"),
        *("cli.__main__.main", "__main__.main", "tables.TableError", "files.Path", ".RBF", ""),
        *("sklearn.tree.DecisionTreeClassifier", "regression.base.Regressor", "kernels.", None),
    ],
)
def test_other_names_are_not_looked_up(name):
    with pytest.raises(persistence.FileError, match="this version of posterity does not have"):
        Registry().find_class(name)


def test_a_record_is_refused_where_nothing_that_holds_it_is_in_the_file(tmp_path):
    model = posterity.GaussianProcessRegressor(kernels.RBF(1.0).fixed(), noise_variance=0.1)
    record = model.fit([[0.0], [1.0]], [0.0, 1.0])._fitted
    with pytest.raises(persistence.FileError, match=r"a posterity.process.*NormalFit, which a"):
        persistence.save(record, tmp_path / "record")
    entry = {"class": "NormalFit", "fields": {}}
    with pytest.raises(persistence.FileError, match="'NormalFit', which this version"):
        decoding.check_names({"objects": [entry], "root": {"ref": 0}}, Registry())


def open_members(path):
    members = model_files.unpacked(path.read_bytes())
    return members, json.loads(members["model.json"])


def drop_field(path, name, field):
    """Take a field from the objects of a class in a file, as if it were older than the field."""
    members, document = open_members(path)
    entries = [entry for entry in document["objects"] if entry.get("class") == name]
    assert entries
    for entry in entries:
        del entry["fields"][field]
    text = json.dumps(document).encode()
    path.write_bytes(model_files.packed({**members, "model.json": text}))


@for_each(
    ("model", "name", "field"),
    [
        (posterity.RidgeRegression(), "RidgeRegression", "fit_intercept"),
        (posterity.GaussianProcessRegressor(kernels.RBF(1.0).fixed()), "kernels.RBF", "ard"),
        (posterity.StagewiseRegressor(1, n_restarts=0), "Stages", "n_validated"),
    ],
)
def test_a_file_without_a_field_that_has_a_default_is_read(model, name, field, tmp_path):
    X = np.linspace(-1.0, 1.0, 12)[:, None]
    persistence.save(model.fit(X, np.sin(3.0 * X[:, 0])), tmp_path / "model")
    drop_field(tmp_path / "model", name, field)
    again = persistence.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    persistence.save(again, tmp_path / "again")
    drop_field(tmp_path / "again", name, field)
    assert open_members(tmp_path / "again") == open_members(tmp_path / "model")


def test_a_file_without_a_field_that_has_no_default_is_refused(tmp_path):
    model = posterity.GaussianProcessRegressor(kernels.RBF(1.0).fixed(), noise_variance=0.1)
    persistence.save(model.fit([[0.0], [1.0]], [0.0, 1.0]), tmp_path / "model")
    drop_field(tmp_path / "model", "NormalFit", "kernel")
    with pytest.raises(persistence.FileError, match="but the file differs in: kernel"):
        persistence.load(tmp_path / "model")


@dataclass(frozen=True)
class Part:
    x: int
    y: list = field(default_factory=list)
    z: float = 2.0


class Place(NamedTuple):
    x: int
    z: float = 2.0


class Own(BaseEstimator):
    def __init__(self, x, z=2.0):
        self.x = x
        self.z = z


@for_each("cls", [Part, Place, Own])
def test_defaults_are_those_of_the_declaration_and_in_its_order(cls):
    known = Registry([cls])
    document = encoding.encode(cls(1, z=3.0), known)
    (entry,) = (one for one in document.objects if "class" in one)
    entry["fields"] = {"x": 1}
    said = {"objects": document.objects, "root": document.root}
    found = decoding.decode(said, None, 0, known)
    assert (found.x, found.z) == (1, 2.0)
    if cls is Part:
        assert found.y == []
    entry["fields"] = {"z": 3.0}
    with pytest.raises(persistence.FileError, match="x"):
        decoding.decode(said, None, 0, known)
    entry["fields"] = {"x": 1, "no_field": 3.0}
    if cls is not Own:
        with pytest.raises(persistence.FileError, match="differs in: no_field"):
            decoding.decode(said, None, 0, known)
