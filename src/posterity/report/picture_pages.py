"""Write a page of pictures, each with a title, a sentence and a command."""

import os
from dataclasses import dataclass

from markupsafe import Markup

from posterity import files
from posterity.report import html
from posterity.report.story import find_versions


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
        style = Markup(html.read_template("style.css") + html.read_template("pictures.css"))
        template = html.make_environment().get_template("pictures.html.j2")
        return template.render(
            mark=Markup(html.MARK),
            policy=html.make_security_policy(style),
            style=style,
            page=self,
            pictures=[html.embed_picture(section.picture) for section in self.sections],
            versions=find_versions(),
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, atomically."""
        with files.replace_atomically(path) as file:
            file.write(self.render().encode("utf-8", "backslashreplace"))
