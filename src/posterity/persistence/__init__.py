"""Save and load models: files contain numbers and names, and no code."""

from posterity.persistence.describing import Description, describe
from posterity.persistence.errors import FileError
from posterity.persistence.saving import load, save, size

__all__ = ["Description", "FileError", "describe", "load", "save", "size"]
