"""The examples on the pages of the documentation run, and print what the pages say."""

import doctest
import re
from pathlib import Path

from support.for_each import for_each

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLE = re.compile(r"^```pycon\n(.*?)^```", re.M | re.S)
PAGES = [path for path in sorted(DOCS.glob("*.md")) if EXAMPLE.search(path.read_text("utf-8"))]


def test_some_pages_have_examples():
    assert PAGES


@for_each("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_in_order(page):
    text = "\n".join(EXAMPLE.findall(page.read_text("utf-8")))
    examples = doctest.DocTestParser().get_doctest(text, {}, page.stem, str(page), 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(examples, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)
