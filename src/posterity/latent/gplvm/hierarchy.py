"""Latent points of parts under those of the whole: the most probable ones of both.  [LM]

Each part of the outputs is a process over a latent space of its own. Where a row lies in these
spaces is a process, too, over one more latent space, the root's: what the parts have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from posterity import kernels
from posterity.arrays import Array
from posterity.latent.gplvm import inducing_outputs, placements, search
from posterity.latent.gplvm.outputs import ExactOutputs, ProcessDensity
from posterity.latent.gplvm.terms import LatentPrior, Term, Volume

_NOISE_RANGE = (1e-6, 10.0)  # of the mean variance of a part's columns
_NOISE_START = 0.1


@dataclass(frozen=True)
class Levels:
    """The columns of joined points (N, Q) of the root, and those of each part.

    Examples
    --------
    >>> levels = Levels(2, (3, 1))
    >>> levels.below, levels.parts
    (slice(2, 6, None), [slice(2, 5, None), slice(5, 6, None)])
    """

    n_root: int
    n_parts: tuple[int, ...]  # of each

    @property
    def root(self) -> slice:
        """Those of the root come first."""
        return slice(0, self.n_root)

    @property
    def below(self) -> slice:
        """Those of all parts."""
        return slice(self.n_root, self.n_root + sum(self.n_parts))

    @property
    def parts(self) -> list[slice]:
        """Those of each part."""
        ends = accumulate(self.n_parts, initial=self.n_root)
        return [slice(low, high) for low, high in pairwise(ends)]


class ChildNode:
    """A term that judges some columns of the points, and does not see the others."""

    def __init__(self, term: Term, columns: slice, called: str) -> None:
        self.term, self.columns = term, columns
        self.start, self.limits = term.start, term.limits
        self.names = [f"{called}__{name}" for name in term.names]

    def __call__(self, X: Array, own: Array) -> tuple[float, Array, Array]:
        """The term's value; the gradient is zero in columns that it does not see."""
        dX = np.zeros_like(X)
        value, dX[:, self.columns], slopes = self.term(X[:, self.columns], own)
        return value, dX, slopes

    def add_curvature(self, H: Array, X: Array, own: Array) -> None:
        """The term's, in those columns."""
        seen = H[:, self.columns, :, self.columns]
        self.term.add_curvature(seen, X[:, self.columns], own)


class RootNode:
    """log p(X_1 .. X_P | X_root): the parts' points are a process over the root's.

    Its noise is given. The most probable noise would be large: all structure would move into the
    parts, whose points would know nothing of each other.  [LM]
    """

    def __init__(
        self, levels: Levels, kernel: kernels.Kernel, kernel_bounds: Array, noise_variance: float
    ) -> None:
        self.levels, self.kernel, self.noise_variance = levels, kernel, noise_variance
        self.start, self.limits = kernel.theta, kernel_bounds
        self.names = [f"root__{name}" for name in kernel.names]
        self._density: ProcessDensity | None = None

    def __call__(self, X: Array, own: Array) -> tuple[float, Array, Array]:
        """The log density, and its gradients in all points and in the kernel's parameters."""
        if self._density is None:
            self._density = ProcessDensity(len(X))
        root, below = self.levels.root, self.levels.below
        R, J = np.ascontiguousarray(X[:, root]), np.ascontiguousarray(X[:, below])
        slope = self._density(R, J, self.kernel.with_theta(own), self.noise_variance)
        dX = np.zeros_like(X)
        dX[:, root], dX[:, below] = slope.X, slope.Y
        return slope.value, dX, slope.theta

    def add_curvature(self, H: Array, X: Array, own: Array) -> None:
        """As Gauss and Newton take it, of both levels: parts' points may move with the root's."""
        root, below = self.levels.root, self.levels.below
        R, J = np.ascontiguousarray(X[:, root]), np.ascontiguousarray(X[:, below])
        hold = inducing_outputs.PointCurvature.from_outputs(
            R, J, self.kernel.with_theta(own), self.noise_variance
        )
        hold.add_to(H[:, root, :, root], np.arange(len(X)))
        hold.add_to_outputs(H[:, root, :, below], H[:, below, :, root], H[:, below, :, below])

    def outputs(self, X: Array) -> ExactOutputs:
        """The parts' points as outputs of the root's, to be conditioned on."""
        J = np.ascontiguousarray(X[:, self.levels.below])
        return ExactOutputs(J, self.kernel, self.limits, self.noise_variance, None)


