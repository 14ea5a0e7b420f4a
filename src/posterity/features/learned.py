"""Features whose parameters are learned together with the weights of the model.

``fit`` draws random parameters; ``local`` optimises them. They refer to standardised
columns, so units of measurement do not matter.
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from posterity import arrays, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.features import base, positions
from posterity.page_forms import Form

Pullback: TypeAlias = Callable[[Array], Array]
"""From G = dL/dZ (N, M) to dL/dtheta (P,)."""

_START_SLOPE = 2.0  # standard deviation of the offset of a random unit
_SLOPE_SPREAD = 5.0  # prior standard deviation of the slope of a unit, over all columns
_CENTER_SPREAD = 2.0  # prior standard deviation of centres: a unit may lie outside of the data
_LOG_WIDTH_SPREAD = 1.0


@declare_parameters
class LearnedFeatures(base.Features):
    """M units with P parameters in total: ``theta``, a flat array.

    A subclass defines ``draw_start``, ``prior``, ``linearise`` and ``_names``. The argument U is
    ``standardise(X)``.
    """

    n_units: int = field(default=5, kw_only=False)
    n_restarts: int = 4
    random_state: Any = None

    _page_kind: ClassVar[str]

    @abc.abstractmethod
    def draw_start(self, U: Array, weights: Array | None, rng: np.random.Generator) -> Array:
        """Draw start values of the parameters, (P,)."""

    @abc.abstractmethod
    def prior(self) -> tuple[Array, Array]:
        """Return prior means and standard deviations of the parameters, each (P,)."""

    @abc.abstractmethod
    def linearise(self, U: Array, theta: Array) -> tuple[Array, Pullback]:
        """Return the features Z (N, M) at theta, and the adjoint of their derivative."""

    def standardise(self, X: Array) -> Array:
        """Standardise rows (N, D) by mean and standard deviation of the fitted rows."""
        return (X - self.location_) / self.scale_

    def evaluate_columns(self, U: Array, theta: Array) -> Array:
        """Return the features Z (N, M) of standardised rows at theta."""
        return self.linearise(U, theta)[0]

    def pullback(self, U: Array, theta: Array, G: Array) -> Array:
        """Return dL/dtheta (P,), given G = dL/dZ (N, M).  [P9 9.21]"""
        return self.linearise(U, theta)[1](G)

    def with_theta(self, theta: Array) -> Self:
        """Return a fitted copy with other parameters."""
        other = copy.copy(self)
        other.theta_ = np.array(theta, dtype=np.float64)
        return other

    def with_columns(self, order: NDArray[np.intp]) -> Self:
        """Return a fitted copy whose columns are those at these places."""
        of_columns, last = np.split(self.theta_.reshape(-1, len(order) + 1), [len(order)], axis=1)
        other = self.with_theta(np.column_stack([of_columns[:, order], last]).ravel())
        other.location_, other.scale_ = self.location_[order], self.scale_[order]
        return other

    def page_form(self) -> Form:
        """Return the form from which a page computes the columns."""
        return {
            "kind": self._page_kind,
            "location": self.location_.tolist(),
            "scale": self.scale_.tolist(),
            "units": self.theta_.reshape(self.n_units, -1).tolist(),
        }

    def _learn(self, X: Array, weights: Array | None) -> None:
        validation.check_count(self.n_units, "n_units")
        validation.check_count(self.n_restarts, "n_restarts", least=0)
        rows, counts = positions.find_distinct(X, weights)
        self.location_ = rows[0] + np.average(rows - rows[0], axis=0, weights=counts)
        self.scale_ = np.array([positions.compute_spread(x, weights) for x in X.T])
        rng = arrays.generator(self.random_state)
        self.theta_ = self.draw_start(self.standardise(rows), counts, rng)

    def _columns(self, X: Array) -> Array:
        return self.evaluate_columns(self.standardise(X), self.theta_)


class LearnedArctan(LearnedFeatures):
    """z = arctan(u.x + b): smooth steps in directions that are learned.  [P9 Sec 9.3]

    Parameters
    ----------
    n_units : int, default=5
        Number of units.
    n_restarts : int, default=4
        Number of additional searches from random start values; the best result is kept.
    random_state : int, Generator, RandomState or None, default=None
        Seed or generator of the start values.

    Attributes
    ----------
    theta_ : ndarray of shape (n_units * (D + 1),)
        The slopes of each unit along each standardised column, then its offset, unit by unit.
    location_, scale_ : ndarray of shape (D,)
        Mean and standard deviation of the columns.

    Examples
    --------
    >>> from posterity import features
    >>> units = features.LearnedArctan(2, random_state=0).fit([[-1.0], [1.0]])
    >>> units.with_theta([1.0, 0.0, 2.0, -2.0]).transform([[1.0]]).round(3)
    array([[0.785, 0.   ]])
    """

    _page_kind = "learned_arctan"

    def draw_start(self, U: Array, weights: Array | None, rng: np.random.Generator) -> Array:
        A = rng.standard_normal((self.n_units, U.shape[1])) * (_START_SLOPE / np.sqrt(U.shape[1]))
        b = -np.sum(A * _draw_rows(U, weights, self.n_units, rng), axis=1)
        return np.column_stack([A, b]).ravel()

    def prior(self) -> tuple[Array, Array]:
        D = len(self.scale_)
        spread = np.append(np.full(D, _SLOPE_SPREAD / np.sqrt(D)), _SLOPE_SPREAD)
        return np.zeros(self.n_units * (D + 1)), np.tile(spread, self.n_units)

    def linearise(self, U: Array, theta: Array) -> tuple[Array, Pullback]:
        A, b = np.split(theta.reshape(self.n_units, -1), [U.shape[1]], axis=1)
        V = U @ A.T + b[:, 0]

        def pullback(G: Array) -> Array:
            H = G / (1.0 + V**2)
            return np.column_stack([H.T @ U, H.sum(axis=0)]).ravel()

        return np.arctan(V), pullback

    def _names(self, inputs: list[str]) -> list[str]:
        return [f"arctan(unit {m})" for m in range(self.n_units)]


class LearnedRadial(LearnedFeatures):
    """z = exp(-r^2 / 2 l^2), r the distance to a centre: both l and centre learned.  [P9 Sec 9.3]

    Parameters
    ----------
    n_units : int, default=5
        Number of units.
    n_restarts : int, default=4
        Number of additional searches from random start values; the best result is kept.
    random_state : int, Generator, RandomState or None, default=None
        Seed or generator of the start values.

    Attributes
    ----------
    theta_ : ndarray of shape (n_units * (D + 1),)
        The centre of each unit in standardised columns, then the log of its l, unit by unit.
    location_, scale_ : ndarray of shape (D,)
        Mean and standard deviation of the columns.

    Examples
    --------
    >>> from posterity import features
    >>> units = features.LearnedRadial(2, random_state=0).fit([[-1.0], [1.0]])
    >>> units.with_theta([1.0, 0.0, 0.0, 0.0]).transform([[1.0]]).round(4)
    array([[1.    , 0.6065]])
    """

    _page_kind = "learned_radial"

    def draw_start(self, U: Array, weights: Array | None, rng: np.random.Generator) -> Array:
        centers = _draw_rows(U, weights, self.n_units, rng)
        return np.column_stack([centers, np.full(self.n_units, self._log_width())]).ravel()

    def prior(self) -> tuple[Array, Array]:
        D = len(self.scale_)
        mean = np.append(np.zeros(D), self._log_width())
        spread = np.append(np.full(D, _CENTER_SPREAD), _LOG_WIDTH_SPREAD)
        return np.tile(mean, self.n_units), np.tile(spread, self.n_units)

    def linearise(self, U: Array, theta: Array) -> tuple[Array, Pullback]:
        centers, log_width = np.split(theta.reshape(self.n_units, -1), [U.shape[1]], axis=1)
        precision = np.exp(-2.0 * log_width[:, 0])
        R2 = cdist(U, centers, "sqeuclidean")
        Z = np.exp(-0.5 * R2 * precision)

        def pullback(G: Array) -> Array:
            H = G * Z * precision
            toward = H.T @ U - H.sum(axis=0)[:, None] * centers
            return np.column_stack([toward, np.sum(H * R2, axis=0)]).ravel()

        return Z, pullback

    def _names(self, inputs: list[str]) -> list[str]:
        return [f"radial(unit {m})" for m in range(self.n_units)]

    def _log_width(self) -> float:
        """Return the log width at which the units together cover a standard normal."""
        D = len(self.scale_)
        return 0.5 * float(np.log(D)) - float(np.log(self.n_units)) / D


def _draw_rows(U: Array, weights: Array | None, n: int, rng: np.random.Generator) -> Array:
    """Draw n rows at random, distinct ones if possible."""
    rows, counts = positions.find_distinct(U, weights)
    chosen = rng.choice(len(rows), n, replace=len(rows) < n, p=counts / counts.sum())
    return rows[chosen]
