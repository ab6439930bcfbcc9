"""Beyond the paper: how much depends on heads, widths and the number of symbols, which it leaves open.

Each choice is crossed with the paper's four variants of decay and initial spread, and the claims that the
paper makes of a variant are judged anew. One choice is a width of 6: the contexts of CModAdd have as many
profiles as there are remainders, 8, so collapsed contexts span a space of width 6 affinely and never one of
width 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from samespace.reproduce.record import Record
from samespace.reproduce.registry import Piece, Settings
from samespace.reproduce.semantic_learners import verdicts
from samespace.reproduce.semantic_learners.curves import apart
from samespace.reproduce.semantic_learners.settings import VARIANTS, common

_FIGURES = {"fig2": ("fig2a", "fig2b")}
_SHOWN = (
    *("ratio", "loss_over_chance", "advantage", "epochs_to_half", "epochs_to_95", "final_accuracy"),
    *("within_shrinks_to", "between_shrinks_to", "bands"),
)


def pieces(settings: Settings) -> Sequence[Piece]:
    """Return one population for each choice and variant, named for both."""
    rest = common(settings, "choices")
    return [
        Piece(name=f"{variant}-{choice.replace(' ', '-')}", settings={**rest, **changes, **chosen})
        for choice, chosen in settings["choices"].items()
        for variant, changes in VARIANTS.items()
    ]


def summarise(records: Sequence[Record], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Judge each variant's claims under every choice, and name the claims that a choice decides."""
    found: dict[str, dict[str, Any]] = {}
    for record in records:
        variant, _, choice = record.piece.partition("-")
        found.setdefault(variant, {})[choice] = _row(record, variant)
    return {
        "variants": found,
        "claims": {variant: _claims(rows) for variant, rows in found.items()},
    }


def _row(record: Record, variant: str) -> dict[str, Any]:
    measured = verdicts.measures(record, apart(record.settings))
    claims = {
        name: verdict
        for figure in _FIGURES.get(variant, (variant,))
        for name, verdict in verdicts.judged(figure, measured).items()
    }
    return {
        **{name: measured[name] for name in _SHOWN},
        "contexts_along_free_direction": _least_share(record),
        "claims": claims,
    }


def _least_share(record: Record) -> dict[str, Any]:
    """Return the share of the contexts' variance along the direction in which they agree best."""
    eigenvalues = record.values["free_direction"]["eigenvalues"]
    return verdicts.with_interval([one[0] for one in eigenvalues])


def _claims(rows: Mapping[str, Any]) -> dict[str, Any]:
    """Say of each claim under which choices it holds, and whether any two choices contradict each other."""
    names = next(iter(rows.values()))["claims"]
    holds = {
        name: {choice: row["claims"][name]["holds"] for choice, row in rows.items()}
        for name in names
    }
    return {
        name: {"holds": by_choice, "depends_on_choice": {True, False} <= {*by_choice.values()}}
        for name, by_choice in holds.items()
    }


def draw(summary: Mapping[str, Any], path: Path) -> None:
    """Draw closeness and gain of each choice, a column for each variant."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from samespace.reproduce.figure import save
    from samespace.reproduce.semantic_learners.drawing import ORANGE, PURPLE, STYLE

    variants = summary["values"]["variants"]
    choices = list(dict.fromkeys(choice for rows in variants.values() for choice in rows))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.4, 1.4 + 0.5 * len(choices)), layout="constrained")
        panels = figure.subplots(2, len(variants), squeeze=False, sharex="row", sharey=True)
        for column, (variant, rows) in enumerate(variants.items()):
            _dots(panels[0, column], rows, choices, "ratio", ORANGE, verdicts.CLOSE)
            _dots(panels[1, column], rows, choices, "advantage", PURPLE, 0.0)
            panels[0, column].set(title=variant, xlabel="distance within / between")
            panels[1, column].set(xlabel="mean accuracy gained")
        panels[0, 0].set_ylim(len(choices) - 0.5, -0.5)  # the first on top, in all panels
        save(figure, path)


def _dots(
    axes: Any, rows: Mapping[str, Any], choices: list[str], name: str, colour: str, bound: float
) -> None:
    from samespace.reproduce.semantic_learners.drawing import INK

    for place, choice in enumerate(choices):
        if choice in rows:
            known = [seed for seed in rows[choice][name]["seeds"] if seed is not None]
            axes.plot(known, [place] * len(known), "o", color=colour, ms=4, alpha=0.4)
            if known:
                axes.plot(np.mean(known), place, "|", color=INK, ms=12, mew=2)
    axes.axvline(bound, color=INK, linewidth=0.6, linestyle=(0, (1, 2)))
    axes.set_yticks(range(len(choices)), [choice.replace("-", " ") for choice in choices])
