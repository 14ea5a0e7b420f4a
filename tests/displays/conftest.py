"""Displays are drawn into memory."""

import matplotlib as mpl
import pytest


@pytest.fixture(autouse=True)
def without_a_screen():
    """Draw into memory, and close what was drawn."""
    import matplotlib.pyplot as plt

    with mpl.rc_context():
        plt.switch_backend("Agg")
        yield
        plt.close("all")
