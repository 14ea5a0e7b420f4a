"""Families of test functions, and the trees, ferns, forests and boosted steps grown on them.

Learners see rows only through a family of splits. A user-defined family, for rows of any kind, is
a subclass of :class:`Family`, or a :class:`Function`.
"""

from posterity import doors

__all__, __getattr__, __dir__ = doors.open_door(__name__)
