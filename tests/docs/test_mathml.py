"""Formulas are written so that browsers show them as LaTeX would be."""

import importlib.util
from pathlib import Path

import pytest
from support.for_each import for_each

pytest.importorskip("latex2mathml")  # of the extra 'docs', as Sphinx is
EXTENSION = Path(__file__).parents[2] / "docs/_ext/mathml.py"
SPEC = importlib.util.spec_from_file_location("mathml", EXTENSION)
mathml = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mathml)


@for_each(
    ("latex", "shown"),
    [
        (r"\mathbf{1}", "\U0001d7cf"),
        (r"\mathbf{ZZ}", "\U0001d419</mi><mi>\U0001d419"),
        (r"\boldsymbol\mu", "\U0001d741"),
        (r"\boldsymbol\epsilon", "\U0001d750"),
        (r"\mathcal{GP}", "\U0001d4a2</mi><mi>\U0001d4ab"),
        (r"w \sim N", "<mo>&#x0223C;</mo>"),
        (r"\log p", '<mi>log</mi><mspace width="0.17em"/>'),
    ],
)
def test_bold_letters_relations_and_names_are_characters_of_their_own(latex, shown):
    assert shown in mathml.rendered(latex, "inline")


def test_no_space_before_a_bracket():
    assert "mspace" not in mathml.rendered(r"\exp(-r^2)", "inline")


def test_a_power_of_a_named_function_stays_above_it():
    assert "<msup><mi>sin</mi><mn>2</mn></msup>" in mathml.rendered(r"\sin^2 x", "inline")


@for_each("latex", [r"\exp(-r)", "[-r]", "a = -r", "a, -r", r"a \qquad -r"])
def test_a_sign_stands_at_its_number(latex):
    assert '<mo form="prefix">&#x02212;</mo><mi>r</mi>' in mathml.rendered(latex, "inline")


def test_a_difference_keeps_its_spaces():
    assert "<mo>&#x02212;</mo>" in mathml.rendered("a - b", "inline")


@for_each("latex", ["a / b", r"\lvert x\rvert", r"\lVert f\rVert_k"])
def test_slashes_and_bars_have_no_spaces_about_them(latex):
    assert '<mo stretchy="false" lspace="0" rspace="0">' in mathml.rendered(latex, "inline")
