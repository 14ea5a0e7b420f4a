"""Joints of a body from the parts that its pixels show: modes of density in space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from posterity import compilation, linear, validation
from posterity.arrays import Array
from posterity.vision.bodies.spheres import JOINTS, PARTS, find_joint_parts

_MOST_POINTS = 600  # of one joint
_MOST_STARTS = 3
_LEAST = 0.05  # of the largest probability: pixels below do not count
_CLOSE = 0.1  # metres between a joint and where it is found


@dataclass(frozen=True, eq=False)
class Joints:
    """Joints found in an image.

    Attributes
    ----------
    positions : ndarray of shape (16, 3)
        Right, down, forward from the camera, in metres; NaN where no pixel shows the joint.
    probability : ndarray of shape (16,)
        That the joint is within 10 cm of its position.
    names : tuple of str
        Names of the joints.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import Joints
    >>> Joints(np.zeros((16, 3)), np.full(16, 0.9)).names[:3]
    ('head', 'neck', 'shoulder left')
    """

    positions: Array
    probability: Array
    names: tuple[str, ...] = JOINTS


@dataclass(frozen=True, eq=False)
class JointFinder:
    """Finds joints, and knows how far below the surface and how reliable they are.

    Pixels are points in space, weighted by the probability of the parts that show a joint and by
    the surface that a pixel covers. The density of these points, smoothed by a normal kernel, has
    its highest mode at the surface in front of the joint. Mean shift climbs to it.  [SHO 7]

    Attributes
    ----------
    bandwidth : float
        Standard deviation of the kernel, in metres.
    depths : ndarray of shape (16,)
        Distance of joints behind their modes, along the ray of the camera, in metres.
    coefficients : ndarray of shape (16, 3)
        Log odds that a joint is within 10 cm: a constant, and weights of the logarithms of the
        density in square metres and of the probability at the mode.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import JointFinder
    >>> points = np.random.default_rng(0).normal([0.5, 0.3, 2.0], 0.02, size=(50, 3))
    >>> weights = np.zeros((50, 32))
    >>> weights[:, [30, 31]] = 0.9, 1e-4  # the neck
    >>> JointFinder().find(points, weights).positions[1].round(1)
    array([0.5, 0.3, 2. ])
    """

    bandwidth: float = 0.06
    depths: Array | None = None
    coefficients: Array | None = None

    def find(self, points: Array, weights: Array) -> Joints:
        """Joints from points in space.

        Parameters
        ----------
        points : array (n, 3)
            Pixels in space, in metres.
        weights : array (n, 32)
            Probabilities of the parts, and the surface that each pixel covers, in square metres.
        """
        modes, features = self.find_modes(points, weights)
        if self.depths is None or self.coefficients is None:
            return Joints(modes, np.where(np.isnan(modes[:, 0]), 0.0, 0.5))
        return Joints(self._push_back(modes, self.depths), _judge(features, self.coefficients))

    def find_modes(self, points: Array, weights: Array) -> tuple[Array, Array]:
        """Modes on the surface, (16, 3), and log density and log probability there, (16, 2)."""
        modes, features = np.full((len(JOINTS), 3), np.nan), np.full((len(JOINTS), 2), -np.inf)
        area = weights[:, len(PARTS)]
        for joint, shown in enumerate(find_joint_parts()):
            p = weights[:, shown].sum(axis=1)
            if not p.any():
                continue
            likely = np.flatnonzero(p > _LEAST * p.max())
            some = likely[:: -(-len(likely) // _MOST_POINTS)]
            share = len(likely) / len(some)
            modes[joint], density, height = _climb(
                points[some], p[some], share * area[some], self.bandwidth
            )
            features[joint] = math.log(density), math.log(height)
        return modes, features

    def learn(self, modes: Array, features: Array, joints: Array) -> JointFinder:
        """A copy that has learned from images in which joints are known.

        Parameters
        ----------
        modes, features : array (N, 16, 3), array (N, 16, 2)
            What ``find_modes`` found in each image.
        joints : array (N, 16, 3)
            Where joints are.
        """
        behind = np.linalg.norm(joints, axis=-1) - np.linalg.norm(modes, axis=-1)
        near = np.linalg.norm(joints - modes, axis=-1) < 2.0 * _CLOSE
        depths = np.array(
            [
                np.median(behind[near[:, j], j]) if near[:, j].any() else 0.0
                for j in range(len(JOINTS))
            ]
        )
        found = np.stack([self._push_back(one, depths) for one in modes])
        right = np.linalg.norm(found - joints, axis=-1) < _CLOSE  # NaN is not
        coefficients = [_fit_odds(features[:, j], right[:, j]) for j in range(len(JOINTS))]
        return JointFinder(self.bandwidth, depths, np.array(coefficients))

    def check_consistency(self) -> None:
        """Raise ValueError unless there is a depth and a row of coefficients per joint."""
        validation.require_positive(self.bandwidth, "bandwidth")
        if self.depths is not None or self.coefficients is not None:
            validation.require_array(self.depths, "depths", np.float64, (len(JOINTS),))
            validation.require_array(
                self.coefficients, "coefficients", np.float64, (len(JOINTS), 3)
            )

    def _push_back(self, modes: Array, depths: Array) -> Array:
        distance = np.linalg.norm(modes, axis=-1)
        return modes * (1.0 + depths / distance)[:, None]


def _judge(features: Array, coefficients: Array) -> Array:
    """The probability of each joint; 0 where it was not found."""
    known = np.isfinite(features[:, 0])
    odds = coefficients[:, 0] + np.sum(
        coefficients[:, 1:] * np.where(known[:, None], features, 0.0), axis=1
    )
    return np.where(known, expit(odds), 0.0)


def _fit_odds(features: Array, right: NDArray[np.bool_]) -> Sequence[float]:
    """Constant and weights of a logistic regression; the constant alone where all are alike."""
    known = np.isfinite(features[:, 0])
    x, y = features[known], right[known]
    if y.all() or not y.any():
        return float(logit((y.sum() + 1.0) / (len(y) + 2.0))), 0.0, 0.0
    model = linear.BayesianLogisticRegression().fit(x, y)
    return float(np.squeeze(model.intercept_)), *(float(w) for w in np.ravel(model.coef_))


@compilation.compile_at_first_call
def _climb(points: Array, p: Array, area: Array, bandwidth: float) -> tuple[Array, float, float]:
    """The highest mode of the density, its height in square metres, and the probability there.

    Mean shift starts from the pixel of the largest weight, and again from the largest that is far
    from the modes found so far.
    """
    best, best_density, best_height = np.zeros(3), -1.0, 0.0
    free = p * area  # zero near modes
    for _ in range(_MOST_STARTS):
        start = np.argmax(free)
        if free[start] <= 0.0:
            break
        mode = points[start].copy()
        density, height = _shift(mode, points, p, area, bandwidth)
        for i in range(len(p)):
            if i == start or np.sum((points[i] - mode) ** 2) < 4.0 * bandwidth**2:
                free[i] = 0.0
        if density > best_density:
            best, best_density, best_height = mode, density, height
    return best, best_density, best_height


@compilation.compile_at_first_call
def _shift(
    mode: Array, points: Array, p: Array, area: Array, bandwidth: float
) -> tuple[float, float]:
    """Move a point to a mode, by the weighted mean of the points near it; density and p there."""
    scale, density, height = -0.5 / bandwidth**2, 0.0, 0.0
    total = np.empty(3)
    for _ in range(30):
        mass = plain = 0.0
        total[:] = 0.0
        for i in range(len(p)):
            x, y, z = points[i]
            off = (x - mode[0]) ** 2 + (y - mode[1]) ** 2 + (z - mode[2]) ** 2
            k = area[i] * math.exp(scale * off)
            plain += k
            mass += k * p[i]
            total[0] += k * p[i] * x
            total[1] += k * p[i] * y
            total[2] += k * p[i] * z
        total /= mass
        moved = np.sum((total - mode) ** 2)
        mode[:] = total
        density, height = mass, mass / plain
        if moved < 1e-6:
            break
    return density, height
