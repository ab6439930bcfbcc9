"""One run of a table: make the worlds, train the encoders, score what they recovered."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from samespace.compare import compare
from samespace.errors import OptionError
from samespace.learn.baselines import mean_squared_error
from samespace.learn.contrastive import contrastive
from samespace.learn.encoders import BoxHead, SphereHead, StackedMLP, generators_of
from samespace.learn.similarity import DotProduct, PowerDistance
from samespace.learn.streams import WorldStream
from samespace.learn.training import Recipe, train
from samespace.measures import mcc, r2
from samespace.reproduce.registry import Context, Piece, Settings
from samespace.reproduce.zimmermann_2021.watch import Watch
from samespace.worlds.latent import LatentWorld
from samespace.worlds.laws import GeneralisedNormal, Law, Uniform
from samespace.worlds.mixing import Mixing
from samespace.worlds.samples import Observed, Pairs
from samespace.worlds.spaces import Box, Space, Sphere, Unbounded
from samespace.worlds.vmf import VonMisesFisher

if TYPE_CHECKING:
    from torch import Tensor, nn

    Represent = Callable[[Tensor], Tensor]

_EVALUATIONS = 20
"""How often members are scored while they train."""

_SPACES: Mapping[str, Callable[[int], Space]] = {
    "sphere": Sphere,
    "box": Box,
    "unbounded": Unbounded,
}


def run(piece: Piece, context: Context) -> dict[str, Any]:
    """Return, per seed, the scores and the verdict of one run."""
    settings = piece.settings
    worlds = [world_of(settings, seed, context.device) for seed in settings["seeds"]]
    represent: Represent = torch.nn.Identity()
    watched: dict[str, Any] = {}
    if settings["column"] != "identity":
        watch = Watch(partial(_glance, worlds=worlds, settings=settings, device=context.device))
        represent = _trained(piece, worlds, watch, context)
        watched = {"training": watch.story}
    members = zip(settings["seeds"], worlds, strict=True)
    scored = [
        {"seed": seed} | _score(k, world, represent, settings, context.device)
        for k, (seed, world) in enumerate(members)
    ]
    return {"members": scored, **watched}


def world_of(settings: Settings, seed: int, device: str) -> LatentWorld:
    """Make the world of one seed: its own mixing, the same for every column and row."""
    return latent_world(settings, _mixing(settings["n"], seed, settings["pool"]).to(device))


def latent_world(settings: Settings, mixing: Callable[[Tensor], Tensor]) -> LatentWorld:
    """Make the world of a row, observed through a mixing."""
    return LatentWorld(
        space=_SPACES[settings["space"]](settings["n"]),
        marginal=law_of(settings["marginal"]),
        conditional=law_of(settings.get("conditional", "uniform")),
        mixing=mixing,
    )


@cache
def _mixing(n: int, seed: int, pool: int) -> Mixing:
    [generator] = generators_of([seed], stream=3)
    return Mixing.filtered(n, generator, pool=pool)


def law_of(described: str) -> Law:
    """Return the law that the published table names: "uniform", "vmf(kappa=1)", "gennorm3(0.05)"."""
    found = re.fullmatch(r"([a-z]+)(\d*)(?:\((?:kappa=)?([\d.]+)\))?", described)
    name, p, number = found.groups() if found else ("", "", None)
    size = float(number) if number else 1.0
    if name == "uniform":
        return Uniform()
    if name == "vmf":
        return VonMisesFisher(kappa=size)
    if name == "normal":
        return GeneralisedNormal.normal(size)
    if name == "laplace":
        return GeneralisedNormal.laplace(size)
    if name == "gennorm":
        return GeneralisedNormal(p=float(p), scale=size)
    raise OptionError(
        f"No law is called {described!r}; write uniform, vmf(kappa=1), normal(0.05), laplace(0.05) or "
        "gennorm3(0.05)."
    )


def _trained(piece: Piece, worlds: list[LatentWorld], watch: Watch, context: Context) -> nn.Module:
    """Train one encoder per seed, all stacked, from wherever an earlier call was killed."""
    settings = piece.settings
    encoder = _encoder(settings).to(context.device)
    stream = WorldStream(
        [_draw(world, settings) for world in worlds],
        settings["seeds"],
        ahead=settings["ahead"],
        device=context.device,
    )
    supervised = settings["column"] == "supervised"
    recipe = Recipe(**settings["training"])
    every = max(1, recipe.steps // _EVALUATIONS)
    temperature = torch.ones(len(worlds), device=context.device)
    history = train(
        encoder,
        stream,
        _supervised if supervised else _unsupervised(settings["model_p"], temperature),
        recipe,
        before_step=_cooling(temperature, settings, recipe.steps),
        evaluate=watch,
        every=every,
        checkpoint=context.workspace / "checkpoint.pt",
        captured=context.device.startswith("cuda"),
        progress=context.progress,
    )
    watch.close(history, every)
    return encoder.eval()


def _glance(
    encoder: nn.Module, *, worlds: list[LatentWorld], settings: Settings, device: str
) -> dict[str, list[float]]:
    """Return the members' published scores on one fresh batch, to be seen while they train."""
    scores: dict[str, list[float]] = {"R2": [], "MCC": []}
    for k, world in enumerate(worlds):
        [generator] = generators_of([settings["seeds"][k]], stream=5, device=device)
        drawn = world.observed(settings["scored"][1], generator)
        pair = _of_member(encoder, drawn.x, k, settings), drawn.z.cpu().numpy()
        scores["R2"].append(r2(*pair, held_out=False).mean)
        scores["MCC"].append(mcc(*pair, held_out=False).mean)
    return scores


