"""Encode free text by the words that it shares with other rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from posterity.arrays import Array
from posterity.tables import texts
from posterity.tables.columns import Column

FEWEST_WORDS = 10
"""Number of words that must repeat in a column before it is read as text."""

_MOST_WORDS = 2000
_MOST_COMPONENTS = 8
_ROWS_EACH = 20  # training rows per component
_COMMON = 0.95  # words in a larger share of the rows say nothing


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
    >>> from posterity.tables import text_parts
    >>> notes = pl.Series(["engine runs well", "engine is loud", "seat is torn", "seat looks well"])
    >>> part = text_parts.fit_text("note", notes, n_components=1)
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
