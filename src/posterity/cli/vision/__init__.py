"""The commands of ``posterity vision``: find objects in images, learn to, and score detectors."""

from posterity.cli.vision.app import app

__all__ = ["app"]
