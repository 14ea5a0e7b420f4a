"""Render pages as one HTML file each, with a strict content security policy."""

import base64
import hashlib
import os
from dataclasses import dataclass
from importlib import resources

import jinja2
from markupsafe import Markup

from posterity import files
from posterity.report import sections, what_if
from posterity.report.contents import ReportContents, ReportData, find_versions
from posterity.report.sections.blocks import Panel, Section
from posterity.report.sections.head import head

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


def page(contents: ReportContents) -> str:
    """Render the report as the text of an HTML file.

    The page is self-contained: style, figures and script are embedded, and its content security
    policy forbids the browser to fetch or run anything else. The same contents gives the same text.

    Parameters
    ----------
    contents : ReportContents
        Contents of the report.

    Examples
    --------
    >>> from posterity import BayesianLinearRegression, comparison, report, tables
    >>> table = tables.as_frame({"x": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.1, 5.9, 8.0]})
    >>> model = tables.TableModel(BayesianLinearRegression(), tables.infer(table, "y")).fit(table)
    >>> held_out = comparison.evaluate(model, table).held_out
    >>> command = "posterity report ..."
    >>> contents = report.ReportContents("Predicting y", command, model, table, held_out)
    >>> report.page(contents).splitlines()[:2]
    ['<!doctype html>', '<!-- posterity report -->']
    """
    found = sections.make_sections(ReportData.from_contents(contents))
    panel = _has_panel(found)
    style = Markup(read_template("style.css") + (what_if.style() if panel else ""))
    script = Markup(read_template("tables.js") + (what_if.script() if panel else ""))
    template = make_environment().get_template("page.html.j2")
    return template.render(
        mark=Markup(MARK),
        policy=make_security_policy(style, script),
        style=style,
        script=script,
        head=head(contents),
        sections=found,
        predict_command=contents.predict_command,
        versions=contents.versions,
    )


def write(path: str | os.PathLike[str], contents: ReportContents) -> None:
    """Write the report to a file, atomically.

    Parameters
    ----------
    path : str or path
        File to write, such as "report.html"; an existing file is replaced.
    contents : ReportContents
        Contents of the report.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity import BayesianLinearRegression, comparison, report, tables
    >>> table = tables.as_frame({"x": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.1, 5.9, 8.0]})
    >>> model = tables.TableModel(BayesianLinearRegression(), tables.infer(table, "y")).fit(table)
    >>> held_out = comparison.evaluate(model, table).held_out
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> report.write(place, report.ReportContents("Predicting y", "...", model, table, held_out))
    >>> place.stat().st_size < 2_000_000
    True
    """
    text = page(contents).encode("utf-8", "backslashreplace")  # a file name may be invalid UTF-8
    with files.replace_atomically(path) as file:
        file.write(text)


def _has_panel(found: tuple[Section, ...]) -> bool:
    return any(isinstance(block, Panel) for section in found for block in section.blocks)


@dataclass(frozen=True)
class PictureSection:
    """A picture and what it shows.

    Attributes
    ----------
    name : str
        Name of its place on the page, in letters, digits and hyphens.
    title : str
        Heading.
    lead : str
        A sentence on what is done.
    picture : bytes
        Image in the format PNG.
    caption : str
        What the picture shows, also for those who cannot see it.
    command : str
        Command to try, or empty.
    """

    name: str
    title: str
    lead: str
    picture: bytes
    caption: str
    command: str = ""


@dataclass(frozen=True)
class PicturePage:
    """A page of pictures.

    Attributes
    ----------
    title : str
        Heading of the page.
    lead : str
        What the page shows.
    sections : tuple of PictureSection
        Pictures in order.

    Examples
    --------
    >>> from posterity.report import PicturePage
    >>> PicturePage("Dots", "A page without pictures.", ()).render().splitlines()[:2]
    ['<!doctype html>', '<!-- posterity report -->']
    """

    title: str
    lead: str
    sections: tuple[PictureSection, ...]

    def render(self) -> str:
        """Return the text of an HTML file that contains its pictures and fetches nothing."""
        style = Markup(read_template("style.css") + read_template("pictures.css"))
        template = make_environment().get_template("pictures.html.j2")
        return template.render(
            mark=Markup(MARK),
            policy=make_security_policy(style),
            style=style,
            page=self,
            pictures=[embed_picture(section.picture) for section in self.sections],
            versions=find_versions(),
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, atomically."""
        with files.replace_atomically(path) as file:
            file.write(self.render().encode("utf-8", "backslashreplace"))
