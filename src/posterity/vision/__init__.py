"""Images: objects found and followed, scenes, bodies in depth images, poses of silhouettes."""

from posterity import doors

__all__, __getattr__, __dir__ = doors.open_door(__name__)
