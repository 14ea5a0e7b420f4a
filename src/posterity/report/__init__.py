"""Write self-contained HTML pages: a report on a model and its uncertainty, or pictures."""

from posterity.report.html import MARK
from posterity.report.pages import page, write
from posterity.report.picture_pages import PicturePage, PictureSection
from posterity.report.story import Story

__all__ = ["MARK", "PicturePage", "PictureSection", "Story", "page", "write"]
