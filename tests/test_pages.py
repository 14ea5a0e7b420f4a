"""The examples on the pages of the documentation run, and print what the pages say."""

import doctest
from pathlib import Path

from support import effort
from support.for_each import for_each
from support.pages import read_examples

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = [examples for examples in map(read_examples, PAGES) if examples]


def test_some_pages_have_examples():
    assert {"CONTRIBUTING", "extending"} < {examples.name for examples in EXAMPLES}


@for_each("examples", effort.some(EXAMPLES, 6), ids=lambda examples: examples.name)
def test_the_examples_of_a_page_run_in_order(examples):
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(examples, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)
