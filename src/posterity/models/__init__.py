"""What regressors and classifiers share: rows and kernels, rows and features."""

from posterity import doors

__all__, __getattr__, __dir__ = doors.open_door(__name__)
