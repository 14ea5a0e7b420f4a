"""Encode categories of many levels by means of the target, and free text by its words."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from posterity.arrays import Array
from posterity.page_forms import Form, NoFormError
from posterity.tables import texts
from posterity.tables.columns import Column

FEWEST_WORDS = 10
"""Number of words that must repeat in a column before it is read as text."""

_MOST_WORDS = 2000
_MOST_COMPONENTS = 8
_ROWS_EACH = 20  # training rows per component
_COMMON = 0.95  # words in a larger share of the rows say nothing
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

    def page_form(self, profile: Any) -> Form:
        """Return the control of a page: encodings of frequent levels, of others, of none."""
        counts = dict(zip(profile.levels, profile.counts, strict=True))
        codes = self.encode(pl.Series([*counts, None, None], dtype=pl.String))
        codes[-2] = self._standardise(self.other)
        return {
            "name": self.name,
            "kind": "category",
            "levels": list(counts),
            "other": True,
            "missing": profile.n_missing > 0,
            "codes": codes.tolist(),
            "start": max(counts, key=lambda level: counts[level]) if counts else None,
        }

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
    return texts.find_places(labels, levels, unknown=len(levels), missing=len(levels) + 1)


@dataclass(frozen=True, eq=False)
class TextPart:
    """Encode a text: weights of its words, reduced to a few components.

    Words that occur in several training rows are counted and weighted by their rarity (TF-IDF); a
    truncated singular value decomposition of the training rows gives the components.

    Attributes
    ----------
    name : str
        Column name.
    words : tuple of str
        Words that are counted, in lower case.
    rarity : ndarray of shape (W,)
        Weight of each word, larger for rare ones.
    components : ndarray of shape (W, K)
        Directions on which weighted words are projected.
    centre, scale : ndarray of shape (K,)
        Mean and standard deviation of the components in the training rows.
    missing_words : tuple of str
        Texts that count as missing; a missing text is encoded as one without any known word.

    Examples
    --------
    >>> import polars as pl
    >>> from posterity.tables import label_parts
    >>> notes = pl.Series(["engine runs well", "engine is loud", "seat is torn", "seat looks well"])
    >>> part = label_parts.fit_text("note", notes, n_components=1)
    >>> part.words
    ('engine', 'is', 'seat', 'well')
    >>> part.encode(notes).shape
    (4, 1)
    """

    name: str
    words: tuple[str, ...]
    rarity: Array
    components: Array
    centre: Array
    scale: Array
    missing_words: tuple[str, ...] = ()

    def check_consistency(self) -> None:
        """Raise ValueError unless the arrays fit the words."""
        n_words, width = len(self.words), len(self.centre)
        if np.shape(self.rarity) != (n_words,) or np.shape(self.components) != (n_words, width):
            raise ValueError("the components of the text do not fit its words")
        if np.shape(self.scale) != (width,):
            raise ValueError("the scales of the text do not fit its components")

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return len(self.centre)

    def names(self) -> tuple[str, ...]:
        """Return the names of the encoded columns."""
        return tuple(f"{self.name} words {k + 1}" for k in range(self.width))

    def read(self, cells: pl.Series) -> pl.Series:
        """Read the cells as text, null where missing."""
        column = Column(self.name, "category", missing_words=self.missing_words)
        return texts.convert_labels(cells, column)

    def encode(self, cells: pl.Series) -> Array:
        """Encode the cells as standardised components, (N, width)."""
        weights = _weigh_words(self.read(cells), self.words, self.rarity)
        return (weights @ self.components - self.centre) / self.scale

    def page_form(self, profile: Any) -> Form:
        """Refuse text, which has no control."""
        raise NoFormError(f"The input {self.name!r} is text, which cannot run in a page.")


def fit_text(
    name: str,
    labels: pl.Series,
    *,
    missing_words: tuple[str, ...] = (),
    n_components: int | None = None,
) -> TextPart:
    """Return the encoder of a text column, learned from its texts."""
    words, counts = count_words(labels)
    rarity = np.log((1.0 + len(labels)) / (1.0 + counts)) + 1.0
    k = n_components or min(_MOST_COMPONENTS, max(1, len(labels) // _ROWS_EACH))
    weights = _weigh_words(labels, words, rarity)
    k = min(k, max(len(words) - 1, 0), max(len(labels) - 1, 0))
    if not k or not weights.nnz:
        none = np.empty((len(words), 0))
        return TextPart(name, words, rarity, none, np.empty(0), np.empty(0), missing_words)
    components = TruncatedSVD(k, random_state=0).fit(weights).components_.T
    encoded = weights @ components
    spread = encoded.std(axis=0)
    scale = np.where(spread > 0.0, spread, 1.0)
    return TextPart(name, words, rarity, components, encoded.mean(axis=0), scale, missing_words)


def count_words(labels: pl.Series) -> tuple[tuple[str, ...], Array]:
    """Return the words that some rows share, sorted, and the number of rows with each."""
    found = (
        labels.drop_nulls()
        .str.to_lowercase()
        .str.extract_all(r"[\p{L}\p{N}_]{2,}")
        .alias("word")
        .to_frame()
        .with_columns(pl.col("word").list.unique())
        .explode("word")
        .drop_nulls()
        .group_by("word")
        .len("count")
        .filter(pl.col("count") >= 2, pl.col("count") <= _COMMON * len(labels))
        .sort("count", "word", descending=[True, False])
        .head(_MOST_WORDS)
        .sort("word")
    )
    return tuple(found["word"].to_list()), found["count"].to_numpy().astype(np.float64)


def _weigh_words(labels: pl.Series, words: tuple[str, ...], rarity: Array) -> Any:
    """Return the weighted words of each text, rows of unit length; sparse (N, W)."""
    if not words:
        from scipy import sparse

        return sparse.csr_array((len(labels), 0))
    counter = CountVectorizer(vocabulary=words, token_pattern=r"\w{2,}", lowercase=True)
    counts = counter.transform(labels.fill_null("").to_list()).astype(np.float64)
    counts.data = 1.0 + np.log(counts.data)
    return normalize(counts.multiply(rarity).tocsr())
