"""A frozen record of what every public estimator answers on small data sets.

Refactoring must not change a number: `pytest tests/test_frozen_answers.py` compares today's answers
with the record to 1e-9. A commit that has to change an answer writes the record again, with
`python tests/support/frozen_answers.py`, and says why; names of classes after it write these only.

Answers of a fit agree to 1e-9 only on one kind of machine: another BLAS kernel adds in another
order, and an iterative search then stops elsewhere. So the record names the machine it is of.
"""

import json
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import threadpoolctl

sys.path.insert(0, str(Path(__file__).parents[1]))

from persistence_cases import CASES, answers

PATH = Path(__file__).parents[1] / "frozen_answers.npz"
N_ROWS = 4
TOLERANCE = 1e-9
EVIDENCE = ("log_evidence_", "log_likelihood_", "objective_", "noise_variance_")


def machine() -> str:
    """NumPy, BLAS and the kernels that BLAS chose for this processor."""
    blas = {(pool["internal_api"], pool.get("version"), pool.get("architecture"))
            for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}  # fmt: skip
    return json.dumps([np.__version__, sorted(map(str, blas))])


def cases_by_key() -> dict:
    """Every case by the name of its class and its place among the cases of the class."""
    seen: Counter[str] = Counter()
    found = {}
    for case in CASES:
        name = type(case.model).__name__
        found[f"{name}/{seen[name]}"] = case
        seen[name] += 1
    return found


def answer(case) -> dict:
    """What the model of a case says of a few rows, and what it published of its fit."""
    said = answers(case.fitted, case.rows[:N_ROWS])
    for name in EVIDENCE:
        value = getattr(case.fitted, name, None)
        if value is not None:
            said[name] = np.asarray(value, dtype=float)
    return said


def main(classes: list[str]) -> None:
    """Write the record, or that of some classes again."""
    record = dict(np.load(PATH)) if classes else {"machine": np.asarray(machine())}
    for key, case in cases_by_key().items():
        if not classes or key.rpartition("/")[0] in classes:
            record = {
                name: value for name, value in record.items() if not name.startswith(f"{key}/")
            }
            record |= {f"{key}/{name}": value for name, value in answer(case).items()}
    np.savez_compressed(PATH, **record)


if __name__ == "__main__":
    with warnings.catch_warnings(), threadpoolctl.threadpool_limits(1):
        warnings.simplefilter("ignore")
        main(sys.argv[1:])
