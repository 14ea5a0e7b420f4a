"""What tests of printed equations have in common."""

import re
from pathlib import Path

from scipy import stats

DOCS = Path(__file__).parents[2] / "docs"


def assert_printed(page, formula):
    """A test is of the equation on the page: who changes one changes the other."""
    text = re.sub(r"\s+", " ", (DOCS / f"{page}.md").read_text("utf-8"))
    assert formula in text, f"{page}.md no longer has {formula}; test what it has instead."


def log_normal(y, mean, C):
    """The log density, of each row of y where it has rows."""
    return stats.multivariate_normal(mean, C).logpdf(y)
