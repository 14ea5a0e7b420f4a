"""Vision is a household of its own: without its folder, the library works."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import posterity

SRC = Path(posterity.__file__).parent
FIT = """
import sys
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import posterity
from posterity import *
from posterity.cli import app

assert Path(posterity.__file__).parent == Path.cwd() / "posterity"
assert set(posterity.__all__) <= set(globals())
x = np.linspace(0.0, 1.0, 20)[:, None]
save(BayesianLinearRegression().fit(x, 1.0 + 2.0 * x[:, 0]), "line.posterity")
assert round(float(load("line.posterity").predict([[0.5]])[0]), 3) == 2.0
np.savetxt("line.csv", np.c_[x, 1.0 + 2.0 * x], delimiter=",", header="x,y", comments="")
run = CliRunner().invoke
fitted = run(app, "fit line.csv --target y --save fitted.posterity".split())
assert fitted.exit_code == 0, fitted.output
assert "vision" not in run(app, ["--help"]).output
assert run(app, ["vision"]).exit_code == 2
assert not [name for name in sys.modules if name.startswith("posterity.vision")]
try:
    load(Path(sys.argv[1]))
except persistence.FileError as error:
    assert "'vision." in str(error)
else:
    raise AssertionError("A model of images was loaded without vision.")
"""


@pytest.mark.full
def test_the_library_works_without_the_folder(tmp_path):
    ignored = shutil.ignore_patterns("vision", "__pycache__")
    shutil.copytree(SRC, tmp_path / "posterity", ignore=ignored)
    line = [sys.executable, "-c", FIT, str(SRC / "vision/models/walking.posterity")]
    alone = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(line, cwd=tmp_path, env=alone, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
