"""Gaussian processes: exact, through inducing points, and of latent functions."""

from posterity import doors

__all__, __getattr__, __dir__ = doors.open_door(__name__)
