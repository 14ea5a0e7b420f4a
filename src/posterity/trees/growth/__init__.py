"""How trees and ferns grow: splits, and how rows part."""

from posterity.trees.growth.growing import GrowthRules, grow, grow_fern

__all__ = ["GrowthRules", "grow", "grow_fern"]
