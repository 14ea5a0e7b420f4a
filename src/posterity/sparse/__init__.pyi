from posterity.sparse.candidate_rows import (
    CandidatePool,
    CentredColumns,
    GivenRows,
    PartitionRows,
    make_kernel_design,
)
from posterity.sparse.engines import (
    ColumnEngine,
    Engine,
    KernelEngine,
    LatentOutputs,
    NormalOutputs,
    Outputs,
)
from posterity.sparse.kernel_search import MANY_ROWS, LearnedVectors
from posterity.sparse.posterior import SparsePosterior
from posterity.sparse.precisions import learn_proper_precisions
from posterity.sparse.problem import Chosen, SparseProblem
from posterity.sparse.query import QueryColumn
from posterity.sparse.relevance_classifier import RelevanceVectorClassifier
from posterity.sparse.relevance_model import (
    RelevanceModel,
    arrange_rows,
    report_choice,
)
from posterity.sparse.relevance_regressor import RelevanceVectorRegressor
from posterity.sparse.sparse_linear import SparseLinearRegression
from posterity.sparse.sparse_logistic import SparseLogisticRegression
from posterity.sparse.vector_average import average_vectors
from posterity.sparse.vector_fit import FoundVectors, VectorFit, shape_outputs

__all__ = [
    "MANY_ROWS",
    "CandidatePool",
    "CentredColumns",
    "Chosen",
    "ColumnEngine",
    "Engine",
    "FoundVectors",
    "GivenRows",
    "KernelEngine",
    "LatentOutputs",
    "LearnedVectors",
    "NormalOutputs",
    "Outputs",
    "PartitionRows",
    "QueryColumn",
    "RelevanceModel",
    "RelevanceVectorClassifier",
    "RelevanceVectorRegressor",
    "SparseLinearRegression",
    "SparseLogisticRegression",
    "SparsePosterior",
    "SparseProblem",
    "VectorFit",
    "arrange_rows",
    "average_vectors",
    "learn_proper_precisions",
    "make_kernel_design",
    "report_choice",
    "shape_outputs",
]
