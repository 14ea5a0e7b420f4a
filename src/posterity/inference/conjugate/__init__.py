"""Posteriors in closed form: linear models, kernel ridge regression, counts of categories."""

from posterity import doors

__all__, __getattr__, __dir__ = doors.open_door(__name__)
