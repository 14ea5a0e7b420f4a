"""Encode the levels of a category by the mean of the target, shrunken to the mean of all rows."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.tables import texts
from posterity.tables.columns import Column

_FOLDS = 10  # a training row is encoded by the other rows of ten parts


@dataclass(frozen=True, eq=False)
class LevelMeansPart:
    """Encode a category of many levels: the mean of the target, or the share of each class.

    A level with few rows is drawn towards the mean of all rows by empirical Bayes: the fewer rows
    and the smaller the differences between levels, the more. Labels that were not seen have the
    mean of all rows.

    Attributes
    ----------
    name : str
        Column name.
    levels : tuple of str
        Known labels.
    means : ndarray of shape (L, J)
        Shrunken means of each level; J is 1, or the number of classes less one.
    other, missing : ndarray of shape (J,)
        Means of labels that were not seen, and of missing labels.
    centre, scale : ndarray of shape (J,)
        Mean and standard deviation of the encoded training rows.
    missing_words : tuple of str
        Texts that count as missing.
    spellings : tuple of str
        Labels whose other spellings, which differ only by case, are read as this one.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from posterity import tables
    >>> means, zero, one = np.array([[3.0], [5.0]]), np.zeros(1), np.ones(1)
    >>> part = tables.LevelMeansPart("town", ("A", "B"), means, zero, zero, one, one)
    >>> part.encode(pl.Series(["B", "A", "new"]))
    array([[ 4.],
           [ 2.],
           [-1.]])
    """

    name: str
    levels: tuple[str, ...]
    means: Array
    other: Array
    missing: Array
    centre: Array
    scale: Array
    missing_words: tuple[str, ...] = ()
    spellings: tuple[str, ...] = ()

    def check_consistency(self) -> None:
        """Raise ValueError unless the arrays fit the levels."""
        shapes = {np.shape(a) for a in (self.other, self.missing, self.centre, self.scale)}
        if shapes != {np.shape(self.means)[1:]} or len(self.means) != len(self.levels):
            raise ValueError("the means of the levels do not fit the levels")

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return len(self.other)

    def names(self) -> tuple[str, ...]:
        """Return the names of the encoded columns."""
        if self.width == 1:
            return (f"{self.name} mean",)
        return tuple(f"{self.name} share of class {j + 2}" for j in range(self.width))

    def read(self, cells: pl.Series) -> pl.Series:
        """Read the cells as labels, null where missing."""
        column = Column(
            self.name, "category", missing_words=self.missing_words, spellings=self.spellings
        )
        return texts.convert_labels(cells, column)

    def encode(self, cells: pl.Series) -> Array:
        """Encode the cells as standardised means, (N, width)."""
        table = np.concatenate([self.means, [self.other], [self.missing]])
        return self._standardise(table[_find_places(self.read(cells), self.levels)])

    def encode_training_rows(self, cells: pl.Series, y: NDArray[np.generic]) -> Array:
        """Encode rows with a target, each by means of other rows only."""
        places = _find_places(self.read(cells), self.levels)
        Y = spread_targets(y)[:, : self.width]
        part = np.random.default_rng(0).permutation(len(places)) % min(_FOLDS, len(places))
        encoded = np.empty(Y.shape)
        for fold in np.unique(part):
            inside, outside = part == fold, part != fold
            means = shrink_means(places[outside], Y[outside], len(self.levels) + 2)
            encoded[inside] = means[places[inside]]
        return self._standardise(encoded)

    def _standardise(self, values: Array) -> Array:
        return (values - self.centre) / self.scale


def fit_level_means(column: Column, labels: pl.Series, y: NDArray[np.generic]) -> LevelMeansPart:
    """Return the encoder of a category, learned from labels and targets."""
    levels = tuple(labels.drop_nulls().unique().sort().to_list())
    places = _find_places(labels, levels)
    means = shrink_means(places, spread_targets(y), len(levels) + 2)
    rows = means[places]
    spread = rows.std(axis=0)
    return LevelMeansPart(
        column.name,
        levels,
        means[:-2],
        means[-2],
        means[-1],
        rows.mean(axis=0),
        np.where(spread > 0.0, spread, 1.0),
        column.missing_words,
        column.spellings,
    )


def shrink_means(places: NDArray[np.int64], Y: Array, n_levels: int) -> Array:
    """Return the mean of each level, shrunken by empirical Bayes; (n_levels, J).

    The rows of a level are its mean plus noise, and the means vary about that of all rows. Both
    variances are those of a one-way analysis of variance, by the method of moments.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([[1.0], [2.0], [1.5], [8.0], [9.0]])
    >>> shrink_means(np.array([0, 0, 0, 1, 1]), y, 3).round(2).ravel().tolist()
    [1.51, 8.47, 4.3]
    """
    base = Y.mean(axis=0)
    n = np.bincount(places, minlength=n_levels).astype(np.float64)[:, None]
    sums = np.stack([np.bincount(places, y, minlength=n_levels) for y in Y.T], axis=1)
    N, L = len(Y), int(np.sum(n > 0))
    if L < 2 or N <= L:
        return np.broadcast_to(base, sums.shape).copy()
    raw = sums / np.maximum(n, 1.0)
    within = np.sum((Y - raw[places]) ** 2, axis=0) / (N - L)
    between = np.sum(n * (raw - base) ** 2, axis=0) / (L - 1)
    typical = (N - np.sum(n**2) / N) / (L - 1)
    tau2 = np.maximum(between - within, 0.0) / typical
    share = tau2 * n / np.where(tau2 * n + within > 0.0, tau2 * n + within, 1.0)
    return base + share * (raw - base)


def spread_targets(y: NDArray[np.generic]) -> Array:
    """Return numbers as one column, class indices as indicators of all classes but the first."""
    if not np.issubdtype(y.dtype, np.integer):
        return np.asarray(y, dtype=np.float64)[:, None]
    classes = np.arange(1, max(int(y.max(initial=1)), 1) + 1)
    return (np.asarray(y)[:, None] == classes).astype(np.float64)


def _find_places(labels: pl.Series, levels: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the place of each label; unknown labels and missing ones follow the known."""
    known = pl.Series(levels, dtype=pl.String)
    order = pl.Series(range(len(levels)), dtype=pl.Int64)
    places = labels.replace_strict(known, order, default=len(levels), return_dtype=pl.Int64)
    return places.set(labels.is_null(), len(levels) + 1).to_numpy()
