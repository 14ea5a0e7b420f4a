"""Render the report as one HTML file with a strict content security policy."""

import base64
import hashlib
import os
from importlib import resources

import jinja2
from markupsafe import Markup

from posterity import files
from posterity.report import sections, what_if
from posterity.report.material import ReportData
from posterity.report.sections.blocks import Panel, Section
from posterity.report.sections.head import head
from posterity.report.story import Story

MARK = "<!-- posterity report -->"
"""Line below the doctype that identifies a report."""


def page(story: Story) -> str:
    """Render the report as the text of an HTML file.

    The page is self-contained: style, figures and script are embedded, and its content security
    policy forbids the browser to fetch or run anything else. The same story gives the same text.

    Parameters
    ----------
    story : Story
        Contents of the report.

    Examples
    --------
    >>> from posterity import BayesianLinearRegression, comparison, report, tables
    >>> table = tables.as_frame({"x": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.1, 5.9, 8.0]})
    >>> model = tables.TableModel(BayesianLinearRegression(), tables.infer(table, "y")).fit(table)
    >>> held_out = comparison.evaluate(model, table).held_out
    >>> story = report.Story("Predicting y", "posterity report ...", model, table, held_out)
    >>> report.page(story).splitlines()[:2]
    ['<!doctype html>', '<!-- posterity report -->']
    """
    found = sections.make_sections(ReportData.of(story))
    panel = _has_panel(found)
    style = Markup(_read_template("style.css") + (what_if.style() if panel else ""))
    script = Markup(_read_template("tables.js") + (what_if.script() if panel else ""))
    template = _environment().get_template("page.html.j2")
    return template.render(
        mark=Markup(MARK),
        policy=_security_policy(style, script),
        style=style,
        script=script,
        head=head(story),
        sections=found,
        predict_command=story.predict_command,
        versions=story.versions,
    )


def write(path: str | os.PathLike[str], story: Story) -> None:
    """Write the report to a file, atomically.

    Parameters
    ----------
    path : str or path
        File to write, such as "report.html"; an existing file is replaced.
    story : Story
        Contents of the report.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity import BayesianLinearRegression, comparison, report, tables
    >>> table = tables.as_frame({"x": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.1, 5.9, 8.0]})
    >>> model = tables.TableModel(BayesianLinearRegression(), tables.infer(table, "y")).fit(table)
    >>> held_out = comparison.evaluate(model, table).held_out
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> report.write(place, report.Story("Predicting y", "...", model, table, held_out))
    >>> place.stat().st_size < 2_000_000
    True
    """
    text = page(story).encode("utf-8", "backslashreplace")  # a file name may be invalid UTF-8
    with files.replace_atomically(path) as file:
        file.write(text)


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("posterity.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _read_template(name: str) -> str:
    return (resources.files("posterity.report") / "templates" / name).read_text(encoding="utf-8")


def _has_panel(found: tuple[Section, ...]) -> bool:
    return any(isinstance(block, Panel) for section in found for block in section.blocks)


def _security_policy(style: str, script: str) -> str:
    """Return a content security policy that allows only this style and this script."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
