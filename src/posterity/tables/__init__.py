"""Read and write tables, infer column types and encode columns as numbers."""

from posterity.tables.answers import with_answers
from posterity.tables.columns import CellError, Column, Dropped, Kind, Schema, TableError, Task
from posterity.tables.encoding import TableEncoder
from posterity.tables.fitting import Profile
from posterity.tables.frames import as_frame
from posterity.tables.inferring import infer
from posterity.tables.partitioned import PartitionedSource, open_partitions
from posterity.tables.parts import CategoryPart, DatePart, NumberPart
from posterity.tables.sampling import Sample
from posterity.tables.saying import sentences
from posterity.tables.sources import Source, open_source, read
from posterity.tables.spread_answers import write_answers
from posterity.tables.spread_rows import SpreadRows
from posterity.tables.spread_targets import dealt
from posterity.tables.table_model import TableModel
from posterity.tables.writing import write_batches

__all__ = [
    "CategoryPart",
    "CellError",
    "Column",
    "DatePart",
    "Dropped",
    "Kind",
    "NumberPart",
    "PartitionedSource",
    "Profile",
    "Sample",
    "Schema",
    "Source",
    "SpreadRows",
    "TableEncoder",
    "TableError",
    "TableModel",
    "Task",
    "as_frame",
    "dealt",
    "infer",
    "open_partitions",
    "open_source",
    "read",
    "sentences",
    "with_answers",
    "write_answers",
    "write_batches",
]
