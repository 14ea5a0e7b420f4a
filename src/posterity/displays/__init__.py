"""Pictures of models and predictions: numbers first, then drawing.

A display holds numbers. A classmethod computes them, ``plot(ax)`` draws them and returns the axes.
Nothing here decides anything about a model, and nothing changes Matplotlib's global settings:
``with displays.style():`` gives a block the look of the library.
"""

from posterity.displays.basis import BasisDisplay
from posterity.displays.decision_surface import DecisionSurfaceDisplay
from posterity.displays.evidence import EvidenceDisplay
from posterity.displays.latent_map import LatentMapDisplay
from posterity.displays.mean_surface import MeanSurfaceDisplay
from posterity.displays.posterior import PosteriorDisplay
from posterity.displays.predictive_band import PredictiveBandDisplay
from posterity.displays.probability import ProbabilityDisplay
from posterity.displays.reconstruction import ReconstructionDisplay
from posterity.displays.reliability import ReliabilityDisplay
from posterity.displays.spectrum import SpectrumDisplay
from posterity.displays.style import COLORS, style

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
