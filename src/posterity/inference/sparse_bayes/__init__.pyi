from posterity.inference.sparse_bayes.choice import choose_columns, choose_vectors
from posterity.inference.sparse_bayes.engines import (
    ColumnEngine,
    Engine,
    KernelEngine,
    LatentOutputs,
    NormalOutputs,
    Outputs,
)
from posterity.inference.sparse_bayes.kernel_search import MANY_ROWS, LearnedVectors
from posterity.inference.sparse_bayes.posterior import SparsePosterior
from posterity.inference.sparse_bayes.precisions import learn_proper_precisions
from posterity.inference.sparse_bayes.problem import Chosen, SparseProblem
from posterity.inference.sparse_bayes.query import QueryColumn
from posterity.inference.sparse_bayes.vector_average import average_vectors

__all__ = [
    "MANY_ROWS",
    "Chosen",
    "ColumnEngine",
    "Engine",
    "KernelEngine",
    "LatentOutputs",
    "LearnedVectors",
    "NormalOutputs",
    "Outputs",
    "QueryColumn",
    "SparsePosterior",
    "SparseProblem",
    "average_vectors",
    "choose_columns",
    "choose_vectors",
    "learn_proper_precisions",
]
