"""One policy update: the turns of an iteration's effective groups, PPO epochs over them with the recipe's objective.

Steps: render each turn's prompt again and check that it is the one the policy saw; hold packing against single samples
on the first turns; score all turns and check that the trainer agrees with the rollout (the ratio is 1 before the first
update, or the run stops); then, every epoch, shuffle the groups, cut their turns into optimiser steps of like size so
that no remainder is dropped, and step. The turns of a group stay together, since they share most of their prompts and
are packed (`components.training.packing`).
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from components.agent import Renderer
from components.params import RLParams
from components.policies import VLM, Encoder, Sample
from components.rollout import Group
from components.training.forward import CHECKED, Forward, checked_forward, score
from components.training.objectives import OBJECTIVES, Credit, TokenStats, TurnTokens, truncated
from components.training.optim import optimizer_step
from components.training.team import ALONE, Team

ROUNDING = 1e-3
"""Nats per token: what float32 rounds is far below."""


class TrainerMismatch(RuntimeError):
    """The trainer does not see what the policy saw. Training on would be training on something else."""


@dataclass(frozen=True)
class TurnSample:
    """One turn that teaches something. `logprobs_T` are the rollout's."""

    sample: Sample
    logprobs_T: torch.Tensor
    credit: Credit
    reference_T: torch.Tensor | None = None
    correction_T: torch.Tensor | None = None


@dataclass(frozen=True)
class UpdateStats:
    """Health of one update. `logprob_gap_max` and `logprob_gap_mean` (trainer and rollout, over tokens) and
    `packing_gap` (packed and single samples) are nats, before the first step, and `packed` is 0 if the latter was too
    much. `tokens_per_s` counts prompts and responses of all turns in each pass over them, as if nothing were shared.
    The rest are means over the steps."""

    turns: int
    steps: int
    logprob_gap_max: float
    logprob_gap_mean: float
    packed: float
    packing_gap: float
    loss: float
    ratio_mean: float
    clip_fraction: float
    kl_mean: float
    grad_norm: float
    tokens_per_s: float
    train_s: float


NO_UPDATE = UpdateStats(
    turns=0,
    steps=0,
    logprob_gap_max=0.0,
    logprob_gap_mean=0.0,
    packed=1.0,
    packing_gap=0.0,
    loss=0.0,
    ratio_mean=1.0,
    clip_fraction=0.0,
    kl_mean=0.0,
    grad_norm=0.0,
    tokens_per_s=0.0,
    train_s=0.0,
)
"""The figures of an iteration that had nothing to learn from."""


def turn_samples(groups: list[Group], renderer: Renderer, encoder: Encoder, params: RLParams) -> list[TurnSample]:
    """All turns that the objective learns from, each with its weight.

    Raises:
        TrainerMismatch: a prompt does not render to what the policy saw.
    """
    samples = []
    for group in groups:
        credits = OBJECTIVES[params.objective].assign_credit(group, params)
        for trajectory, of_turns in zip(group.trajectories, credits, strict=True):
            for turn, credit in zip(trajectory.turns, of_turns, strict=True):
                if credit is None:
                    continue
                prompt = renderer.prompt(trajectory.task, trajectory.turns[: turn.index], turn.observation)
                if prompt.sha256 != turn.prompt_sha256:
                    raise TrainerMismatch(
                        f"turn {turn.index} of {trajectory.trajectory_id} renders differently now; "
                        "agent or observation parameters changed since the rollout: start the stage with a new state"
                    )
                sample = Sample(encoder.encode(prompt), turn.token_ids)
                samples.append(TurnSample(sample, torch.tensor(turn.logprobs, device=encoder.device), credit))
    return samples


def update(
    vlm: VLM,
    encoder: Encoder,
    renderer: Renderer,
    groups: list[Group],
    params: RLParams,
    optimizer: torch.optim.Optimizer,
    seed: int,
    progress: Callable[[int, int], None],
    reference: VLM | None = None,
    team: Team = ALONE,
    stale: bool = False,
) -> UpdateStats:
    """Update in place on the effective groups of one iteration; `seed` decides the order of the turns. `reference` is
    the policy that the objective's KL holds on to, if it has one. All processes of a `team` call this alike. `stale`
    says that the groups were sampled with other weights: then trainer and rollout differ, and by how much is a figure.

    Raises:
        TrainerMismatch: log-probabilities differ from the rollout's by more than `params.max_logprob_gap` on a token,
            or by more than `params.max_mean_logprob_gap` on average, or the rollout's are those before temperature.
    """
    started = time.monotonic()
    by_group = [turn_samples([group], renderer, encoder, params) for group in groups]
    turns = [turn for members in by_group for turn in members]
    vlm.model.eval()
    samples = [turn.sample for turn in turns]
    forward, packing_gap = checked_forward(vlm, encoder, samples, params.temperature, params.max_packing_gap, team)
    before = score(vlm, encoder, samples, params.temperature, params.micro_batch_tokens, forward, team)
    gap, mean_gap = _agreement(turns, before, params, stale)
    if mean_gap > ROUNDING and not stale:
        _check_temperature(vlm, encoder, turns[:CHECKED], before[:CHECKED], params, forward, team)
    by_group = _supplied(by_group, before, params, reference, forward, team)
    per_epoch = math.ceil(len(turns) / params.batch_turns)
    total, steps, losses, norms = per_epoch * params.ppo_epochs, 0, [], []
    stats: list[TokenStats] = []
    vlm.model.train()
    for epoch in range(params.ppo_epochs):
        order = random.Random(f"{seed}:{epoch}").sample(by_group, len(by_group))
        shuffled = [turn for members in order for turn in members]
        for chunk in np.array_split(range(len(turns)), per_epoch):
            batch = [shuffled[index] for index in chunk]
            loss, seen = _accumulate(vlm, encoder, batch, params, forward, team)
            norms.append(optimizer_step(optimizer, vlm, params.max_grad_norm))
            losses.append(loss)
            stats += seen
            steps += 1
            progress(steps, total)
    vlm.model.eval()
    spent = time.monotonic() - started
    tokens = sum(stat.tokens for stat in stats)
    return UpdateStats(
        turns=len(turns),
        steps=steps,
        logprob_gap_max=gap,
        logprob_gap_mean=mean_gap,
        packed=float(forward.packed),
        packing_gap=packing_gap,
        loss=sum(losses) / steps,
        ratio_mean=sum(stat.ratio_sum for stat in stats) / tokens,
        clip_fraction=sum(stat.clipped for stat in stats) / tokens,
        kl_mean=sum(stat.kl_sum for stat in stats) / tokens,
        grad_norm=sum(norms) / steps,
        tokens_per_s=(params.ppo_epochs + 1) * tokens_of(samples) / spent,
        train_s=spent,
    )


