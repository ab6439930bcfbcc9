"""Figures: drawn for every verdict, labelled, readable in grey, and reproducible byte for byte."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from samespace.errors import DegenerateError, OutputError
from samespace.report import figures
from tests.report.factory import KINDS, comparison


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", figures.FIGURES)
def test_every_figure_is_labelled(kind, name):
    figure = figures.FIGURES[name](comparison(kind))
    figure.draw_without_rendering()
    for axes in figure.axes:
        assert axes.get_xlabel()
        assert axes.get_title(loc="left")
        assert axes.get_ylabel() or name == "lattice"


def test_the_lattice_draws_each_number_at_its_place():
    result = comparison("orthogonal")
    (axes,) = figures.lattice(result).axes
    places = {
        tuple(map(float, line.get_xydata()[0]))
        for line in axes.lines
        if len(line.get_xydata()) == 1
    }
    for place, entry in enumerate(result.classes):
        assert (entry.unexplained, float(place)) in places
    bounds = [
        line.get_xdata()[0] for line in axes.lines if line.get_label().startswith(("fl", "aff"))
    ]
    assert bounds == pytest.approx([0.1, result.affine.unexplained + 0.01])


def test_classes_that_do_not_apply_are_named():
    (axes,) = figures.lattice(comparison("affine", d_y=9)).axes
    assert [text.get_text() for text in axes.texts] == ["does not apply"] * 2


def test_status_is_told_by_shape_not_only_by_colour():
    shapes = [shape for shape, _ in figures._MARKS.values()]
    assert len(set(shapes)) == len(shapes)


def test_negative_and_missing_r2_are_shown_as_such():
    result = replace(comparison("affine"), r2=np.array([0.9, -4.0, np.nan, 0.2]))
    (axes,) = figures.r2(result).axes
    assert [bar.get_height() for bar in axes.patches] == pytest.approx([0.9, 0.2, -1.0])
    assert "1 cut at -1" in axes.get_title(loc="left")


def test_names_are_never_mathematics(tmp_path):
    result = replace(comparison("affine"), names=(r"$\frac{$.npy", "a_very_long_name_" * 5))
    figure = figures.points(result)
    assert figure.axes[0].get_title(loc="left") == r"before: $\frac{$.npy"
    assert len(figure.axes[1].get_title(loc="left")) < 40
    figure.savefig(tmp_path / "points.svg")


def test_save_figures_writes_both_formats_and_twice_the_same(tmp_path):
    result = comparison("orthogonal")
    first = figures.save_figures(result, tmp_path / "deep" / "one")
    second = figures.save_figures(result, tmp_path / "two")
    assert [path.name for path in first] == [
        f"{name}.{suffix}"
        for name in ("lattice", "spectrum", "r2", "points")
        for suffix in ("png", "svg")
    ]
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes()


def test_without_rows_the_points_are_left_out(tmp_path):
    result = comparison("affine", keep=0)
    with pytest.raises(DegenerateError, match="kept no rows"):
        figures.points(result)
    assert len(figures.save_figures(result, tmp_path)) == 6


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="figures cannot be written"):
        figures.save_figures(comparison("affine"), tmp_path / "file")
