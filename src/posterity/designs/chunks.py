"""Rows that do not fit in memory, read and validated in blocks."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import progress
from posterity.arrays import Array
from posterity.designs import blocks, sources
from posterity.designs.blocks import RowBlock, RowForm, T
from posterity.designs.streamed import Rows

if TYPE_CHECKING:
    from posterity.designs.parquet import Paths

_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class Chunks(Rows):
    """Rows with optional targets and weights, read in blocks.

    Create it with :meth:`from_arrays`, :meth:`from_iterable` or :meth:`from_parquet`, and pass it
    to ``fit`` instead of X and y. Iterating yields :class:`RowBlock` objects of finite float64
    numbers; a value that is not finite is reported with its row in the whole source and the name of
    its column.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import designs
    >>> X, y = np.arange(10.0).reshape(5, 2), np.arange(5.0)
    >>> chunks = designs.Chunks.from_arrays(X, y, rows=2)
    >>> chunks
    Chunks(n_rows=5, n_features=2)
    >>> [float(block.y.sum()) for block in chunks]
    [1.0, 5.0, 4.0]
    """

    source: sources.RowSource
    source_form: RowForm  # before transforms
    transforms: tuple[Callable[[Array], Array], ...] = ()

    @classmethod
    def from_arrays(
        cls,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        rows: int = _ROWS,
        feature_names: Sequence[str] | None = None,
    ) -> Chunks:
        """Create chunks from arrays, in memory or memory-mapped by ``np.load``.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Inputs.
        y : array-like of shape (N,) or (N, K), optional
            Targets.
        sample_weight : array-like of shape (N,), optional
            Weights.
        rows : int, default=65536
            Number of rows of a block.
        feature_names : sequence of str, optional
            One name for each column.

        Examples
        --------
        >>> from posterity import designs
        >>> chunks = designs.Chunks.from_arrays([[1], [2], [3]], [4, 5, 6], rows=2)
        >>> [block.X.tolist() for block in chunks]
        [[[1.0], [2.0]], [[3.0]]]
        """
        raw = blocks.convert_parts(X, y, sample_weight, "the arrays")
        if not len(raw[0]):
            raise ValueError("the arrays hold no rows; pass at least one.")
        return cls._from_source(
            sources.ArrayRows(raw, _check_count(rows)), _convert_names(feature_names)
        )

    @classmethod
    def from_iterable(
        cls, supply: sources.Supply, *, feature_names: Sequence[str] | None = None
    ) -> Chunks:
        """Create chunks from an iterable of blocks, or a function that returns an iterator.

        Parameters
        ----------
        supply : iterable of tuples, or callable that returns one
            Tuples (X, y) or (X, y, sample_weight). A generator can be read only once; models that
            need several passes require a list or a function.
        feature_names : sequence of str, optional
            One name for each column.

        Examples
        --------
        >>> import numpy as np
        >>> from posterity import designs
        >>> def batches():
        ...     for seed in range(3):
        ...         X = np.random.default_rng(seed).normal(size=(100, 2))
        ...         yield X, X[:, 0]
        >>> chunks = designs.Chunks.from_iterable(batches)
        >>> sum(len(block) for block in chunks), chunks.rereadable
        (300, True)
        """
        return cls._from_source(sources.IterableRows(supply), _convert_names(feature_names))

    @classmethod
    def from_parquet(
        cls,
        path: Paths,
        *,
        target: str | Sequence[str] | None,
        features: Sequence[str] | None = None,
        sample_weight: str | None = None,
        rows: int = _ROWS,
    ) -> Chunks:
        """Create chunks from Parquet files, with one read ahead.

        Memory use is a few blocks and one row group of a file.

        Parameters
        ----------
        path : str, path, or sequence of these
            A file, several files, a folder (its ``*.parquet``, sorted by name) or a glob pattern.
        target : str, sequence of str, or None
            Target column, y of shape (n,), or columns, y of shape (n, K).
        features : sequence of str, optional
            Input columns; by default all others, which must then be numeric.
        sample_weight : str, optional
            The column of weights.
        rows : int, default=65536
            Number of rows of a block.

        Examples
        --------
        >>> import tempfile
        >>> import polars as pl
        >>> from posterity import designs
        >>> with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        ...     pl.DataFrame({"a": [1, 2], "b": [3, 4], "y": [5, 6]}).write_parquet(file.name)
        ...     chunks = designs.Chunks.from_parquet(file.name, target="y")
        ...     block = next(iter(chunks))
        >>> chunks.feature_names, block.X[1], block.y[1]
        (('a', 'b'), array([2., 4.]), np.float64(6.0))
        """
        # Imported here because only Parquet needs Polars.
        from posterity.designs import parquet

        source = parquet.ParquetRows.open_files(
            path,
            target=target,
            features=features,
            sample_weight=sample_weight,
            rows=_check_count(rows),
        )
        return cls._from_source(
            source, source.features, parquet.convert_names(source.target) or None
        )

    @classmethod
    def _from_source(
        cls,
        source: sources.RowSource,
        feature_names: tuple[str, ...] | None,
        target_names: tuple[str, ...] | None = None,
    ) -> Chunks:
        form = RowForm.from_rows(source.read_head(), feature_names, target_names)
        return cls(form, source, form)

    @property
    def n_rows(self) -> int | None:
        """The number of rows, or None if it is unknown before a pass."""
        return self.source.n_rows

    @property
    def target_names(self) -> tuple[str, ...] | None:
        """The names of the columns of y, if any."""
        return self.form.target_names

    @property
    def rereadable(self) -> bool:
        """Whether the rows can be read more than once."""
        return self.source.rereadable

    def __repr__(self) -> str:
        return f"Chunks(n_rows={self.n_rows}, n_features={self.n_features})"

    def __iter__(self) -> Iterator[RowBlock]:
        return self.read_rows(0, None)

    def read_rows(self, start: int, stop: int | None = None) -> Generator[RowBlock, None, None]:
        """Yield blocks of rows start, ..., stop - 1; arrays and Parquet files read only those."""
        with closing(sources.validate_rows(self.source, self.source_form, start, stop)) as passing:
            for block in passing:
                if self.transforms:
                    yield self.form.convert_block(self._transform_block(block), block.first_row)
                else:
                    yield block

    def _transform_block(self, block: RowBlock) -> blocks.Parts:
        where = f"the transformed block that begins at row {block.first_row}"
        found = blocks.transform_inputs(block, self.transforms, where)
        return blocks.convert_parts(*found, where)

    def map(
        self, transform: Callable[[Array], Array], *, feature_names: Sequence[str] | None = None
    ) -> Chunks:
        """Return chunks with ``transform(X)`` instead of X.

        Parameters
        ----------
        transform : callable
            Function from X of shape (n, D) to an array of shape (n, M), row by row.
        feature_names : sequence of str, optional
            One name for each of the M columns.

        Examples
        --------
        >>> import numpy as np
        >>> from posterity import designs
        >>> chunks = designs.Chunks.from_arrays(np.array([[1.0], [2.0]]))
        >>> [block.X.tolist() for block in chunks.map(lambda X: np.hstack([X, X**2]))]
        [[[1.0, 1.0], [2.0, 4.0]]]
        """
        mapped = replace(self, transforms=(*self.transforms, transform))
        head = self.source_form.convert_block(self.source.read_head(), 0)
        names = _convert_names(feature_names), self.target_names
        return replace(mapped, form=RowForm.from_rows(mapped._transform_block(head), *names))

    def _merge_blocks(
        self,
        function: Callable[[RowBlock], T | None],
        merge: Callable[[T, T], T],
        description: str,
    ) -> T | None:
        passing = progress.track(self, total=self.n_rows, description=description)
        return blocks.merge_answers(merge, map(function, passing))

    def take_rows(self, places: NDArray[np.intp]) -> RowBlock:
        """Load rows by number, in increasing order; sources of arrays and files read no others."""
        found = []
        for block in self.read_rows(int(places[0]), int(places[-1]) + 1):
            a, b = np.searchsorted(places, [block.span.start, block.span.stop])
            found.append(block.select_rows(places[a:b] - block.first_row))
        return blocks.join_blocks(found)

    def sample(self, n: int, rng: np.random.Generator) -> RowBlock:
        """Draw a uniform sample of n rows, or return all if there are fewer.

        One pass over the rows, with the sample and one block in memory. The sample depends on
        ``rng`` and the rows, not on the block size.

        Parameters
        ----------
        n : int
            Number of rows.
        rng : numpy.random.Generator
            Random generator.

        Examples
        --------
        >>> import numpy as np
        >>> from posterity import designs
        >>> chunks = designs.Chunks.from_arrays(np.arange(1000).reshape(-1, 1))
        >>> len(chunks.sample(10, np.random.default_rng(0)))
        10
        """
        self.require_rereadable("a sample")
        passing = progress.track(self, total=self.n_rows, description="Sampling rows")
        return blocks.sample_rows(passing, _check_count(n, "n"), rng)


def _check_count(n: int, name: str = "rows") -> int:
    """Check that a number of rows is at least one."""
    if isinstance(n, bool) or not isinstance(n, numbers.Integral) or n < 1:
        raise ValueError(f"{name}={n!r} must be a whole number of at least 1.")
    return int(n)


def _convert_names(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Convert names to a tuple."""
    return None if names is None else tuple(names)
