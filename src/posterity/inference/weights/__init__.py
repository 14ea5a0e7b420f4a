"""Weights of a design under any likelihood: mode, Laplace and variational posteriors."""

from posterity import doors

__all__, __getattr__, __dir__ = doors.open_door(__name__)
