"""Configuration of Sphinx: ``make docs`` writes the site into site/.

If the environment variable ``RELAXWL_REPOSITORY`` is set, pages link to this address. With ``RELAXWL_QUICK_DOCS``
examples and commands are not run.
"""

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

from pictures import scrape_svg  # noqa: E402

from relaxwl import __version__  # noqa: E402

# joblib replaces a gallery worker whose memory has grown.
warnings.filterwarnings("ignore", "A worker stopped while some jobs")

project = "relaxwl"
author = "The relaxwl developers"
repository = os.environ.get("RELAXWL_REPOSITORY", "")
is_quick = bool(os.environ.get("RELAXWL_QUICK_DOCS"))
project_copyright = "The relaxwl developers"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "formulas",  # this one and those below are in _ext
    "command_line",
    "cells",
    "names",
    "pictures",
]
templates_path = ["_templates"]
exclude_patterns = [
    "images/*.py",
    "_ext",
    "_templates",
    "**/README.txt",
    "**/sg_execution_times.rst",
    "sg_execution_times.rst",
]
suppress_warnings = ["config.cache"]  # the image scraper is a function, which cannot be cached
smartquotes = False  # code such as {"subtree", "edge"} keeps its quotes

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # docstrings name the types
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # the template of a class lists them
numpydoc_class_members_toctree = False
copybutton_exclude = ".linenos, .gp, .go"

# Subfolders of examples/, in the order of the gallery.
THEMES = ("prediction", "molecules", "inputs", "similarity", "explanation", "large_data", "extending")
command_line_runs = not is_quick
sphinx_gallery_conf = {
    "plot_gallery": not is_quick,
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "subsection_order": [f"../examples/{theme}" for theme in THEMES],
    "within_subsection_order": "ExampleTitleSortKey",
    "image_scrapers": ("matplotlib", scrape_svg),
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "copyfile_regex": r".*\.csv",
    "show_memory": False,
    "min_reported_time": 600,  # seconds; times are not shown
    "thumbnail_size": (560, 392),
    "parallel": 2,
    "show_api_usage": False,
    "doc_module": ("relaxwl",),
    "backreferences_dir": "api/examples",
    "inspect_global_variables": False,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = f"relaxwl {release}"
html_static_path = ["_static"]
html_css_files = ["relaxwl.css"]
html_show_sourcelink = False
html_sidebars = {name: [] for name in ("index", "start", "faq", "glossary", "cite", "contributing", "changelog")}
html_favicon = "_static/logo.svg"
html_logo = "_static/logo.svg"
html_math_renderer = "mathml"
html_theme_options = {
    "logo": {"text": "relaxwl", "alt_text": "relaxwl"},
    "navbar_start": ["navbar-logo", "version"],
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "icon_links": [{"name": "Repository", "url": repository, "icon": "fa-solid fa-code-branch"}] if repository else [],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def is_foreign(app, what, name, member, skip, options):
    """Skip members that classes inherit from other packages."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)
    module = getattr(function, "__module__", None)
    foreign = isinstance(module, str) and not module.startswith("relaxwl") and callable(function)
    return True if foreign else None


def setup(app):
    """Register ``is_foreign``."""
    app.connect("autodoc-skip-member", is_foreign)
