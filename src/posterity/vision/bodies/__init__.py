"""People: recorded motion, bodies of spheres, and pictures of them as a depth camera sees them."""

from posterity.vision.bodies.bvh import Motion, Skeleton, read_bvh
from posterity.vision.bodies.cameras import Camera, Viewpoint
from posterity.vision.bodies.frames import BodyFrame, FrameSampler, Recording
from posterity.vision.bodies.kinematics import Poses, place_joints
from posterity.vision.bodies.parts import BACKGROUND, BONES, JOINTS, PARTS
from posterity.vision.bodies.render import render_spheres
from posterity.vision.bodies.sensor import DepthSensor
from posterity.vision.bodies.spheres import Spheres, build_spheres
from posterity.vision.bodies.videos import SilhouetteVideo, VideoSampler

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
