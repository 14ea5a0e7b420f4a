"""Weights of which most are zero: a prior precision for each, found by the evidence.

``steps`` and ``sequential`` add, re-estimate and delete columns; ``normal``, ``laplace``,
``softmax`` and ``pairs`` do so for any number of candidates under a likelihood; ``alternation`` is
the textbook's way to the same evidence; ``kernel_search`` finds the kernel that makes the columns.
"""
