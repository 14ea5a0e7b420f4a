"""Weights of which most are zero: a prior precision for each, found by the evidence.

``choice`` is the door: it chooses columns, or the vectors of a kernel, with the ``engines``.
``steps``, ``sequential`` and ``blocks`` add, re-estimate and delete columns; ``normal``,
``laplace``, ``softmax`` and ``pairs`` do so for any number of candidates under a likelihood;
``kernel_search`` finds the parameters
of a kernel that was given, ``default_kernel`` those of the kernel that is used without one;
``vector_average`` doubts the choice where rows of two classes are few.
"""

from posterity import doors

__all__, __getattr__, __dir__ = doors.open_door(__name__)
