"""A fitted latent variable model in its own units: where rows are, and what points stand for."""

from __future__ import annotations

import abc
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from posterity import kernels, optimize
from posterity.arrays import Array
from posterity.latent.gplvm.inducing_outputs import InducingDecoder, InducingOutputs
from posterity.latent.gplvm.locating import (
    Located,
    decode_normal_points,
    locate,
    locate_along,
    locate_along_at,
    locate_at,
)
from posterity.latent.gplvm.outputs import ExactDecoder, ExactOutputs
from posterity.latent.gplvm.placements import compute_back_features
from posterity.latent.gplvm.row_outputs import decode_rows, find_hypotheses
from posterity.latent.gplvm.trajectories import Path
from posterity.latent.gplvm.variational.posterior import (
    VariationalPosterior,
    compute_relevances,
    condition_variational,
)


@dataclass(frozen=True)
class Placed:
    """Latent points of rows, and what is not known of them."""

    mean: Array  # (n, Q)
    covariance: Array  # (n, Q, Q)

    @property
    def variance(self) -> Array:
        """Variance of each coordinate by itself, (n, Q)."""
        return np.diagonal(self.covariance, axis1=1, axis2=2)

    def interleave(self, mine: NDArray[np.intp], other: Placed, theirs: NDArray[np.intp]) -> Placed:
        """These points at some places of a whole, and others at the rest of them."""
        order = np.argsort(np.concatenate([mine, theirs]))
        return Placed(
            np.concatenate([self.mean, other.mean])[order],
            np.concatenate([self.covariance, other.covariance])[order],
        )


@dataclass(frozen=True)
class LatentPointFit(abc.ABC):
    """The methods that an estimator needs of a fit, however it was made."""

    Y: Array  # (N, D), the rows that were fitted
    X: Array  # (N, Q), their latent points, or the means of these
    decoder: ExactDecoder | InducingDecoder | VariationalPosterior  # from latent points to outputs
    kernel: kernels.Kernel  # over latent points, as it was learned
    path: Path | None  # of the rows over time, its kernel as it was learned
    value: float  # of what was maximised
    optimum: optimize.Optimum
    ends: Array  # what the search from each start reached

    @property
    def X_variance(self) -> Array:
        """Variances of the latent points, (N, Q)."""
        return np.zeros_like(self.X)

    @abc.abstractmethod
    def place_fitted(self, rows: NDArray[np.intp]) -> Placed:
        """The places of rows that were fitted."""

    @abc.abstractmethod
    def locate(self, Y: Array, path: Path | None = None) -> Located:
        """The places of further rows."""

    @abc.abstractmethod
    def decode(self, placed: Placed) -> tuple[Array, Array]:
        """Mean and variance of the noise-free outputs of rows, averaged over where they are."""

    def decode_rows(
        self, Y: Array, placed: Placed, is_free: NDArray[np.bool_]
    ) -> tuple[Array, Array]:
        """The same of rows Y (n, D); free ones were placed by their own outputs alone."""
        del Y, is_free
        return self.decode(placed)

    @abc.abstractmethod
    def condition_on(self, rows: NDArray[np.intp]) -> LatentPointFit:
        """The same model, had it seen these of its rows alone."""

    def measure_relevances(self) -> Array:
        """The relevance of each latent dimension, (Q,), in units of the largest."""
        return compute_relevances(self.kernel, self.X, self.X_variance)

    def place(self, Y: Array, homes: NDArray[np.intp], path: Path | None) -> Placed:
        """The places of rows: those with a home stay there, the others (-1) are found.

        Frames are at home all together, or all are looked for: one that moves is tied to those
        about it. A frame of which nothing is seen has a home among all frames of the fit only.
        """
        stays = homes >= 0
        if path is not None and not self._is_whole(homes):
            stays &= ~np.isnan(Y).all(axis=1)
            stays &= stays.all()
        known, new = np.flatnonzero(stays), np.flatnonzero(~stays)
        if not len(new):
            return self.place_fitted(homes)
        where = self.locate(Y[new], None if path is None else path.select_rows(new))
        found = Placed(where.mean, where.covariance)
        return (
            self.place_fitted(homes[known]).interleave(known, found, new) if len(known) else found
        )

    def _is_whole(self, homes: NDArray[np.intp]) -> bool:
        """Whether these are all rows that were fitted, in their order."""
        return np.array_equal(homes, np.arange(len(self.Y)))


