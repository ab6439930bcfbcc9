"""The two ratios 2.2 and 0.8 of Appendix D, under every reading that the text leaves room for, and more.

A reading says which construction (the printed one; the authors' program's other model; lengths that its
comments mention), which rows of the two models belong together, which labels are y_0, y_1, y_2, which
terms stand above and below the line, over which inputs, and what is averaged. A *joint* hit has both
numbers at once; with this many readings some hit by chance, so a hit counts only if it is a reading of the
printed sentence: the printed construction, paired rows, pivot y_0, the printed error term, all inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.reproduce.figure import save
from samespace.reproduce.nielsen_2024.style import BLUE, GREY, RED, panels
from samespace.reproduce.record import Record
from samespace.reproduce.registry import Context, Piece, Reproduction
from samespace.worlds.nielsen import STAR_ANGLES, TabulatedPair, close_losses_pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy import ndarray as Array

_SHOWN = 3.0
"""Where the picture's axes end: a ratio whose denominator comes near zero has no useful mean."""

EVEN_ANGLES = (0.0, np.pi / 2, np.pi, 3 * np.pi / 2)

CONSTRUCTIONS: dict[str, dict[str, Any]] = {
    "as printed": {},
    "the program's other model (|g*| = 25)": {"star_angles": EVEN_ANGLES, "star_length": 25.0},
    "evenly spaced g*, |g*| = 100": {"star_angles": EVEN_ANGLES},
    "lengths of the program's comments (600, 20)": {"prime_length": 600.0, "star_length": 20.0},
    "|g*| = 20": {"star_length": 20.0},
    "g*(y_1) at pi/6": {"star_angles": (0.0, np.pi / 6, *STAR_ANGLES[2:])},
}
ROWS = ("paired", "own lengths", "own angles and lengths", "shuffled")
TERMS: dict[str, Callable[[Array, Array], tuple[Array, Array]]] = {
    "|L*f* - L'f'| / |L'f'|": lambda u, v: (v - u, u),  # as printed
    "|L*f* - L'f'| / |L*f*|": lambda u, v: (v - u, v),
    "|L*f*| / |L'f'|": lambda u, v: (v, u),
    "|L'f'| / |L*f*|": lambda u, v: (u, v),
    "|L*f* + L'f'| / |L'f'|": lambda u, v: (v + u, u),
    "|L'f'| / |L*f* - L'f'|": lambda u, v: (u, v - u),
}
AVERAGES: dict[str, Callable[[Array, Array], float]] = {
    "mean of ratios": lambda e, d: float(np.mean(e / d)),  # as printed
    "ratio of means": lambda e, d: float(np.mean(e) / np.mean(d)),
    "median of ratios": lambda e, d: float(np.median(e / d)),
    "ratio of root mean squares": lambda e, d: float(np.sqrt(np.mean(e**2) / np.mean(d**2))),
    "mean of squared ratios": lambda e, d: float(np.mean((e / d) ** 2)),
    "mean of the log ratio, exponentiated": lambda e, d: float(np.exp(np.mean(np.log(e / d)))),
}
INPUTS = ("all", "y_0", "y_1", "y_2", "y_3")
PRINTED = {"construction": "as printed", "rows": "paired", "pivot": 0, "inputs": "all"}
PRINTED_TERMS = next(iter(TERMS))
LABEL_PAIRS = ([1, 3], [1, 2], [2, 3])
"""Second and third label: as the matrix L' of Eq. 53 has them, as the epsilons are named, and the rest."""


def pieces(settings: Mapping[str, Any]) -> list[Piece]:
    """One piece per construction and pairing of rows."""
    return [
        Piece(
            name=f"construction{i}-rows{j}",
            settings={**settings, "construction": construction, "rows": rows},
        )
        for (i, construction), (j, rows) in product(enumerate(CONSTRUCTIONS), enumerate(ROWS))
    ]


def run(piece: Piece, context: Context) -> dict[str, Any]:
    """Evaluate every reading of one construction: means over draws, in the order of `_keys`."""
    options = CONSTRUCTIONS[piece.settings["construction"]]
    drawn = []
    for seed in range(piece.settings["seeds"]):
        rng = np.random.default_rng(seed)
        pair = close_losses_pair(rng, per_label=piece.settings["per_label"], **options)
        drawn.append(_values(_with_rows(pair, piece.settings["rows"], options, rng)))
    return {"readings": [float(f"{value:.5g}") for value in np.mean(drawn, axis=0)]}


def _with_rows(
    pair: TabulatedPair, rows: str, options: Mapping[str, Any], rng: np.random.Generator
) -> TabulatedPair:
    """Pair the starred rows with the prime ones in another way."""
    per_label = len(pair.labels) // 4
    star = pair.star
    if rows == "own lengths":
        lengths = 1.0 + np.abs(rng.standard_normal((len(star.f), 1)))
        f = star.f / np.linalg.norm(star.f, axis=1, keepdims=True) * lengths
    elif rows == "own angles and lengths":
        f = close_losses_pair(rng, per_label=per_label, **options).star.f
    elif rows == "shuffled":
        f = star.f[rng.permutation(len(star.f))]
    else:
        f = star.f
    return TabulatedPair(pair.prime, type(star)(f, star.g), pair.labels)


