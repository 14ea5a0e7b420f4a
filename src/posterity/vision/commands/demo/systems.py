"""The systems of the demo, in the order of the page."""

from collections.abc import Callable
from pathlib import Path

from posterity.vision.commands.demo import (
    body_parts,
    motion,
    patches,
    pose,
    segments,
    surfaces,
    tracks,
    walking,
    windows,
)
from posterity.vision.commands.demo.demonstration import Demonstration

SYSTEMS: tuple[Callable[[Path], Demonstration], ...] = (
    windows.show_discs,
    motion.show_walkers,
    patches.show_faces,
    body_parts.show_bodies,
    pose.show_silhouettes,
    walking.show_walk,
    segments.show_landscapes,
    surfaces.show_streets,
    tracks.show_ball,
)
