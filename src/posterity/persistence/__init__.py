"""Save and load models: files contain numbers and names, and no code."""

from posterity.persistence.describing import Description, describe
from posterity.persistence.errors import FileError
from posterity.persistence.saving import compute_size, load, save

__all__ = ["Description", "FileError", "compute_size", "describe", "load", "save"]
