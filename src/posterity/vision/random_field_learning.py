"""Learn a random field from held-out images, by the log score of its mean field."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from posterity import optimize
from posterity.arrays import Array
from posterity.vision import random_field
from posterity.vision.filters import Planes
from posterity.vision.random_field import Field, FieldBlocks, RandomField

_MOST_PIXELS = 200  # of an image, from which the field is learned
_WIDTHS = (3.0, 5.0, 8.0, 12.0)
_PRECISIONS = (1.0, 0.3, 0.1, 0.03, 0.01)  # of affinities, in the log score of an image
_SCALE = 4.0  # of affinities in the search: those of pairs of small shares are large
_MAX_ITER = 80
_ROUNDS = 3  # of strengths and mean field
_LEAST_GAIN = 1e-6  # in the mean log score of a pixel


class LabelledField(NamedTuple):
    """Held-out pixels of an image, on one grid."""

    log_p: Field  # (h, w, C), before smoothing
    planes: Planes  # (h, w, 3), L*, a* and b*
    labels: NDArray[np.int64]  # (h, w), numbers of classes; -1 where unknown
    fold: int = 0  # images of different folds have nothing in common


class LearnedField(NamedTuple):
    """A random field, and mean log-probabilities of pixels of folds that are left out."""

    field: RandomField
    score: float  # after one sweep of a field that was learned from other folds
    alone: float  # without a field


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
    """Terms that activations of drawn pixels are linear in, given the distributions of blocks."""

    parts: tuple[Field, Field, Field]  # (n, C) each: own, pooled and agreement
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
        own = np.concatenate([x.log_p for x in drawn])
        sizes = [len(x.labels) for x in drawn]
        weights = np.repeat([x.weight for x in drawn], sizes)
        return cls(
            (own, np.concatenate(pooled), np.concatenate(agreement)),
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

    def find_log_p(self, field: RandomField) -> NDArray[Any]:
        """Log-probabilities (n, C) of the pixels after a sweep."""
        own, pooled, agreement = self.parts
        activations = field.own * own + field.pooled * pooled + field.agreement * agreement
        if field.affinities is not None:
            activations = activations + (self.shares @ field.affinities)[self.images]
        log_p: NDArray[Any] = log_softmax(activations, axis=1)
        return log_p

    def score(self, field: RandomField) -> float:
        """Mean log-probability of the labels of the pixels."""
        return self._average(self.find_log_p(field))

    def differentiate_score(self, field: RandomField) -> tuple[float, Array, Array]:
        """The score, and its gradient by the three strengths and by the affinities (C, C)."""
        log_p = self.find_log_p(field)
        off = -np.exp(log_p)
        off[np.arange(len(off)), self.labels] += 1.0
        off *= (self.weights / np.sum(self.weights))[:, None]
        by_image = np.zeros_like(self.shares)
        np.add.at(by_image, self.images, off)
        by_strength = np.array([np.vdot(off, part) for part in self.parts])
        return self._average(log_p), by_strength, self.shares.T @ by_image

    def fit(self, start: RandomField, precision: float | None) -> RandomField:
        """The field of the largest score, less the prior of affinities; None: there are none.

        The problem is convex, because activations are linear in all strengths.
        """
        n_affinities = 0 if precision is None else self.shares.shape[1] ** 2
        penalty = (precision or 0.0) / len(np.unique(self.images))

        def lose(x: Array) -> tuple[float, Array]:
            field = _unpack(x, start.width)
            score, by_strength, by_affinity = self.differentiate_score(field)
            if field.affinities is None:
                return -score, -by_strength
            slope = penalty * field.affinities - by_affinity
            loss = 0.5 * penalty * float(np.sum(field.affinities**2)) - score
            return loss, np.concatenate([-by_strength, (_SCALE * (slope + slope.T)).ravel()])

        x0 = np.array([start.own, start.pooled, start.agreement, *np.zeros(n_affinities)])
        best = optimize.minimise_lbfgs(
            lose, x0, max_iter=_MAX_ITER, least_gain=_LEAST_GAIN, announce=False
        )
        return _unpack(best.x, start.width)

    def _average(self, log_p: NDArray[Any]) -> float:
        own = log_p[np.arange(len(log_p)), self.labels]
        return float(np.average(own, weights=self.weights))


def _unpack(x: Array, width: float) -> RandomField:
    """The field of three strengths, and of the affinities if there are any."""
    own, pooled, agreement = x[:3].tolist()
    if len(x) == 3:
        return RandomField(own, pooled, agreement, width)
    n_classes = round(np.sqrt(len(x) - 3))
    square = x[3:].reshape(n_classes, n_classes)
    return RandomField(own, pooled, agreement, width, _SCALE * (square + square.T))


def learn_random_field(fields: Iterable[LabelledField], rng: np.random.Generator) -> LearnedField:
    """The field of the best log score of held-out images, and its scores.

    Given the distributions of blocks, the log score of pixels is concave in all strengths. So
    strengths and mean field take turns. The width of colours has the best score without affinities,
    and the precision of the prior of affinities the best score of folds that are left out, after
    one sweep. Where smoothing does not raise that score, there is none.

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
    if not drawn:
        return LearnedField(RandomField(), np.nan, np.nan)
    start, terms = _fit_width(drawn)
    precision, score = _choose_precision(terms, start)
    alone = terms.score(RandomField())
    if score <= alone:
        return LearnedField(RandomField(), alone, alone)
    return LearnedField(_fit_sweeps(drawn, terms, start, precision), score, alone)


def _fit_width(drawn: Sequence[_DrawnPixels]) -> tuple[RandomField, _Terms]:
    """The field without affinities whose width has the best score, and its terms."""
    qs = [np.exp(x.blocks.log_p) for x in drawn]
    terms = [_Terms.compute(drawn, qs, width) for width in _WIDTHS]
    fields = [
        own.fit(RandomField(width=width), None) for own, width in zip(terms, _WIDTHS, strict=True)
    ]
    scores = [own.score(field) for own, field in zip(terms, fields, strict=True)]
    best = int(np.argmax(scores))
    return fields[best], terms[best]


def _choose_precision(terms: _Terms, start: RandomField) -> tuple[float | None, float]:
    """Relax the prior of affinities for as long as the score of left-out folds rises."""
    best, reached = None, _cross_validate(terms, start, None)
    for precision in _PRECISIONS:
        score = _cross_validate(terms, start, precision)
        if score <= reached:
            break
        best, reached = precision, score
    return best, reached


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


def _fit_sweeps(
    drawn: Sequence[_DrawnPixels], terms: _Terms, field: RandomField, precision: float | None
) -> RandomField:
    """Fit strengths to the mean field that the last ones lead to, and return the best ones.

    The score of strengths is that of their own mean field, from its first sweep to its last.
    """
    found: list[tuple[float, RandomField]] = []
    for _ in range(_ROUNDS):
        field = terms.fit(field, precision)
        qs = [field.find_mean_field(x.blocks, random_field.SWEEPS - 1) for x in drawn]
        terms = _Terms.compute(drawn, qs, field.width)
        found.append((terms.score(field), field))
    return max(found, key=lambda pair: pair[0])[1]
