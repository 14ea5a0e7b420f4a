"""Write a self-contained HTML report on a model, its predictions and their uncertainty."""

from posterity.report.pages import MARK, page, write
from posterity.report.story import Story

__all__ = ["MARK", "Story", "page", "write"]
