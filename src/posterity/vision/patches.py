"""Small images of one size: their answers to Gabor filters, and their classes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from posterity import distributions, local, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.models import ModelCard
from posterity.vision import images, resizing
from posterity.vision.integrals import Pixels
from posterity.vision.windows import inputs


def stack_gray_patches(X: Any, size: tuple[int, int] | None = None) -> Pixels:
    """Return patches as gray values (N, H, W).

    Parameters
    ----------
    X : array of shape (N, H, W) or (N, H, W, 3), or sequence of images
        Images of bytes, or as :func:`posterity.vision.to_gray` takes them.
    size : pair of int, optional
        Height and width to which images are brought. None: they must have one size.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import patches
    >>> patches.stack_gray_patches([np.full((4, 6), 9, dtype=np.uint8)], (2, 2))
    array([[[9, 9],
            [9, 9]]], dtype=uint8)
    """
    if _are_stacked(X) and size in (None, X.shape[1:]):
        return X
    gray = [images.to_gray(image) for image in X]
    if not gray:
        raise ValueError("There are no patches; pass at least one image.")
    if size is not None:
        gray = [resizing.resize_by_area(image, *size) for image in gray]
    for i, image in enumerate(gray):
        if image.shape != gray[0].shape:
            raise ValueError(
                f"Patch {i} has {image.shape[0]} x {image.shape[1]} pixels, but patch 0 has "
                f"{gray[0].shape[0]} x {gray[0].shape[1]}; bring all patches to one size."
            )
    return np.stack(gray)


def _are_stacked(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype == np.uint8 and X.ndim == 3 and len(X) > 0


_BANDWIDTH = 0.56  # standard deviation across the wave, in wavelengths: one octave
_ELONGATION = np.sqrt(2.0)  # standard deviation along the wave's crests over that across
_REACH = 2.5  # standard deviations at which a filter ends
_BLOCK = 512  # patches that are held as floating-point numbers at a time


@declare_parameters
class Gabor(TransformerMixin, BaseEstimator):
    """Magnitudes of Gabor filters on grids over a patch.  [P9 Sec 9.12.1]

    At each scale, waves in several directions are compared with the patch at the points of a grid,
    whose spacing is the wavelength. The magnitude of an even and an odd filter does not depend on
    the exact place of an edge. With the defaults there are 4 (12^2 + 9^2 + 5^2 + 4^2) = 1064
    features.

    Parameters
    ----------
    grids : sequence of int, default=(12, 9, 5, 4)
        Number of places along each side of the patch, for each scale.
    n_orientations : int, default=4
        Number of directions of waves.
    equalize : bool, default=True
        Whether gray values are first replaced by their ranks within the patch, which removes
        differences of exposure and contrast.

    Attributes
    ----------
    patch_shape_ : tuple of int
        Height and width of the patches.
    n_features_out_ : int
        Number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import Gabor
    >>> waves = 128 + 100 * np.sin(2 * np.pi * np.arange(60) / 15)
    >>> patches = np.stack([np.tile(waves, (60, 1)), np.tile(waves, (60, 1)).T]).astype(np.uint8)
    >>> answers = Gabor((4,)).fit_transform(patches)
    >>> answers.shape
    (2, 64)
    >>> answers.reshape(2, 4, 16).mean(axis=2).round(2)  # of each direction
    array([[0.18, 0.  , 0.  , 0.  ],
           [0.  , 0.  , 0.18, 0.  ]], dtype=float32)
    """

    grids: Sequence[int] = field(default=(12, 9, 5, 4), kw_only=False)
    n_orientations: int = 4
    equalize: bool = True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Note the size of the patches.

        Parameters
        ----------
        X : array of shape (N, H, W) or (N, H, W, 3), or sequence of images of one size
            Patches.
        y : ignored
        """
        validation.check_count(self.n_orientations, "n_orientations")
        for grid in self.grids:
            validation.check_count(grid, "grids")
        self.patch_shape_ = stack_gray_patches(X).shape[1:]
        self.n_features_out_ = self.n_orientations * sum(grid**2 for grid in self.grids)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Compute the features of patches, one column per feature."""
        check_is_fitted(self)
        pixels = stack_gray_patches(X)
        if pixels.shape[1:] != self.patch_shape_:
            raise ValueError(
                f"Patches have {pixels.shape[1]} x {pixels.shape[2]} pixels, but the features were "
                f"fitted to patches of {self.patch_shape_[0]} x {self.patch_shape_[1]}."
            )
        even, odd = self.build_filters()
        answers = np.empty((len(pixels), self.n_features_out_), dtype=np.float32)
        for start in range(0, len(pixels), _BLOCK):
            rows = slice(start, start + _BLOCK)
            values = self._scale_values(pixels[rows])
            np.hypot(values @ even, values @ odd, out=answers[rows])
        return answers

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the features: grid, direction, row and column."""
        check_is_fitted(self)
        return np.array(
            [
                f"gabor{grid}_{180 * k // self.n_orientations}deg_{row}_{column}"
                for grid in self.grids
                for k in range(self.n_orientations)
                for row in range(grid)
                for column in range(grid)
            ],
            dtype=object,
        )

    def _scale_values(self, pixels: Pixels) -> NDArray[np.float32]:
        """Gray values or ranks from 0 to 1, (n, H W)."""
        flat = pixels.reshape(len(pixels), -1)
        if not self.equalize:
            return flat.astype(np.float32) / np.float32(255)
        return np.stack([_rank_values(one) for one in flat])

    def build_filters(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Build the even and odd filters of all features: a row per pixel, a column per feature."""
        grids = tuple(int(grid) for grid in self.grids)
        return _build_bank(self.patch_shape_, grids, self.n_orientations)


@functools.lru_cache(maxsize=2)
def _build_bank(
    shape: tuple[int, int], grids: tuple[int, ...], n_orientations: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Even and odd filters of patches of a size; building them takes as long as 250 patches."""
    places = [
        (grid, np.pi * k / n_orientations, row, column)
        for grid in grids
        for k in range(n_orientations)
        for row in range(grid)
        for column in range(grid)
    ]
    both = np.empty((2, shape[0] * shape[1], len(places)), dtype=np.float32)
    for column, place in enumerate(places):
        both[:, :, column] = _build_filter(shape, *place)
    both.setflags(write=False)
    return both[0], both[1]


def _build_filter(
    shape: tuple[int, int], grid: int, angle: float, row: int, column: int
) -> NDArray[np.float64]:
    """Build an even and an odd filter at a place, (2, H W); beyond edges patches are mirrored.

    Both have mean zero, so that even light answers nothing.
    """
    height, width = shape
    wavelength = np.sqrt(height * width) / grid
    spread = _BANDWIDTH * wavelength
    reach = int(np.ceil(_REACH * spread))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    along = x * np.cos(angle) + y * np.sin(angle)
    across = y * np.cos(angle) - x * np.sin(angle)
    window = np.exp(-0.5 * (along**2 + (across / _ELONGATION) ** 2) / spread**2)
    phase = 2.0 * np.pi * along / wavelength
    waves = window * np.stack([np.cos(phase), np.sin(phase)])
    waves -= window * (waves.sum(axis=(1, 2)) / window.sum())[:, None, None]
    waves /= window.sum()
    rows = _mirror(int((row + 0.5) * height / grid) + np.arange(-reach, reach + 1), height)
    columns = _mirror(int((column + 0.5) * width / grid) + np.arange(-reach, reach + 1), width)
    placed = np.zeros((2, height, width))
    for one, wave in zip(placed, waves, strict=True):
        np.add.at(one, (rows[:, None], columns[None, :]), wave)
    return placed.reshape(2, -1)


def _mirror(places: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Places within 0, ..., size - 1, mirrored at the edges as often as needed."""
    within = np.mod(places, 2 * size)
    return np.minimum(within, 2 * size - 1 - within)


def _rank_values(values: Pixels) -> NDArray[np.float32]:
    """Share of the pixels of a patch that are darker, from 0 for the darkest to 1."""
    counts = np.bincount(values, minlength=256)
    ranks = np.cumsum(counts)
    lowest = ranks[values.min()]
    shares = (ranks - lowest) / max(int(ranks[-1] - lowest), 1)
    return shares.astype(np.float32)[values]


@declare_parameters
class PatchClassifier(ClassifierMixin, BaseEstimator):
    """Classifier of small images that show one thing each, such as faces or parts.  [P9 Sec 9.12.1]

    Images are brought to one size, described by features of their texture, and classified by a
    model of this library, which gives every class a probability.

    Parameters
    ----------
    size : pair of int, default=(60, 60)
        Height and width to which images are brought.
    features : transformer, optional
        From patches (N, H, W) to columns. None: :class:`Gabor`.
    classifier : estimator, optional
        Classifier of the columns. None: a :class:`posterity.StagewiseClassifier` of at most 300
        smooth steps with a learning rate of 0.1, each learned from a half of the patches; how
        many there are is chosen by patches that are held out.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the default classifier.

    Attributes
    ----------
    features_ : transformer
        The fitted features.
    classifier_ : estimator
        The fitted classifier.
    classes_ : ndarray of shape (C,)
        The classes.

    See Also
    --------
    WindowDetector : Finds objects of one kind in larger images.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import StagewiseClassifier
    >>> from posterity.vision import Gabor, PatchClassifier
    >>> rng = np.random.default_rng(0)
    >>> phase = rng.uniform(0.0, 6.0, size=(80, 1, 1))
    >>> waves = np.sin(np.arange(24) + phase) * np.ones((80, 24, 24))
    >>> tilted = np.arange(80) % 2 == 1
    >>> waves[tilted] = waves[tilted].transpose(0, 2, 1)
    >>> images = (128 + 20 * waves + 30 * rng.normal(size=waves.shape)).clip(0, 255)
    >>> units = StagewiseClassifier(3, random_state=0)
    >>> model = PatchClassifier((24, 24), features=Gabor((6, 4)), classifier=units)
    >>> model = model.fit(images[:60].astype(np.uint8), np.where(tilted, "rows", "columns")[:60])
    >>> model.predict(images[60:64].astype(np.uint8))
    array(['columns', 'rows', 'columns', 'rows'], dtype='<U7')
    """

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="weak normal",
        feature_space="Gabor responses, then hidden units",
        inference="stagewise, most probable",
        advice="classes of small images that show one thing each",
        page="patches",
    )

    size: tuple[int, int] = field(default=(60, 60), kw_only=False)
    features: Any = None
    classifier: Any = None
    random_state: Any = None

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the classes.

        Parameters
        ----------
        X : array of shape (N, H, W) or (N, H, W, 3), or sequence of images
            Images of any size.
        y : array-like of shape (N,)
            Class of each image.
        sample_weight : array-like of shape (N,), optional
            Number of repetitions of each image.
        """
        pixels = self._prepare_patches(X)
        if len(pixels) != np.size(y):
            raise ValueError(f"There are {len(pixels)} images, but {np.size(y)} classes.")
        self.features_ = (Gabor() if self.features is None else clone(self.features)).fit(pixels)
        model = self._default_classifier() if self.classifier is None else clone(self.classifier)
        columns = self.features_.transform(pixels)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.classifier_ = model.fit(columns, y, **weights)
        self.classes_ = self.classifier_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each image."""
        columns = self._describe(X)
        return self.classifier_.predict(columns)

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class, (N, C)."""
        columns = self._describe(X)
        return self.classifier_.predict_proba(columns)

    def predict_dist(self, X: Any) -> distributions.Discrete:
        """The distribution of the class of each image, by its place in ``classes_``."""
        columns = self._describe(X)
        return self.classifier_.predict_dist(columns)

    def _describe(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        return self.features_.transform(self._prepare_patches(X))

    def _prepare_patches(self, X: Any) -> Pixels:
        return stack_gray_patches(X, inputs.check_window(self.size))

    def _default_classifier(self) -> local.StagewiseClassifier:
        """Units that are weak and many: single strong ones describe the noise of the patches."""
        return local.StagewiseClassifier(
            300,
            n_restarts=0,
            learning_rate=0.1,
            subsample=0.5,
            validation_fraction=0.3,
            max_iter=15,
            random_state=self.random_state,
        )
