"""Write self-contained HTML pages: a report on a model and its uncertainty, or pictures."""

from posterity.report.contents import ReportContents
from posterity.report.pages import MARK, PicturePage, PictureSection, page, write

__all__ = ["MARK", "PicturePage", "PictureSection", "ReportContents", "page", "write"]
