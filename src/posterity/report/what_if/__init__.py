"""Pack a fitted model as JSON that the report's panel runs in the page."""

from posterity.report.what_if.inputs import two_values
from posterity.report.what_if.packing import NoPanel
from posterity.report.what_if.page import script, style
from posterity.report.what_if.payload import payload

__all__ = ["NoPanel", "payload", "script", "style", "two_values"]
