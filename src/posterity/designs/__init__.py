"""The feature matrix Z behind one interface, wherever its rows are.

``Dense`` is in memory. ``Chunked`` reads blocks from ``Chunks``: arrays, iterators or Parquet files
that do not fit in memory. ``DaskDesign`` runs on workers with ``Partitions`` of Dask arrays or data
frames. ``Statistics`` are the sufficient statistics of linear models. ``Candidates`` are columns to
choose from: of a matrix, or a kernel's, standardised, and streamed where they would not fit in
memory together.
"""

from posterity.designs.base import Design, Minimum, RowValues, Values
from posterity.designs.blocks import RowBlock
from posterity.designs.candidates import CandidateColumns
from posterity.designs.chunked import Chunked
from posterity.designs.chunks import Chunks
from posterity.designs.columns import ColumnSource, KernelColumnSource, MatrixColumnSource
from posterity.designs.dask_design import DaskDesign
from posterity.designs.dense import Dense
from posterity.designs.partitions import Partitions
from posterity.designs.selected import Selected
from posterity.designs.standardized import Standardized
from posterity.designs.statistics import Statistics

__all__ = [
    "CandidateColumns",
    "Chunked",
    "Chunks",
    "ColumnSource",
    "DaskDesign",
    "Dense",
    "Design",
    "KernelColumnSource",
    "MatrixColumnSource",
    "Minimum",
    "Partitions",
    "RowBlock",
    "RowValues",
    "Selected",
    "Standardized",
    "Statistics",
    "Values",
]
