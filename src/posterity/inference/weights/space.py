"""Coordinates in which weights of columns are inferred, and the way back to the data's units.

Columns are centred and scaled. Fewer rows than columns span no more directions than there are
rows: weights then have one coordinate for each of these (the Woodbury identity, applied once), and
along all others the prior is all there is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from posterity import designs, likelihoods, linalg, optimize, page_forms, priors
from posterity.arrays import Array
from posterity.inference.averaging import PosteriorMixture, average_posteriors
from posterity.inference.posterior import LatentJoint, LatentMarginals
from posterity.inference.search import negate_evidence
from posterity.inference.weights import laplace_search, mode, variational
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.normal import ScaleMixtureFit, WeightNormal
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import WeightProblem, Weights
from posterity.inference.weights.targets import RowTargets, TalliedTargets, count_targets
from posterity.page_forms import Form

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class WeightSpace:
    """The coordinates in which weights are inferred."""

    design: designs.Standardized  # of the rows, the offset's ones included
    center: Array  # (M,)
    scale: Array  # (M,)
    V: Array | None  # (M, r), orthonormal; None: the columns themselves
    offset: bool

    @classmethod
    def from_design(
        cls,
        design: designs.Design,
        weights: designs.Values = None,
        *,
        offset: bool,
        standardize: bool = True,
        prior: priors.Normal | priors.Flat | None = None,
        rotate: bool = False,
        size: float = 0.0,
    ) -> WeightSpace:
        """Choose coordinates for rows that count by their weights; ``rotate`` forces directions.

        A direction counts where it exceeds the rounding error of the columns, or of the numbers of
        the given size that they were computed from. Columns whose weights have variances of their
        own before the rows are scaled by them.
        """
        direct = designs.Standardized.from_design(
            design, weights, offset=offset, scaled=standardize
        )
        if prior is not None:
            factor = prior.find_column_factor(design.n_columns)
            direct = replace(direct, scale=direct.scale / factor)
        center, scale = direct.center, direct.scale
        few = design.in_memory and design.n_rows < design.n_columns
        if not (rotate or few):
            return cls(direct, center, scale, None, offset)
        Z = (design.rows(0, design.n_rows) - center) / scale
        U, s, Vt = linalg.thin_svd(Z)
        of_columns = max(size, float(np.max(np.abs(center / scale), initial=0.0)))
        largest = max(s.max(initial=0.0), of_columns * float(np.sqrt(Z.size)))
        kept = s > _EPS * max(Z.shape) * largest
        rotated = designs.Dense(U[:, kept] * s[kept])
        r = int(np.sum(kept))
        plain = designs.Standardized(
            rotated, np.zeros(r), np.ones(r), offset, square_length=direct.square_length
        )
        return cls(plain, center, scale, np.ascontiguousarray(Vt[kept].T), offset)

    def expand(self, basis: Array) -> WeightSpace:
        """Return the same directions of N weights, of which the columns are combinations (N, M)."""
        assert self.V is not None  # of columns that are not scaled
        ones = np.ones(len(basis))
        return replace(self, V=basis @ self.V, center=basis @ self.center, scale=ones)

    def compute_mean_square(self, weights: Array | None) -> float:
        """Mean square of a coordinate over rows in memory: the geometric mean over directions.

        A prior of this precision and the mean information of a row have the same determinant.
        """
        w = np.ones(self.design.n_rows) if weights is None else weights
        Z = self.design.rows(0, self.design.n_rows) * np.sqrt(w / np.sum(w))[:, None]
        _, s, _ = linalg.thin_svd(Z[:, : Z.shape[1] - self.offset])
        kept = s[s > _EPS * max(Z.shape) * s.max(initial=0.0)]
        return float(np.exp(2.0 * np.mean(np.log(kept)))) if kept.size else 1.0

    def transform_columns(self, Z: Array) -> tuple[Array, Array | None]:
        """Return design rows for new columns, and the squared length outside their span."""
        X = (Z - self.center) / self.scale
        ones = np.ones((len(Z), int(self.offset)))
        if self.V is None:
            return np.hstack([X, ones]), None
        P = X @ self.V
        outside = X - P @ self.V.T
        return np.hstack([P, ones]), np.einsum("nm,nm->n", outside, outside)

    def restore_units(self, W: Array, targets: RowTargets) -> tuple[Array, Array]:
        """Weights (M, C) and offsets (C,) of the latent values, in the units of the columns."""
        r = W.shape[0] - self.offset
        along = W[:r] if self.V is None else self.V @ W[:r]
        coef = (along / self.scale[:, None]) @ targets.Q.T
        own = targets.Q @ W[-1] if self.offset else 0.0
        return coef, targets.shift + own - self.center @ coef


@dataclass(frozen=True)
class LearnedWeights:
    """A posterior of the weights, and the hyperparameters of the largest evidence.

    Averaged over hyperparameters, the posterior is a normal with the mean and the covariance of
    the mixture, and ``likelihoods`` has those of its parts where their parameters were learned.
    """

    posterior: LatentPosterior
    coef: Array  # (M, C)
    intercept: Array  # (C,)
    likelihood: Any
    prior_variance: float | Array  # of all weights, or (M,) as given
    log_evidence: float  # log p(y) to Laplace's approximation, all constants included
    optimum: optimize.Optimum
    likelihoods: tuple[tuple[Any, float], ...] = ()  # with their weights


def learn_weights(
    space: WeightSpace,
    y: Array | TalliedTargets,
    weights: designs.Values,
    likelihood: likelihoods.Likelihood | likelihoods.Coupled,
    *,
    prior: priors.Normal | priors.Flat,
    nearest: bool = False,
    average: bool = False,
) -> LearnedWeights:
    """Infer weights under a prior, by Laplace; what is None is learned by the evidence.

    With ``nearest`` the posterior is then the nearest normal; the likelihood needs averages. With
    ``average`` it is averaged over hyperparameters, where rows are few.
    """
    started, bounds = likelihood.search_start(*count_targets(y, weights))
    targets = RowTargets.from_observations(y, weights, started, offset=space.offset)
    variance = prior.shared_variance
    search = laplace_search.LaplaceSearch(
        space.design, targets, variance, bounds, space.offset, space.design.square_length
    )
    if variance == np.inf:
        refuse_free_weights(space, mode.find_mode(search.problem_at(search.start)))
    found = laplace_search.maximise_laplace_evidence(search)
    fit = variational.find_nearest_normal(found.fit) if nearest else found.fit
    posterior = LatentPosterior(space, fit, found.prior_variance)
    own: tuple[tuple[Any, float], ...] = ()
    if average and space.design.n_columns:
        posterior, own = _average_weights(search, found, posterior, nearest=nearest)
    coef, intercept = space.restore_units(posterior.fit.weights.W, targets)
    return LearnedWeights(
        posterior,
        coef,
        intercept,
        found.fit.problem.targets.likelihood,
        prior.find_column_factor(len(coef)) ** 2 * found.prior_variance,
        found.fit.log_evidence,
        found.optimum,
        own,
    )


def refuse_free_weights(space: WeightSpace, found: Weights) -> None:
    """Raise where rows leave weights free that have no prior: they have no posterior then."""
    if found.separable:
        raise ValueError(
            "The classes can be separated, so that under a flat prior weights grow without end: "
            "give them a normal prior, as prior=priors.Normal()."
        )
    if found.dependent or space.V is not None:
        raise ValueError(
            "The features are linearly dependent, so that the likelihood leaves some weights "
            "entirely free; use predictive='plug_in', or a normal prior, as prior=priors.Normal()."
        )


def _average_weights(
    search: laplace_search.LaplaceSearch,
    found: laplace_search.LearnedLaplace,
    best: LatentPosterior,
    *,
    nearest: bool,
) -> tuple[LatentPosterior, tuple[tuple[Any, float], ...]]:
    """Return a posterior averaged over hyperparameters, and learned likelihoods by weight."""
    W, fits = found.fit.weights.W, dict[bytes, LaplaceFit]()

    def evidence(x: Array) -> tuple[float, Array]:
        fit = fits[x.tobytes()] = search.fit_at(x, W)
        return fit.log_evidence, search.gradient(fit)

    def condition(x: Array) -> LatentPosterior:
        fit = fits[x.tobytes()]
        variance = 1.0 / float(np.max(fit.problem.prior.precision))
        finished = variational.find_nearest_normal(fit) if nearest else fit
        return LatentPosterior(best.space, finished, variance)

    objective = negate_evidence(evidence)
    mixture = average_posteriors(search, objective, found.optimum, best, condition)
    if not isinstance(mixture, PosteriorMixture):
        return best, ()
    each = (part.fit.problem.targets.likelihood for part in mixture.parts)
    own = tuple(zip(each, map(float, mixture.weights), strict=True))
    return _collapse(mixture), own if np.any(search.free) else ()


def _collapse(mixture: PosteriorMixture) -> LatentPosterior:
    """Return the normal with the mean and the covariance of a mixture of normals of weights.

    Its prior has the mean of the prior variances, which is that of the mixture of priors.
    """
    w, fits, best = mixture.weights, [part.fit for part in mixture.parts], mixture.best
    problem = fits[0].problem
    means = np.stack([problem.prior.pack(fit.weights.W) for fit in fits])
    about = (means - w @ means) * np.sqrt(w)[:, None]
    within = sum(share * fit.packed_covariance for share, fit in zip(w, fits, strict=True))
    S = linalg.symmetrize(within + about.T @ about)
    L = linalg.cholesky(linalg.inverse_from_cholesky(linalg.cholesky(S)))
    variance = float(w @ [part.prior_variance for part in mixture.parts])
    prior = replace(problem.prior, precision=1.0 / variance)
    W = replace(fits[0].weights, W=prior.unpack(w @ means, problem.shape))
    return LatentPosterior(best.space, WeightNormal(replace(problem, prior=prior), W, L), variance)


def maximise_likelihood(
    space: WeightSpace,
    y: Array | TalliedTargets,
    weights: designs.Values,
    likelihood: likelihoods.Likelihood | likelihoods.Coupled,
    *,
    exactly: bool,
    mean_square: float = 1.0,
    max_iter: int = 100,
) -> tuple[WeightProblem, Weights]:
    """Maximise the likelihood; where classes are separable, under one row's worth of prior.

    There the weights would grow without limit. A prior with the information of one row bounds
    them, whatever the units of the columns: those of ``compute_mean_square`` over the rows.
    """
    targets = RowTargets.from_observations(y, weights, likelihood, offset=space.offset)
    M, J = space.design.n_columns, targets.n_outputs
    flat = WeightPrior(0.0, M, np.zeros((J, J)) if space.offset else None)
    problem = WeightProblem(space.design, targets, flat)
    found = mode.find_mode(problem, exactly=exactly, max_iter=max_iter)
    if not found.separable:
        return problem, found
    one_row = WeightPrior(
        mean_square / targets.typical_variance,
        M,
        targets.offset_precision if space.offset else None,
    )
    bounded = replace(problem, prior=one_row)
    again = mode.find_mode(bounded, exactly=exactly, max_iter=max_iter)
    return bounded, replace(again, separable=True)


@dataclass(frozen=True)
class LatentPosterior:
    """Latent values at any columns, under a normal approximation of the posterior."""

    space: WeightSpace
    fit: WeightNormal | LaplaceFit | variational.NearestNormal | ScaleMixtureFit
    prior_variance: float  # its mean, where it is averaged

    def latent(self, Z: Array) -> LatentMarginals:
        """Return the distributions of the C latent values at columns Z (n, M)."""
        rows, outside = self.space.transform_columns(Z)
        known = self.fit.latent(rows)
        if outside is None:
            return known
        unseen = self.prior_variance * outside[:, None, None] * self._identity
        return LatentMarginals.from_covariance(known.mean, known.covariance + unseen)

    def joint(self, Z: Array) -> LatentJoint:
        """Return the distribution of each latent value over all rows of columns Z (n, M)."""
        return self.combine(Z, np.ones(len(Z)))

    def combine(self, A: Array, b: Array) -> LatentJoint:
        """Return the distribution of A (n, M) times the weights plus b (n,) times the offset.

        Weights and offset are in the units of the data.
        """
        space, t = self.space, self.fit.problem.targets
        X = (A - np.outer(b, space.center)) / space.scale
        along = X if space.V is None else X @ space.V
        rows = np.hstack([along, b[:, None]]) if space.offset else along
        covariance = self.fit.joint(rows).covariance
        if space.V is not None:
            outside = X - along @ space.V.T
            unseen = self.prior_variance * (outside @ outside.T)
            covariance += np.diagonal(self._identity)[:, None, None] * unseen
        return LatentJoint((rows @ self.fit.weights.W) @ t.Q.T + np.outer(b, t.shift), covariance)

    def before_rows(self) -> LatentPosterior:
        """Return the prior of weights and offsets, with the variances of the fit."""
        return replace(self, fit=self.fit.before_rows())

    @cached_property
    def _identity(self) -> Array:
        """Covariance of C latent values under independent contrasts of unit variance."""
        Q = self.fit.problem.targets.Q
        return Q @ Q.T

    def sample(self, n_samples: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draws of the weights (n_samples, M, C) and of the offsets (n_samples, C)."""
        M, J = self.fit.problem.shape
        noise = rng.standard_normal((M * J, n_samples))
        moved = linalg.solve_lower_transposed(self.fit.L, noise).T.reshape(n_samples, M, J)
        t = self.fit.problem.targets
        draws = [self.space.restore_units(self.fit.weights.W + step, t) for step in moved]
        coef = np.stack([draw[0] for draw in draws])
        intercept = np.stack([draw[1] for draw in draws])
        if self.space.V is None:
            return coef, intercept
        unseen = self._sample_unseen(self.space.V, n_samples, rng)
        return coef + unseen, intercept - np.einsum("m,smc->sc", self.space.center, unseen)

    def page_form(self) -> Form:
        """Return the form from which a page computes covariances of latent values."""
        V = self.space.V
        return {
            "center": np.asarray(self.space.center).tolist(),
            "scale": np.asarray(self.space.scale).tolist(),
            "directions": None if V is None else V.T,
            "ones": self.space.offset,
            **page_forms.find_form(self.fit),
            "outside": 0.0 if V is None else self.prior_variance,
        }

    def _sample_unseen(self, V: Array, n_samples: int, rng: np.random.Generator) -> Array:
        """Draws of the weights along directions that no row has, from the prior."""
        Q = self.fit.problem.targets.Q
        free = np.sqrt(self.prior_variance) * rng.standard_normal((n_samples, len(V), Q.shape[1]))
        outside = free - V @ (V.T @ free)
        return (outside / self.space.scale[:, None]) @ Q.T
