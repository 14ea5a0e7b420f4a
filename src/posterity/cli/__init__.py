"""The command: which model of the family explains these data, and how far to trust it."""

from posterity.cli.app import app

__all__ = ["app"]
