"""Principal axes as a model: coordinates, the way back, and the density of a row.  [TB 4]"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from posterity import compilation
from posterity.arrays import Array
from posterity.designs.centred import Centred

_DEGREES = 1.0  # of freedom of the prior of a variance: one row's
_MAX_STEPS = 100
_LARGE = 1e100  # a product up to here, times one more factor, stays finite
_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Spectrum:
    """The eigenvalues of the covariance of N rows of D columns: all of them, or the largest.

    Parameters
    ----------
    variances : array of shape (r,)
        The largest eigenvalues of the sample covariance (of N - 1 degrees of freedom), decreasing.
    unexplained : float
        The sum of the others; 0 where those of `variances` are all that can differ from zero.
    count : float
        N, the sum of the weights.
    n_features : int
        D.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.latent.components.principal import Spectrum
    >>> spectrum = Spectrum(np.array([4.0, 1.0]), 1.0, 100.0, 4)
    >>> spectrum.total, spectrum.noise_variance(1), spectrum.enough_for(0.8)
    (6.0, 0.6666666666666666, 2)
    """

    variances: Array
    unexplained: float
    count: float
    n_features: int

    @property
    def total(self) -> float:
        """The sum of the variances of all columns."""
        return float(self.variances.sum()) + self.unexplained

    @cached_property
    def shares(self) -> Array:
        """The share of the total along each axis; zero where nothing varies."""
        return self.variances / self.total if self.total > 0.0 else np.zeros_like(self.variances)

    @cached_property
    def log_evidences(self) -> Array:
        """The evidence of 0, 1, ..., r axes; see :func:`log_evidences`."""
        return log_evidences(self, np.arange(len(self.variances) + 1))

    def log_evidence(self, k: int) -> float:
        """The evidence of k axes alone, which is much cheaper."""
        return float(log_evidences(self, np.array([k]))[0])

    def noise_variance(self, k: int) -> float:
        """The mean variance of the directions beyond the first k; 0 if k is all of them.

        It is the most likely one of D - k directions, whether or not rows reach them. [TB 8]
        """
        if k >= self.n_features:
            return 0.0
        rest = float(self.variances[k:].sum()) + self.unexplained
        return rest / (self.n_features - k)

    def enough_for(self, share: float) -> int:
        """The least number of axes that have this share of the total; one where nothing varies."""
        if self.total == 0.0:
            return 1
        reached = np.cumsum(self.shares)
        return min(int(np.searchsorted(reached, share)) + 1, len(reached))


def log_evidences(spectrum: Spectrum, numbers: NDArray[np.intp]) -> Array:
    """The log evidence of each of some numbers of axes; +inf where nothing varies.

    Parameters
    ----------
    spectrum : Spectrum
        Variances beyond the known ones count as equal.
    numbers : array of int of shape (K,)
        From none to as many as there are variances. With D axes the model is that of D - 1.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.latent.components.principal import Spectrum, log_evidences
    >>> spectrum = Spectrum(np.array([9.0, 4.0, 1.02, 1.0, 0.98]), 0.0, 200.0, 5)
    >>> int(np.argmax(log_evidences(spectrum, np.arange(6))))
    2
    """
    D, N = spectrum.n_features, spectrum.count
    if not spectrum.total > 0.0:
        return np.full(len(numbers), np.inf)
    squares, times = _groups(spectrum)
    scale = _DEGREES * float(squares @ times) / (N * D)
    k = np.minimum(numbers, D - 1)
    before = np.concatenate([[0.0], np.cumsum(_log_variance(N, squares, scale))])
    beyond = np.append(np.cumsum((squares * times)[::-1])[::-1], 0.0)
    rest = _log_variance(N * (D - k), beyond[k], scale)
    frames = _log_frames(squares, times, N, float(D), scale, k)
    constant = -0.5 * D * (N * _LOG_2PI + math.log1p(N))
    return constant + gammaln(k + 2.0) + before[k] + rest + frames


def _groups(spectrum: Spectrum) -> tuple[Array, Array]:
    """The eigenvalues of the scatter, and how often each occurs: those not known are equal."""
    known, n_rest = spectrum.variances, spectrum.n_features - len(spectrum.variances)
    dof = spectrum.count - 1.0
    if not n_rest:
        return known * dof, np.ones(len(known))
    squares = np.append(known, spectrum.unexplained / n_rest) * dof
    return squares, np.append(np.ones(len(known)), float(n_rest))


def _log_variance(n: Array | float, squares: Array, scale: float) -> Array:
    """log of the integral over one variance: n squares under the prior, scaled inverse chi^2."""
    half, log_prior = 0.5 * _DEGREES, 0.5 * _DEGREES * math.log(0.5 * scale)
    exponent = 0.5 * n + half
    normaliser = gammaln(exponent) - math.lgamma(half)
    return log_prior + normaliser - exponent * np.log(0.5 * (squares + scale))


@compilation.compile_at_first_call
def _log_frames(
    squares: Array, times: Array, N: float, D: float, scale: float, numbers: NDArray[np.intp]
) -> Array:
    """log of the mean of the likelihood over frames, relative to its mode, for numbers of axes."""
    n = len(squares)
    starts = np.full(n, 0.5)
    precisions, a = np.empty(n), np.empty(n)
    result = np.zeros(len(numbers))
    for index in range(len(numbers)):
        k = numbers[index]
        rest = np.sum(squares[k:] * times[k:])
        precisions[:k] = (N + _DEGREES) / (squares[:k] + scale)
        precisions[k:] = (N * (D - k) + _DEGREES) / (rest + scale)
        for i in range(k):
            turns = 0.5 * (precisions[i + 1 :] - precisions[i]) * (squares[i] - squares[i + 1 :])
            a[i + 1 :] = np.maximum(turns, 0.0)
            log_mean, starts[i] = _log_sphere(a[i + 1 :], times[i + 1 :], D - i, starts[i])
            result[index] += min(log_mean, 0.0)
    return result


@compilation.compile_at_first_call(fastmath={"reassoc", "contract"})
def _log_sphere(a: Array, times: Array, p: float, start: float) -> tuple[float, float]:
    """log of the mean of exp(-sum a_j u_j^2) over the sphere in p dimensions; the saddle point.

    The coordinate that is not in the sum has a = 0. The integral does not change to first order
    with the saddle point, so that this is found to five digits only.
    """
    t = _saddle_point(a, times, start)
    k2, k3, k4 = 1.0 / t**2, 1.0 / t**3, 1.0 / t**4
    for j in range(len(a)):
        g = 1.0 / (a[j] + t)
        k2 += times[j] * g**2
        k3 += times[j] * g**3
        k4 += times[j] * g**4
    log_det = math.log(t) + _log_product(a, times, t)
    curvature = 0.5 * k2
    third, fourth = k3 / curvature**1.5, 3.0 * k4 / curvature**2
    correction = fourth / 8.0 - 5.0 * third**2 / 24.0
    log_integral = 0.5 * (math.log(2.0) + (p - 1.0) * math.log(math.pi))
    log_integral += t - 0.5 * (math.log(curvature) + log_det) + correction
    log_area = math.log(2.0) + 0.5 * p * math.log(math.pi) - math.lgamma(0.5 * p)
    return log_integral - log_area, t


@compilation.compile_at_first_call(fastmath={"reassoc", "contract"})
def _saddle_point(a: Array, times: Array, start: float) -> float:
    """t >= 1/2 with 1/t + sum 1 / (a_j + t) = 2, whose left side falls and is convex."""
    t = start
    for _ in range(_MAX_STEPS):
        value, slope = 1.0 / t - 2.0, 1.0 / t**2
        for j in range(len(a)):
            g = 1.0 / (a[j] + t)
            value += times[j] * g
            slope += times[j] * g * g
        step = value / slope
        t = max(t + step, 0.5)
        if abs(step) <= 1e-5 * t:
            break
    return t


@compilation.compile_at_first_call
def _log_product(a: Array, times: Array, t: float) -> float:
    """log of the product of (a_j + t)^times_j, with a logarithm for many factors at once."""
    total, product = 0.0, 1.0
    for j in range(len(a)):
        if times[j] == 1.0:
            product *= a[j] + t
            if product > _LARGE:
                total += math.log(product)
                product = 1.0
        else:
            total += times[j] * math.log(a[j] + t)
    return total + math.log(product)


@dataclass(frozen=True)
class Principal:
    """A mean, orthonormal axes as rows, and the variances along them and beyond.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.latent.components.principal import Principal
    >>> from posterity.latent.components.principal import Spectrum
    >>> spectrum = Spectrum(np.array([9.0, 1.0]), 0.0, 50.0, 2)
    >>> model = Principal(np.zeros(2), np.array([[0.6, 0.8]]), spectrum)
    >>> Z, distances = model.coordinates_and_residuals(np.array([[3.0, 4.0], [-0.8, 0.6]]))
    >>> Z.round(12) + 0.0, distances.round(12)
    (array([[5.], [0.]]), array([0., 1.]))
    """

    mean: Array  # (D,)
    axes: Array  # (k, D)
    spectrum: Spectrum

    @property
    def variances(self) -> Array:
        """Along the axes, (k,)."""
        return self.spectrum.variances[: len(self.axes)]

    @property
    def noise_variance(self) -> float:
        """The mean variance along the directions beyond the axes."""
        return self.spectrum.noise_variance(len(self.axes))

    @property
    def has_density(self) -> bool:
        """Whether every direction has some variance."""
        k, D = self.axes.shape
        return bool(np.all(self.variances > 0.0)) and (k == D or self.noise_variance > 0.0)

    def coordinates(self, X: Array) -> Array:
        """The rows along the axes, (n, k)."""
        return Centred(X, self.mean, None).times(self.axes.T)

    def rows_at(self, Z: Array) -> Array:
        """The rows at these coordinates, (n, D)."""
        X = Z @ self.axes
        X += self.mean
        return X

    def coordinates_and_residuals(self, X: Array) -> tuple[Array, Array]:
        """The coordinates, and the squared distance of each row from the plane of the axes."""
        Z, distances = np.empty((len(X), len(self.axes))), np.empty(len(X))
        for rows, A in Centred(X, self.mean, None).row_blocks():
            Z[rows] = A @ self.axes.T
            A -= Z[rows] @ self.axes
            distances[rows] = np.einsum("ij,ij->i", A, A)
        return Z, distances

    def log_density(self, X: Array) -> Array:
        """log N(x | mean, C) with one variance beyond the axes, for O(n D k) operations."""
        k, D = self.axes.shape
        Z, distances = self.coordinates_and_residuals(X)
        log_det = float(np.sum(np.log(self.variances)))
        squares = (Z * Z) @ (1.0 / self.variances)
        if k < D:
            v = self.noise_variance
            log_det += (D - k) * float(np.log(v))
            squares += distances / v
        return -0.5 * (D * _LOG_2PI + log_det + squares)
