"""Points in hyperparameters, with weights, over which predictions are averaged.

The posterior of log hyperparameters is explored as INLA does: about its mode, in coordinates in
which the log density curves by one, at the points of a design whose weights give a normal its
moments; what the density is at each point beside that normal corrects the weights.  [RMC 6.5]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from posterity import distributions, linalg, optimize, page_forms
from posterity.arrays import Array
from posterity.inference.posterior import LatentJoint, LatentMarginals, mix_joints, mix_marginals
from posterity.inference.search import Objective, climb_evidence
from posterity.linalg.axes import orient_rows
from posterity.page_forms import Form

_RATE = 0.5  # of the prior of a root
_RADIUS2 = 1.5  # of points, for each coordinate: between the second moment and the fourth
_STEP = 0.01  # in log parameters, between the gradients of which the difference is the curvature
_LEAST_GAIN = 1e-2  # nats: a point near the mode is as good a centre
_NEGLIGIBLE = 0.01  # of the largest weight
_DIRECTIONS = 16  # at most, the widest, in which points lie: 33 points
_ROWS = 30  # for each unknown: of more rows the best values are known well enough
_MOST_ROWS = 400  # from which on several posteriors take time and room


def is_worthwhile(n_rows: float, n_unknown: int) -> bool:
    """Return whether so few rows leave what is unknown uncertain enough for priors to matter.

    Neglecting the uncertainty of hyperparameters takes a share of about an unknown a row from the
    precision of predictions; every point of the average takes the time and room of a posterior.
    """
    return 0 < n_rows <= min(_ROWS * n_unknown, _MOST_ROWS)


@dataclass(frozen=True)
class Hyperprior:
    """Half-Cauchy priors of hyperparameters about typical values, in their logarithms.

    A parameter, or the root of it where the rate is one half, is half-Cauchy with its typical value
    as median. Its log density falls by at most its rate for each e times the parameter: far from
    what is typical a few rows outweigh it. A rate of zero: the objective has a prior of its own.

    Examples
    --------
    >>> prior = Hyperprior(np.zeros(1), np.ones(1))
    >>> value, slope = prior.penalize(lambda x: (0.0, 0.0 * x))(np.array([9.0]))
    >>> round(value, 6), slope.round(6)
    (9.0, array([1.]))
    """

    typical: Array  # (P,), log
    rate: Array  # (P,)

    @classmethod
    def weak(cls, typical: Array, *, n_own: int = 0) -> Hyperprior:
        """Half-Cauchy priors of roots, such as deviations, after which ``n_own`` have their own."""
        rate = np.append(np.full(len(typical), _RATE), np.zeros(n_own))
        return cls(np.append(typical, np.zeros(n_own)), rate)

    @property
    def deviation(self) -> Array:
        """Standard deviation of each log parameter; that of a root where its prior is unknown."""
        return 0.5 * np.pi / np.where(self.rate > 0.0, self.rate, _RATE)

    def penalize(self, objective: Objective) -> Objective:
        """Return the objective, minus a log evidence, with minus the log prior added."""

        def value_and_gradient(theta: Array) -> tuple[float, Array]:
            value, gradient = objective(theta)
            r = self.rate * (theta - self.typical)
            return value + float(np.sum(np.logaddexp(r, -r))), gradient + self.rate * np.tanh(r)

        return value_and_gradient


class UncertainProblem(Protocol):
    """A search for the largest evidence whose hyperparameters can be averaged over."""

    @property
    def n_rows(self) -> int:
        """The number N of rows."""

    @property
    def n_unknown(self) -> int:
        """The number of weights and hyperparameters that the rows tell of."""

    @property
    def limits(self) -> Array:
        """Log bounds of the hyperparameters, (P, 2)."""

    @property
    def names(self) -> list[str]:
        """Names of the hyperparameters."""

    @property
    def hyperprior(self) -> Hyperprior:
        """Their priors, beside those that the objective has."""


@dataclass(frozen=True)
class WeightedPoints:
    """Log hyperparameters to average over, the heaviest first, and the weight of each."""

    theta: Array  # (K, P)
    weights: Array  # (K,), adding up to one


def choose_points(
    objective: Objective,
    best: optimize.Optimum,
    *,
    limits: Array,
    names: Sequence[str],
    prior: Hyperprior,
    max_iter: int = 50,
) -> WeightedPoints | None:
    """Return points about the mode that stand for the posterior of log hyperparameters.

    The objective is minus a log evidence, with its gradient; ``best`` is its minimum. None where
    the curvature cannot be found.

    Examples
    --------
    >>> bowl = lambda x: (4.5 * float(x @ x), 9.0 * x)
    >>> flat = Hyperprior(np.zeros(1), np.zeros(1))
    >>> limits, best = np.array([[-9.0, 9.0]]), optimize.minimise_bfgs(bowl, np.ones(1))
    >>> points = choose_points(bowl, best, limits=limits, names=["a"], prior=flat)
    >>> np.sqrt(points.weights @ points.theta**2).round(3)  # a normal, of deviation 1 / 3
    array([0.333])
    """
    penalized = prior.penalize(objective)
    least, most = limits.T
    mode = climb_evidence(
        penalized,
        np.clip(best.x, least, most),
        limits=limits,
        names=names,
        max_iter=max_iter,
        least_gain=_LEAST_GAIN,
        inverse_hessian=best.inverse_hessian,
        announce=False,
    )
    found = _find_axes(penalized, mode.x, mode.gradient, limits, prior.deviation)
    if found is None:
        return None
    axes, inverse = found
    Z, shares = make_design(axes.shape[1])
    theta = np.clip(mode.x + Z @ axes.T, least, most)
    Z = (theta - mode.x) @ inverse.T  # of a point at a limit, not of the one beyond it
    excess = np.array([penalized(point)[0] for point in theta]) - mode.value
    log_w = np.log(shares) - excess + 0.5 * np.sum(Z**2, axis=1)  # [RMC 6.5]
    w = np.exp(log_w - np.max(log_w))
    order = np.argsort(-w, kind="stable")
    kept = order[w[order] >= _NEGLIGIBLE]
    return WeightedPoints(theta[kept], w[kept] / np.sum(w[kept]))


def average_posteriors(
    problem: UncertainProblem,
    objective: Objective,
    optimum: optimize.Optimum,
    best: Any,
    condition: Callable[[Array], Any],
    *,
    likelihood: Callable[[Array], Any] | None = None,
) -> Any:
    """Return the mixture of posteriors that ``condition`` makes at several log hyperparameters.

    ``likelihood`` makes that of each, where its parameters are among them. The best posterior
    alone, that of the optimum, is returned where rows are many or points cannot be found.
    """
    if not len(optimum.x) or not is_worthwhile(problem.n_rows, problem.n_unknown):
        return best
    with linalg.threads.limit_threads(problem.n_rows):
        points = choose_points(
            objective,
            optimum,
            limits=problem.limits,
            names=problem.names,
            prior=problem.hyperprior,
        )
    if points is None:
        return best
    own = () if likelihood is None else tuple(map(likelihood, points.theta))
    return PosteriorMixture(best, tuple(map(condition, points.theta)), points.weights, own)


def make_design(n: int) -> tuple[Array, Array]:
    """Return points (K, n) with the first three moments of a standard normal, and their shares.

    The centre, and of all corners of a cube a fraction (a Hadamard matrix and its mirror image):
    each at the distance at which a normal of n coordinates has most of its mass.

    Examples
    --------
    >>> Z, shares = make_design(3)
    >>> len(Z), (shares @ Z**2).round(12)
    (9, array([1., 1., 1.]))
    """
    H = np.ones((1, 1))
    while len(H) < n:
        H = np.block([[H, H], [H, -H]])
    corners = np.vstack([H[:, :n], -H[:, :n]]) if n > 1 else np.array([[1.0], [-1.0]])
    Z = np.vstack([np.zeros((1, n)), np.sqrt(_RADIUS2) * corners])
    outer = np.full(len(corners), 1.0 / (_RADIUS2 * len(corners)))
    return Z, np.append(1.0 - 1.0 / _RADIUS2, outer)


def _find_axes(
    objective: Objective, x: Array, gradient: Array, limits: Array, widest: Array
) -> tuple[Array, Array] | None:
    """Return the widest axes (P, m), along which the objective at x + axes z curves by one.

    The second array (m, P) takes differences from x to z. No axis is longer than the prior is
    wide, and none leads along a parameter whose limits are equal. Their signs are those of their
    largest entries: points lie on one side of an axis and not on the other. None where the
    objective cannot be evaluated.
    """
    least, most = limits.T
    up, down = np.minimum(_STEP, most - x), np.minimum(_STEP, x - least)
    steps = np.where(up < down, -down, up)  # beyond a limit, a kernel need not be defined
    free = steps != 0.0
    H = np.zeros((len(x), len(x)))
    for i in np.flatnonzero(free):
        H[i] = (objective(x + steps * (np.arange(len(x)) == i))[1] - gradient) / steps[i]
    width = np.where(free, widest, 0.0)
    scaled = 0.5 * (H + H.T) * np.outer(width, width)
    if not np.all(np.isfinite(scaled)):
        return None
    values, V = linalg.symmetric.eigh(scaled)
    V, lengths = orient_rows(V.T.copy()).T, 1.0 / np.sqrt(np.maximum(values, 1.0))
    axes, inverse = width[:, None] * V * lengths, (free / widest)[:, None] * V / lengths
    return axes[:, :_DIRECTIONS], inverse[:, :_DIRECTIONS].T


@dataclass(frozen=True)
class PosteriorMixture:
    """Posteriors at several hyperparameters, with weights, and the one at the best of these.

    It answers as a normal with the mean and the covariance of the mixture, what its parts answer.

    Examples
    --------
    >>> from posterity import kernels
    >>> from posterity.process.prior import ProcessPrior
    >>> parts = tuple(ProcessPrior(kernels.RBF(1.0), np.array([m]), np.zeros(1)) for m in (0, 2))
    >>> mixture = PosteriorMixture(parts[0], parts, np.array([0.5, 0.5]))
    >>> mixture.latent(np.zeros((1, 1)))
    LatentMarginals(mean=array([[1.]]), variance=array([[2.]]), coupling=None)
    """

    best: Any  # at the largest evidence
    parts: tuple[Any, ...]
    weights: Array  # (K,), adding up to one
    likelihoods: tuple[Any, ...] = ()  # of the parts, where their parameters were learned too

    def split(self) -> tuple[tuple[Any, ...], Array]:
        """Return the parts and their weights."""
        return self.parts, self.weights

    def condition_parts(self, condition: Callable[[Any], Any]) -> PosteriorMixture:
        """Return the mixture with every part given further rows, which tell for or against it."""
        parts = tuple(map(condition, self.parts))
        gain = [b.log_evidence - a.log_evidence for a, b in zip(self.parts, parts, strict=True)]
        w = self.weights * np.exp(np.array(gain) - max(gain))
        return PosteriorMixture(condition(self.best), parts, w / np.sum(w))

    @property
    def log_evidence(self) -> float:
        """log p(y) at the largest evidence."""
        return float(self.best.log_evidence)

    @property
    def kernel(self) -> Any:
        """The kernel at the largest evidence."""
        return self.best.kernel

    @property
    def at_maximum(self) -> Any:
        """The posterior at the largest evidence."""
        return self.best

    @property
    def noise_variance(self) -> Any:
        """The noise variance at the largest evidence."""
        return self.best.noise_variance

    @property
    def mean_noise_variance(self) -> Array:
        """Posterior mean of the noise variance, (K,)."""
        return self._average([part.mean_noise_variance for part in self.parts])

    @property
    def is_noise_known(self) -> bool:
        """Whether the noise variance was given."""
        return bool(self.parts[0].is_noise_known)

    @property
    def coef(self) -> Array:
        """Posterior mean of weights in the original units, (M, K)."""
        return self._average([part.coef for part in self.parts])

    @property
    def intercept(self) -> Array:
        """Posterior mean of the offset in the original units, (K,)."""
        return self._average([part.intercept for part in self.parts])

    def mean(self, X: Any) -> Any:
        """Return the mean of the functions at the rows of X, (n, C)."""
        return self._average([part.mean(X) for part in self.parts])

    def latent(self, X: Any) -> LatentMarginals:
        """Return mean and variance of the latent values at each row of X."""
        return mix_marginals([part.latent(X) for part in self.parts], self.weights)

    def joint(self, X: Any) -> LatentJoint:
        """Return mean and covariance of each latent function over all rows of X."""
        return mix_joints([part.joint(X) for part in self.parts], self.weights)

    def combine(self, A: Array, b: Array) -> LatentJoint:
        """Return mean and covariance of A (n, M) times the weights plus b (n,) times the offset."""
        return mix_joints([part.combine(A, b) for part in self.parts], self.weights)

    def predict(self, *query: Any) -> Any:
        """Return the mixture of what the parts predict of targets."""
        members = [part.predict(*query) for part in self.parts]
        return distributions.Mixture.average(members, self.weights) if members[1:] else members[0]

    def sample(self, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draws of weights (size, M, K) and of the offset (size, K); outputs share parts."""
        chosen = rng.choice(len(self.parts), size=size, p=self.weights)
        coef, intercept = (np.empty((size, *a.shape)) for a in (self.coef, self.intercept))
        for i in np.unique(chosen):
            own = chosen == i
            coef[own], intercept[own] = self.parts[i].sample(int(np.sum(own)), rng)
        return coef, intercept

    def before_rows(self) -> PosteriorMixture:
        """Return the priors, with the hyperparameters and weights of the fit."""
        return PosteriorMixture(
            self.best.before_rows(), tuple(p.before_rows() for p in self.parts), self.weights
        )

    def leave_one_out(self) -> LatentMarginals:
        """Return mean and variance of each target given all others, weights kept."""
        return mix_marginals([part.leave_one_out() for part in self.parts], self.weights)

    def page_regression(self, *regression: Any) -> Form:
        """Return the form of a regression that is averaged over the parts."""
        forms = [part.page_regression(*regression) for part in self.parts]
        return page_forms.form_mixture(forms, self.weights.tolist())

    def _average(self, values: Sequence[Any]) -> Any:
        return sum(float(w) * value for w, value in zip(self.weights, values, strict=True))


