from posterity.vision import bodies, datasets, displays, segments
from posterity.vision.body_parts import BodyPartForest
from posterity.vision.depth_differences import DepthDifferences, DepthPixels
from posterity.vision.depth_images import read_depth
from posterity.vision.detections import Detections
from posterity.vision.detector import WindowDetector
from posterity.vision.displacement_tracker import DisplacementTracker, TrackedBox
from posterity.vision.haar import HaarFeatures
from posterity.vision.images import (
    ImageError,
    list_images,
    read_image,
    to_color,
    to_gray,
    write_image,
)
from posterity.vision.joints import JointFinder, Joints
from posterity.vision.label_maps import choose_colors, read_label_map, write_label_map
from posterity.vision.masks import read_mask
from posterity.vision.models import load_packaged
from posterity.vision.patches import Gabor, PatchClassifier
from posterity.vision.pose_mixtures import PoseModes
from posterity.vision.random_field import RandomField
from posterity.vision.silhouette_pose import SilhouettePose
from posterity.vision.silhouettes import ShapeContexts
from posterity.vision.surface_layout import SurfaceLayout
from posterity.vision.texton_bank import TextonBank, Textons
from posterity.vision.texton_rectangles import TextonPixels, TextonRectangles
from posterity.vision.texton_segmenter import TextonSegmenter
from posterity.vision.walking import WalkingModel

__all__ = [
    "BodyPartForest",
    "DepthDifferences",
    "DepthPixels",
    "Detections",
    "DisplacementTracker",
    "Gabor",
    "HaarFeatures",
    "ImageError",
    "JointFinder",
    "Joints",
    "PatchClassifier",
    "PoseModes",
    "RandomField",
    "ShapeContexts",
    "SilhouettePose",
    "SurfaceLayout",
    "TextonBank",
    "TextonPixels",
    "TextonRectangles",
    "TextonSegmenter",
    "Textons",
    "TrackedBox",
    "WalkingModel",
    "WindowDetector",
    "bodies",
    "choose_colors",
    "datasets",
    "displays",
    "list_images",
    "load_packaged",
    "read_depth",
    "read_image",
    "read_label_map",
    "read_mask",
    "segments",
    "to_color",
    "to_gray",
    "write_image",
    "write_label_map",
]
