"""The commands of ``posterity vision``: find objects in images, learn to, and score detectors."""

from posterity.vision.commands.app import app

__all__ = ["app"]
