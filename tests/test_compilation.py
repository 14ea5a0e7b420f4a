"""Compiled functions: numba comes with the first call, and needs no place to keep its results."""

import copy
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import posterity
from posterity import compilation

FIT_AND_PREDICT = """
import warnings
import numpy as np
from posterity import LogisticTreeClassifier

X = np.linspace(-1.0, 1.0, 20)[:, np.newaxis]
model = LogisticTreeClassifier(gates="hard", random_state=0)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print((model.fit(X, X[:, 0] > 0).predict(X) == (X[:, 0] > 0)).mean())
print(*(w.message for w in caught), sep="\\n")
"""
SCALING = """
from typing import NamedTuple
from posterity import compilation

class Factor(NamedTuple):
    value: float

@compilation.compile_at_first_call
def scale(factor, x):
    return factor.value * x
"""
SRC = Path(posterity.__file__).parents[1]


@compilation.compile_at_first_call
def doubled(x):
    return 2.0 * x


@compilation.compile_at_first_call
def doubled_sum(x):
    total = 0.0
    for value in x:
        total += doubled(value)
    return total


def run(code: str, **environment: str) -> list[str]:
    """The lines that a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def copy_to_unwritable_place(folder: Path) -> Path:
    """A copy of the package beside which nobody, root included, can make a directory."""
    place = folder / "posterity"
    source = Path(posterity.__file__).parent
    shutil.copytree(source, place, ignore=shutil.ignore_patterns("__pycache__"))
    for module in place.rglob("*.py"):
        module.with_name("__pycache__").touch()  # where numba would make a directory
    return folder


def test_a_compiled_function_calls_another():
    assert doubled_sum(np.arange(4.0)) == 12.0


def test_options_are_handed_to_numba():
    @compilation.compile_at_first_call(error_model="python")
    def divided(x, y):
        return x / y

    with pytest.raises(ZeroDivisionError):
        divided(1.0, 0.0)


def test_division_by_zero_is_that_of_numpy():
    @compilation.compile_at_first_call
    def divided(x, y):
        return x / y

    assert divided(1.0, 0.0) == np.inf


def test_a_compiled_function_is_copied_and_pickled_by_name():
    doubled(1.0)
    assert copy.deepcopy(doubled) is doubled
    assert pickle.loads(pickle.dumps(doubled)) is doubled


@pytest.mark.full
def test_a_model_is_fitted_where_numba_can_keep_nothing_and_says_so_once(tmp_path):
    place, nowhere = copy_to_unwritable_place(tmp_path), "/dev/null/nowhere"
    homes = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "TMPDIR": nowhere}
    accuracy, *warned = run(FIT_AND_PREDICT, PYTHONPATH=str(place), **homes)
    assert float(accuracy) > 0.8
    (sentence,) = warned
    assert sentence.startswith("numba has no directory")
    assert "NUMBA_CACHE_DIR" in sentence


MODELS_WITHOUT_COMPILED_CODE = """
import sys
import numpy as np
import posterity

X = np.linspace(-1.0, 1.0, 20)[:, np.newaxis]
y = np.sin(3.0 * X[:, 0]) + 0.1 * np.cos(40.0 * X[:, 0])
posterity.LinearRegression().fit(X, y).predict_interval(X)
posterity.BayesianLinearRegression().fit(X, y).predict_interval(X)
posterity.RidgeRegression().fit(X, y).predict(X)
posterity.GaussianProcessRegressor(n_restarts=0).fit(X, y).predict_interval(X)
posterity.BayesianLogisticRegression().fit(X, y > 0.1).predict_proba(X)
print("numba" in sys.modules)
"""


def test_a_model_without_compiled_code_does_not_import_numba():
    source = Path(posterity.__file__).parents[1]
    assert run(MODELS_WITHOUT_COMPILED_CODE, PYTHONPATH=str(source)) == ["False"]


def test_only_the_decorator_and_functions_of_users_are_compiled_by_numba_itself():
    source = Path(posterity.__file__).parent
    using = {path.name for path in source.rglob("*.py") if "numba.njit(" in path.read_text()}
    assert using == {"compilation.py", "compiled.py"}


def test_code_of_a_type_that_is_gone_is_compiled_again(tmp_path):
    module = tmp_path / "scaling.py"
    module.write_text(SCALING)
    script = "import scaling; print(scaling.scale(scaling.Factor(2.0), 3.0))"
    environment = {"PYTHONPATH": f"{tmp_path}:{SRC}"}
    assert run(script, **environment) == ["6.0"]
    module.write_text(SCALING.replace("Factor", "Ratio"))
    assert run(script.replace("Factor", "Ratio"), **environment) == ["6.0"]
