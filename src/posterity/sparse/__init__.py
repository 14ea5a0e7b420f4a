"""Weights of which most are zero: a prior precision for each, found by the evidence.

``RelevanceVectorRegressor().fit(X, y)`` with its default kernel, stage by stage:

1. ``relevance_model``: rows are checked, and put in an order and in units of their own.
2. ``default_kernel``: a process of 500 rows finds one common length scale, and one for each column.
3. ``default_kernel``: at these and at wider ones, vectors are chosen among 1,000 rows.
4. ``engines``: columns of a kernel, and outputs in normal noise or of a likelihood, meet.
5. ``normal``: candidates join, a compiled step at a time (``sequential``, ``steps``), until none
   gains; in smaller noise others join, and the best end is kept.
6. ``laplace``, ``softmax`` and ``many_classes`` do 5. for other likelihoods.
7. ``kernel_search``: the best kernel of all, if vectors earn what they cost (``vector_prices``).
8. ``vector_fit``: the posterior of the weights, averaged where rows are few (``vector_average``).

A kernel that was given is scanned and climbed by ``kernel_search`` instead of 2. and 3. Models of
columns, ``sparse_linear`` and ``sparse_logistic``, begin at 4.
"""

from posterity import doors

__all__, __getattr__, __dir__ = doors.open_door(__name__)