def _keys() -> Iterator[tuple[int, int, str, str, str]]:
    """Pivot, label, terms, inputs and average of every reading, in the order of the record's list."""
    for pivot, label in permutations(range(4), 2):
        for terms, inputs, average in product(TERMS, INPUTS, AVERAGES):
            yield pivot, label, terms, inputs, average


def _values(pair: TabulatedPair) -> list[float]:
    """Return what every reading gives on one draw."""
    logits, logits_star = pair.prime.f @ pair.prime.g.T, pair.star.f @ pair.star.g.T
    chosen = {"all": slice(None)} | {f"y_{k}": pair.labels == k for k in range(4)}
    found = []
    for pivot, label, terms, inputs, average in _keys():
        here = chosen[inputs]
        odds = logits[here, label] - logits[here, pivot]
        odds_star = logits_star[here, label] - logits_star[here, pivot]
        above, below = TERMS[terms](odds, odds_star)
        found.append(AVERAGES[average](np.abs(above), np.abs(below)))
    return found


def summarise(records: Sequence[Record], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Count the readings that give both numbers, and list those of the printed sentence."""
    first, second = (float(expected["example"][f"ratio_dim{i}"]["value"]) for i in (1, 2))
    rows = [row for record in records for row in _pairs(record)]
    joint = [r for r in rows if abs(r["dim1"] - first) <= 0.05 and abs(r["dim2"] - second) <= 0.05]
    printed = [row for row in rows if _is_printed(row)]
    distance = [abs(r["dim1"] - first) + abs(r["dim2"] - second) for r in printed]
    return {
        "readings": len(records) * sum(1 for _ in _keys()),
        "pairs": len(rows),
        "joint_hits": len(joint),
        "joint_hits_of_the_printed_sentence": sum(map(_is_printed, joint)),
        "hits": joint,
        "printed": printed,
        "nearest_printed": printed[int(np.argmin(distance))],
        "word_by_word": next(row for row in printed if row["labels"] == LABEL_PAIRS[0]),
        "paper": [first, second],
    }


def _pairs(record: Record) -> Iterator[dict[str, Any]]:
    """Both dimensions of every reading: one pivot, two labels, everything else equal."""
    by_label: dict[tuple[int, str, str, str], dict[int, float]] = {}
    for key, value in zip(_keys(), record.values["readings"], strict=True):
        pivot, label, *rest = key
        by_label.setdefault((pivot, *rest), {})[label] = value  # type: ignore[arg-type]
    for (pivot, terms, inputs, average), values in by_label.items():
        for one, other in permutations(values, 2):
            yield {
                "construction": record.settings["construction"],
                "rows": record.settings["rows"],
                "pivot": pivot,
                "labels": [one, other],
                "terms": terms,
                "inputs": inputs,
                "average": average,
                "dim1": float(values[one]),
                "dim2": float(values[other]),
            }


def _is_printed(row: Mapping[str, Any]) -> bool:
    """Whether the row reads the printed sentence: only labels, terms' order and average are open."""
    fixed = all(row[name] == value for name, value in PRINTED.items())
    ordered = row["labels"] in LABEL_PAIRS
    return fixed and ordered and row["terms"] == PRINTED_TERMS


def draw(summary: Mapping[str, Any], path: Path) -> None:
    """Draw the plane of both ratios: readings of the sentence, chance hits, and the paper's point."""
    values = summary["values"]
    figure, axes = panels(1, 1, width=6.6, height=5.4)
    ax = axes.flat[0]
    for average, mark in zip(AVERAGES, "osD^vP", strict=True):
        rows = [row for row in values["printed"] if row["average"] == average]
        _points(ax, rows, marker=mark, s=46, color=BLUE, alpha=0.8, label=average)
    chance = f"other readings, hits by chance ({len(values['hits'])} of {values['pairs']:,})"
    _points(ax, values["hits"], marker="x", s=26, color=GREY, label=chance)
    ax.scatter(
        *values["paper"],
        marker="o",
        s=330,
        facecolor="none",
        edgecolor=RED,
        lw=2,
        label="the paper",
    )
    outside = sum(max(row["dim1"], row["dim2"]) > _SHOWN for row in values["printed"])
    ax.set(xlim=(0, _SHOWN), ylim=(0, _SHOWN), xlabel="ratio of dimension 1")
    ax.set_ylabel("ratio of dimension 2")
    title = f"Readings of the printed sentence (filled; {outside} lie outside), by what is averaged"
    ax.set_title(title, fontsize=10, loc="left")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8.5)
    save(figure, path)


def _points(ax: Axes, rows: Sequence[Mapping[str, Any]], **look: Any) -> None:
    ax.scatter([row["dim1"] for row in rows], [row["dim2"] for row in rows], **look)


RATIOS = Reproduction(
    paper="nielsen-2024",
    figure="ratios",
    claim="The error term is 2.2 and 0.8 times the linear term (Appendix D): no reading tried gives both.",
    scales={
        "smoke": {"seeds": 2, "per_label": 50},
        "small": {"seeds": 5, "per_label": 1000},
        "paper": {"seeds": 20, "per_label": 1000},
    },
    pieces=pieces,
    run=run,
    summarise=summarise,
    draw=draw,
)
