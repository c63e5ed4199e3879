"""How the documentation is built: ``sphinx-build -W docs OUT``."""

from importlib import metadata
from types import GenericAlias
from typing import Any

from sphinx.application import Sphinx

project = "koordopt"
author = "The koordopt authors"
release = metadata.version("koordopt")
version = release

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
root_doc = "index"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give types together with shapes and units
numpydoc_show_class_members = False  # classes list their members themselves

html_theme = "alabaster"
html_theme_options = {"description": "Kubernetes scheduling decided by optimisation"}


def skip_aliases(
    app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: object
) -> bool | None:
    """Leave out aliases such as ``dict[str, int]``, whose text would be that of ``dict``."""
    return True if isinstance(obj, GenericAlias) else None


def drop_terminal_blocks(
    app: Sphinx, what: str, name: str, obj: Any, options: object, lines: list[str]
) -> None:
    """Cut the help of a command where its blocks for the terminal begin."""
    if "\b" in lines:
        del lines[lines.index("\b") :]


def setup(app: Sphinx) -> None:
    """Connect what autodoc leaves out."""
    app.connect("autodoc-skip-member", skip_aliases)
    app.connect("autodoc-process-docstring", drop_terminal_blocks)
