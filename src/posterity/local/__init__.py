"""Models built from local parts: units added stagewise, mixtures of experts, gated trees."""

from posterity import doors

__all__, __getattr__, __dir__ = doors.open_door(__name__)
