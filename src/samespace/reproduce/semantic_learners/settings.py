"""What each figure of semantic learners sets, and what the paper leaves open and was chosen here."""

from __future__ import annotations

from typing import Any

from samespace.reproduce.registry import Settings

# What section 5 gives, and below "encoder_width" what it leaves open.
COMMON: dict[str, Any] = {
    "numbers": 16,
    "modulus": 8,
    "width": 8,
    "weight_decay": 1e-2,
    "symbol_sd": 1.0,
    "concentration": None,
    "by_context": 0.0,
    "batch": 32,
    "encoder_width": 32,
    "heads": 2,
    "feed_forward": 4,  # times the width of the transformer
    "layers": 3,
    "every": 10,
    "watch": True,  # follow the contexts' embeddings too
    "classify": True,
    "points": 101,  # of each curve that a record keeps
}

# At the small scale a tenth of the paper's epochs at ten times its learning rate: Adam walks as far and
# decays as much.
SCALES: dict[str, dict[str, Any]] = {
    "smoke": {"seeds": 2, "epochs": 10, "learning_rate": 1e-3},
    "small": {"seeds": 5, "epochs": 1_000, "learning_rate": 1e-3},
    "paper": {"seeds": 5, "epochs": 10_000, "learning_rate": 1e-4},
}

# Figure 4 at the small scale: width 128 costs ten times as much a step.
_WIDE = {"small": {"seeds": 3, "epochs": 200}}

# The four variants whose claims could depend on what the paper leaves open.
VARIANTS: dict[str, dict[str, Any]] = {
    "fig2": {},
    "fig5": {"weight_decay": 0.0},
    "fig6": {"weight_decay": 0.0, "symbol_sd": 0.02},
    "fig7": {"symbol_sd": 0.02},
}

FIGURES: dict[str, tuple[str, dict[str, Any]]] = {
    "fig2a": ("distances between symbols over contrastive training", {"classify": False}),
    "fig2b": ("accuracy from learned and from random embeddings", VARIANTS["fig2"]),
    "fig4": (
        "as Figure 2 with embeddings of width 128",
        {"width": 128, "encoder_width": 128, "watch": False},
    ),
    "fig5": ("as Figure 2 without weight decay", VARIANTS["fig5"]),
    "fig6": ("as Figure 2 without weight decay, small at first", VARIANTS["fig6"]),
    "fig7": ("as Figure 2 with weight decay, small at first", VARIANTS["fig7"]),
    "fig8": ("as Figure 2 on misaligned contrastive data", {"concentration": 0.9}),
}

CONCENTRATIONS: dict[str, tuple[float | None, ...]] = {
    "smoke": (None, 0.9),
    "small": (None, 0.05, 0.1, 0.2, 0.4, 0.9),
    "paper": (None, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.9),
}

# One change at a time to what the paper leaves open, and last a width that d + 1 context classes can span.
CHOICES: dict[str, dict[str, Any]] = {
    "as chosen": {},
    "one head": {"heads": 1},
    "four heads": {"heads": 4},
    "encoder of width 8": {"encoder_width": 8},
    "encoder of width 64": {"encoder_width": 64},
    "feed-forward of 16 widths": {"feed_forward": 16},
    "17 symbols": {"numbers": 17},
    "embeddings of width 6": {"width": 6},
}
OPEN: dict[str, dict[str, dict[str, Any]]] = {
    "smoke": {name: CHOICES[name] for name in ("as chosen", "one head")},
    "small": CHOICES,
    "paper": CHOICES,
}

# Weight decay, initial spread, and in which direction the softmax runs: 0 over contexts, which leaves each
# symbol a free constant, 1 over symbols, which leaves it to the contexts.
CAUSES: dict[str, dict[str, tuple[float, ...]]] = {
    "smoke": {"weight_decay": (0.0,), "symbol_sd": (0.02, 1.0), "by_context": (0.0,)},
    "small": {"weight_decay": (0.0, 1e-2), "symbol_sd": (0.02, 1.0), "by_context": (0.0, 1.0)},
    "paper": {
        "weight_decay": (0.0, 1e-3, 1e-2),
        "symbol_sd": (0.02, 0.1, 0.3, 1.0),
        "by_context": (0.0, 1.0),
    },
}


def common(settings: Settings, varied: str) -> dict[str, Any]:
    """Return what all pieces of a study have in common: its settings but for what it varies."""
    return {name: value for name, value in settings.items() if name != varied}


def of_figure(figure: str) -> dict[str, dict[str, Any]]:
    """Return the settings of one of the paper's figures at each scale."""
    changes = FIGURES[figure][1]
    cut = _WIDE if figure == "fig4" else {}
    return {
        name: {**COMMON, **scale, **changes, **cut.get(name, {})} for name, scale in SCALES.items()
    }


def of_study(**by_scale: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the settings of a study beyond the paper, which varies something of its own at each scale."""
    return {
        name: {**COMMON, "points": 21, **scale}
        | {key: values[name] for key, values in by_scale.items()}
        for name, scale in SCALES.items()
    }
