"""Weights of which most are zero: a prior precision for each, found by the evidence.

``choice`` is the door: it chooses columns, or the vectors of a kernel, with the ``engines``.
``steps``, ``sequential`` and ``blocks`` add, re-estimate and delete columns; ``normal``,
``laplace``, ``softmax`` and ``pairs`` do so for any number of candidates under a likelihood;
``fixed_point`` is the textbook's way to the same evidence; ``kernel_search`` finds the parameters
of a kernel that was given, ``default_kernel`` those of the kernel that is used without one;
``vector_average`` doubts the choice where rows of two classes are few.
"""

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
