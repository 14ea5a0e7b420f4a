"""What regressors and classifiers share: rows and kernels, rows and features."""

from posterity.models.candidate_rows import (
    CentredColumns,
    GivenRows,
    PartitionRows,
    Pool,
    make_kernel_design,
)
from posterity.models.card import ModelCard
from posterity.models.column_moments import ColumnMoments
from posterity.models.dual_model import DualModel
from posterity.models.feature_model import FeatureModel, given_variance
from posterity.models.fitted import FittedAttribute, find_center, is_fitted
from posterity.models.kernel_frame import Frame
from posterity.models.kernel_model import (
    KernelModel,
    checked_weights,
    distinct,
    is_on_device,
    joined,
)
from posterity.models.lazy_answers import (
    ArrayAnswer,
    DistributionAnswer,
    Question,
    Refusal,
)
from posterity.models.lazy_queries import (
    answer_lazily,
    refuse_partitions,
    score_lazily,
    transform_lazily,
)
from posterity.models.partitioned_training import PartitionedTraining, check_process_source
from posterity.models.relevance_model import (
    RelevanceModel,
    arranged,
    check_algorithm,
    report_choice,
)
from posterity.models.search_report import report_kernel_bounds, report_weight_bounds
from posterity.models.split_model import (
    ForestModel,
    SplitModel,
    checked_groups,
    present,
    refuse_groups,
)
from posterity.models.streamed_rows import (
    Source,
    StreamedRows,
    check_columns,
    learn_columns,
    read_targets,
    refuse_beside_chunks,
    refuse_learned,
    sampled,
    streamed,
    targets_of,
    weights_of,
)
from posterity.models.training import Training, given_noise, known_noise, make_query_noise
from posterity.models.vector_fit import FoundVectors, VectorFit, shape_outputs
from posterity.models.weighed_model import WeighedModel

__all__ = [
    "ArrayAnswer",
    "CentredColumns",
    "ColumnMoments",
    "DistributionAnswer",
    "DualModel",
    "FeatureModel",
    "FittedAttribute",
    "ForestModel",
    "FoundVectors",
    "Frame",
    "GivenRows",
    "KernelModel",
    "ModelCard",
    "PartitionRows",
    "PartitionedTraining",
    "Pool",
    "Question",
    "Refusal",
    "RelevanceModel",
    "Source",
    "SplitModel",
    "StreamedRows",
    "Training",
    "VectorFit",
    "WeighedModel",
    "answer_lazily",
    "arranged",
    "check_algorithm",
    "check_columns",
    "check_process_source",
    "checked_groups",
    "checked_weights",
    "distinct",
    "find_center",
    "given_noise",
    "given_variance",
    "is_fitted",
    "is_on_device",
    "joined",
    "known_noise",
    "learn_columns",
    "make_kernel_design",
    "make_query_noise",
    "present",
    "read_targets",
    "refuse_beside_chunks",
    "refuse_groups",
    "refuse_learned",
    "refuse_partitions",
    "report_choice",
    "report_kernel_bounds",
    "report_weight_bounds",
    "sampled",
    "score_lazily",
    "shape_outputs",
    "streamed",
    "targets_of",
    "transform_lazily",
    "weights_of",
]
