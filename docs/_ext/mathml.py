"""Mathematics as MathML: written at build time, shown by the browser, no script and no network."""

import re
import unicodedata

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

_STYLED = re.compile(r'<(mi|mn) mathvariant="(bold|bold-italic|script)">(?:&#x(\w+);|(\w))</\1>')
_NAMED = re.compile(r"(?<!<msu[pb]>)<mi>(log|sin|cos|exp|arctan)</mi>(?!<mo[^>]*>&#x00028;)")
_TILDE = "<mi>&#x0007E;</mi>"
_TIGHT = re.compile(r"<mo>(&#x0002F;|&#x0007C;|&#x02016;)</mo>")  # a slash, bars of a norm
_SIGN = re.compile(
    r"(&#x00028;</mo>|\[</mo>|&#x0003D;</mo>|&#x0002C;</mo>|<mspace[^>]*/>)<mo>&#x02212;</mo>"
)


def rendered(latex: str, display: str) -> str:
    """MathML that browsers show as LaTeX would be."""
    text = convert(latex, display=display).replace(_TILDE, "<mo>&#x0223C;</mo>")
    spaced = _NAMED.sub(r'<mi>\1</mi><mspace width="0.17em"/>', text)
    signed = _SIGN.sub(r'\1<mo form="prefix">&#x02212;</mo>', spaced)
    tight = _TIGHT.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', signed)
    return _STYLED.sub(_as_character, tight)


def _as_character(match: re.Match[str]) -> str:
    """A bold or script letter as a character of its own: browsers no longer read mathvariant."""
    tag, style, code, letter = match.groups()
    plain = unicodedata.name(chr(int(code, 16)) if code else letter)
    kind = re.sub(r"^(GREEK|LATIN) (LUNATE )?| LETTER", "", plain)
    name = f"MATHEMATICAL {style.upper().replace('-', ' ')} {kind}"
    return f"<{tag}>{unicodedata.lookup(name)}</{tag}>"


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    """A formula within a line."""
    translator.body.append(rendered(node.astext(), "inline"))
    raise nodes.SkipNode


def display(translator: HTML5Translator, node: nodes.math_block) -> None:
    """A formula on lines of its own."""
    translator.body.append(f'<div class="math">{rendered(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the renderer to Sphinx under the name that conf.py chooses."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
