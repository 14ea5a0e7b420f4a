"""Units added one at a time to a sum whose earlier terms stay fixed.  [P9 9.47]

A stage finds one unit, its weights and the constant that are most probable given the sum so far,
for any likelihood with two derivatives. It holds the sum so far and one column at a time, however
many stages there are. Parameters of the likelihood that are to be learned are set anew after each
stage, where they make the rows most likely.
"""

from __future__ import annotations

import collections
import functools
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import joblib
import numpy as np
from numpy.typing import NDArray

from posterity import features, likelihoods, linalg, optimize
from posterity.arrays import Array
from posterity.inference import learned_features, minima
from posterity.local import screening

AnyLikelihood: TypeAlias = likelihoods.Likelihood | likelihoods.Coupled

_LEAST_GAIN = 1e-3  # nats: what a unit must add
_HEAT = 100  # iterations after which only the best search goes on
_COARSE_GAIN = 1e-4  # nats: a search ends where an iteration gains less, and is then settled
_TURNS = 10  # of the unit and of the parameters of the likelihood
_DRAWS = 10  # of a share of the rows, in none of which a unit gains, before the fit ends


@dataclass(frozen=True)
class StagewiseStep:
    """A unit, and the model as it was once that unit had been added."""

    theta: Array  # (P,)
    weights: Array  # (C,)
    offset: Array  # (C,), the constant of the whole sum
    likelihood: AnyLikelihood  # with its parameters set
    log_likelihood: float  # of the rows of the fit
    n_iter: int  # of the search


@dataclass(frozen=True)
class Stages:
    """A sum of K units; the first step is the constant alone, a unit without weight."""

    units: features.LearnedFeatures  # a single one, fitted: the scale of the columns
    steps: tuple[StagewiseStep, ...]  # 1 + K
    stop_reason: str
    n_validated: float = 0.0  # held-out rows that set the parameters of likelihoods; 0: the rows
    # Parameters of the likelihood, after the last unit; no part of model files.
    bounds_reached: tuple[optimize.ReachedBound, ...] = field(
        default=(), metadata={"transient": True}
    )

    @property
    def n_units(self) -> int:
        """The number K of units."""
        return len(self.steps) - 1

    @property
    def thetas(self) -> Array:
        """Parameters of the units, (K, P)."""
        return np.array([step.theta for step in self.steps])[1:]

    @property
    def weights(self) -> Array:
        """Weights of the units, (K, C)."""
        return np.array([step.weights for step in self.steps])[1:]

    def joint_units(self) -> features.LearnedFeatures | None:
        """All units as one feature space of K columns; None without units."""
        if not self.n_units:
            return None
        return screening.copy_with_units(self.units, self.n_units).with_theta(self.thetas.ravel())

    def truncate(self, n_units: int) -> Stages:
        """The first units only: what a fit of so many stages gives."""
        if n_units == self.n_units:
            return self
        reason = f"cut to {n_units} of {self.n_units} units"
        return replace(self, steps=self.steps[: n_units + 1], stop_reason=reason)

    def with_columns(self, order: NDArray[np.intp]) -> Stages:
        """The same sum of columns that stand in another order."""
        place = np.append(order, len(order))  # a unit's last parameter is of no column
        steps = tuple(replace(step, theta=step.theta[place]) for step in self.steps)
        return replace(self, units=self.units.with_columns(order), steps=steps)

    def iterate_latents(self, X: Array) -> Iterator[Array]:
        """Latent values (n, C) by the constant, by one unit, by two: each adds one column."""
        return iterate_latents(self.units, self.units.standardise(X), self.steps)

    def latents(self, X: Array) -> Array:
        """Latent values (n, C) by all units."""
        return collections.deque(self.iterate_latents(X), maxlen=1)[0]


