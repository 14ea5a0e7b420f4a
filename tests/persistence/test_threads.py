"""One loaded model answers several threads as it answers one."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from golden_models import queries
from persistence_cases import answers
from support.for_each import for_each

from posterity import persistence

THREADS = 4
FILES = sorted((Path(__file__).parent / "golden").glob("*.posterity"))


@pytest.mark.full
@for_each("path", FILES, ids=lambda path: path.stem)
def test_four_threads_get_the_answers_of_one(path):
    rows = queries(path.stem)
    alone = answers(persistence.load(path), rows)
    fresh = persistence.load(path)  # what it computes at the first call is computed by all at once
    together = threading.Barrier(THREADS)

    def ask(_):
        together.wait(timeout=60)
        return answers(fresh, rows)

    with ThreadPoolExecutor(THREADS) as pool:
        for found in pool.map(ask, range(THREADS)):
            for name, expected in alone.items():
                if expected.dtype.kind == "f":  # latent points are found by a search
                    np.testing.assert_allclose(found[name], expected, rtol=1e-7, atol=1e-7)
                else:
                    np.testing.assert_array_equal(found[name], expected)
