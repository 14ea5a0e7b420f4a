"""The ``posterity`` command: compare, fit and use models of a table on the command line."""

from posterity.cli.app import app

__all__ = ["app"]