@dataclass(frozen=True)
class LearnedHierarchy:
    """The most probable points of a hierarchy, and the terms that judged them."""

    found: search.LearnedPoints
    levels: Levels
    leaves: tuple[ExactOutputs, ...]
    node: RootNode
    prior: LatentPrior

    @property
    def leaf_numbers(self) -> tuple[Array, ...]:
        """The own numbers of each leaf."""
        return self.found.own[: len(self.leaves)]

    @property
    def node_numbers(self) -> Array:
        """Those of the node."""
        return self.found.own[-2]

    @property
    def prior_numbers(self) -> Array:
        """Those of the root's prior."""
        return self.found.own[-1]


@dataclass(frozen=True)
class HierarchyPlan:
    """The settings of the fit of a hierarchy."""

    levels: Levels
    names: tuple[str, ...]  # of the parts
    kernel: kernels.Kernel  # over the latent space of each part
    root_kernel: kernels.Kernel
    noise_variance: float | None  # of outputs; None: learned
    node_noise: float
    prior: Callable[[Array], LatentPrior]  # of the root's points, from where they start
    max_iter: int


def fit_hierarchy(
    plan: HierarchyPlan, parts: Sequence[Array], rng: np.random.Generator
) -> LearnedHierarchy:
    """Find the most probable points from the outputs of each part, about zero; NaN: missing."""
    levels = plan.levels
    X = start_hierarchy(parts, levels, rng)
    places = [X[:, columns] for columns in levels.parts]
    leaves = tuple(_make_leaf(plan, Y, at) for Y, at in zip(parts, places, strict=True))
    node = RootNode(levels, *plan.root_kernel.search_start(X[:, levels.root]), plan.node_noise)
    prior = plan.prior(X[:, levels.root])
    named = zip(leaves, levels.parts, plan.names, strict=True)
    terms = [ChildNode(leaf, columns, name) for leaf, columns, name in named]
    observed = ~np.isnan(np.hstack(parts))
    free = placements.FreePlacement(*X.shape)
    volume, above = (
        ChildNode(Volume(np.any(observed, axis=1)), levels.root, "volume"),
        ChildNode(prior, levels.root, "dynamics"),
    )
    problem = search.LatentPointProblem((*terms, volume, node, above), free, int(np.sum(observed)))
    found = search.maximise_latent_points(problem, [X], max_iter=plan.max_iter)
    return LearnedHierarchy(found, levels, leaves, node, prior)


def start_hierarchy(parts: Sequence[Array], levels: Levels, rng: np.random.Generator) -> Array:
    """Principal components of each part, and theirs for the root; all of variance one.

    What is missing is filled in first from all parts: a row may lack a whole one.
    """
    ends = np.cumsum([Y.shape[1] for Y in parts])[:-1]
    whole = np.split(
        placements.fill_by_components(np.hstack(parts), sum(levels.n_parts)), ends, axis=1
    )
    pairs = zip(whole, levels.n_parts, strict=True)
    below = [placements.find_principal_start(Y, n, rng).X for Y, n in pairs]
    root = placements.find_principal_start(np.hstack(below), levels.n_root, rng).X
    return np.hstack([root, *below])


def _make_leaf(plan: HierarchyPlan, Y: Array, X: Array) -> ExactOutputs:
    """The outputs of a part, with kernel and noise to start from."""
    size = float(np.nanmean(Y * Y)) or 1.0  # of outputs that are all alike: any unit will do
    kernel, bounds = plan.kernel.search_start(X, variance=size)
    if plan.noise_variance is not None:
        return ExactOutputs(Y, kernel, bounds, plan.noise_variance, None)
    low, high = (share * size for share in _NOISE_RANGE)
    return ExactOutputs(Y, kernel, bounds, _NOISE_START * size, (low, high))