@dataclass(frozen=True)
class MapFit(LatentPointFit):
    """The most probable latent points."""

    Z: Array | None  # inducing points
    weights: Array  # of the latent points, where they are a function of their rows
    back_kernel: kernels.Kernel | None  # over rows, of that function
    back_rows: Array  # (N, D), the rows with what they miss filled in

    def place_fitted(self, rows: NDArray[np.intp]) -> Placed:
        """With the spread of Laplace's approximation, the process kept as it is."""
        X, Y = self.X[rows], self.Y[rows]
        if self.path is not None and self._is_whole(rows):
            prior = self.path.fixed_prior()
            there = locate_along_at(self.decoder, Y, X, prior, prior.start)
        else:
            there = locate_at(self.decoder, Y, X)
        return Placed(there.mean, there.covariance)

    def locate(self, Y: Array, path: Path | None = None) -> Located:
        """By the learned map where there is one and a row is whole; otherwise by a search."""
        if path is not None:
            prior = path.fixed_prior()
            return locate_along(self.decoder, Y, prior, prior.start, candidates=self.X)
        if self.back_kernel is None:
            return locate(self.decoder, Y, candidates=self.X)
        whole = ~np.isnan(Y).any(axis=1)
        X = np.empty((len(Y), self.X.shape[1]))
        B = compute_back_features(self.back_kernel, self.back_rows, Y[whole])
        X[whole] = B @ self.weights
        X[~whole] = locate(self.decoder, Y[~whole], candidates=self.X).mean
        return locate_at(self.decoder, Y, X)

    def decode(self, placed: Placed) -> tuple[Array, Array]:
        """Mean and variance of the noise-free outputs of rows, by cubature."""
        return decode_normal_points(self.decoder, placed.mean, placed.covariance)

    def decode_rows(
        self, Y: Array, placed: Placed, is_free: NDArray[np.bool_]
    ) -> tuple[Array, Array]:
        """The points of free rows may be on any hill of their posterior."""
        if is_free.all():
            return decode_rows(self.decoder, Y, candidates=self.X)
        mean, variance = self.decode(placed)
        if is_free.any():
            parts = decode_rows(self.decoder, Y[is_free], candidates=self.X)
            mean[is_free], variance[is_free] = parts
        return mean, variance

    def condition_on(self, rows: NDArray[np.intp]) -> MapFit:
        """The process conditioned on these rows at their places."""
        X, Y, path = self.X[rows], self.Y[rows], self.path
        return replace(
            self,
            X=X,
            Y=Y,
            decoder=condition_process(self.kernel, self.decoder.noise_variance, self.Z, X, Y),
            path=None if path is None else path.select_rows(rows),
            back_kernel=None,
        )


def condition_process(
    kernel: kernels.Kernel, noise_variance: float, Z: Array | None, X: Array, Y: Array
) -> ExactDecoder | InducingDecoder:
    """The process given outputs Y at latent points X, carried by points Z where there are any."""
    held, nothing = kernel.fixed(), np.empty((0, 2))
    if Z is None:
        return ExactOutputs(Y, held, nothing, noise_variance, None).decoder(X, np.empty(0))
    return InducingOutputs(Y, held, nothing, noise_variance, None, Z).decoder(X, Z.ravel())


@dataclass(frozen=True)
class VariationalFit(LatentPointFit):
    """A normal distribution over each latent point."""

    posterior: VariationalPosterior

    @property
    def X_variance(self) -> Array:
        """Variances of the latent points, (N, Q)."""
        return self.posterior.S

    def place_fitted(self, rows: NDArray[np.intp]) -> Placed:
        """With the spread that was learned."""
        S = self.posterior.S[rows]
        return Placed(self.X[rows], S[:, :, None] * np.eye(S.shape[1]))

    def locate(self, Y: Array, path: Path | None = None) -> Located:
        """A normal for each row; the most probable points where a motion ties them together."""
        if path is None:
            return self.posterior.locate(Y)
        prior = path.fixed_prior()
        return locate_along(self.posterior, Y, prior, prior.start, candidates=self.X)

    def decode(self, placed: Placed) -> tuple[Array, Array]:
        """In closed form where the kernel has one."""
        return self.posterior.decode(placed.mean, placed.variance)

    def condition_on(self, rows: NDArray[np.intp]) -> VariationalFit:
        """The process conditioned on these rows, where they were found to be."""
        p, Y, path = self.posterior, self.Y[rows], self.path
        found = condition_variational(
            Y, p.m[rows], p.S[rows], p.kernel, p.noise_variance, p.Z, p.prior_own, p.optimum
        )
        return replace(
            self,
            X=found.m,
            Y=Y,
            decoder=found,
            posterior=found,
            path=None if path is None else path.select_rows(rows),
        )


_FOLDS = 5
_ROWS = 2000  # at most, that values are hidden of


