"""Learn a random field from held-out images, by the log score of its mean field."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from posterity import optimize
from posterity.arrays import Array
from posterity.vision import random_field
from posterity.vision.lab import Planes
from posterity.vision.random_field import Field, FieldBlocks, RandomField

_MOST_PIXELS = 200  # of an image, from which the field is learned
_WIDTHS = (3.0, 5.0, 8.0, 12.0)
_PRECISIONS = (1.0, 0.3, 0.1, 0.03, 0.01)  # of affinities, in the log score of an image
_SCALE = 4.0  # of affinities in the search: those of pairs of small shares are large
_MAX_ITER = 80
_LEAST_GAIN = 1e-6  # in the mean log score of a pixel


class LabelledField(NamedTuple):
    """Held-out pixels of an image, on one grid."""

    log_p: Field  # (h, w, C), before smoothing
    planes: Planes  # (h, w, 3), L*, a* and b*
    labels: NDArray[np.int64]  # (h, w), numbers of classes; -1 where unknown
    fold: int = 0  # images of different folds have nothing in common


class LearnedField(NamedTuple):
    """A random field, and mean log-probabilities of pixels with and without it."""

    field: RandomField
    score: float
    alone: float


@dataclass(frozen=True, eq=False)
class _DrawnPixels:
    """Labelled pixels of an image, and all its blocks."""

    blocks: FieldBlocks
    log_p: Field  # (n, C)
    colors: Field  # (n, 3)
    labels: NDArray[np.int64]  # (n,)
    weight: float  # how many pixels of the image each stands for
    fold: int

    @classmethod
    def draw(cls, one: LabelledField, rng: np.random.Generator) -> _DrawnPixels:
        """Draw labelled pixels of an image."""
        known = np.flatnonzero(one.labels >= 0)
        chosen = rng.choice(known, min(_MOST_PIXELS, len(known)), replace=False)
        log_p = random_field.normalise_pixels(one.log_p)
        return cls(
            FieldBlocks.from_pixels(log_p, one.planes),
            log_p.reshape(-1, log_p.shape[-1])[chosen],
            one.planes.reshape(-1, 3)[chosen],
            one.labels.ravel()[chosen],
            len(known) / max(len(chosen), 1),
            one.fold,
        )


@dataclass(frozen=True, eq=False)
class _Terms:
    """What the activations of drawn pixels are linear in, given the distributions of blocks."""

    parts: tuple[Array, Array, Array]  # (n, C) each: own, pooled and agreement
    shares: Array  # (N, C), mean distribution of the blocks of each image
    images: NDArray[np.intp]  # (n,), image of each pixel
    labels: NDArray[np.int64]  # (n,)
    weights: Array  # (n,), of mean 1
    folds: NDArray[np.int64]  # (N,), of each image

    @classmethod
    def compute(cls, drawn: Sequence[_DrawnPixels], qs: Sequence[Field], width: float) -> _Terms:
        """Messages from all blocks to the drawn pixels."""
        pairs = [random_field.weigh_pairs(x.colors, x.blocks.colors, width) for x in drawn]
        pooled = [k @ x.blocks.log_p for k, x in zip(pairs, drawn, strict=True)]
        agreement = [k @ q for k, q in zip(pairs, qs, strict=True)]
        sizes = [len(x.labels) for x in drawn]
        weights = np.repeat([x.weight for x in drawn], sizes)
        return cls(
            (np.concatenate([x.log_p for x in drawn]), *map(np.concatenate, (pooled, agreement))),
            np.stack([np.mean(q, axis=0, dtype=np.float64) for q in qs]),
            np.repeat(np.arange(len(drawn)), sizes),
            np.concatenate([x.labels for x in drawn]),
            weights / np.mean(weights),
            np.array([x.fold for x in drawn]),
        )

    def select(self, chosen: NDArray[np.bool_]) -> _Terms:
        """The pixels of some images."""
        rows = chosen[self.images]
        own, pooled, agreement = (part[rows] for part in self.parts)
        return replace(
            self,
            parts=(own, pooled, agreement),
            images=self.images[rows],
            labels=self.labels[rows],
            weights=self.weights[rows],
        )

    def activate(self, field: RandomField) -> Array:
        """Activations (n, C) of the pixels."""
        strengths = (field.own, field.pooled, field.agreement)
        activations = sum(w * part for w, part in zip(strengths, self.parts, strict=True))
        if field.affinities is not None:
            activations = activations + (self.shares @ field.affinities)[self.images]
        found: Array = np.asarray(activations)
        return found

    def score(self, field: RandomField) -> float:
        """Mean log-probability of a pixel."""
        log_p = log_softmax(self.activate(field), axis=1)
        return float(np.average(log_p[np.arange(len(log_p)), self.labels], weights=self.weights))

    def evaluate(self, field: RandomField) -> tuple[float, Array, Array]:
        """The score, and its gradient by the three strengths and by the affinities (C, C)."""
        log_p = log_softmax(self.activate(field), axis=1)
        rows = np.arange(len(log_p))
        score = float(np.average(log_p[rows, self.labels], weights=self.weights))
        off = -np.exp(log_p)
        off[rows, self.labels] += 1.0
        off *= (self.weights / np.sum(self.weights))[:, None]
        by_strength = np.array([np.vdot(off, part) for part in self.parts])
        by_image = np.zeros_like(self.shares)
        np.add.at(by_image, self.images, off)
        by_affinity = self.shares.T @ by_image
        return score, by_strength, by_affinity

    def fit(self, start: RandomField, precision: float | None) -> RandomField:
        """The field of the largest score, less the prior of affinities; None: there are none.

        The problem is convex, because activations are linear in all strengths.
        """
        n_classes = self.shares.shape[1]
        share = (precision or 0.0) / len(np.unique(self.images))
        affinities = np.zeros((n_classes, n_classes))
        x0 = np.concatenate(
            [
                [start.own, start.pooled, start.agreement],
                [] if precision is None else affinities.ravel(),
            ]
        )

        def lose(x: Array) -> tuple[float, Array]:
            field = _unpack(x, start.width)
            score, by_strength, by_affinity = self.evaluate(field)
            if field.affinities is None:
                return -score, -by_strength
            penalty = 0.5 * share * float(np.sum(field.affinities**2))
            slope = share * field.affinities - by_affinity
            return penalty - score, np.concatenate(
                [-by_strength, (_SCALE * (slope + slope.T)).ravel()]
            )

        best = optimize.minimise_lbfgs(
            lose, x0, max_iter=_MAX_ITER, least_gain=_LEAST_GAIN, announce=False
        )
        return _unpack(best.x, start.width)


def _unpack(x: Array, width: float) -> RandomField:
    own, pooled, agreement = x[:3].tolist()
    if len(x) == 3:
        return RandomField(own, pooled, agreement, width)
    n_classes = round(np.sqrt(len(x) - 3))
    square = x[3:].reshape(n_classes, n_classes)
    return RandomField(own, pooled, agreement, width, _SCALE * (square + square.T))


def learn_random_field(fields: Iterable[LabelledField], rng: np.random.Generator) -> LearnedField:
    """The field of the best log score of held-out images, and its scores.

    Strengths maximise the log score of pixels after a sweep, which is concave in them; sweep after
    sweep. The width of colours has the best score without affinities. The precision of the prior of
    affinities has the best score of folds that are left out. Where smoothing does not raise that
    score, there is none.

    Parameters
    ----------
    fields : iterable of LabelledField
        Images, read once.
    rng : Generator
        Draws pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.random_field_learning import LabelledField, learn_random_field
    >>> rng = np.random.default_rng(0)
    >>> def draw(fold):  # two halves of different colour, and probabilities that are often wrong
    ...     labels = np.repeat([[0, 1]], 15, axis=1).repeat(24, axis=0)
    ...     seen = np.where(rng.random(labels.shape) < 0.3, 1 - labels, labels)
    ...     log_p = np.log(np.where(seen[..., None] == [0, 1], 0.7, 0.3)).astype(np.float32)
    ...     planes = np.repeat(50.0 * labels[..., None], 3, axis=2)
    ...     return LabelledField(log_p, planes, labels, fold)
    >>> found = learn_random_field([draw(0), draw(1)], rng)
    >>> bool(found.score > found.alone + 0.3)
    True
    """
    drawn = [x for x in (_DrawnPixels.draw(one, rng) for one in fields) if len(x.labels)]
    alone = RandomField()
    qs = [np.exp(x.blocks.log_p) for x in drawn]
    fits = [
        _Terms.compute(drawn, qs, width).fit(replace(alone, width=width), None) for width in _WIDTHS
    ]
    terms = [_Terms.compute(drawn, qs, one.width) for one in fits]
    scores = [own.score(one) for own, one in zip(terms, fits, strict=True)]
    best = int(np.argmax(scores))
    field, own = fits[best], terms[best]
    precision = _choose_precision(own, field)
    field = own.fit(field, precision)
    for _ in range(1, random_field._SWEEPS):
        qs = [field.find_mean_field(x.blocks, 1) for x in drawn]
        own = _Terms.compute(drawn, qs, field.width)
        field = own.fit(field, precision)
    score, without = _cross_validate(own, field, precision), own.score(alone)
    if score <= without:
        return LearnedField(alone, without, without)
    return LearnedField(field, score, without)


def _choose_precision(terms: _Terms, start: RandomField) -> float | None:
    """Relax the prior of affinities for as long as the score of left-out folds rises."""
    best, reached = None, _cross_validate(terms, start, None)
    for precision in _PRECISIONS:
        score = _cross_validate(terms, start, precision)
        if score <= reached:
            break
        best, reached = precision, score
    return best


def _cross_validate(terms: _Terms, start: RandomField, precision: float | None) -> float:
    """Mean score of the pixels of each fold by the field that is learned from all other folds."""
    folds = np.unique(terms.folds)
    if len(folds) < 2:
        return terms.score(start) if precision is None else -np.inf
    total = 0.0
    for fold in folds:
        rest, own = terms.select(terms.folds != fold), terms.select(terms.folds == fold)
        total += float(np.sum(own.weights)) * own.score(rest.fit(start, precision))
    return total / float(np.sum(terms.weights))