def split_mixture(posterior: Any) -> tuple[tuple[Any, ...], Array]:
    """Return the parts of a mixture and their weights (K,); another posterior is the only part.

    Where functions are averaged each by itself, the weights are (C, K).
    """
    if hasattr(posterior, "split"):
        return posterior.split()
    return (posterior,), np.ones(1)


def transform_parts(posterior: Any, transform: Callable[[Any], Any]) -> Any:
    """Return a mixture with every part transformed, or another posterior transformed itself."""
    if not isinstance(posterior, PosteriorMixture):
        return transform(posterior)
    parts = tuple(map(transform, posterior.parts))
    return replace(posterior, best=transform(posterior.best), parts=parts)


HYPERPARAMETERS = ("average", "maximise")


def check_hyperparameters(hyperparameters: str) -> bool:
    """Return whether predictions average over hyperparameters; refuse an unknown choice.

    Examples
    --------
    >>> check_hyperparameters("average"), check_hyperparameters("maximise")
    (True, False)
    """
    if hyperparameters not in HYPERPARAMETERS:
        raise ValueError(f"hyperparameters={hyperparameters!r} must be 'average' or 'maximise'.")
    return hyperparameters == "average"


def can_average(likelihood: Any) -> bool:
    """Return whether predictions under a likelihood can be averaged over hyperparameters."""
    return bool(likelihood.joins_predictions)
