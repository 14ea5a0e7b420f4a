"""Named classifiers: each file wires parts together and computes nothing itself."""

from posterity import doors

__all__, __getattr__, __dir__ = doors.open_door(__name__)
