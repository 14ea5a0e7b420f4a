"""Linear models: their engine, and estimators of numbers and of classes."""

from posterity import doors

__all__, __getattr__, __dir__ = doors.open_door(__name__)
