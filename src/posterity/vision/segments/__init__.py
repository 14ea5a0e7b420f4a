"""Segments of images: partitions, what each segment looks like, and merging their answers."""

from posterity.vision.segments.features import CUES, FEATURE_NAMES
from posterity.vision.segments.merging import SegmentMerging
from posterity.vision.segments.segment_rows import LabelledSegments, describe_pictures
from posterity.vision.segments.segmented import SegmentedImage, describe_image

__all__ = [
    "CUES",
    "FEATURE_NAMES",
    "LabelledSegments",
    "SegmentMerging",
    "SegmentedImage",
    "describe_image",
    "describe_pictures",
]
