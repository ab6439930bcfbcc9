"""Training the population of Figure 9, and what is measured on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.reproduce.semantic_learners.figure9.pairs import distances, followed

if TYPE_CHECKING:
    from samespace.reproduce.registry import Context, Settings
    from samespace.reproduce.semantic_learners.figure9.corpus import Corpus

BAND = (0.1, 0.9)
"""The band over pairs: quantiles of their distances."""

_HELD_OUT = 50  # one sentence in so many


def trained(settings: Settings, corpus: Corpus, context: Context) -> tuple[Any, dict[str, Any]]:
    """Train all seeds as one; return the symbol tables (members, words, d) and the curves."""
    import torch

    from samespace.learn.streams import WorldStream
    from samespace.learn.training import Recipe, train

    seeds = list(range(settings["seeds"]))
    model = population(settings, len(corpus.names), seeds, context.device)
    text, held_out = _texts(corpus, settings["longest"], context.device)
    stream = WorldStream(
        [lambda generator: text.draw(settings["ahead"] * settings["batch"], generator)]
        * len(seeds),
        seeds,
        ahead=settings["ahead"],
        device=context.device,
    )
    measure = _Measure(corpus, held_out, settings, context.device)
    with torch.no_grad():
        before = measure(model)
    history = train(
        model,
        stream,
        lambda model, batch: model(batch),
        Recipe(
            steps=settings["steps"],
            learning_rate=settings["learning_rate"],
            warmup=settings["warmup"],
            optimiser="adamw",
            weight_decay=settings["weight_decay"],
        ),
        evaluate=measure,
        every=settings["every"],
        checkpoint=context.workspace / "unfinished.pt",
        seconds=60.0,
        progress=_briefly(context),
    )
    scores = [before, *history.scores]
    curves = {name: [_six(one[name]) for one in scores] for name in before}
    return model.symbols(), {
        "samples": [step * settings["batch"] for step in (0, *history.steps)],
        "training_loss": [_six(losses) for losses in history.losses],
        **curves,
    }


def population(settings: Settings, words: int, seeds: list[int], device: str) -> Any:
    """Return the models; on a GPU the encoders compute in bfloat16."""
    import torch

    from samespace.learn.stacked_transformer import Shape
    from samespace.learn.text_contexts import TextModels

    shape = Shape(
        tokens=words,
        length=settings["longest"],
        width=settings["encoder_width"],
        outputs=settings["width"],
        layers=settings["layers"],
        heads=settings["heads"],
        feed_forward=settings["feed_forward"] * settings["encoder_width"],
        read="given",
    )
    on_gpu = device.startswith("cuda")
    return TextModels(
        shape,
        seeds=seeds,
        symbol_sd=settings["symbol_sd"],
        precision=torch.bfloat16 if on_gpu else torch.float32,
        device=device,
    )


def _texts(corpus: Corpus, longest: int, device: str) -> tuple[Any, Any]:
    """Return the sentences to train on and those held out, on the device."""
    from samespace.learn.text_contexts import Sentences

    apart = np.arange(len(corpus.lengths)) % _HELD_OUT == 0
    return tuple(  # type: ignore[return-value]  # two of them
        Sentences(
            corpus.tokens[np.repeat(chosen, corpus.lengths)],
            corpus.lengths[chosen],
            corpus.maskable,
            longest=longest,
            device=device,
        )
        for chosen in (~apart, apart)
    )


class _Measure:
    """Distances of the followed pairs, and the loss on words that nobody trains on."""

    def __init__(self, corpus: Corpus, held_out: Any, settings: Settings, device: str) -> None:
        import torch

        from samespace.worlds.samples import stack

        self._pairs = followed(corpus)
        generator = torch.Generator(device=device).manual_seed(1_000_000)
        self._batch = stack([held_out.draw(settings["batch"], generator)] * settings["seeds"])

    def __call__(self, model: Any) -> Mapping[str, list[float]]:
        import torch

        found = {"held_out_loss": model(self._batch).tolist()}
        for kind, pairs in self._pairs.items():
            apart = distances(model.symbols(), pairs).double()
            low, high = torch.quantile(apart, torch.tensor(BAND).to(apart), dim=1)
            parts = {"mean": apart.mean(dim=1), "low": low, "high": high}
            found |= {f"{kind} {name}": part.tolist() for name, part in parts.items()}
        return found


def _briefly(context: Context) -> Any:
    """Leave the scores out of the progress line: there are ten of them for every member."""
    told = context.progress
    return None if told is None else lambda stage, done, total: told("training", done, total)


def _six(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else float(f"{value:.6g}") for value in values]
