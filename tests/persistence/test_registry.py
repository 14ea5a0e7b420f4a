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
from posterity import kernels, optimize, persistence, regression
from posterity.models.normal_fit import NormalFit
from posterity.persistence import around, decoding, encoding, fields, registry
from posterity.persistence.registry import Registry


@pytest.fixture(scope="module")
def held(files):
    """The class of each object of all sound files, by its name in files, and the files' names."""
    return {
        name: set(decoding.list_class_names(json.loads(model_files.unpacked(data)["model.json"])))
        for name, (data, _) in files.items()
    }


def test_names_of_files_are_of_the_front_door_of_a_room_or_of_a_record():
    known = Registry()
    assert known.find_name(posterity.RidgeRegression) == "RidgeRegression"
    assert known.find_name(kernels.RBF) == "kernels.RBF"
    assert known.find_name(NormalFit) is None
    known.find_name(posterity.GaussianProcessRegressor)
    assert known.find_name(NormalFit) == "NormalFit"
    assert known.find_class("NormalFit") is NormalFit


def test_every_class_of_a_file_has_one_name(held):
    for names in held.values():
        known = Registry()
        classes = {name: known.find_class(name) for name in names if name[0].isupper()}
        classes |= {name: known.find_class(name) for name in names if "." in name}
        assert {name: known.find_name(cls) for name, cls in classes.items()} == {
            name: name for name in classes
        }
