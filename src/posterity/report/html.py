"""What all pages share: templates, style, and a strict content security policy."""

import base64
import hashlib
from importlib import resources

import jinja2

MARK = "<!-- posterity report -->"
"""Line below the doctype that identifies a report."""


def make_environment() -> jinja2.Environment:
    """Return the environment in which templates are rendered; text is escaped."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("posterity.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def read_template(name: str) -> str:
    """Return the text of a file beside the templates."""
    return (resources.files("posterity.report") / "templates" / name).read_text(encoding="utf-8")


def make_security_policy(style: str, script: str = "") -> str:
    """Return a content security policy that allows only this style, this script and own images."""
    allowed = _hash(script) if script else "'none'"
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {allowed}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def embed_picture(png: bytes) -> str:
    """Return the address of a PNG image that is part of the page."""
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
