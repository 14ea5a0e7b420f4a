"""People: recorded motion, bodies of spheres, and pictures of them as a depth camera sees them."""

from posterity.vision.bodies.bvh import Motion, Poses, Skeleton, place_joints, read_bvh
from posterity.vision.bodies.cameras import Camera, DepthSensor, Viewpoint, render_spheres
from posterity.vision.bodies.frames import (
    BodyFrame,
    FrameSampler,
    Recording,
    SilhouetteVideo,
    VideoSampler,
)
from posterity.vision.bodies.spheres import (
    BACKGROUND,
    BONES,
    JOINTS,
    PARTS,
    Spheres,
    build_spheres,
)

__all__ = [
    "BACKGROUND",
    "BONES",
    "JOINTS",
    "PARTS",
    "BodyFrame",
    "Camera",
    "DepthSensor",
    "FrameSampler",
    "Motion",
    "Poses",
    "Recording",
    "SilhouetteVideo",
    "Skeleton",
    "Spheres",
    "VideoSampler",
    "Viewpoint",
    "build_spheres",
    "place_joints",
    "read_bvh",
    "render_spheres",
]
