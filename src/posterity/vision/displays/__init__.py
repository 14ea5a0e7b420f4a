"""Plots of images and what is found in them: boxes, labels, joints, tracks and walks."""

from posterity.vision.displays.detection import DetectionDisplay
from posterity.vision.displays.detection_curve import DetectionCurveDisplay, check_detections
from posterity.vision.displays.label_map import LabelMapDisplay
from posterity.vision.displays.latent_cycle import LatentCycleDisplay
from posterity.vision.displays.rejection import RejectionDisplay
from posterity.vision.displays.skeleton import SkeletonDisplay
from posterity.vision.displays.track import TrackDisplay
from posterity.vision.displays.walk_animation import WalkAnimation
from posterity.vision.displays.window_features import WindowFeaturesDisplay

__all__ = [
    "DetectionCurveDisplay",
    "DetectionDisplay",
    "LabelMapDisplay",
    "LatentCycleDisplay",
    "RejectionDisplay",
    "SkeletonDisplay",
    "TrackDisplay",
    "WalkAnimation",
    "WindowFeaturesDisplay",
    "check_detections",
]
