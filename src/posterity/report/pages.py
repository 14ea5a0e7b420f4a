"""Render the report as one HTML file with a strict content security policy."""

import os

from markupsafe import Markup

from posterity import files
from posterity.report import html, sections, what_if
from posterity.report.material import ReportData
from posterity.report.sections.blocks import Panel, Section
from posterity.report.sections.head import head
from posterity.report.story import Story


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
    style = Markup(html.read_template("style.css") + (what_if.style() if panel else ""))
    script = Markup(html.read_template("tables.js") + (what_if.script() if panel else ""))
    template = html.make_environment().get_template("page.html.j2")
    return template.render(
        mark=Markup(html.MARK),
        policy=html.make_security_policy(style, script),
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


def _has_panel(found: tuple[Section, ...]) -> bool:
    return any(isinstance(block, Panel) for section in found for block in section.blocks)
