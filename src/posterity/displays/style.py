"""Style of the plots: few colours that everyone can distinguish, and no clutter."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The palette of Okabe and Ito, distinct under every common form of colour blindness.
COLORS: Mapping[str, str] = MappingProxyType(
    {
        "blue": "#0072B2",
        "orange": "#D55E00",
        "green": "#009E73",
        "pink": "#CC79A7",
        "sky": "#56B4E9",
        "amber": "#E69F00",
        "black": "#222222",
        "grey": "#8A8A8A",
    }
)
CYCLE = ("blue", "orange", "green", "pink", "sky", "amber", "grey")
_MARKERS = "os^Dv<>P"


def style() -> AbstractContextManager[None]:
    """Use the Matplotlib settings of the gallery in a ``with`` block.

    Examples
    --------
    >>> import matplotlib
    >>> from posterity import displays
    >>> with displays.style():
    ...     matplotlib.rcParams["axes.spines.top"]
    False
    """
    import matplotlib
    from cycler import cycler

    return matplotlib.rc_context(
        {
            "axes.prop_cycle": cycler(color=[COLORS[name] for name in CYCLE]),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlelocation": "left",
            "axes.titlesize": 13,
            "figure.dpi": 100,
            "figure.constrained_layout.use": True,
            "font.size": 12,
            "legend.frameon": False,
            "lines.linewidth": 2.0,
            "savefig.dpi": 150,
        }
    )


def class_color(place: int) -> str:
    """Return the colour of the class at this position."""
    return COLORS[CYCLE[place % len(CYCLE)]]


def class_marker(place: int) -> str:
    """Return the marker of the class at this position, so that colour is not the only cue."""
    return _MARKERS[place % len(_MARKERS)]


def axes_or_new(ax: Axes | None) -> Axes:
    """Return the given axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots()[1]
