"""The README's examples run, word for word."""

import re
from pathlib import Path

import numpy as np
from support.for_each import for_each

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S)


def test_readme_has_an_example():
    assert BLOCKS


@for_each("block", BLOCKS, ids=lambda block: block.splitlines()[-1])
def test_readme_example_runs(block):
    exec(compile(block, str(README), "exec"), {"__name__": "readme"})


def test_readme_shows_what_its_first_example_prints(capsys):
    """Words and numbers: seconds are those of a machine, last digits those of its kernels."""
    exec(compile(BLOCKS[0], str(README), "exec"), {})
    printed = capsys.readouterr().out
    shown = re.search(r"^```text\n(.*?)^```", TEXT, re.M | re.S)[1]
    words, numbers = zip(*(split_numbers(text) for text in (printed, shown)), strict=True)
    assert words[0] == words[1]
    known = [place for place, (_, last) in enumerate(numbers[1]) if not last]
    assert len(known) > 40
    printed, shown = (np.array([values[place][0] for place in known]) for values in numbers)
    np.testing.assert_allclose(printed, shown, rtol=0.02, atol=0.02)
    inside = re.search(r"(\d+)% of 80 new cars", TEXT)[1]
    assert TEXT.count(f"{inside} % of the observed values") == 1  # in the alternative text


def split_numbers(text):
    """Words, and numbers with whether they are the last of a line of the table of scores."""
    number = r"-?\d+(?:\.\d+)?"
    lines = text.replace("+- ", "").splitlines()
    found = [
        (float(one), line.startswith(" ") and one == re.findall(number, line)[-1])
        for line in lines
        for one in re.findall(number, line)
    ]
    return re.sub(number, "", text).split(), found


def test_the_first_example_is_about_twenty_lines():
    assert len([line for line in BLOCKS[0].splitlines() if line.strip()]) <= 20