@dataclass(frozen=True)
class StagewiseFitter:
    """Rows, and how one more unit is found for them."""

    units: features.LearnedFeatures
    U: Array  # (N, D), standardised
    y: Array
    counts: Array
    likelihood: AnyLikelihood  # its parameters where they start
    bounds: Array  # on the logs of the likelihood's parameters, (P, 2)
    weight_information: float
    max_iter: int
    n_jobs: int | None
    learning_rate: float = 1.0  # factor of each unit
    subsample: float = 1.0  # share of the rows that each search looks at

    def fit(self, n_stages: int, rng: np.random.Generator) -> Stages:
        """So many stages, or fewer where no further unit gains enough.

        Each stage has a child of the generator: the first stages are those of any longer fit.

        Warns
        -----
        ConvergenceWarning
            When the best search of a stage did not end by itself.
        """
        with linalg.threads.limit_threads(len(self.y)):
            steps = tuple(itertools.islice(self.grow(rng), 1 + n_stages))
            *_, A = iterate_latents(self.units, self.U, steps)
            reached = self.bounds_reached(steps[-1].likelihood, A)
        reason = f"{n_stages} units were asked for"
        if len(steps) <= n_stages:
            reason = f"no further unit gained more than {_LEAST_GAIN:g} nats"
        return Stages(self.units, steps, reason, bounds_reached=reached)

    def grow(self, rng: np.random.Generator) -> Iterator[StagewiseStep]:
        """The constant, then one unit after the other while they gain enough."""
        step = self.constant(self.likelihood)
        yield step
        total = np.zeros((len(self.y), len(step.offset)))
        while (following := self.next_step(total, step, rng.spawn(1)[0])) is not None:
            step = following
            total += self.units.evaluate_columns(self.U, step.theta) * step.weights
            yield step

    def constant(self, likelihood: AnyLikelihood) -> StagewiseStep:
        """The constant that fits best, and no unit."""
        offset = np.atleast_1d(likelihood.fit_constant(self.y, self.counts)[0])
        A = np.broadcast_to(offset, (len(self.y), len(offset)))
        theta = np.zeros_like(self.units.theta_)
        return self.finish_step(
            StagewiseStep(theta, 0.0 * offset, offset, likelihood, -np.inf, 0), A
        )

    def finish_step(self, step: StagewiseStep, A: Array) -> StagewiseStep:
        """The step with the likelihood's parameters where they fit best, and how well that is."""
        tuned = self.tune_likelihood(step.likelihood, A)
        value = float(self.counts @ evaluate_log_prob(tuned, self.y, A))
        return replace(step, likelihood=tuned, log_likelihood=value)

    def next_step(
        self, total: Array, last: StagewiseStep, rng: np.random.Generator
    ) -> StagewiseStep | None:
        """The unit that adds most to the sum so far, or None.  [P9 9.50]-[P9 9.52]"""
        for _ in range(1 if self.subsample == 1.0 else _DRAWS):
            step = self.find_unit(total, last, rng)
            if step is not None:
                return step
        return None

    def find_unit(
        self, total: Array, last: StagewiseStep, rng: np.random.Generator
    ) -> StagewiseStep | None:
        """The best unit for one draw of the rows, or None."""
        problem = self.problem(total, last, self.draw_rows(rng))
        screen = screening.CandidateScreen.from_problem(problem)
        starts = [screen.choose_start(rng) for _ in range(1 + self.units.n_restarts)]
        best = self.race_starts(problem, starts)
        if problem(np.zeros_like(problem.mean))[0] - best.value <= _LEAST_GAIN:
            return None
        end, likelihood = self.alternate_with_likelihood(problem, best)
        theta, (w, b) = problem.split(end.x)
        rate = self.learning_rate
        step = StagewiseStep(
            theta, rate * w, (1.0 - rate) * last.offset + rate * b, likelihood, -np.inf, end.n_iter
        )
        A = self.units.evaluate_columns(self.U, theta) * step.weights + step.offset
        return self.finish_step(step, total + A)

    def draw_rows(self, rng: np.random.Generator) -> slice | NDArray[np.intp]:
        """The rows that a search looks at, in order."""
        if self.subsample == 1.0:
            return slice(None)
        n_rows = len(self.y)
        size = max(1, round(self.subsample * n_rows))
        return np.sort(rng.choice(n_rows, size, replace=False))

    def problem(
        self, total: Array, last: StagewiseStep, rows: slice | NDArray[np.intp] = slice(None)
    ) -> learned_features.LearnedFeatureProblem:
        """The problem of one more unit; where that has no weight, the value of the last step.

        The constant moves from where it was, as far as one row's worth of information lets it: so
        what the posterior gains, the likelihood gains too.
        """
        problem = learned_features.LearnedFeatureProblem.from_rows(
            self.units,
            self.U,
            self.y,
            self.counts,
            last.likelihood,
            weight_information=self.weight_information,
            fit_intercept=True,
            base=total,
        )
        return replace(
            problem,  # with the prior of all rows, since a few may be of one class
            U=self.U[rows],
            y=self.y[rows],
            counts=self.counts[rows],
            base=total[rows],
            mean=np.append(problem.mean[: -len(last.offset)], last.offset),
        )

    def race_starts(
        self, problem: learned_features.LearnedFeatureProblem, starts: list[Array]
    ) -> optimize.Optimum:
        """The end of the search that is ahead after a hundred iterations."""
        heat = functools.partial(
            optimize.minimise_lbfgs,
            problem,
            max_iter=min(_HEAT, self.max_iter),
            least_gain=_COARSE_GAIN,
            announce=False,
        )
        heats = joblib.Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            joblib.delayed(heat)(start) for start in starts
        )
        ahead = min(heats, key=lambda end: end.value)
        return self.continue_search(problem, ahead)

    def continue_search(
        self, problem: learned_features.LearnedFeatureProblem, begun: optimize.Optimum
    ) -> optimize.Optimum:
        """A search to its end, or to the last of its iterations.

        A unit that is shrunken need not be the most probable one, so that its search may be short.
        """
        end, left = begun, self.max_iter - begun.n_iter
        if left > 0:
            end = optimize.minimise_lbfgs(
                problem, begun.x, max_iter=left, least_gain=_COARSE_GAIN, announce=False
            )
            end = replace(end, n_iter=begun.n_iter + end.n_iter)
        if end.converged:
            end = minima.settle_minimum(problem, end)
        return end if self.learning_rate < 1.0 else optimize.optimum.warn_unless_converged(end)

    def alternate_with_likelihood(
        self, problem: learned_features.LearnedFeatureProblem, best: optimize.Optimum
    ) -> tuple[optimize.Optimum, AnyLikelihood]:
        """Unit and likelihood in turns, until neither moves the other."""
        for _ in range(_TURNS):
            likelihood = self.tune_likelihood(problem.likelihood, problem.latents(best.x))
            problem = replace(problem, likelihood=likelihood)
            if best.value - problem(best.x)[0] <= _LEAST_GAIN:
                break
            best = self.continue_search(problem, best)
        return best, problem.likelihood

    def tune_likelihood(self, likelihood: AnyLikelihood, A: Array) -> AnyLikelihood:
        """The likelihood with its open parameters where they make the rows most likely."""
        closed = np.all(self.bounds[:, 0] == self.bounds[:, 1])
        if closed:
            return likelihood

        def loss(theta: Array) -> tuple[float, Array]:
            return self.loss(likelihood.with_parameters(theta), A)

        best = optimize.minimise_lbfgs(
            loss, likelihood.theta, bounds=self.limits, least_gain=_COARSE_GAIN
        )
        best = minima.settle_minimum(loss, best, self.limits)
        return likelihood.with_parameters(best.x)

    @property
    def limits(self) -> list[tuple[float, float]]:
        """The bounds as pairs."""
        return [(float(low), float(high)) for low, high in self.bounds]

    def loss(self, likelihood: AnyLikelihood, A: Array) -> tuple[float, Array]:
        """Minus the log-likelihood of all rows, and its gradient in the likelihood's parameters."""
        y, counts, a = self.y, self.counts, likelihood.shape_latents(A)
        value, slope = likelihood.log_prob(y, a), likelihood.parameter_derivatives(y, a)[0]
        return -float(counts @ value), -slope @ counts

    def bounds_reached(
        self, likelihood: AnyLikelihood, A: Array
    ) -> tuple[optimize.ReachedBound, ...]:
        """Learned parameters of the likelihood that ended at a bound."""
        free = np.flatnonzero(self.bounds[:, 0] < self.bounds[:, 1])
        if not free.size:
            return ()
        limits, names = self.limits, likelihood.names
        return optimize.find_reached_bounds(
            likelihood.theta[free],
            self.loss(likelihood, A)[1][free],
            [limits[i] for i in free],
            [names[i] for i in free],
        )


