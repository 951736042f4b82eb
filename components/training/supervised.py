"""Supervised training on weighted samples: behaviour cloning, judge distillation, rounds of rejection fine-tuning.

`objectives.supervised` has the loss. The learning rate warms up linearly and follows a cosine to 0. The loss of a step
does not depend on how the step is cut into micro-batches.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import torch

from components.model import VLM, Encoder
from components.params import OptimParams, Params
from components.records import Trajectory
from components.training.forward import PLAIN, Forward, checked_forward
from components.training.objectives.supervised import SupervisedObjective, WeightedSample
from components.training.optim import adamw, optimizer_step
from components.training.sharding import shard, whole_state
from components.training.training_state import SupervisedCheckpoint
from components.training.update_clock import UpdateClock
from components.training.workers import SINGLE_PROCESS, Workers

LossReport = Callable[[int, int, float], None]
"""Gets step, steps and the step's loss in nats per token."""


def no_report(step: int, steps: int, loss: float) -> None:
    """Ignores the losses."""


@dataclass(frozen=True)
class PackingCheck:
    """Whether training packed its samples, and how far packed and single samples were apart, in nats."""

    packed: bool
    packing_gap: float

    @property
    def figures(self) -> dict[str, float]:
        """Both as figures of a stage's result."""
        return {"packed": float(self.packed), "packing_gap": self.packing_gap}


class TrainingHealth(NamedTuple):
    """How supervised training went."""

    packing: PackingCheck
    grad_norms: list[float]
    """The norm of the gradient in each step before clipping; not of steps before a checkpoint from which it went on."""


@dataclass(frozen=True)
class TrainedModel:
    """What supervised training leaves on the main process."""

    vlm: VLM
    state: dict[str, torch.Tensor] | None
    """The whole state of a sharded model; None if the model is not sharded."""
    trajectories: int
    samples: int
    packing: PackingCheck


def train_model(
    workers: Workers,
    base: str,
    params: Params,
    optim: OptimParams,
    objective: SupervisedObjective,
    trajectories: Sequence[Trajectory],
    report: LossReport = no_report,
    checkpoint: Path | None = None,
) -> TrainedModel:
    """Load a base model, train it on what the objective makes of the trajectories, and return it. All ranks call this
    alike.

    Args:
        checkpoint: the file from which training goes on if it was killed, and which it writes; None for none.
    """
    torch.manual_seed(params.seed)
    vlm = VLM.load(base, params.model, train=True)
    vlm.prepare(params.model, params.seed)
    if params.training.shard and workers.size > 1:
        shard(vlm, workers)
    encoder = Encoder(vlm, params.model.image_cache)
    data = objective.samples(trajectories, encoder)
    saved = None if checkpoint is None else SupervisedCheckpoint(checkpoint, workers)
    health = train(vlm, encoder, data, optim, params.seed, report, workers, checkpoint=saved)
    return TrainedModel(vlm, whole_state(vlm), len(trajectories), sum(map(len, data)), health.packing)


def train(
    vlm: VLM,
    encoder: Encoder,
    data: Sequence[Sequence[WeightedSample]],
    params: OptimParams,
    seed: int,
    report: LossReport,
    workers: Workers = SINGLE_PROCESS,
    clock: UpdateClock | None = None,
    checkpoint: SupervisedCheckpoint | None = None,
) -> TrainingHealth:
    """Train in place for `params.epochs`. All ranks call this alike.

    Args:
        data: samples, in lists whose members stay together and in order when an epoch is shuffled.
        seed: decides the order of each epoch.
        clock: measures the work.
        checkpoint: where to go on from, and to write to. `report` gets the losses of the steps before, too.

    Raises:
        Diverged: a gradient is not finite.
    """
    samples = [item.sample for unit in data for item in unit]
    steps = math.ceil(len(samples) / params.batch_size) * params.epochs
    optimizer = adamw(vlm, params.lr, params.betas, params.weight_decay)
    vlm.model.eval()  # with dropout, packed and single samples would differ
    forward, gap = checked_forward(vlm, encoder, samples, PLAIN, params.max_packing_gap, workers, clock)
    vlm.model.train()
    losses = [] if checkpoint is None else checkpoint.restore(vlm, optimizer, steps)
    norms: list[float] = []
    for step, loss in enumerate(losses, 1):
        report(step, steps, loss)
    epochs = (batches(data, params.batch_size, seed, epoch) for epoch in range(params.epochs))
    for batch in islice(chain.from_iterable(epochs), len(losses), None):
        for group in optimizer.param_groups:
            group["lr"] = params.lr * learning_rate(len(losses), steps, params.warmup)
        noise = f"{seed}:{len(losses)}" if vlm.has_lora else None
        loss = accumulate_gradients(vlm, encoder, batch, params.micro_batch_tokens, forward, workers, noise)
        with forward.clock.optimizer():
            norms.append(optimizer_step(optimizer, vlm, params.max_grad_norm))
        losses.append(loss)
        report(len(losses), steps, loss)
        if checkpoint is not None:
            checkpoint.save_if_due(vlm, optimizer, steps, losses)
    vlm.model.eval()
    return TrainingHealth(PackingCheck(forward.packed, gap), norms)


