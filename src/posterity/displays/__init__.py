"""Plots of models and predictions.

A display stores the numbers of a plot. Class methods such as ``from_estimator`` compute them, and
``plot(ax)`` draws them and returns the axes. Matplotlib's global settings are not changed; use
``with displays.style():`` for the style of the documentation.
"""

from posterity.displays.basis import BasisDisplay
from posterity.displays.decision_surface import DecisionSurfaceDisplay
from posterity.displays.detection import DetectionDisplay
from posterity.displays.detection_curve import DetectionCurveDisplay
from posterity.displays.evidence import EvidenceDisplay
from posterity.displays.label_map import LabelMapDisplay
from posterity.displays.latent_cycle import LatentCycleDisplay
from posterity.displays.latent_map import LatentMapDisplay
from posterity.displays.mean_surface import MeanSurfaceDisplay
from posterity.displays.posterior import PosteriorDisplay
from posterity.displays.predictive_band import PredictiveBandDisplay
from posterity.displays.probability import ProbabilityDisplay
from posterity.displays.reconstruction import ReconstructionDisplay
from posterity.displays.rejection import RejectionDisplay
from posterity.displays.reliability import ReliabilityDisplay
from posterity.displays.skeleton import SkeletonDisplay
from posterity.displays.spectrum import SpectrumDisplay
from posterity.displays.style import COLORS, style
from posterity.displays.track import TrackDisplay
from posterity.displays.walk_animation import WalkAnimation
from posterity.displays.window_features import WindowFeaturesDisplay

__all__ = [
    "COLORS",
    "BasisDisplay",
    "DecisionSurfaceDisplay",
    "DetectionCurveDisplay",
    "DetectionDisplay",
    "EvidenceDisplay",
    "LabelMapDisplay",
    "LatentCycleDisplay",
    "LatentMapDisplay",
    "MeanSurfaceDisplay",
    "PosteriorDisplay",
    "PredictiveBandDisplay",
    "ProbabilityDisplay",
    "ReconstructionDisplay",
    "RejectionDisplay",
    "ReliabilityDisplay",
    "SkeletonDisplay",
    "SpectrumDisplay",
    "TrackDisplay",
    "WalkAnimation",
    "WindowFeaturesDisplay",
    "style",
]