def compute_widening(
    fitted: LatentPointFit, groups: NDArray[np.intp], hidden: NDArray[np.bool_], X: Array
) -> Array:
    """The factor of the variance of each value, (n, D), for rows of groups not seen.

    Groups are left out in five parts. Their rows hide what rows to be filled in do not have, in
    turn, and are filled in by the process given all other rows; the mean square of the errors, in
    deviations, is what the variance lacked. Every group counts as much, long or short, and errors
    count for a point by how much of the function there is known from where they were made: the
    squared correlation. One group more has the errors of all, and one has errors of one deviation.

    Parameters
    ----------
    fitted : LatentPointFit
    groups : array (N,)
        Of the rows that were fitted.
    hidden : array (n, D) of bool
        What is missing in the rows that are to be filled in.
    X : array (n, Q)
        Where these are.
    """
    parts = [
        rows
        for rows in _split_groups(groups, _FOLDS)
        if not np.isnan(np.delete(fitted.Y, rows, axis=0)).all(0).any()
    ]
    made = [_measure_errors(fitted, groups, rows, hidden) for rows in parts]
    if not made:
        return np.ones(hidden.shape)
    places, squares, weights = (np.concatenate(part) for part in zip(*made, strict=True))
    known = weights[:, None] * ~np.isnan(squares)
    weighed = np.where(known > 0.0, weights[:, None] * squares, 0.0)
    everywhere = (np.sum(weighed, axis=0) + 1.0) / (np.sum(known, axis=0) + 1.0)
    R = _squared_correlation(fitted, X, places)
    return (R @ weighed + everywhere) / (R @ known + 1.0)


def measure_left_out_noise(
    fitted: MapFit, Y: Array, groups: NDArray[np.intp], size: float = 1.0
) -> Array:
    """Root mean square error (D,) of any outputs Y (N, D) of rows of groups left out.

    Their latent points are known, and the process is given the outputs of all other rows, ``size``
    times as large: what is left is the noise of a column as a group not seen has it. There are two
    groups at least.
    """
    errors, scaled = [], replace(fitted, Y=size * Y)
    for rows in _split_groups(groups, len(np.unique(groups))):
        rest = scaled.condition_on(np.setdiff1d(np.arange(len(Y)), rows))
        errors.append(Y[rows] - rest.decoder.latent(fitted.X[rows]).mean / size)
    return np.sqrt(np.mean(np.concatenate(errors) ** 2, axis=0))


def locate_left_out(fitted: MapFit, groups: NDArray[np.intp], Y: Array) -> Array:
    """Find the latent points (N, Q) of rows Y (N, D), each by means of other groups.

    Y has NaN where an output is not seen. Groups are left out in ten parts at most; there are two
    groups at least. A row has the highest of its maxima.
    """
    codes, points = np.unique(groups), np.empty_like(fitted.X)
    for part in np.array_split(codes, min(len(codes), 2 * _FOLDS)):
        is_out = np.isin(groups, part)
        rest = fitted.condition_on(np.flatnonzero(~is_out))
        found = find_hypotheses(rest.decoder, Y[is_out], candidates=rest.X)
        points[is_out] = found.point[found.list_best()]
    return points


def _measure_errors(
    fitted: LatentPointFit,
    groups: NDArray[np.intp],
    rows: NDArray[np.intp],
    hidden: NDArray[np.bool_],
) -> tuple[Array, Array, Array]:
    """The places found for rows left out, squared errors in deviations, and weights.

    Errors are NaN where nothing was hidden, or there was nothing to hide.
    """
    rest = fitted.condition_on(np.setdiff1d(np.arange(len(groups)), rows))
    Y = fitted.Y[rows]
    hides = np.resize(hidden[hidden.any(axis=1)], Y.shape)
    path = None if fitted.path is None else fitted.path.select_rows(rows)
    seen = np.where(hides, np.nan, Y)
    found = rest.locate(seen, path)
    is_free = np.full(len(Y), path is None)
    mean, variance = rest.decode_rows(seen, Placed(found.mean, found.covariance), is_free)
    squares = (Y - mean) ** 2 / (variance + rest.decoder.noise_variance)
    _, which, sizes = np.unique(groups[rows], return_inverse=True, return_counts=True)
    return found.mean, np.where(hides, squares, np.nan), 1.0 / sizes[which]


def _squared_correlation(fitted: LatentPointFit, X: Array, Z: Array) -> Array:
    """Squared correlation (n, m) of the function at X and at Z."""
    scale = np.outer(fitted.kernel.diag(X), fitted.kernel.diag(Z))
    return fitted.kernel(X, Z) ** 2 / np.maximum(scale, np.finfo(np.float64).tiny)


def _split_groups(groups: NDArray[np.intp], n_folds: int) -> list[NDArray[np.intp]]:
    """The rows of each part of the groups; whole groups, as many as there is time for."""
    codes, sizes = np.unique(groups, return_counts=True)
    if len(codes) < 2:
        return []
    order = np.random.default_rng(0).permutation(len(codes))
    affordable = order[np.cumsum(sizes[order]) <= max(_ROWS, sizes[order[0]])]
    parts = [codes[affordable[i::n_folds]] for i in range(min(n_folds, len(affordable)))]
    return [np.flatnonzero(np.isin(groups, part)) for part in parts]
