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
from posterity.latent.gplvm.row_outputs import decode_rows
from posterity.latent.gplvm.trajectories import Path
from posterity.latent.gplvm.variational.posterior import VariationalPosterior, condition_variational
from posterity.latent.gplvm.variational.relevance import compute_relevances


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
