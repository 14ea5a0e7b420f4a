"""The README's examples run, word for word."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)


def test_readme_has_an_example():
    assert BLOCKS


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[-1])
def test_readme_example_runs(block):
    exec(compile(block, str(README), "exec"), {"__name__": "readme"})


def test_readme_example_says_what_is_true_of_its_model(capsys):
    names: dict = {}
    exec(compile(BLOCKS[0], str(README), "exec"), names)
    evidence, noise_variance = map(float, capsys.readouterr().out.split())
    assert evidence == names["model"].log_evidence_
    assert 0.025 < noise_variance < 0.06  # the README calls 0.04 the truth
    assert names["std"][1] > 1.3 * names["std"][0]
