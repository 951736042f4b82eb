"""The update of a policy-gradient objective: PPO epochs over the turns of an iteration's effective groups.

1. Render each turn's prompt again, and check that it is the prompt that the policy saw.
2. Compare packed with single samples on the first turns; without packing if they differ.
3. Score all turns, and check that trainer and rollout agree: before the first step the ratio is 1, or the run stops.
4. In every epoch shuffle the groups, cut their turns into optimiser steps of nearly equal size so that no remainder is
   dropped, and take the steps. The turns of a group stay together, since they share most of their prompts and are
   packed (`components.training.packing`).

The loss of a step is the mean of its turns' losses by their weights, so it does not depend on how the step is cut into
micro-batches or spread over processes.
"""

from __future__ import annotations

import math
import random
import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from typing_extensions import override

from components.agent import Renderer
from components.model import Encoder, Sample
from components.params import OnlineParams
from components.rollout import Group
from components.training.agreement import (
    ROUNDING,
    GapLimits,
    TrainerMismatch,
    check_temperature,
    logprob_gaps,
)
from components.training.forward import CHECKED, Forward, checked_forward, score, token_count
from components.training.objectives.interface import Objective, UpdateContext, UpdateStats
from components.training.objectives.surrogate import Credit, TokenStats, TurnTokens, truncated
from components.training.optim import optimizer_step


class PolicyGradient(Objective):
    """An objective that gives each turn of a group a credit, and each turn a loss."""

    params: OnlineParams
    """The objective's section of the recipe, with the limits of the gap between trainer and rollout."""

    @property
    @abstractmethod
    def epochs(self) -> int:
        """Passes over an iteration's turns."""

    @property
    def tis_cap(self) -> float | None:
        """Cap of the correction for a server that computes otherwise than the trainer (`surrogate.truncated`); None
        corrects nothing. Objectives with a ratio of policies override it."""
        return None

    @abstractmethod
    def credits(self, group: Group) -> list[list[Credit | None]]:
        """The credit of each turn of each member; None for a turn that is not learned from."""

    @abstractmethod
    def turn_loss(self, tokens: TurnTokens, advantage: float) -> tuple[torch.Tensor, TokenStats]:
        """The loss of one turn, a scalar averaged over its tokens, and sums for the figures."""

    @override
    def update(self, context: UpdateContext, groups: Sequence[Group]) -> UpdateStats:
        return _PolicyUpdate(self, context).run(groups)


@dataclass(frozen=True)
class TurnSample:
    """One turn that is learned from."""

    sample: Sample
    logprobs_T: torch.Tensor
    """Those of the rollout, in nats."""
    credit: Credit
    reference_T: torch.Tensor | None = None
    correction_T: torch.Tensor | None = None


def turn_samples(
    groups: Sequence[Group], renderer: Renderer, encoder: Encoder, objective: PolicyGradient
) -> list[TurnSample]:
    """All turns that the objective learns from, each with its credit.

    Raises:
        TrainerMismatch: a prompt does not render to what the policy saw.
    """
    samples = []
    for group in groups:
        for trajectory, turn_credits in zip(group.trajectories, objective.credits(group), strict=True):
            for turn, credit in zip(trajectory.turns, turn_credits, strict=True):
                if credit is None:
                    continue
                prompt = renderer.prompt(trajectory.task, trajectory.turns[: turn.index], turn.observation)
                if prompt.sha256 != turn.prompt_sha256:
                    raise TrainerMismatch(
                        f"turn {turn.index} of {trajectory.trajectory_id} renders to another prompt than in the "
                        "rollout: parameters of agent or observation have changed since; start the stage with a new "
                        "state"
                    )
                sample = Sample(encoder.encode(prompt), turn.token_ids)
                samples.append(TurnSample(sample, torch.tensor(turn.logprobs, device=encoder.device), credit))
    return samples


