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
_SWEEPS = 5
_FACTORS = {"contrast": (2.0, 0.5), "agreement": (2.0, 0.5), "width": (1.6, 0.625)}
_MOST_STEPS = 2  # along a parameter at a time
_ROUNDS = 2  # of steps through all parameters
_TEMPERS = (0.3, 0.45, 0.65, 1.0)
_SHARES = (0.0, 0.25, 0.5, 0.75, 0.9)
_MOST_SCORED = 40_000  # pixels of all images
_LEAST_P = 1e-6  # of a probability in log scores: labels are not right everywhere


class LabelledField(NamedTuple):
    """Held-out pixels of an image, on one grid."""

    log_p: Field  # (h, w, C), before smoothing
    planes: Planes  # (h, w, 3), L*, a* and b*
    labels: NDArray[np.int64]  # (h, w), numbers of classes; -1 where unknown


@dataclass(frozen=True)
class RandomField:
    """Potts model with pairs that depend on contrast, and what its answer is worth.

    The labels z of an image with colours x have the probability

        P(z | x)  ~  exp( sum_i log p_i(z_i) + sum_ij w_ij [z_i = z_j] ),

        w_ij = (agreement + contrast exp(-|x_i - x_j|^2 / (2 width^2))) / (pairs of a pixel),

    where p_i are the probabilities of a pixel by itself. Mean field finds the independent
    distributions q_i that are nearest to it. They are too sure, since what neighbours say is not
    independent; so the answer is a mixture of q_i to a power, normalised, and p_i.

    Parameters
    ----------
    agreement : float, default=0
        Strength of pairs whatever their colours.
    contrast : float, default=0
        Strength of pairs of equal colour.
    width : float, default=10
        Distance in L*a*b* at which colours begin to differ.
    temper : float, default=1
        Power of the distributions of mean field.
    share : float, default=1
        Weight of the smoothed distribution in the mixture, from 0 to 1.

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

    agreement: float = 0.0
    contrast: float = 0.0
    width: float = 10.0
    temper: float = 1.0
    share: float = 1.0

    @classmethod
    def learn(cls, fields: Sequence[LabelledField]) -> tuple[RandomField, float, float]:
        """The field of the best log score of held-out images; that score, and without smoothing.

        A search along one parameter after the other, by factors; temper and share are the best
        ones for each. Where smoothing does not raise the score, there is none.
        """
        scored = _ScoredPixels.from_fields(fields)
        found, reached = scored.mix(cls(agreement=1.0, contrast=4.0))
        for _ in range(_ROUNDS):
            before = reached
            for name, factors in _FACTORS.items():
                for factor in factors:
                    found, after = _search(found, reached, name, factor, scored)
                    if after > reached:
                        reached = after
                        break
            if reached == before:
                break
        alone = scored.score(scored.alone)
        return (found, reached, alone) if reached > alone else (cls(), alone, alone)

    def smooth(self, log_p: Field, planes: Planes) -> Field:
        """Smoothed probabilities (h, w, C).

        Parameters
        ----------
        log_p : array (h, w, C)
            Logarithms of the probabilities of single pixels.
        planes : array (h, w, 3)
            L*, a* and b* of the same pixels.
        """
        log_p = np.ascontiguousarray(log_p, dtype=np.float32)
        alone = np.empty_like(log_p)
        _normalise(log_p, alone)
        if self.agreement == self.contrast == 0.0:
            return alone
        return _mix(self.find_mean_field(log_p, planes), alone, self.temper, self.share)

    def find_mean_field(self, log_p: Field, planes: Planes) -> Field:
        """The distributions q (h, w, C) of mean field, after five sweeps."""
        old, new = np.empty_like(log_p), np.empty_like(log_p)
        _normalise(log_p, old)
        strengths = self._weigh_pairs(planes)
        for _ in range(_SWEEPS):
            _sweep(log_p, strengths, _OFFSETS, old, new)
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
        for name in ("width", "temper"):
            validation.require_positive(getattr(self, name), name)
        for name in ("agreement", "contrast", "share"):
            value = getattr(self, name)
            is_strength = isinstance(value, float) and 0.0 <= value < np.inf
            validation.require(is_strength, f"{name} must be a finite number of at least 0.")
        validation.require(self.share <= 1.0, "share must be at most 1.")


@dataclass(frozen=True, eq=False)
class _ScoredPixels:
    """Images, and the labelled pixels by which a field is scored."""

    fields: Sequence[LabelledField]
    places: Sequence[tuple[NDArray[np.intp], ...]]  # of pixels in each image
    labels: NDArray[np.int64]  # (n,), of all these pixels
    alone: Field  # (n, C), their probabilities before smoothing

    @classmethod
    def from_fields(cls, fields: Sequence[LabelledField]) -> _ScoredPixels:
        """Pixels evenly from all labelled ones."""
        known = [np.nonzero(one.labels >= 0) for one in fields]
        step = max(1, sum(len(rows) for rows, _ in known) // _MOST_SCORED)
        places = [(rows[::step], columns[::step]) for rows, columns in known]
        pairs = list(zip(fields, places, strict=True))
        labels = np.concatenate([one.labels[place] for one, place in pairs])
        alone = np.exp(np.concatenate([one.log_p[place] for one, place in pairs]))
        return cls(fields, places, labels, alone / np.sum(alone, axis=1, keepdims=True))

    def mix(self, field: RandomField) -> tuple[RandomField, float]:
        """The field with its best temper and share, and their score."""
        pairs = zip(self.fields, self.places, strict=True)
        q = np.concatenate([field.find_mean_field(x.log_p, x.planes)[at] for x, at in pairs])
        scores = {
            (temper, share): self.score(_mix(q, self.alone, temper, share))
            for temper in _TEMPERS
            for share in _SHARES
        }
        temper, share = max(scores, key=lambda pair: scores[pair])
        return replace(field, temper=temper, share=share), scores[temper, share]

    def score(self, p: Field) -> float:
        """Mean log-probability of a pixel."""
        own = p[np.arange(len(p)), self.labels]
        return float(np.mean(np.log(np.maximum(own, _LEAST_P)), dtype=np.float64))


def _search(
    found: RandomField, reached: float, name: str, factor: float, scored: _ScoredPixels
) -> tuple[RandomField, float]:
    """Multiply one parameter for as long as the score rises, a few times at most."""
    for _ in range(_MOST_STEPS):
        other, score = scored.mix(replace(found, **{name: getattr(found, name) * factor}))
        if score <= reached:
            break
        found, reached = other, score
    return found, reached


def _mix(q: Field, alone: Field, temper: float, share: float) -> Field:
    """A mixture of tempered and single distributions (..., C)."""
    tempered = q ** np.float32(temper)
    tempered *= np.float32(share) / np.sum(tempered, axis=-1, keepdims=True)
    return tempered + np.float32(1.0 - share) * alone


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
    flat = old.reshape(-1)
    for y in range(height):
        total = new[y].reshape(-1)
        total[:] = sharp[y].reshape(-1)
        for o in range(len(offsets)):
            down, right = offsets[o, 0], offsets[o, 1]
            if abs(right) >= width:
                continue
            if y + down < height:
                first, last = max(0, -right), width - max(0, right)
                begin = ((y + down) * width + first + right) * n_classes
                own = total[first * n_classes :]
                add_row(strengths[o, y, first:last], n_classes, flat[begin:], own)
            if y >= down:
                first, last = max(0, right), width - max(0, -right)
                begin = ((y - down) * width + first - right) * n_classes
                strength = strengths[o, y - down, first - right : last - right]
                add_row(strength, n_classes, flat[begin:], total[first * n_classes :])
        for x in range(width):
            softmax(new[y, x], new[y, x])


@compilation.compile_at_first_call
def add_row(strength: Field, n_classes: int, old: Field, total: Field) -> None:
    """Add the distributions of neighbours, each times its strength, to a row of pixels."""
    place = np.uint64(0)
    for x in range(len(strength)):
        factor = strength[x]
        for _ in range(n_classes):
            total[place] += factor * old[place]
            place += np.uint64(1)


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
