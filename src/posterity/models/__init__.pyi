from posterity.models.card import (
    MOST_KERNEL_ROWS,
    MOST_PAIR_COLUMNS,
    Member,
    ModelCard,
    Role,
    Size,
    Target,
    View,
)
from posterity.models.classifier import Classifier
from posterity.models.column_moments import ColumnMoments
from posterity.models.exposure import add_exposure, attach_exposure, refuse_exposure, require_counts
from posterity.models.feature_model import FeatureModel, check_variance
from posterity.models.fitted import FittedAttribute, find_center, is_fitted
from posterity.models.kernel_frame import KernelFrame
from posterity.models.kernel_model import (
    KernelModel,
    check_row_weights,
    drop_repeated_rows,
    is_on_device,
    join_rows,
    split_nested_params,
)
from posterity.models.lazy_answers import (
    ArrayAnswer,
    DistributionAnswer,
    PartitionQuestion,
    Refusal,
)
from posterity.models.lazy_queries import (
    answer_lazily,
    refuse_partitions,
    score_lazily,
    transform_lazily,
)
from posterity.models.near_copies import find_near_copies, learn_without_copies
from posterity.models.regressor import Regressor
from posterity.models.search_report import report_kernel_bounds, report_weight_bounds
from posterity.models.streamed_rows import (
    Source,
    StreamedRows,
    check_block_weights,
    check_columns,
    check_targets,
    find_streamed_source,
    learn_columns,
    read_targets,
    refuse_beside_chunks,
    refuse_learned,
    sample_rows,
    warn_of_copies_in_chunks,
)
from posterity.models.training import Training, check_known_noise, check_noise, make_query_noise
from posterity.models.wrapped import predict_dist

__all__ = [
    "MOST_KERNEL_ROWS",
    "MOST_PAIR_COLUMNS",
    "ArrayAnswer",
    "Classifier",
    "ColumnMoments",
    "DistributionAnswer",
    "FeatureModel",
    "FittedAttribute",
    "KernelFrame",
    "KernelModel",
    "Member",
    "ModelCard",
    "PartitionQuestion",
    "Refusal",
    "Regressor",
    "Role",
    "Size",
    "Source",
    "StreamedRows",
    "Target",
    "Training",
    "View",
    "add_exposure",
    "answer_lazily",
    "attach_exposure",
    "check_block_weights",
    "check_columns",
    "check_known_noise",
    "check_noise",
    "check_row_weights",
    "check_targets",
    "check_variance",
    "drop_repeated_rows",
    "find_center",
    "find_near_copies",
    "find_streamed_source",
    "is_fitted",
    "is_on_device",
    "join_rows",
    "learn_columns",
    "learn_without_copies",
    "make_query_noise",
    "predict_dist",
    "read_targets",
    "refuse_beside_chunks",
    "refuse_exposure",
    "refuse_learned",
    "refuse_partitions",
    "report_kernel_bounds",
    "report_weight_bounds",
    "require_counts",
    "sample_rows",
    "score_lazily",
    "split_nested_params",
    "transform_lazily",
    "warn_of_copies_in_chunks",
]
