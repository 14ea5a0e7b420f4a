"""Plots of images and what is found in them: boxes, labels, joints, tracks and walks."""

from posterity.vision.displays.boxes import DetectionDisplay, TrackDisplay
from posterity.vision.displays.detection_curve import DetectionCurveDisplay, check_detections
from posterity.vision.displays.detectors import RejectionDisplay, WindowFeaturesDisplay
from posterity.vision.displays.label_map import LabelMapDisplay
from posterity.vision.displays.skeleton import LatentCycleDisplay, SkeletonDisplay
from posterity.vision.displays.walk_animation import WalkAnimation

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
