"""Subcommands of ``posterity vision``; nothing heavy is imported before one of them runs."""

from posterity.vision.commands import training_requests
from posterity.vision.commands.picture_requests import app

__all__ = ["app", "training_requests"]
