"""Files that were written by this version are read by every later one, and say the same."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from golden_models import queries
from persistence_cases import answers

import posterity
from posterity import persistence

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(FOLDER.glob("*.posterity"))
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def contents(path):
    """All but the manifest, which tells the versions of this day."""
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist() if name != "manifest.json"}


def test_every_public_estimator_has_a_golden_file():
    assert all(path.stat().st_size < 60_000 for path in FILES)
    public = (getattr(posterity, name) for name in posterity.__all__)
    estimators = {c for c in public if isinstance(c, type) and hasattr(c, "fit")}
    assert estimators <= {type(persistence.load(path)) for path in FILES}


@every_file
def test_a_golden_file_says_what_it_said(path):
    model = persistence.load(path)
    with np.load(path.with_suffix(".npz")) as said:
        found = answers(model, queries(path.stem))
        assert found.keys() == set(said.files)
        for name in said.files:
            if said[name].dtype.kind == "f":
                # Latent points of new rows are found by a search, to about eight digits.
                np.testing.assert_allclose(found[name], said[name], rtol=1e-7, atol=1e-7)
            else:
                np.testing.assert_array_equal(found[name], said[name])


@pytest.mark.full(but=15)
@every_file
def test_a_golden_file_written_again_is_the_same(path, tmp_path):
    persistence.save(persistence.load(path), tmp_path / "again")
    assert contents(tmp_path / "again") == contents(path)


@every_file
def test_a_golden_file_is_described(path):
    described = persistence.describe(path)
    assert described