def _encoder(settings: Settings) -> StackedMLP:
    n, seeds = settings["n"], settings["seeds"]
    heads = {
        "sphere": SphereHead(),
        "box": BoxHead(len(seeds), n, start=settings["bound"]),
        "unbounded": None,
    }
    return StackedMLP(
        seeds,
        [n, *settings["widths"], n],
        head=heads[settings["model_space"]],
        initial=settings["initial"],
        precision=settings["precision"],
    )


def _draw(world: LatentWorld, settings: Settings) -> Callable[[torch.Generator], Any]:
    rows = settings["batch"] * settings["ahead"]
    if settings["column"] == "supervised":
        return partial(world.observed, rows)
    return partial(world.pairs, rows, positives=settings["positives"])


def _supervised(encoder: nn.Module, batch: Observed) -> Tensor:
    return mean_squared_error(encoder(batch.x), batch.z)


def _cooling(temperature: Tensor, settings: Settings, steps: int) -> Callable[[int], None] | None:
    """Return what leads the temperature from where a row's training starts to the paper's 1.

    It stays at its start for six tenths of the steps and is 1 in the last twentieth; between, it rises
    by equal factors.
    """
    start = settings.get("temperature", 1.0)
    if start == 1.0:
        return None

    def set_temperature(step: int) -> None:
        to_go = min(1.0, max(0.0, (0.95 - step / steps) / (0.95 - 0.6)))
        temperature.fill_(start**to_go)

    return set_temperature


def _unsupervised(p: int, temperature: Tensor) -> Callable[[nn.Module, Pairs], Tensor]:
    """Return the released program's loss: the negatives are the batch's own anchors, tau = 1.

    Of several positives each is a pair of its own.
    """
    similarity = DotProduct() if p == 0 else PowerDistance(p)

    def loss(encoder: nn.Module, batch: Pairs) -> Tensor:
        rows, of_anchors = batch.x.shape[1], batch.x_positive.shape[1:-1]
        found = encoder(torch.cat([batch.x, batch.x_positive.flatten(1, -2)], dim=1))
        anchors, positives = found[:, :rows], found[:, rows:].unflatten(1, of_anchors)
        each = contrastive(
            anchors,
            positives,
            anchors,
            similarity=similarity,
            temperature=temperature,
            apart=True,
        )
        return each.mean(-1)

    return loss


def _score(
    k: int, world: LatentWorld, represent: Represent, settings: Settings, device: str
) -> dict[str, Any]:
    """Score one member as published, on the mean of fresh batches, and compare it as samespace does."""
    batches, rows = settings["scored"]
    [generator] = generators_of([settings["seeds"][k]], stream=4, device=device)
    drawn = [world.observed(rows, generator) for _ in range(batches)]
    with torch.no_grad():
        pairs = [(_of_member(represent, one.x, k, settings), one.z.cpu().numpy()) for one in drawn]
    affine, matched = [r2(*pair) for pair in pairs], [mcc(*pair) for pair in pairs]
    h, z = (np.concatenate(side) for side in zip(*pairs, strict=True))
    result = compare(h, z, names=("representation", "latents"))
    return {
        "r2": np.mean([one.mean for one in affine]),
        "r2_held_out": np.mean([one.held_out_mean for one in affine]),
        "mcc": np.mean([one.mean for one in matched]),
        "mcc_held_out": np.mean([one.held_out_mean for one in matched]),
        "verdict": result.verdict.name,
        "reason": result.verdict.reason,
        "unexplained": {one.name: one.unexplained for one in result.classes},
        "map": result.affine.map.matrix if result.affine.map is not None else None,
    }


def _of_member(represent: Represent, x: Tensor, k: int, settings: Settings) -> np.ndarray:
    """Return what member k makes of observations: the others see them too, and are not looked at."""
    return represent(x.expand(len(settings["seeds"]), *x.shape))[k].cpu().numpy()
