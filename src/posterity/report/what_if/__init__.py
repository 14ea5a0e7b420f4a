"""A fitted model as numbers that a page can run: what would it say, were the inputs others?"""

from posterity.report.what_if.packing import Refusal
from posterity.report.what_if.page import script, style
from posterity.report.what_if.payload import payload

__all__ = ["Refusal", "payload", "script", "style"]
