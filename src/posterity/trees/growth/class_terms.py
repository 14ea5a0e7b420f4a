"""What log-likelihoods of classes are made of: a term for each class, and one for all together.

Of n_c rows in class c and n in all, sum_c f(n_c) - F(n) is the log-likelihood of the classes. With
probabilities of maximum likelihood both are n log n. With a symmetric Dirichlet prior worth s rows
of C classes, integrated out, they are log G(n + a) - log G(a), where a is s / C, and for F is s.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from posterity import compilation
from posterity.arrays import Array

ONE, ALL = 0, 1
"""Lines of the table: of one class, and of all together."""
_LONGEST = 1 << 16  # what stays near the processor


def term_table(weights: Array, n_classes: int, prior_weight: float) -> Array:
    """Line by line a, and the terms of the whole numbers that sums of weights can be.

    There are no such where weights are not whole.
    """
    is_whole = np.array_equal(weights, np.rint(weights))
    most = min(int(weights.sum()) + 1, _LONGEST) if is_whole else 0
    return _compute_terms(most, n_classes, prior_weight)


@lru_cache(maxsize=4)  # trees of a forest have as many rows each
def _compute_terms(most: int, n_classes: int, prior_weight: float) -> Array:
    n = np.arange(most, dtype=np.float64)
    of = np.array([[prior_weight / n_classes], [prior_weight]])
    if prior_weight > 0.0:
        return np.hstack([of, gammaln(n + of) - gammaln(of)])
    terms = n.copy()
    terms[1:] *= np.log(n[1:])
    return np.hstack([of, np.stack([terms, terms])])


@compilation.compile_at_first_call
def look_up_term(n: float, line: int, table: Array) -> float:
    """Looked up where it can be."""
    if n + 2.0 <= table.shape[1]:  # rounding may make what is left of a weight less than nothing
        return table[line, int(n) + 1]
    if table[line, 0] > 0.0:
        return math.lgamma(n + table[line, 0]) - math.lgamma(table[line, 0])
    return n * math.log(n) if n > 0.0 else 0.0
