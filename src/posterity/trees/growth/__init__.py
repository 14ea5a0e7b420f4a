"""How trees and ferns grow: splits, and how rows part."""

from posterity.trees.growth.fern import grow_fern
from posterity.trees.growth.growing import GrowthRules, grow

__all__ = ["GrowthRules", "grow", "grow_fern"]
