"""Two models of the canonical family on one page: f and g judged jointly, then each on its own.

Takes what `samespace.family.compare_models` returns, by its shape alone, since this room stands below
that one: an object with the two comparisons as ``f`` and ``g``, and ``to_dict()`` with

``names``
    Two strings, old and new.
``verdict``
    ``name`` (a class of the lattice, "none" or "undecided") and ``reason`` (one sentence).
``conclusion``
    In plain words what follows: what the theorem guarantees here and what was found.
``agreement``
    How far f's map A and g's map are from inverse transposes of each other, as
    g* = g A^-T + c demands: ``unexplained`` (share of g* that g A^-T + c leaves), ``holds``, ``reason``.
``classes``
    Class to its joint result: ``f_unexplained``, ``g_unexplained``, ``g_interval`` (``low``,
    ``high``), ``f_from_g``, ``offset``, ``applies``, ``holds``, ``reason``.
``likelihood``
    ``old`` and ``new`` (mean log-likelihoods), ``gap`` (divergence of the distributions), ``unit``.
``diversity``
    Side ("old", "new") to a mapping of what was measured: rank, condition number, verdict.
``bounds``
    A list of mappings ``name``, ``measured``, ``bound``, ``holds``, ``meaning``.

Any key may be missing or None: the page says "not computed".
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from samespace.report import html, markdown, terminal, words
from samespace.report.numerals import NOT_COMPUTED, interval, plain, share
from samespace.report.recipes import Recipe

if TYPE_CHECKING:
    from samespace.compare import Comparison
    from samespace.report.html import Section

_HEADLINES = {
    "identity": "The same model, as it is.",
    "permutation": "The same model, with its dimensions relabelled.",
    "orthogonal": "The same model, rotated.",
    "affine": "The same model, up to a linear map.",
    "none": "Not the same model.",
    "undecided": "Cannot be decided yet.",
}
_ACTIONS = {
    "none": "Carry nothing over from one model to the other: no one map serves both f and g.",
    "undecided": "Compare on more inputs and labels, or on more diverse ones.",
}
_CARRY = "Map f by A and g by its inverse transpose, both or neither: one alone changes p(y | x)."
_CALL = Recipe(
    "In Python", "python", "import samespace as ss\n\njoint = ss.compare_models(old, new, inputs)"
)
_CLASS = ("map", "f misses", "g, by f's map", "interval", "f, by g's map", "holds")
_SAID = ("meaning", "reason", "action")
_ROUNDING = 1e-12  # of log-likelihoods in double precision
_BOUND = ("bound", "measured", "at most", "kept", "meaning")


class Joint(Protocol):
    """What is needed of a joint comparison."""

    @property
    def f(self) -> Comparison | None:
        """The representations of inputs; None where they were not compared."""

    @property
    def g(self) -> Comparison | None:
        """The representations of labels; None where they were not compared, as with few labels."""

    def to_dict(self) -> dict[str, Any]:
        """The keys above."""


def page(
    joint: Joint,
    *,
    command: str | None = None,
    sections: Sequence[Section] = (),
    written: datetime | None = None,
) -> str:
    """One page: the joint verdict in words, what it rests on, then f and g as `html.page` has them."""
    found = joint.to_dict()
    return html.assemble(
        [html.page_view(result, part=title) for title, result in _parts(joint)],
        title=" -> ".join(str(name) for name in found["names"]),
        recipes=[Recipe("This report was written by", "shell", command)] if command else [_CALL],
        sections=[section(found), *sections],
        written=written,
        headline=headline(found),
    )


def write(joint: Joint, path: str | os.PathLike[str], **options: Any) -> Path:
    """Writes the page (options as in `page`) and returns where."""
    return html.save(page(joint, **options), path)


def section(found: Mapping[str, Any]) -> Section:
    """What the joint verdict rests on, as a section for any page; `found` has the keys above."""
    body = html.fragment("models.html.j2", **_view(found))
    return html.Section("What the joint verdict rests on", body, first=True)


def headline(found: Mapping[str, Any]) -> dict[str, str]:
    """The joint verdict in words."""
    name = found["verdict"]["name"]
    return {
        "name": f"{name}, f and g jointly",
        "tone": words.tone(name),
        "headline": _HEADLINES[name],
        "meaning": found.get("conclusion") or "",
        "reason": found["verdict"]["reason"],
        "action": _ACTIONS.get(name, _CARRY),
    }


def text(joint: Joint) -> str:
    """The joint verdict and both lattices as plain text: what ``print`` shows."""
    found = joint.to_dict()
    said = headline(found)
    basis = _view(found)
    lines = [f"  {label}: {value}" for label, value in basis["facts"]]
    return "\n".join(
        [
            f"joint verdict: {found['verdict']['name'].upper()}. {said['headline']}",
            *(line for key in _SAID for line in terminal.paragraph(said[key])),
            "",
            *(terminal.aligned([_CLASS, *basis["classes"]]) if basis["classes"] else []),
            "",
            *map(terminal.printable, lines),
            *(f"\n{title}\n{terminal.text(result)}" for title, result in _parts(joint)),
        ]
    )


def document(joint: Joint) -> str:
    """The joint verdict and both lattices as Markdown."""
    found = joint.to_dict()
    said, basis = headline(found), _view(found)
    parts = [
        f"# {said['headline']}",
        f"**Joint verdict: {found['verdict']['name']}.** {markdown.inert(said['meaning'])}",
        markdown.inert(said["reason"]),
        f"**{said['action']}**",
        *([_table(_CLASS, basis["classes"])] if basis["classes"] else []),
        _table(["what the verdict rests on", ""], basis["facts"]),
        *([_table(["diversity", "old", "new"], basis["diversity"])] if basis["diversity"] else []),
        *([_table(_BOUND, basis["bounds"])] if basis["bounds"] else []),
    ]
    for title, result in _parts(joint):
        parts += [f"# {title}", markdown.summary(result)]
    return "\n\n".join(parts) + "\n"


def _parts(joint: Joint) -> list[tuple[str, Comparison]]:
    """What was compared, each under its title."""
    named = (
        ("f: the representation of inputs", joint.f),
        ("g: the representation of labels", joint.g),
    )
    return [(title, result) for title, result in named if result is not None]


def _view(found: Mapping[str, Any]) -> dict[str, Any]:
    agreement = found.get("agreement") or {}
    likelihood = found.get("likelihood") or {}
    unit = likelihood.get("unit") or ""
    facts = [
        (
            "share of g that the inverse transpose of f's map misses",
            share(agreement.get("unexplained")),
        ),
        ("f and g agree on one map", _yes(agreement.get("holds"))),
        *(
            (f"log-likelihood, {side}", _with_unit(likelihood.get(side), unit))
            for side in ("old", "new")
        ),
        ("divergence of the two distributions", _with_unit(likelihood.get("gap"), unit)),
    ]
    return {
        "facts": facts,
        "agreement": agreement.get("reason") or "",
        "diversity": _diversity(found.get("diversity") or {}),
        "bounds": [_bound(bound) for bound in found.get("bounds") or ()],
        "classes": [_joint_class(name, one) for name, one in (found.get("classes") or {}).items()],
        "headings": {"classes": _CLASS, "diversity": ("", "old", "new"), "bounds": _BOUND},
    }


def _joint_class(name: str, one: Mapping[str, Any]) -> list[str]:
    """One class asked of f and g at once, as a row."""
    if not one.get("applies", True):
        return [name, *["-"] * 4, words.STATUSES["absent"]]
    span = one.get("g_interval") or {}
    return [
        name,
        share(one.get("f_unexplained")),
        share(one.get("g_unexplained")),
        interval(span.get("low"), span.get("high")),
        share(one.get("f_from_g")),
        words.STATUSES[words.status(applies=True, holds=one.get("holds"))],
    ]


def _diversity(sides: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    keys = dict.fromkeys(key for side in sides.values() for key in side)
    return [
        [words.label(key), *(plain(sides.get(side, {}).get(key)) for side in ("old", "new"))]
        for key in keys
    ]


def _bound(bound: Mapping[str, Any]) -> list[str]:
    values = (plain(bound.get(key)) for key in ("measured", "bound"))
    return [str(bound["name"]), *values, _yes(bound.get("holds")), str(bound.get("meaning") or "")]


def _yes(holds: bool | None) -> str:
    return NOT_COMPUTED if holds is None else plain(holds)


def _with_unit(value: float | None, unit: str) -> str:
    if value is None:
        return NOT_COMPUTED
    return f"{plain(0 if abs(value) < _ROUNDING else value)} {unit}".strip()


def _table(heading: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    return markdown.table(heading, [[markdown.inert(cell) for cell in line] for line in body])
