"""Shows in the gallery the figures that samespace makes: plain `Figure`s, unknown to pyplot."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

_shown: WeakSet[Figure] = WeakSet()


def _get_sg_image_scraper() -> Any:
    return scrape


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save every figure that a block left in a variable, and return the RST that shows it."""
    paths = []
    for value in list(block_vars["example_globals"].values()):
        known_to_pyplot = getattr(value, "number", None) is not None
        if isinstance(value, Figure) and not known_to_pyplot and value not in _shown:
            path = next(block_vars["image_path_iterator"])
            value.savefig(path, dpi=130)
            _shown.add(value)
            paths.append(path)
    return figure_rst(paths, gallery_conf["src_dir"]) if paths else ""
