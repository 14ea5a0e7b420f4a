"""Plots of models and predictions.

A display stores the numbers of a plot. Class methods such as ``from_estimator`` compute them, and
``plot(ax)`` draws them and returns the axes. Matplotlib's global settings are not changed; use
``with displays.style():`` for the style of the documentation.
"""

from posterity.displays.evidence import EvidenceDisplay, SpectrumDisplay
from posterity.displays.latent_map import LatentMapDisplay
from posterity.displays.linear_models import BasisDisplay, PosteriorDisplay
from posterity.displays.predictive_band import PredictiveBandDisplay
from posterity.displays.probability import ProbabilityDisplay
from posterity.displays.reconstruction import ReconstructionDisplay
from posterity.displays.reliability import ReliabilityDisplay
from posterity.displays.style import COLORS, style
from posterity.displays.surfaces import DecisionSurfaceDisplay, MeanSurfaceDisplay

__all__ = [
    "COLORS",
    "BasisDisplay",
    "DecisionSurfaceDisplay",
    "EvidenceDisplay",
    "LatentMapDisplay",
    "MeanSurfaceDisplay",
    "PosteriorDisplay",
    "PredictiveBandDisplay",
    "ProbabilityDisplay",
    "ReconstructionDisplay",
    "ReliabilityDisplay",
    "SpectrumDisplay",
    "style",
]
