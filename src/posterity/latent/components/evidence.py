"""The evidence of each number of principal axes, in nats of the rows, after Minka [MIN].

The rows are normal about m with k variances lambda_i along orthonormal axes U and one, v, beyond.
Every prior is proper, and worth one row:

- m is normal about the sample mean with the covariance of one row, which leaves (1 + N)^(-D/2);
- the k + 1 variances are draws from one scaled inverse chi-square distribution of one degree of
  freedom about the mean variance s of the columns, in order, hence a factor (k + 1)!;
- U is uniform over all frames of k directions.

With the axes at those of the sample, each variance integrates in closed form, to a gamma function.
What is left is the integral over frames. Minka expands it about its mode, which diverges where two
variances meet. Here the axes turn one after another, each over the sphere that the ones before
leave it, with the weight exp(-sum_j a_ij u_j^2),

    a_ij = (1/lambda_j - 1/lambda_i) (s_i - s_j) / 2            at the modes of log lambda,

an integral whose saddle point (Kume & Wood, Biometrika 92, 2005) is right to a per cent from
sharp axes, where it is Minka's, to none at all, where it is the area of the sphere.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from posterity import compilation
from posterity.arrays import Array

if TYPE_CHECKING:
    from posterity.latent.components.spectrum import Spectrum

_DEGREES = 1.0  # of freedom of the prior of a variance: one row's
_MAX_STEPS = 100
_LARGE = 1e100  # a product up to here, times one more factor, stays finite
_LOG_2PI = math.log(2.0 * math.pi)


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
    >>> from posterity.latent.components import evidence
    >>> from posterity.latent.components.spectrum import Spectrum
    >>> spectrum = Spectrum(np.array([9.0, 4.0, 1.02, 1.0, 0.98]), 0.0, 200.0, 5)
    >>> int(np.argmax(evidence.log_evidences(spectrum, np.arange(6))))
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
