"""The growth of trees and ferns: searches for splits, and rows that part."""

from posterity.trees.growth.growing import GrowthRules, grow, grow_fern

__all__ = ["GrowthRules", "grow", "grow_fern"]
