"""Running scripts of the gallery, several at once, each warning an error."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from concurrent import futures

from gallery import _catalogue, _pictures

# Processes of one BLAS thread each are faster than threads that wait for each other.
ENVIRONMENT = {
    "MPLBACKEND": "Agg",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def draw(script: _catalogue.Script) -> tuple[float, str]:
    """Seconds that a script takes, and its traceback if it fails; a warning is a failure."""
    import matplotlib.pyplot as plt

    start = time.perf_counter()
    failure = ""
    try:
        script.picture.unlink(missing_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            runpy.run_path(str(script.path), run_name="__main__")
        if not script.picture.exists():
            raise FileNotFoundError(f"The script left no picture {script.picture.name}.")
        seconds = time.perf_counter() - start
        _pictures.shrink(script.picture, script.figure)
    except Exception:
        seconds, failure = time.perf_counter() - start, traceback.format_exc()
    finally:
        plt.close("all")
    return seconds, failure


def drawn(scripts: list[_catalogue.Script], jobs: int) -> Iterator[_catalogue.Script]:
    """The scripts that succeed, as they finish; what happens to each is said on the way."""
    os.environ.update(ENVIRONMENT)
    # BLAS reads the environment when it is loaded: a copy of this process has loaded it already.
    context = multiprocessing.get_context("spawn")
    with futures.ProcessPoolExecutor(jobs, mp_context=context) as pool:
        tasks = {pool.submit(draw, script): script for script in scripts}
        for task in futures.as_completed(tasks):
            seconds, failure = task.result()
            name = tasks[task].name
            print(f"{name:<36}" + ("failed" if failure else f"{seconds:5.1f} s"), flush=True)
            if failure:
                print(failure, file=sys.stderr, flush=True)
            else:
                yield tasks[task]
