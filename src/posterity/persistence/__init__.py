"""Save and load models: files contain numbers and names, and no code."""

from posterity.persistence.errors import FileError
from posterity.persistence.saving import Description, compute_size, describe, load, save

__all__ = ["Description", "FileError", "compute_size", "describe", "load", "save"]
