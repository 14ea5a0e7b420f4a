"""How Sphinx builds the documentation: from the docstrings and the Markdown of the repository."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

from posterity.estimators import BY_ROOM

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]  # extensions read benchmarks and gallery

project = "posterity"
author = "the posterity developers"
copyright = f"2026, {author}"
release = version = installed_version("posterity")

extensions = [
    "choosing",
    "docstrings",
    "family",
    "gallery_pages",
    "inventories",
    "mathml",
    "myst_parser",
    "names",
    "numpydoc",
    "references",
    "results",
    "rooms",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = [
    "_build/html",  # the pages of the interface are written to _build/stubs
    "developers",  # read in the repository
]
templates_path = ["_templates"]

nitpicky = True  # a reference to nothing is an error
toc_object_entries_show_parents = "hide"  # `fit` in the side bar, not `PCA.fit`
copybutton_prompt_text = r">>> |\.\.\. |\$ "  # copies the code without prompts or output
copybutton_prompt_is_regexp = True
viewcode_line_numbers = True

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autosummary_ignore_module_all = False
# Estimators have one page, that of the front door, whichever room exports them, too.
autosummary_context = {"estimators": [name for names in BY_ROOM.values() for name in names]}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

html_theme = "furo"
html_css_files = ["posterity.css"]
html_favicon = html_logo = "_static/logo.svg"
html_static_path = ["_static"]
html_title = "posterity"
html_show_sourcelink = False
html_show_search_summary = False  # browsers refuse to fetch pages for it from a disk
html_search_scorer = str(HERE / "_static" / "scorer.js")
