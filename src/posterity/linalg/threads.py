"""Limits of the threads of BLAS: one, while matrices are small.

BLAS shares out even small matrices among its threads, which then wait for each other, and waiting
takes a core. Where another program held one of two cores, two threads took two to six times as long
as one, on average, for a factorisation and an inverse of 150 to 300 rows; where none did, they
gained nothing on average below 600 rows, and a third above 800. The limit lies higher, because
what is lost beside another program, several times over at 700 rows still, is more than is gained.
"""

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

import joblib
import scipy.linalg  # noqa: F401  (its BLAS must be loaded before the libraries are listed)
import threadpoolctl

_WORTH_THREADS = 1000  # rows
_IN_CONTROL = threading.RLock()  # two that restore what they found would undo each other


@contextlib.contextmanager
def limit_threads(n_rows: int) -> Iterator[None]:
    """A context in which BLAS uses one thread if matrices have fewer than 1,000 rows.

    It does nothing for larger ones, nor where BLAS has one thread already. The limit holds for the
    whole process, as the threads of BLAS do; so where several Python threads enter, the first one
    sets the limit and lifts it, and the others do nothing meanwhile. Contexts may be nested.

    Entering and leaving costs about 20 microseconds where threads are limited, 6 where BLAS has one
    thread, and 1 where matrices are large; the first time some 10 milliseconds, to find the
    libraries. So put it around a fit, not around a solve.

    Parameters
    ----------
    n_rows : int
        Of the matrices that are factorised inside.

    Examples
    --------
    >>> with limit_threads(100):
    ...     L = scipy.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]], lower=True)
    >>> L
    array([[2., 0.],
           [1., 2.]])
    """
    if n_rows >= _WORTH_THREADS or not _IN_CONTROL.acquire(blocking=False):
        yield
        return
    try:
        blas = _blas()
        with blas.limit(limits=1) if _has_threads(blas) else contextlib.nullcontext():
            yield
    finally:
        _IN_CONTROL.release()


@functools.cache
def _blas() -> Any:
    """Every BLAS in this process; NumPy and SciPy each bring one."""
    return threadpoolctl.ThreadpoolController().select(user_api="blas")


def _has_threads(blas: Any) -> bool:
    return any((library["num_threads"] or 1) > 1 for library in blas.info())


def available_threads() -> int:
    """The number of threads BLAS was given, and so that this process may keep busy."""
    return max((library["num_threads"] or 1 for library in _blas().info()), default=1)


def count_threads(n_jobs: int | None) -> int:
    """The number of threads of this process that ``n_jobs`` asks for.

    Other than what ``joblib.effective_n_jobs`` says this does not depend on a backend that a user
    has chosen for other work, such as a cluster's: threads share the memory of one machine.

    Examples
    --------
    >>> count_threads(2), count_threads(None)
    (2, 1)
    """
    backend, default = joblib.parallel.get_active_backend(require="sharedmem")
    return int(backend.effective_n_jobs(default if n_jobs is None else n_jobs))
