"""Formulas are written so that browsers show them as LaTeX would be."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("latex2mathml")  # of the extra 'docs', as Sphinx is
EXTENSION = Path(__file__).parents[2] / "docs/_ext/mathml.py"
SPEC = importlib.util.spec_from_file_location("mathml", EXTENSION)
mathml = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mathml)


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (r"\mathbf{1}", "\U0001d7cf"),
        (r"\mathbf{ZZ}", "\U0001d419</mi><mi>\U0001d419"),
        (r"\boldsymbol\mu", "\U0001d741"),
        (r"\boldsymbol\epsilon", "\U0001d750"),
        (r"w \sim N", "<mo>&#x0223C;</mo>"),
        (r"\log p", '<mi>log</mi><mspace width="0.17em"/>'),
    ],
)
def test_bold_letters_relations_and_names_are_characters_of_their_own(latex, shown):
    assert shown in mathml.rendered(latex, "inline")


def test_no_space_before_a_bracket():
    assert "mspace" not in mathml.rendered(r"\exp(-r^2)", "inline")
