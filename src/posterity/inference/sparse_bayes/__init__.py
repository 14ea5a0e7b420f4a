"""Weights of which most are zero: a prior precision for each, found by the evidence.

``steps`` and ``sequential`` add, re-estimate and delete columns; ``normal``, ``laplace``,
``softmax`` and ``pairs`` do so for any number of candidates under a likelihood; ``alternation`` is
the textbook's way to the same evidence; ``kernel_search`` finds the kernel that makes the columns.
"""

from posterity.inference.sparse_bayes.alternation import alternate_laplace, alternate_normal
from posterity.inference.sparse_bayes.budget import limit_vectors
from posterity.inference.sparse_bayes.chosen import Chosen
from posterity.inference.sparse_bayes.engine import Chooser, Engine, Fitted
from posterity.inference.sparse_bayes.kernel_design import DesignEngine
from posterity.inference.sparse_bayes.kernel_laplace import LaplaceEngine, PairEngine
from posterity.inference.sparse_bayes.kernel_normal import NormalEngine
from posterity.inference.sparse_bayes.kernel_search import (
    MANY_ROWS,
    LearnedVectors,
    fit_given_kernel,
    learn_kernel,
)
from posterity.inference.sparse_bayes.laplace import select_laplace, select_laplace_from_design
from posterity.inference.sparse_bayes.normal import select_normal
from posterity.inference.sparse_bayes.pair_fit import PairNormal
from posterity.inference.sparse_bayes.pairs import select_pairs
from posterity.inference.sparse_bayes.posterior import Fit, SparsePosterior
from posterity.inference.sparse_bayes.proper_precisions import learn
from posterity.inference.sparse_bayes.query import QueryColumn
from posterity.inference.sparse_bayes.softmax import select_softmax, select_softmax_from_design

__all__ = [
    "MANY_ROWS",
    "Chooser",
    "Chosen",
    "DesignEngine",
    "Engine",
    "Fit",
    "Fitted",
    "LaplaceEngine",
    "LearnedVectors",
    "NormalEngine",
    "PairEngine",
    "PairNormal",
    "QueryColumn",
    "SparsePosterior",
    "alternate_laplace",
    "alternate_normal",
    "fit_given_kernel",
    "learn",
    "learn_kernel",
    "limit_vectors",
    "select_laplace",
    "select_laplace_from_design",
    "select_normal",
    "select_pairs",
    "select_softmax",
    "select_softmax_from_design",
]
