"""Sphinx configuration: `make docs`."""

import tomllib
from pathlib import Path

from sphinx.ext.napoleon import GoogleDocstring

_project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = _project["name"]
author = _project["authors"][0]["name"]
copyright = f"{author}, {_project['license']}"
version = release = _project["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "imported-members": True, "show-inheritance": True}
# A paper may stand in the list before the code that cites it.
suppress_warnings = ["ref.citation"]

# Docstrings of attributes are sentences; napoleon would take what stands before a colon for a type.
GoogleDocstring._consume_inline_attribute = lambda self: ("", list(self._consume_to_end()))
