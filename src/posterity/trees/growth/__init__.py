"""How trees and ferns grow: splits, and how rows part."""
