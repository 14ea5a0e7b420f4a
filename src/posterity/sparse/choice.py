"""Choose the vectors of a kernel."""

from __future__ import annotations

import numpy as np

from posterity import kernels
from posterity.sparse.default_kernel import learn_default_kernel
from posterity.sparse.engines import Engine, KernelEngine
from posterity.sparse.kernel_search import (
    LearnedVectors,
    fit_given_kernel,
    learn_kernel,
    limit_vectors,
)


def choose_vectors(
    engine: Engine,
    kernel: kernels.Kernel | None,
    *,
    rng: np.random.Generator | None = None,
    max_vectors: int | None = None,
) -> LearnedVectors:
    """The vectors of a kernel, and the kernel itself where it is learned, by sequential steps.

    Parameters
    ----------
    engine : Engine
    kernel : Kernel, optional
        None: an RBF is learned, of rows whose columns have unit variance.
    rng : Generator, optional
        Draws the rows on which kernels are compared. None: the kernel is as given.
    max_vectors : int, optional
        As many as a prediction may cost. None: any number.
    """
    if rng is None:
        assert kernel is not None
        learned = fit_given_kernel(engine, kernel)
    else:
        assert isinstance(engine, KernelEngine)
        learned = (
            learn_default_kernel(engine, rng=rng)
            if kernel is None
            else learn_kernel(engine, kernel, rng=rng)
        )
    return learned if max_vectors is None else limit_vectors(engine, learned, max_vectors)
