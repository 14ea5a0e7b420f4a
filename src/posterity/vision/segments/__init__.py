"""Segments of images: partitions, features of segments, and merging of their probabilities."""

from posterity.vision.segments.features import CUES, FEATURE_NAMES
from posterity.vision.segments.segment_rows import LabelledSegments, describe_pictures
from posterity.vision.segments.segmented_image import SegmentedImage, SegmentMerging, describe_image

__all__ = [
    "CUES",
    "FEATURE_NAMES",
    "LabelledSegments",
    "SegmentMerging",
    "SegmentedImage",
    "describe_image",
    "describe_pictures",
]
