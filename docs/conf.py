"""Sphinx: Markdown pages, the API from docstrings, a bibliography, and a gallery that is executed."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # our own extensions
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_NUM_THREADS", "2")

from reference_pages import write_pages

write_pages()

project = "samespace"
author = "The samespace authors"
copyright = "The samespace authors, Apache-2.0"
release = version = installed_version("samespace")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinxcontrib.bibtex",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "sphinx-mathjax-offline",  # the built pages need no network
]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.md5"]
templates_path = ["_templates"]
suppress_warnings = [
    "config.cache"
]  # the gallery's configuration holds a class, which cannot be pickled

myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {
    "members": True,
    "show-inheritance": True,
    # scikit-learn writes these into every estimator, with references to its own pages
    "exclude-members": "set_fit_request, set_score_request, set_inverse_transform_request",
}
autosummary_generate = True
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_preprocess_types = False

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "alpha"

html_theme = "furo"
html_title = "samespace"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_favicon = "_static/mark.svg"
html_theme_options = {
    "light_logo": "mark.svg",
    "dark_logo": "mark.svg",
    "light_css_variables": {"color-brand-primary": "#0b5fa5", "color-brand-content": "#0b5fa5"},
    "dark_css_variables": {"color-brand-primary": "#6db3f2", "color-brand-content": "#6db3f2"},
}

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "gallery_order.GalleryOrder",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "plot_gallery": True,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "image_scrapers": ("matplotlib", "figure_scraper"),
    "reset_modules": ("matplotlib",),
    "min_reported_time": 1,
}
