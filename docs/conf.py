"""How Sphinx builds the documentation: from the docstrings and the Markdown of the repository."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "posterity"
author = "the posterity developers"
copyright = f"2026, {author}"
release = version = installed_version("posterity")

extensions = [
    "docstrings",
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
]
exclude_patterns = ["_build/html"]  # the pages of the interface are written to _build/stubs
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

html_theme = "furo"
html_title = "posterity"
html_show_sourcelink = False
