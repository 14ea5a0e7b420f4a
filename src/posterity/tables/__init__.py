"""Read and write tables, infer column types and encode columns as numbers."""

from posterity.tables.answers import TrainingRange, append_predictions
from posterity.tables.boxes import LabelledImage, read_boxes
from posterity.tables.columns import CellError, Column, Dropped, Kind, Schema, TableError, Task
from posterity.tables.encoding import Profile, TableEncoder, accepts_missing
from posterity.tables.frames import append_targets, as_frame
from posterity.tables.label_parts import LevelMeansPart, TextPart
from posterity.tables.partitioned import PartitionedSource, assign_folds, open_partitions
from posterity.tables.parts import CategoryPart, DatePart, NumberPart
from posterity.tables.roles import (
    GroupPart,
    RateRegressor,
    fit_with_groups,
    strip_exposure,
    takes_exposure,
)
from posterity.tables.schema_inference import infer
from posterity.tables.schema_sentences import describe_schema
from posterity.tables.sources import Sample, Source, open_source, read
from posterity.tables.spread_rows import SpreadRows, write_predictions
from posterity.tables.table_model import TableModel
from posterity.tables.writer import write_batches

__all__ = [
    "CategoryPart",
    "CellError",
    "Column",
    "DatePart",
    "Dropped",
    "GroupPart",
    "Kind",
    "LabelledImage",
    "LevelMeansPart",
    "NumberPart",
    "PartitionedSource",
    "Profile",
    "RateRegressor",
    "Sample",
    "Schema",
    "Source",
    "SpreadRows",
    "TableEncoder",
    "TableError",
    "TableModel",
    "Task",
    "TextPart",
    "TrainingRange",
    "accepts_missing",
    "append_predictions",
    "append_targets",
    "as_frame",
    "assign_folds",
    "describe_schema",
    "fit_with_groups",
    "infer",
    "open_partitions",
    "open_source",
    "read",
    "read_boxes",
    "strip_exposure",
    "takes_exposure",
    "write_batches",
    "write_predictions",
]
