"""Conditional random field of the labels of an image, smoothed by mean field.  [P9 9.12.3]

Labels of pixels that are near each other tend to agree, and more so where their colours agree. The
field has pairs of pixels at several distances, in eight directions; so labels agree over some tens
of pixels, while edges of the image stay edges of the labels. How strongly, is learned from the log
score of held-out images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, validation
from posterity.vision.lab import Planes

Field = NDArray[np.float32]

_DISTANCES = (1, 3, 8, 20)
_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))  # and their opposites
_OFFSETS = np.array([(r * y, r * x) for r in _DISTANCES for y, x in _DIRECTIONS], dtype=np.int64)
_SWEEPS = 10
_STEPS = {
    "sharpness": (0.8, 1.25),
    "agreement": (0.5, 2.0),
    "contrast": (0.5, 2.0),
    "width": (0.6, 1.6),
}
_ROUNDS = 3  # of steps through all parameters
_LEAST_P = 1e-6  # of a probability in log scores: labels are not right everywhere


class LabelledField(NamedTuple):
    """Held-out pixels of an image, on one grid."""

    log_p: Field  # (h, w, C), before smoothing
    planes: Planes  # (h, w, 3), L*, a* and b*
    labels: NDArray[np.int64]  # (h, w), numbers of classes; -1 where unknown


@dataclass(frozen=True)
class RandomField:
    """Potts model with pairs that depend on contrast.

    The labels z of an image with colours x have the probability

        P(z | x)  ~  exp( sharpness sum_i log p_i(z_i) + sum_ij w_ij [z_i = z_j] ),

        w_ij = (agreement + contrast exp(-|x_i - x_j|^2 / (2 width^2))) / (pairs of a pixel),

    where p_i are the probabilities of a pixel by itself. Mean field finds the independent
    distributions of pixels that are nearest to it.

    Parameters
    ----------
    sharpness : float, default=1
        How much probabilities of single pixels count.
    agreement : float, default=0
        Strength of pairs whatever their colours.
    contrast : float, default=0
        Strength of pairs of equal colour.
    width : float, default=10
        Distance in L*a*b* at which colours begin to differ.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import RandomField
    >>> log_p = np.log(np.full((9, 9, 2), [0.7, 0.3], dtype=np.float32))
    >>> log_p[4, 4] = np.log([0.4, 0.6])  # one pixel that disagrees with all others
    >>> gray = np.zeros((9, 9, 3), dtype=np.float32)
    >>> RandomField(contrast=4.0).smooth(log_p, gray)[4, 4].argmax()
    np.int64(0)
    """

    sharpness: float = 1.0
    agreement: float = 0.0
    contrast: float = 0.0
    width: float = 10.0

    @classmethod
    def learn(cls, fields: Sequence[LabelledField]) -> tuple[RandomField, float]:
        """The parameters of the best log score of held-out images, and that score.

        A search along one parameter after the other, by factors, from a field that smooths little.
        Where no smoothing raises the score, there is none.
        """
        best, score = cls(), _score_fields(cls(), fields)
        found = cls(sharpness=0.8, agreement=1.0, contrast=2.0)
        reached = _score_fields(found, fields)
        for _ in range(_ROUNDS):
            before = reached
            for name, factors in _STEPS.items():
                for factor in factors:
                    found, reached, moved = _search(found, reached, name, factor, fields)
                    if moved:
                        break
            if reached == before:
                break
        return (found, reached) if reached > score else (best, score)

    def smooth(self, log_p: Field, planes: Planes) -> Field:
        """Mean-field probabilities (h, w, C).

        Parameters
        ----------
        log_p : array (h, w, C)
            Logarithms of the probabilities of single pixels.
        planes : array (h, w, 3)
            L*, a* and b* of the same pixels.
        """
        sharp = np.ascontiguousarray(np.float32(self.sharpness) * log_p, dtype=np.float32)
        old, new = np.empty_like(sharp), np.empty_like(sharp)
        _normalise(sharp, old)
        if self.agreement == self.contrast == 0.0:
            return old
        strengths = self._weigh_pairs(planes)
        for _ in range(_SWEEPS):
            _sweep(sharp, strengths, _OFFSETS, old, new)
            old, new = new, old
        return old

    def _weigh_pairs(self, planes: Planes) -> Field:
        """Strength of the pair of each pixel and the one at each offset, (O, h, w)."""
        height, width, _ = planes.shape
        strengths = np.zeros((len(_OFFSETS), height, width), dtype=np.float32)
        factor = np.float32(-0.5 / self.width**2)
        share = 1.0 / (2 * len(_OFFSETS))
        for own, (y, x) in zip(strengths, _OFFSETS.tolist(), strict=True):
            if y >= height or abs(x) >= width:
                continue
            left, right = max(-x, 0), width - max(x, 0)
            here, there = planes[: height - y, left:right], planes[y:, left + x : right + x]
            apart = here - there
            squares = np.einsum("yxc,yxc->yx", apart, apart)
            alike = np.float32(self.contrast * share) * np.exp(factor * squares)
            own[: height - y, left:right] = alike + np.float32(self.agreement * share)
        return strengths

    def check_consistency(self) -> None:
        """Raise ValueError unless all parameters are finite and none is negative."""
        for name in ("sharpness", "width"):
            validation.require_positive(getattr(self, name), name)
        for name in ("agreement", "contrast"):
            value = getattr(self, name)
            is_strength = isinstance(value, float) and 0.0 <= value < np.inf
            validation.require(is_strength, f"{name} must be a finite number of at least 0.")


def _search(
    found: RandomField, reached: float, name: str, factor: float, fields: Sequence[LabelledField]
) -> tuple[RandomField, float, bool]:
    """Multiply one parameter for as long as the score rises."""
    moved = False
    while True:
        other = replace(found, **{name: getattr(found, name) * factor})
        score = _score_fields(other, fields)
        if score <= reached:
            return found, reached, moved
        found, reached, moved = other, score, True


def _score_fields(field: RandomField, fields: Sequence[LabelledField]) -> float:
    """Mean log-probability of a labelled pixel."""
    total, n = 0.0, 0
    for one in fields:
        known = one.labels >= 0
        p = field.smooth(one.log_p, one.planes)[known]
        own = p[np.arange(len(p)), one.labels[known]]
        total += float(np.sum(np.log(np.maximum(own, _LEAST_P)), dtype=np.float64))
        n += len(p)
    return total / max(n, 1)


@compilation.compile_at_first_call
def _normalise(activations: Field, p: Field) -> None:
    height, width, _ = activations.shape
    for y in range(height):
        for x in range(width):
            softmax(activations[y, x], p[y, x])


@compilation.compile_at_first_call
def _sweep(
    sharp: Field, strengths: Field, offsets: NDArray[np.int64], old: Field, new: Field
) -> None:
    """New distributions of all pixels, each from those that its neighbours had."""
    height, width, n_classes = sharp.shape
    total = np.empty(n_classes, dtype=np.float32)
    for y in range(height):
        for x in range(width):
            for c in range(n_classes):
                total[c] = sharp[y, x, c]
            for o in range(len(offsets)):
                down, right = offsets[o, 0], offsets[o, 1]
                if y + down < height and 0 <= x + right < width:
                    strength, other = strengths[o, y, x], old[y + down, x + right]
                    for c in range(n_classes):
                        total[c] += strength * other[c]
                if y - down >= 0 and 0 <= x - right < width:
                    strength, other = strengths[o, y - down, x - right], old[y - down, x - right]
                    for c in range(n_classes):
                        total[c] += strength * other[c]
            softmax(total, new[y, x])


@compilation.compile_at_first_call
def softmax(activations: NDArray[np.float32], p: NDArray[np.float32]) -> None:
    """Write probabilities in the ratios of the exponentials of activations."""
    top, total = activations[0], np.float32(0.0)
    for c in range(1, len(activations)):
        top = max(top, activations[c])
    for c in range(len(activations)):
        p[c] = np.exp(activations[c] - top)
        total += p[c]
    for c in range(len(activations)):
        p[c] /= total
