"""Sparse models in the words of tests: a choice of columns by keywords, engines, and pairs."""

from dataclasses import dataclass

import fixed_point
import numpy as np

from posterity import designs, priors
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import laplace, normal, softmax
from posterity.sparse.engines import KernelEngine, LatentOutputs, NormalOutputs
from posterity.sparse.problem import SparseProblem


def _in_noise(select, tol, max_iter):
    def chosen(columns, Y, weights=None, *, centred, prior, tol=tol, max_iter=max_iter, **options):
        problem = SparseProblem(prior, centred, tol, max_iter)
        return select(columns, Y, weights, problem, **options)

    return chosen


def _of_rows(select, tol, max_iter):
    def chosen(columns, targets, *, offset, prior, tol=tol, max_iter=max_iter, **options):
        return select(columns, targets, SparseProblem(prior, offset, tol, max_iter), **options)

    return chosen


select_normal = _in_noise(normal.select_normal, 1e-3, 10_000)
alternate_normal = _in_noise(fixed_point.alternate_normal, 1e-3, 1000)
select_laplace = _of_rows(laplace.select_laplace, 1e-2, 200)
select_softmax = _of_rows(softmax.select_softmax, 1e-2, 200)
select_pairs = _of_rows(softmax.select_pairs, 1e-2, 200)
alternate_laplace = _of_rows(fixed_point.alternate_laplace, 1e-3, 1000)


def normal_engine(X, y, rng=None, *, weights=None, noise_variance=None, prior=None, pool=None):
    """Outputs in noise, with an offset."""
    outputs = NormalOutputs(y.reshape(len(y), -1), weights, noise_variance)
    problem = SparseProblem(priors.Sparse() if prior is None else prior, tol=1e-3)
    rng = np.random.default_rng(0) if rng is None else rng
    return KernelEngine(X, outputs, problem, rng, pool)


def latent_engine(X, targets, rng, *, own=False, bounds=None, prior=None, pool=None):
    """Rows of a likelihood, with an offset."""
    prior = priors.Sparse() if prior is None else prior
    problem = SparseProblem(prior, max_iter=200, own_columns=own)
    return KernelEngine(X, LatentOutputs(targets, bounds), problem, rng, pool)


@dataclass(frozen=True)
class Pairs:
    """Columns, which of them each class uses, and the precision of every weight."""

    Z: np.ndarray  # (N, m), the offset's ones, where there is one, last
    used: np.ndarray  # (m, C)
    precision: np.ndarray  # (m, C)
    targets: RowTargets

    @property
    def problem(self):
        own = self.targets.with_separate_weights()
        ones = int(np.all(self.Z[:, -1] == 1.0))
        h = np.where(self.used, self.precision, np.inf)[: len(self.used) - ones]
        offset = np.diag(self.precision[-1]) if ones else None
        prior = WeightPrior(h, self.Z.shape[1], offset)
        return WeightProblem(designs.Dense(self.Z), own, prior)

    @property
    def row_weights(self):
        w = self.targets.weights
        return (np.ones(len(self.Z)) if w is None else w)[:, None]

    def packed(self, W):
        return W[self.used]

    def latents(self, x):
        W = np.zeros(self.used.shape)
        W[self.used] = x
        return self.targets.shift + self.Z @ W

    def laplace(self, start=None):
        return LaplaceFit.from_problem(self.problem, start)
