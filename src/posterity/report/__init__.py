"""One static page that tells which model explains the data, what it predicts and how sure it is."""

from posterity.report.pages import MARK, page, write
from posterity.report.story import Story

__all__ = ["MARK", "Story", "page", "write"]
