"""Supervised training on responses: behaviour cloning of trajectories, and the judge's rationale and verdict.

Every assistant turn is a target conditioned on its serialized history (`objectives.sft` has the loss). Cosine schedule
with linear warm-up. A step's loss does not depend on how the step is cut into micro-batches.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from components.agent import Renderer
from components.params import OptimParams
from components.policies import VLM, Encoder, Sample
from components.records import Trajectory
from components.training.forward import Forward, checked_forward
from components.training.objectives.sft import part_of_loss
from components.training.optim import optimizer_step
from components.training.team import ALONE, Team


@dataclass(frozen=True)
class Weighted:
    """A sample and how much its tokens count."""

    sample: Sample
    weight: float = 1.0


@dataclass(frozen=True)
class Checked:
    """How training computed: whether it packed, and how far packed and single samples were apart, in nats."""

    packed: bool
    packing_gap: float

    @property
    def figures(self) -> dict[str, float]:
        return {"packed": float(self.packed), "packing_gap": self.packing_gap}


def demonstrations(trajectories: list[Trajectory], renderer: Renderer, encoder: Encoder) -> list[list[Weighted]]:
    """Per trajectory one sample per turn. Text that another model wrote gets this tokenizer's ids, in the history as
    in the target."""
    samples = []
    for trajectory in trajectories:
        turns = [
            turn.model_copy(update={"token_ids": [*encoder.tokens(_target(turn.response, renderer)), encoder.end_id]})
            for turn in trajectory.turns
        ]
        prompts = [renderer.prompt(trajectory.task, turns[: turn.index], turn.observation) for turn in turns]
        samples.append(
            [
                Weighted(Sample(encoder.encode(prompt), turn.token_ids))
                for prompt, turn in zip(prompts, turns, strict=True)
            ]
        )
    return samples


def _target(response: str, renderer: Renderer) -> str:
    """What is learned: all of the response, but for an opening tag that the prompt ends with already."""
    return response.removeprefix("<think>").removeprefix("\n") if renderer.think_prefix else response


def shuffled_as(
    shuffle: Literal["turns", "trajectories"], trajectories: Sequence[Sequence[Weighted]]
) -> list[list[Weighted]]:
    """What `train` shuffles: the turns of each trajectory as one, or every turn by itself."""
    if shuffle == "trajectories":
        return [list(turns) for turns in trajectories]
    return [[turn] for turns in trajectories for turn in turns]


def batches(data: Sequence[Sequence[Weighted]], size: int, seed: int, epoch: int) -> list[list[Weighted]]:
    """An epoch's batches of `size` samples, the last of them of what is left: members of `data` are shuffled, each
    stays in its order, and what follows from that is cut."""
    order = list(range(len(data)))
    random.Random(f"{seed}:{epoch}").shuffle(order)
    samples = [one for index in order for one in data[index]]
    return [samples[begin : begin + size] for begin in range(0, len(samples), size)]


def learning_rate(step: int, steps: int, warmup: float) -> float:
    """The factor of the peak rate at `step` of `steps`, counted from 0: linear warm-up, then cosine to 0."""
    warm = math.ceil(warmup * steps)
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


def train(
    vlm: VLM,
    encoder: Encoder,
    data: Sequence[Sequence[Weighted]],
    params: OptimParams,
    seed: int,
    report: Callable[[int, int, float], None],
    team: Team = ALONE,
) -> Checked:
    """Train in place for `params.epochs`; all processes of a `team` call this alike.

    Args:
        data: samples, in lists that are shuffled as one (`shuffled_as`).
        report: gets step, steps and the step's loss in nats per token.
    """
    samples = [one.sample for several in data for one in several]
    steps = math.ceil(len(samples) / params.batch_size) * params.epochs
    optimizer = torch.optim.AdamW(vlm.trainable(), lr=params.lr, betas=(0.9, 0.98), weight_decay=params.weight_decay)
    vlm.model.eval()  # with dropout, packed and single samples would differ
    forward, gap = checked_forward(vlm, encoder, samples, 1.0, params.max_packing_gap, team)
    vlm.model.train()
    step = 0
    for epoch in range(params.epochs):
        for batch in batches(data, params.batch_size, seed, epoch):
            for group in optimizer.param_groups:
                group["lr"] = params.lr * learning_rate(step, steps, params.warmup)
            loss = _step(vlm, encoder, batch, params, forward, team)
            optimizer_step(optimizer, vlm, params.max_grad_norm)
            step += 1
            report(step, steps, loss)
    vlm.model.eval()
    return Checked(forward.packed, gap)


def _step(
    vlm: VLM, encoder: Encoder, batch: list[Weighted], params: OptimParams, forward: Forward, team: Team = ALONE
) -> float:
    total = sum(item.weight * len(item.sample.response) for item in batch)
    loss = 0.0
    samples = [item.sample for item in batch]
    for group, counts in team.share(list(forward.micro_batches(samples, encoder, params.micro_batch_tokens))):
        scores = forward(vlm, encoder, [samples[index] for index in group])
        part = part_of_loss(scores, [batch[index].weight for index in group], total) * counts
        (part * team.loss_scale).backward()
        loss += part.item()
    team.add_up(vlm.trainable())
    return sum(team.gather([loss]))