def iterate_latents(
    units: features.LearnedFeatures, U: Array, steps: Iterable[StagewiseStep]
) -> Iterator[Array]:
    """Latent values (n, C) at standardised rows after each step: each adds one column."""
    total: Array | float = 0.0
    for step in steps:
        if np.any(step.weights):
            total = total + units.evaluate_columns(U, step.theta) * step.weights
        yield total + np.broadcast_to(step.offset, (len(U), len(step.offset)))  # [P9 9.52]


def prepare_stages(
    units: features.LearnedFeatures,
    X: Array,
    y: Array,
    counts: Array,
    likelihood: AnyLikelihood,
    *,
    weight_information: float = 1.0,
    max_iter: int = 3000,
    n_jobs: int | None = None,
    learning_rate: float = 1.0,
    subsample: float = 1.0,
) -> StagewiseFitter:
    """Return the fitter of a sum of units, each the best addition to those before it.

    Every stage raises the log-likelihood. They end where no unit raises it by more than what its
    prior costs and a thousandth of a nat.

    Parameters
    ----------
    units : LearnedFeatures
        A single one, fitted to X, which sets the scale of the columns. Says how often to search
        again at each stage.
    X : array (N, D)
        Rows as they are.
    y, counts : array (N,)
        Observations, and how often each counts.
    likelihood : Likelihood or Coupled
        Its parameters that are None are learned.
    weight_information : float, default=1
        The precision of each weight before the data, in what one row would tell of an offset.
    max_iter : int, default=3000
        Of each search.
    n_jobs : int, optional
        How many searches at a time.
    learning_rate : float, default=1
        Factor of each unit.
    subsample : float, default=1
        Share of the rows, drawn anew for each unit, that its search looks at.
    """
    start, bounds = likelihood.search_start(y, counts)
    U = units.standardise(X)
    return StagewiseFitter(
        units,
        U,
        y,
        counts,
        start,
        bounds,
        weight_information,
        max_iter,
        n_jobs,
        learning_rate,
        subsample,
    )


def evaluate_log_prob(likelihood: AnyLikelihood, y: Array, A: Array) -> Array:
    """Log probability of each row at latent values A (n, C)."""
    return likelihood.log_prob(y, likelihood.shape_latents(A))
