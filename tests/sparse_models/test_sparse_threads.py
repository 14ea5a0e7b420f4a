"""BLAS works on the small matrices of sparse models with one thread, whatever it has."""

from collections.abc import Iterator

import numpy as np
import pytest
import threadpoolctl
from sparse_support import latent_engine, select_laplace, select_pairs, select_softmax
from support.for_each import for_each

from posterity import designs, kernels, likelihoods, priors
from posterity.inference.weights.targets import RowTargets
from posterity.linalg import threads
from posterity.sparse import kernel_search as sparse_kernel
from posterity.sparse import precisions as sparse_precisions
from posterity.sparse.problem import SparseModel


def counts():
    return {library["num_threads"] for library in threads._blas().info()}


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        if counts() != {2}:
            pytest.skip("BLAS has no threads to limit")
        yield


def watching():
    """A prior, and the threads that BLAS had whenever a model was valued by it."""
    seen: list[set[int]] = []

    class Watching(priors.Sparse):
        def log_density_of_choice(self, h):
            seen.append(counts())
            return super().log_density_of_choice(h)

    return Watching(), seen


def rows_of(n, C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [-0.5, 0.5][: C - 1])
    likelihood = likelihoods.Bernoulli() if C == 2 else likelihoods.Categorical(C)
    return X, RowTargets.from_observations(y.astype(float), None, likelihood, offset=True)


@for_each(("select", "C"), [(select_laplace, 2), (select_softmax, 3), (select_pairs, 3)])
def test_few_rows_are_fitted_by_one_thread(select, C):
    X, targets = rows_of(60, C)
    source = designs.CandidateColumns.from_columns(
        designs.KernelColumnSource(kernels.RBF(1.0), X), None, centred=True
    )
    prior, seen = watching()
    select(source, targets, offset=True, prior=prior)
    assert len(seen) > 2
    assert all(one == {1} for one in seen[1:])  # the first is of the start
    assert counts() == {2}


def test_precisions_of_few_columns_are_polished_by_one_thread_however_many_rows_there_are():
    X, targets = rows_of(threads._WORTH_THREADS, 2)
    prior, seen = watching()
    design = designs.Dense(np.column_stack([X, np.ones(len(X))]))
    kept = SparseModel.from_columns(np.arange(2), np.ones(2), design, targets, prior)
    seen.clear()
    sparse_precisions.polish_precisions(kept, prior, np.zeros((0, 2)))
    assert seen
    assert all(one == {1} for one in seen)


def test_a_kernel_climbs_with_its_vectors_by_one_thread(monkeypatch):
    seen = []
    climbed = sparse_kernel._KernelSearch._climb_from

    def watched(search, best):
        seen.append(counts())
        return climbed(search, best)

    monkeypatch.setattr(sparse_kernel._KernelSearch, "_climb_from", watched)
    X, targets = rows_of(40, 2)
    engine = latent_engine(X, targets, np.random.default_rng(0))
    sparse_kernel.learn_kernel(engine, kernels.RBF(ard=True), rng=np.random.default_rng(0))
    assert seen
    assert all(one == {1} for one in seen)