class _PolicyUpdate:
    """One update."""

    def __init__(self, objective: PolicyGradient, context: UpdateContext) -> None:
        self.objective = objective
        self.context = context
        self.rl = context.params.rl
        self.forward = Forward()

    def run(self, groups: Sequence[Group]) -> UpdateStats:
        context, rl = self.context, self.rl
        vlm, started = context.vlm, time.monotonic()
        turns_by_group = [turn_samples([group], context.renderer, context.encoder, self.objective) for group in groups]
        turns = [turn for members in turns_by_group for turn in members]
        vlm.model.eval()
        samples = [turn.sample for turn in turns]
        self.forward, packing_gap = checked_forward(
            vlm, context.encoder, samples, rl.temperature, rl.max_packing_gap, context.workers
        )
        trainer_logprobs = self._score(samples, rl.temperature)
        gap, mean_gap = self._check_agreement(turns, trainer_logprobs)
        turns_by_group = self._with_reference_and_correction(turns_by_group, trainer_logprobs)
        steps_per_epoch = math.ceil(len(turns) / rl.batch_turns)
        total, losses, norms = steps_per_epoch * self.objective.epochs, [], []
        stats: list[TokenStats] = []
        vlm.model.train()
        for epoch in range(self.objective.epochs):
            order = random.Random(f"{context.seed}:{epoch}").sample(turns_by_group, len(turns_by_group))
            shuffled = [turn for members in order for turn in members]
            for indices in np.array_split(range(len(turns)), steps_per_epoch):
                batch = [shuffled[index] for index in indices]
                loss, batch_stats = accumulate_gradients(self.objective, context, batch, self.forward)
                norms.append(optimizer_step(context.optimizer, vlm, rl.max_grad_norm))
                losses.append(loss)
                stats += batch_stats
                context.progress(len(losses), total)
        vlm.model.eval()
        seconds = time.monotonic() - started
        tokens = sum(turn.tokens for turn in stats)
        return UpdateStats(
            turns=len(turns),
            steps=len(losses),
            logprob_gap_max=gap,
            logprob_gap_mean=mean_gap,
            packed=float(self.forward.packed),
            packing_gap=packing_gap,
            loss=sum(losses) / len(losses),
            ratio_mean=sum(turn.ratio_sum for turn in stats) / tokens,
            clip_fraction=sum(turn.clipped for turn in stats) / tokens,
            kl_mean=sum(turn.kl_sum for turn in stats) / tokens,
            grad_norm=sum(norms) / len(norms),
            tokens_per_s=(self.objective.epochs + 1) * token_count(samples) / seconds,
            train_s=seconds,
        )

    def _score(self, samples: Sequence[Sample], temperature: float) -> list[torch.Tensor]:
        context, tokens = self.context, self.rl.micro_batch_tokens
        return score(context.vlm, context.encoder, samples, temperature, tokens, self.forward, context.workers)

    def _check_agreement(
        self, turns: Sequence[TurnSample], trainer_logprobs: Sequence[torch.Tensor]
    ) -> tuple[float, float]:
        """The largest and the mean gap in nats between trainer and rollout.

        Raises:
            TrainerMismatch: they differ by more than the recipe allows, and the rollout's weights were the trainer's.
        """
        recorded = [turn.logprobs_T for turn in turns]
        gap, mean_gap = logprob_gaps(recorded, trainer_logprobs, self._limits(), self.context.stale)
        if mean_gap > ROUNDING and not self.context.stale:
            plain = self._score([turn.sample for turn in turns[:CHECKED]], 1.0)
            check_temperature(recorded[:CHECKED], trainer_logprobs[:CHECKED], plain, self.rl.temperature)
        return gap, mean_gap

    def _limits(self) -> GapLimits:
        """The recipe's limits, or those that follow from the dtype."""
        params, tolerances = self.objective.params, self.context.vlm.tolerances
        return GapLimits(
            params.max_logprob_gap or tolerances.logprob, params.max_mean_logprob_gap or tolerances.mean_logprob
        )

    def _with_reference_and_correction(
        self, turns_by_group: list[list[TurnSample]], trainer_logprobs: Sequence[torch.Tensor]
    ) -> list[list[TurnSample]]:
        """The turns with the reference's log-probabilities and the correction for the server, if there are any."""
        turns, rl, reference = [turn for members in turns_by_group for turn in members], self.rl, self.context.reference
        if reference is not None:
            reference_logprobs = score(
                reference,
                Encoder(reference),
                [turn.sample for turn in turns],
                rl.temperature,
                rl.micro_batch_tokens,
                self.forward,
                self.context.workers,
            )
            turns = [
                replace(turn, reference_T=reference_T)
                for turn, reference_T in zip(turns, reference_logprobs, strict=True)
            ]
        cap = self.objective.tis_cap
        if cap is not None:
            turns = [
                replace(turn, logprobs_T=trainer_T, correction_T=truncated(trainer_T, turn.logprobs_T, cap))
                for turn, trainer_T in zip(turns, trainer_logprobs, strict=True)
            ]
        remaining = iter(turns)
        return [[next(remaining) for _ in members] for members in turns_by_group]


def accumulate_gradients(
    objective: PolicyGradient, context: UpdateContext, batch: Sequence[TurnSample], forward: Forward
) -> tuple[float, list[TokenStats]]:
    """Add up the gradient of one optimiser step over micro-batches and ranks; the step's loss, and sums per turn."""
    vlm, encoder, workers, rl = context.vlm, context.encoder, context.workers, context.params.rl
    loss, stats = 0.0, []
    total = sum(turn.credit.weight for turn in batch)
    samples = [turn.sample for turn in batch]
    for indices, counts in workers.split(list(forward.micro_batches(samples, encoder, rl.micro_batch_tokens))):
        logprobs = forward(vlm, encoder, [samples[index] for index in indices], rl.temperature)
        part = torch.zeros((), device=encoder.device)
        for index, logprobs_T in zip(indices, logprobs, strict=True):
            turn = batch[index]
            tokens = TurnTokens(logprobs_T, turn.logprobs_T, turn.reference_T, turn.correction_T)
            turn_loss, turn_stats = objective.turn_loss(tokens, turn.credit.advantage)
            part = part + turn_loss * turn.credit.weight
            stats += [turn_stats] * counts
        part = part / total * counts
        (part * workers.loss_scale).backward()
        loss += part.item()
    workers.sum_gradients(vlm.trainable())
    return sum(workers.gather([loss])), workers.gather(stats)
