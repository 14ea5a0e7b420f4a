"""Starts of a search for latent points: principal components, and points near them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity import linalg
from posterity.arrays import Array

_ROUNDS = 50  # of filling missing values in; each is one small decomposition
_SETTLED = 1e-4  # relative change of what was filled in
_NULL = 1e-8  # singular values below this share of the largest say nothing
_FAINT = 1e-2  # standard deviation of dimensions that no component is left for
_SPREAD = 0.3  # of restarts, in standard deviations of the latent points


@dataclass(frozen=True)
class PrincipalStart:
    """Scores on the first components, each of variance one, and how much each explains."""

    X: Array  # (N, Q)
    deviations: Array  # (Q,), of the scores before they were scaled; 0 past the rank

    def draw_near(self, rng: np.random.Generator) -> Array:
        """Another start: the points moved about at random."""
        return self.X + _SPREAD * rng.standard_normal(self.X.shape)


def find_principal_start(Y: Array, n_components: int, rng: np.random.Generator) -> PrincipalStart:
    """From outputs Y (N, D) about zero; NaN where one is missing.

    Dimensions past the rank of Y get faint noise, for they are not to be all alike.

    Examples
    --------
    >>> Y = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> start = find_principal_start(Y, 2, np.random.default_rng(0))
    >>> np.abs(start.X).round(3).tolist()
    [[1.414, 0.0], [1.414, 0.0], [0.0, 1.414], [0.0, 1.414]]
    """
    U, s, _ = linalg.thin_svd(fill_missing_outputs(Y, n_components))
    n, k = len(Y), min(n_components, len(s))
    rank = int(np.sum(s[:k] > _NULL * max(float(s[0]), np.finfo(np.float64).tiny)))
    X = _FAINT * rng.standard_normal((n, n_components))
    X[:, :rank] = np.sqrt(n) * U[:, :rank] * _orient_signs(U[:, :rank])
    deviations = np.zeros(n_components)
    deviations[:rank] = s[:rank] / np.sqrt(n)
    return PrincipalStart(X, deviations)


def fill_missing_outputs(Y: Array, n_components: int) -> Array:
    """Y with its missing values filled in by components of the others.

    Again and again until they settle; by twice as many as are wanted, for a surface that bends has
    more.

    Examples
    --------
    >>> Y = np.array([[-1.0, -2.0], [1.0, 2.0], [-3.0, np.nan], [3.0, 6.0]])
    >>> fill_missing_outputs(Y, 1)[2].round(1)
    array([-3., -6.])
    """
    return fill_by_components(Y, max(1, min(2 * n_components, *(n - 1 for n in Y.shape))))


def fill_by_components(Y: Array, n_components: int) -> Array:
    """Y with its missing values at what ``n_components`` components make of the others."""
    missing = np.isnan(Y)
    if not missing.any():
        return Y
    whole = np.where(missing, 0.0, Y)
    for _ in range(_ROUNDS):
        U, s, Vt = linalg.thin_svd(whole)
        k = min(n_components, len(s))
        guess = np.where(missing, (U[:, :k] * s[:k]) @ Vt[:k], Y)
        change = float(np.max(np.abs(guess - whole)))
        whole = guess
        if change <= _SETTLED * float(np.max(np.abs(whole))):
            break
    return whole


def _orient_signs(U: Array) -> Array:
    """Signs that make the largest entry of each column positive."""
    largest = U[np.argmax(np.abs(U), axis=0), np.arange(U.shape[1])]
    return np.where(largest < 0.0, -1.0, 1.0)
