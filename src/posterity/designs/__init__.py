"""The feature matrix Z behind one interface, wherever its rows are.

``Dense`` is in memory. ``Streamed`` makes passes over rows that do not fit there: ``Chunks`` of
arrays, iterators or Parquet files, or ``Partitions`` of Dask arrays or data frames on workers.
``Statistics`` are the sufficient statistics of linear models. ``Candidates`` are columns to
choose from: of a matrix, or a kernel's, standardised, and streamed where they would not fit in
memory together.
"""

from posterity.designs.base import Dense, Design, Minimum, RowValues, Values
from posterity.designs.blocks import RowBlock
from posterity.designs.candidates import (
    CandidateColumns,
    ColumnSource,
    KernelColumnSource,
    MatrixColumnSource,
)
from posterity.designs.chunks import Chunks
from posterity.designs.partitions import Partitions
from posterity.designs.standardized import Standardized
from posterity.designs.statistics import Statistics
from posterity.designs.streamed import Rows, Streamed

__all__ = [
    "CandidateColumns",
    "Chunks",
    "ColumnSource",
    "Dense",
    "Design",
    "KernelColumnSource",
    "MatrixColumnSource",
    "Minimum",
    "Partitions",
    "RowBlock",
    "RowValues",
    "Rows",
    "Standardized",
    "Statistics",
    "Streamed",
    "Values",
]
