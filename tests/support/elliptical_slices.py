"""Draws of latent values by elliptical slice sampling, many chains side by side.

Any density p is a normal times the ratio of p to it, and elliptical slice sampling takes any such
product (Murray, Adams and MacKay 2010; Nishihara, Murray and Adams 2014). The normal here is close
to p, found by a few Newton steps, so that chains forget their starts at once; nothing of the
engines under test is used.
"""

import numpy as np
from numpy.typing import NDArray

from posterity import likelihoods

Array = NDArray[np.float64]

_WIDER = 1.3  # than the curvature at the mode asks for: its tails may be too short
_NEWTON_STEPS = 60
_EPS = 1e-12


def draw_latents(
    likelihood: likelihoods.Likelihood,
    y: Array,
    mean: float,
    covariance: Array,
    rng: np.random.Generator,
    *,
    n_chains: int = 250,
    n_steps: int = 24,
    n_burned: int = 8,
) -> Array:
    """Draws (n, M) of M latent values that are normal before the first len(y) are observed."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > _EPS * values[-1]
    R = vectors[:, kept] * np.sqrt(values[kept])  # latent values are mean + R z
    seen = R[: len(y)]

    def log_density(z: Array) -> Array:
        a = mean + z @ seen.T
        return np.sum(likelihood.log_prob(y, a), axis=1) - 0.5 * np.sum(z**2, axis=1)

    mode, H = _approximate(likelihood, y, mean, seen, log_density)
    L = np.linalg.cholesky(H) / _WIDER
    inverse = np.linalg.inv(L)

    def log_ratio(u: Array) -> Array:
        return log_density(mode + u) + 0.5 * np.sum((u @ L) ** 2, axis=1)

    u, kept_draws = rng.normal(size=(n_chains, len(mode))) @ inverse, []
    value = log_ratio(u)
    for step in range(n_steps):
        u, value = _walk_ellipses(log_ratio, u, value, rng.normal(size=u.shape) @ inverse, rng)
        if step >= n_burned:
            kept_draws.append(mean + (mode + u) @ R.T)
    return np.concatenate(kept_draws)


def _approximate(likelihood, y, mean, seen, log_density):
    """The mode, and a positive definite curvature there."""
    z = np.zeros(seen.shape[1])
    for _ in range(_NEWTON_STEPS):
        a = mean + seen @ z
        weights = np.broadcast_to(likelihood.step_curvature(y, a), y.shape)
        H = np.eye(len(z)) + seen.T @ (weights[:, None] * seen)
        step = np.linalg.solve(H, seen.T @ likelihood.d1(y, a) - z)
        lengths = 0.5 ** np.arange(12.0)
        trials = z + lengths[:, None] * step
        z = trials[np.argmax(log_density(trials))]
    return z, H


def _walk_ellipses(log_ratio, u, value, normals, rng):
    """The next point of each chain, on the ellipse through its last one and a normal draw."""
    level = value - rng.exponential(size=len(u))
    high = rng.uniform(0.0, 2.0 * np.pi, len(u))
    angle, low = high.copy(), high - 2.0 * np.pi
    end, end_value = u.copy(), value.copy()
    open_chains = np.arange(len(u))
    while open_chains.size:
        c, s = np.cos(angle[open_chains, None]), np.sin(angle[open_chains, None])
        points = c * u[open_chains] + s * normals[open_chains]
        found = log_ratio(points)
        accepted = found > level[open_chains]
        done = open_chains[accepted]
        end[done], end_value[done] = points[accepted], found[accepted]
        open_chains = open_chains[~accepted]
        beyond = angle[open_chains]
        low[open_chains] = np.where(beyond < 0.0, beyond, low[open_chains])
        high[open_chains] = np.where(beyond < 0.0, high[open_chains], beyond)
        angle[open_chains] = rng.uniform(low[open_chains], high[open_chains])
    return end, end_value