def tokens_of(samples: Sequence[Sample]) -> int:
    """Tokens of single turns, prompts included."""
    return sum(len(sample.prompt.ids) + len(sample.response) for sample in samples)


def _agreement(
    turns: list[TurnSample], before: list[torch.Tensor], params: RLParams, stale: bool
) -> tuple[float, float]:
    """The largest gap between trainer and rollout on a token, and the mean gap."""
    gaps = torch.cat([(after - turn.logprobs_T).abs() for after, turn in zip(before, turns, strict=True)])
    gap, mean = gaps.max().item(), gaps.mean().item()
    agree = gap <= params.max_logprob_gap and mean <= params.max_mean_logprob_gap  # NaN is a mismatch too
    if not agree and not (stale and math.isfinite(gap)):
        raise TrainerMismatch(
            f"trainer and rollout differ by {gap:.2e} nats on a token, {mean:.2e} on average, more than "
            "rl.max_logprob_gap or rl.max_mean_logprob_gap: "
            "the server must return log-probabilities after temperature, and see the ids and images the trainer encodes"
        )
    return gap, mean


def _check_temperature(
    vlm: VLM,
    encoder: Encoder,
    turns: list[TurnSample],
    before: list[torch.Tensor],
    params: RLParams,
    forward: Forward,
    team: Team,
) -> None:
    """Refuse log-probabilities that fit a temperature of 1 better than the recipe's: a policy that is sure of most
    tokens stays within the limits with both."""
    samples = [turn.sample for turn in turns]
    plain = score(vlm, encoder, samples, 1.0, params.micro_batch_tokens, forward, team)
    recorded_N = torch.cat([turn.logprobs_T for turn in turns])
    off, off_plain = ((torch.cat(some) - recorded_N).abs().mean().item() for some in (before, plain))
    if off_plain < off / 2:
        raise TrainerMismatch(
            f"the rollout's log-probabilities differ by {off:.2e} nats a token from the trainer's at rl.temperature = "
            f"{params.temperature}, and by {off_plain:.2e} from those before temperature: "
            "the server must return log-probabilities after temperature (vLLM: logprobs_mode processed_logprobs)"
        )


def _supplied(
    by_group: list[list[TurnSample]],
    before: list[torch.Tensor],
    params: RLParams,
    reference: VLM | None,
    forward: Forward,
    team: Team,
) -> list[list[TurnSample]]:
    """The turns with what the objective needs besides: the reference's log-probabilities, the server's correction."""
    turns = [turn for members in by_group for turn in members]
    if reference is not None:
        samples, encoder = [turn.sample for turn in turns], Encoder(reference)
        held = score(reference, encoder, samples, params.temperature, params.micro_batch_tokens, forward, team)
        turns = [replace(turn, reference_T=one) for turn, one in zip(turns, held, strict=True)]
    if params.tis_cap is not None:
        turns = [
            replace(turn, logprobs_T=trainer_T, correction_T=truncated(trainer_T, turn.logprobs_T, params.tis_cap))
            for turn, trainer_T in zip(turns, before, strict=True)
        ]
    left = iter(turns)
    return [[next(left) for _ in members] for members in by_group]


def _accumulate(
    vlm: VLM, encoder: Encoder, batch: list[TurnSample], params: RLParams, forward: Forward, team: Team = ALONE
) -> tuple[float, list[TokenStats]]:
    loss, stats = 0.0, []
    objective, total = OBJECTIVES[params.objective], sum(turn.credit.weight for turn in batch)
    samples = [turn.sample for turn in batch]
    for group, counts in team.share(list(forward.micro_batches(samples, encoder, params.micro_batch_tokens))):
        scores = forward(vlm, encoder, [samples[index] for index in group], params.temperature)
        part = torch.zeros((), device=encoder.device)
        for index, logprobs_T in zip(group, scores, strict=True):
            turn = batch[index]
            tokens = TurnTokens(logprobs_T, turn.logprobs_T, turn.reference_T, turn.correction_T)
            one, seen = objective.turn_loss(tokens, turn.credit.advantage, params)
            part = part + one * turn.credit.weight
            stats += [seen] * counts
        part = part / total * counts
        (part * team.loss_scale).backward()
        loss += part.item()
    team.add_up(vlm.trainable())
    return sum(team.gather([loss])), team.gather(stats)