def batches(data: Sequence[Sequence[WeightedSample]], size: int, seed: int, epoch: int) -> list[list[WeightedSample]]:
    """An epoch's batches of `size` samples; the last one may be smaller. The lists of `data` are shuffled, each stays
    in its order, and the samples in the resulting order are cut into batches."""
    order = list(range(len(data)))
    random.Random(f"{seed}:{epoch}").shuffle(order)
    samples = [item for index in order for item in data[index]]
    return [samples[begin : begin + size] for begin in range(0, len(samples), size)]


def learning_rate(step: int, steps: int, warmup: float) -> float:
    """The factor of the peak rate at `step` of `steps`, counted from 0: linear warm-up, then cosine to 0."""
    warm = math.ceil(warmup * steps)
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


def accumulate_gradients(
    vlm: VLM,
    encoder: Encoder,
    batch: Sequence[WeightedSample],
    micro_batch_tokens: int,
    forward: Forward,
    workers: Workers = SINGLE_PROCESS,
    noise: str | None = None,
) -> float:
    """Add up the gradient of one optimiser step over micro-batches and ranks; the step's loss in nats per token.

    Args:
        noise: names the step, from which follows what dropout leaves out; None if the model has none.
    """
    loss = add_gradients(vlm, encoder, batch, micro_batch_tokens, forward, workers, noise=noise)
    with forward.clock.backward():
        workers.sum_gradients(vlm.trainable())
    return sum(workers.gather([loss]))


def add_gradients(
    vlm: VLM,
    encoder: Encoder,
    batch: Sequence[WeightedSample],
    micro_batch_tokens: int,
    forward: Forward,
    workers: Workers,
    scale: float = 1.0,
    noise: str | None = None,
) -> float:
    """Add this rank's part of the gradient of a batch, times `scale`; its part of the loss, times `scale`.

    Args:
        noise: as for `accumulate_gradients`. Each micro-batch has dropout of its own, whichever rank computes it.
    """
    total = sum(len(item.sample.response) for item in batch) / scale
    loss = 0.0
    samples = [item.sample for item in batch]
    micro_batches = list(enumerate(forward.micro_batches(samples, encoder, micro_batch_tokens)))
    for (number, indices), counts in workers.split(micro_batches):
        if noise is not None:
            torch.manual_seed(random.Random(f"{noise}:{number}").getrandbits(63))
        with forward.clock.forward(encoder.vision):
            logprobs = forward(vlm, encoder, [samples[index] for index in indices])
            part = part_of_loss(logprobs, [batch[index].weight for index in indices], total) * counts
        with forward.clock.backward():
            (part * workers.loss_scale).backward()
            loss += part.item()
    return loss


def part_of_loss(logprobs: Sequence[torch.Tensor], weights: Sequence[float], total: float) -> torch.Tensor:
    """What some samples add to the loss of their step, a scalar in nats per token.

    Args:
        logprobs: of each sample's response, (T,).
        weights: one for each sample.
        total: the number of response tokens of the step.
    """
    zero = torch.zeros((), device=logprobs[0].device)
    parts = (weight * logprobs_T.sum() for weight, logprobs_T in zip(weights, logprobs, strict=True))
    return -sum(parts, zero) / total
