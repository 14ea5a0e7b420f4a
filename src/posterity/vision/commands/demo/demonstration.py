"""A picture of a system at work, with words for the page of the demo."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Demonstration:
    """A figure of a system at work, and what to try next.

    Attributes
    ----------
    name : str
        Short name, in letters and hyphens; the picture is saved under it.
    title : str
        What is found, as a heading.
    sentence : str
        What the system has learned from, and what it was asked.
    figure : matplotlib Figure
        Made without pyplot, which would keep it.
    caption : str
        What the figure shows, with the numbers that were measured.
    command : tuple of str
        Words of a command that works on the files left in the folder; empty if there is none.
    """

    name: str
    title: str
    sentence: str
    figure: "Figure"
    caption: str
    command: tuple[str, ...] = ()


def hide_axes(axes: "Iterable[Axes]") -> None:
    """Leave only the pictures of axes, without ticks and frames."""
    for ax in axes:
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
