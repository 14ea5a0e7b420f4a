"""The figure of docs/choosing.md: questions from the top down, and the model of the first yes.

``python docs/_ext/choosing.py`` draws it anew. As an extension of Sphinx it puts the picture into
the page itself, where its boxes are links and its colours follow the theme.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

PICTURE = Path(__file__).parents[1] / "figures" / "choosing.svg"


@dataclass(frozen=True)
class Leaf:
    """A model to take: its name, when or how, and the page and heading that tell of it."""

    name: str
    note: str
    page: str
    anchor: str = ""

    @property
    def link(self) -> str:
        """Where the box leads to, from a page of the documentation."""
        return f"{self.page}.html" + (f"#{self.anchor}" if self.anchor else "")


@dataclass(frozen=True)
class Question:
    """What to ask, line by line, and what to take for a number and for a class."""

    lines: tuple[str, ...]
    numbers: tuple[Leaf, ...]
    classes: tuple[Leaf, ...]
    last: bool = False


QUESTIONS = (
    Question(
        ("Is the target, or are the", "columns, of a special kind?"),
        (
            Leaf("RobustRegression", "some targets lie far off", "likelihoods", "which-one"),
            Leaf("GammaRegression", "amounts: scatter grows with size", "likelihoods", "which-one"),
            Leaf("GeneralizedLinearRegression", "counts: Poisson()", "likelihoods", "which-one"),
        ),
        (Leaf("DiscreteClassifier", "all columns are categories", "classification", "which-one"),),
    ),
    Question(
        ("Is the question which of", "many columns matter?"),
        (Leaf("SparseLinearRegression", "keeps few, drops the rest", "sparse"),),
        (Leaf("SparseLogisticRegression", "keeps few, drops the rest", "sparse"),),
    ),
    Question(
        ("Nearly a sum of effects?", "Fewer rows than columns?", "More rows than memory?"),
        (Leaf("BayesianLinearRegression", "with features=: curves, too", "regression"),),
        (Leaf("BayesianLogisticRegression", "with features=: curves, too", "classification"),),
    ),
    Question(
        ("Must it predict fast, from", "a small file?"),
        (Leaf("RelevanceVectorRegressor", "few rows kept", "sparse"),),
        (Leaf("RelevanceVectorClassifier", "few rows kept", "sparse"),),
    ),
    Question(
        ("Fewer than 200 rows, or", "smooth in every column?"),
        (Leaf("GaussianProcessRegressor", "above 2,000: inducing_points=", "gaussian_processes"),),
        (
            Leaf(
                "GaussianProcessClassifier",
                "above 2,000: inducing_points=",
                "classification",
                "gaussian-processes",
            ),
        ),
    ),
    Question(
        ("Any other table: steps, gaps,", "mixed columns, many classes"),
        (Leaf("BoostedTreesRegressor", "any scale and kind of columns", "trees"),),
        (Leaf("BoostedTreesClassifier", "any scale and kind of columns", "trees"),),
        last=True,
    ),
)
LATENT = (
    Leaf("PCA", "straight coordinates", "latent", "principal-components"),
    Leaf("GPLVM", "curved ones; gaps, motion", "latent"),
    Leaf("KernelKMeans", "groups; any kernel", "latent", "kernel-components-and-clusters"),
)

_WIDTH, _ASK, _BOX, _GAP = 760, 212, 258, 16
_NUMBERS, _CLASSES = _ASK + _GAP, _ASK + _BOX + 2 * _GAP
_TALL, _PITCH, _BETWEEN, _LINE = 42, 50, 18, 17
_STYLE = """
.choosing text { font: 13px var(--font-stack, system-ui, sans-serif); fill: var(--ink); }
.choosing .name { font: 600 12.5px var(--font-stack--monospace, ui-monospace, monospace); }
.choosing .note, .choosing .way { font-size: 12px; fill: var(--faint); }
.choosing .head { font-weight: 600; font-size: 14px; }
.choosing rect { fill: var(--box); stroke: var(--edge); }
.choosing a:hover rect, .choosing a:focus rect { stroke-width: 2.5; }
.choosing a { text-decoration: none; }
.choosing path { stroke: var(--faint); fill: none; }
.choosing .sheet { fill: var(--paper); stroke: none; }
.choosing { --ink: var(--color-foreground-primary, #1b1f24);
  --faint: var(--color-foreground-secondary, #57606a);
  --paper: var(--color-background-primary, #ffffff);
  --box: var(--color-background-secondary, #f3f6fa); --edge: var(--color-brand-primary, #0a5fa8); }
@media (prefers-color-scheme: dark) {
  .choosing { --ink: var(--color-foreground-primary, #e6e9ee);
    --faint: var(--color-foreground-secondary, #a3adb8);
    --paper: var(--color-background-primary, #14171b);
    --box: var(--color-background-secondary, #1d2228);
    --edge: var(--color-brand-primary, #6cb2f0); } }
"""


def leaves() -> Iterator[Leaf]:
    """Every model in the figure."""
    for question in QUESTIONS:
        yield from question.numbers + question.classes
    yield from LATENT


def draw() -> str:
    """The picture, as the text of an SVG file."""
    parts = [
        _text(0, 22, "What is to be predicted?", "head"),
        _text(_NUMBERS, 22, "A number", "head"),
        _text(_CLASSES, 22, "A class", "head"),
    ]
    top = 40
    for question in QUESTIONS:
        parts.append(_row(question, top))
        top += _height(question) + _BETWEEN
    parts.append(_latent(top + 8))
    bottom = top + 8 + 30 + _TALL + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="choosing" viewBox="-4 0 {_WIDTH + 8} '
        f'{bottom}" role="img" aria-label="Questions from the top down: take the model of the '
        f'first yes"><style>{_STYLE}</style><rect class="sheet" x="-4" width="{_WIDTH + 8}" '
        f'height="{bottom}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _height(question: Question) -> int:
    return _PITCH * max(len(question.numbers), len(question.classes)) + (
        _LINE * max(len(question.lines) - 2, 0)
    )


def _row(question: Question, top: int) -> str:
    """One question with its models, and the way on."""
    middle = top + _TALL // 2
    words = [_text(0, top + 15 + _LINE * i, line) for i, line in enumerate(question.lines)]
    boxes = [
        _box(leaf, x, top + _PITCH * i)
        for x, column in ((_NUMBERS, question.numbers), (_CLASSES, question.classes))
        for i, leaf in enumerate(column)
    ]
    if question.last:
        return "\n".join(words + boxes)
    below = top + _LINE * len(question.lines) + 6
    end = top + _height(question) + _BETWEEN - 6
    return "\n".join(
        [
            *words,
            *boxes,
            _text(_ASK - 18, middle - 5, "yes", "way"),
            _arrow(
                f"M{_ASK - 20} {middle} h{_GAP + 16}", f"M{_NUMBERS - 9} {middle - 4} l5 4 l-5 4"
            ),
            _arrow(f"M8 {below} V{end}", f"M4 {end - 5} l4 5 l4 -5"),
            _text(16, (below + end) // 2 + 4, "no", "way"),
        ]
    )


def _latent(top: int) -> str:
    """The models without a target, side by side."""
    wide = (_WIDTH - 2 * _GAP) // 3
    boxes = [_box(leaf, i * (wide + _GAP), top + 30, wide) for i, leaf in enumerate(LATENT)]
    title = _text(0, top + 16, "Nothing: what do the rows have in common?", "head")
    return "\n".join([title, *boxes])


def _box(leaf: Leaf, x: int, y: int, wide: int = _BOX) -> str:
    return (
        f'<a href="{escape(leaf.link)}"><rect x="{x}" y="{y}" width="{wide}" height="{_TALL}" '
        f'rx="6"/>{_text(x + 10, y + 18, leaf.name, "name")}'
        f"{_text(x + 10, y + 34, leaf.note, 'note')}</a>"
    )


def _text(x: int, y: int, words: str, kind: str = "") -> str:
    group = f' class="{kind}"' if kind else ""
    return f'<text x="{x}" y="{y}"{group}>{escape(words)}</text>'


def _arrow(*lines: str) -> str:
    return f'<path d="{" ".join(lines)}"/>'


def _put_into_page(app: Any, doctree: Any) -> None:
    """Replace the image by the picture itself."""
    from docutils import nodes

    if app.builder.format != "html":
        return
    for image in list(doctree.findall(nodes.image)):
        if image["uri"].endswith(PICTURE.name):
            image.replace_self(nodes.raw("", PICTURE.read_text("utf-8"), format="html"))


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", _put_into_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    sys.stdout.write(f"{PICTURE}: {PICTURE.write_text(draw(), 'utf-8')} characters\n")
