"""Latent spaces: few coordinates that explain many columns, and the way back."""

from posterity import doors

__all__, __getattr__, __dir__ = doors.open_door(__name__)
