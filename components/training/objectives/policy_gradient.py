"""The update of a policy-gradient objective: PPO epochs over the turns of an iteration's effective groups.

1. Render each turn's prompt again, and check that it is the prompt that the policy saw.
2. Compare packed with single samples on the first turns; without packing if they differ.
3. Score all turns, and check that trainer and rollout agree: before the first step the ratio is 1, or the run stops.
4. In every epoch shuffle the turns of all groups, or whole trajectories (`rl.shuffle`), cut them into optimiser steps
   of nearly equal size, as near to `rl.batch_turns` as a whole number of steps allows, and take the steps. No remainder
   is dropped. The turns of a step that share a prompt are packed (`components.training.packing`).

The loss of a step is the mean of its turns' losses by their weights, so it does not depend on how the step is cut into
micro-batches or spread over processes.
"""

from __future__ import annotations

import itertools
import math
import random
import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch
from typing_extensions import override

from components.agent import Renderer
from components.model import Encoder, Sample
from components.params import OnlineParams, SamplingParams, Shuffle
from components.rollout import Group
from components.training.agreement import ROUNDING, GapLimits, check_distribution, logprob_gaps, policy_sample
from components.training.forward import CHECKED, PLAIN, Forward, checked_forward, score, token_count
from components.training.images import image_figures, share_images
from components.training.objectives.interface import NO_UPDATE, Objective, UpdateContext, UpdateStats
from components.training.objectives.sft import demonstrations
from components.training.objectives.supervised import WeightedSample
from components.training.objectives.surrogate import Credit, TokenStats, TurnTokens, truncated
from components.training.optim import optimizer_step
from components.training.supervised import add_gradients
from components.training.update_clock import UpdateClock


@dataclass(frozen=True)
class Replay:
    """`weight` times the loss of SFT on `turns` random turns of demonstrations, for each optimiser step."""

    weight: float
    turns: int


class PolicyGradient(Objective):
    """An objective that gives each turn of a group a credit, and each turn a loss."""

    params: OnlineParams
    """The objective's section of the recipe, with the limits of the gap between trainer and rollout."""

    @property
    def epochs(self) -> int:
        """Passes over an iteration's turns."""
        return self.params.passes

    @property
    def tis_cap(self) -> float | None:
        """Cap of the correction for a server that computes otherwise than the trainer (`surrogate.truncated`); None
        corrects nothing. Objectives with a ratio of policies override it."""
        return None

    @property
    def replay(self) -> Replay | None:
        """The demonstrations that each step trains on, too; None: there are none."""
        return None

    @property
    @override
    def needs_reference(self) -> bool:
        return self.params.needs_reference

    @property
    @override
    def needs_demonstrations(self) -> bool:
        return self.replay is not None

    @abstractmethod
    def credits(self, group: Group) -> list[list[Credit | None]]:
        """The credit of each turn of each of `group.episodes`; None for a turn that is not learned from."""

    def iteration_credits(self, groups: Sequence[Group]) -> list[list[list[Credit | None]]]:
        """The credits of each group of an iteration. Objectives whose credits depend on other groups override it."""
        return [self.credits(group) for group in groups]

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
    episode: int
    """The number of its episode among those of the iteration."""
    reference_T: torch.Tensor | None = None
    correction_T: torch.Tensor | None = None


def turn_samples(
    groups: Sequence[Group],
    renderer: Renderer,
    encoder: Encoder,
    objective: PolicyGradient,
) -> list[TurnSample]:
    """All turns of an iteration that the objective learns from, each with its credit.

    Raises:
        TrainerMismatch: a prompt does not render to what the policy saw.
    """
    samples: list[TurnSample] = []
    episodes = itertools.count()
    for group, group_credits in zip(groups, objective.iteration_credits(groups), strict=True):
        for trajectory, turn_credits in zip(group.episodes, group_credits, strict=True):
            episode = next(episodes)
            for turn, credit in zip(trajectory.turns, turn_credits, strict=True):
                if credit is None or not credit.weight:
                    continue
                sample = policy_sample(trajectory, turn, renderer, encoder)
                logprobs_T = torch.tensor(turn.logprobs, device=encoder.device)
                samples.append(TurnSample(sample, logprobs_T, credit, episode))
    return samples


def shuffled(turns: Sequence[TurnSample], unit: Shuffle, rng: random.Random) -> list[TurnSample]:
    """The turns in the order of an epoch; with `trajectories`, those of an episode stay together and in order."""
    if unit == "turns":
        return rng.sample(turns, len(turns))
    episodes = [list(members) for _, members in itertools.groupby(turns, lambda turn: turn.episode)]
    return [turn for episode in rng.sample(episodes, len(episodes)) for turn in episode]


class _PolicyUpdate:
    """One update."""

    def __init__(self, objective: PolicyGradient, context: UpdateContext) -> None:
        self.objective = objective
        self.context = context
        self.rl = context.params.rl
        self.forward = Forward()
        self.replayed: list[Sample] = []

    def run(self, groups: Sequence[Group]) -> UpdateStats:
        context, rl = self.context, self.rl
        vlm, started, clock = context.vlm, time.monotonic(), UpdateClock()
        turns = turn_samples(groups, context.renderer, context.encoder, self.objective)
        if not turns:
            return NO_UPDATE
        vlm.model.eval()
        samples = [turn.sample for turn in turns]
        with clock.encoding():
            share_images(context.encoder, samples, context.workers)
        self.forward, packing_gap = checked_forward(
            vlm, context.encoder, samples, rl.sampling, rl.max_packing_gap, context.workers, clock
        )
        trainer_logprobs = self._score(samples, rl.sampling)
        gap, mean_gap = self._check_agreement(turns, trainer_logprobs)
        turns = self._with_reference_and_correction(turns, trainer_logprobs)
        steps_per_epoch = number_of_steps(len(turns), rl.batch_turns)
        total = steps_per_epoch * self.objective.epochs
        losses: list[float] = []
        norms: list[float] = []
        stats: list[TokenStats] = []
        taught = self._demonstrations()
        vlm.model.train()
        for epoch in range(self.objective.epochs):
            order = shuffled(turns, rl.shuffle, random.Random(f"{context.seed}:{epoch}"))
            for indices in np.array_split(range(len(turns)), steps_per_epoch):
                batch = [order[index] for index in indices]
                replayed = self._replay(taught, len(losses))
                loss, batch_stats = accumulate_gradients(self.objective, context, batch, self.forward)
                with clock.optimizer():
                    norms.append(optimizer_step(context.optimizer, vlm, rl.max_grad_norm))
                losses.append(loss + replayed)
                stats += batch_stats
                context.progress(len(losses), total)
        vlm.model.eval()
        seconds = time.monotonic() - started
        tokens = sum(turn.tokens for turn in stats)
        passes = self.objective.epochs + (1 if context.reference is None else 2)
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
            kl_mean=None if context.reference is None else sum(turn.kl_sum for turn in stats) / tokens,
            grad_norm=sum(norms) / len(norms),
            tokens_per_s=(passes * token_count(samples) + token_count(self.replayed)) / seconds,
            train_s=seconds,
            **asdict(clock),
            **asdict(image_figures(context.encoder, [*samples, *self.replayed], context.workers)),
        )

    def _demonstrations(self) -> list[WeightedSample]:
        """The turns that `replay` draws from."""
        context = self.context
        if self.objective.replay is None:
            return []
        trajectories = demonstrations(context.demonstrations, context.renderer, context.encoder)
        return [turn for turns in trajectories for turn in turns]

    def _replay(self, turns: Sequence[WeightedSample], step: int) -> float:
        """Add this rank's gradient of the demonstrations of a step; `accumulate_gradients` then sums all gradients over
        the ranks. Returns their part of the step's loss."""
        replay, context = self.objective.replay, self.context
        if replay is None or not turns:
            return 0.0
        rng = random.Random(f"{context.seed}:replay:{step}")
        batch = rng.sample(list(turns), min(replay.turns, len(turns)))
        self.replayed += [item.sample for item in batch]
        loss = add_gradients(
            context.vlm,
            context.encoder,
            batch,
            self.rl.micro_batch_tokens,
            self.forward,
            context.workers,
            replay.weight,
        )
        return sum(context.workers.gather([loss]))

    def _score(self, samples: Sequence[Sample], sampling: SamplingParams) -> list[torch.Tensor]:
        context, tokens = self.context, self.rl.micro_batch_tokens
        return score(context.vlm, context.encoder, samples, sampling, tokens, self.forward, context.workers)

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
            plain = self._score([turn.sample for turn in turns[:CHECKED]], PLAIN)
            check_distribution(recorded[:CHECKED], trainer_logprobs[:CHECKED], plain, self.rl.sampling)
        return gap, mean_gap

    def _limits(self) -> GapLimits:
        """The recipe's limits, or those that follow from the dtype."""
        params, tolerances = self.objective.params, self.context.vlm.tolerances
        return GapLimits(
            params.max_logprob_gap or tolerances.logprob,
            params.max_mean_logprob_gap or tolerances.mean_logprob,
            truncation=-math.log(self.rl.top_p),
        )

    def _with_reference_and_correction(
        self, turns: list[TurnSample], trainer_logprobs: Sequence[torch.Tensor]
    ) -> list[TurnSample]:
        """The turns with the reference's log-probabilities and the correction for the server, if there are any."""
        rl, reference = self.rl, self.context.reference
        if reference is not None:
            encoder = self.context.encoder
            if not encoder.vision.is_of(reference):
                encoder = Encoder(reference, self.context.params.model.image_cache)
            reference_logprobs = score(
                reference,
                encoder,
                [turn.sample for turn in turns],
                rl.sampling,
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
        return turns


def number_of_steps(turns: int, batch_turns: int) -> int:
    """The optimiser steps of an epoch: at least one, and else the whole number that is nearest to the quotient."""
    return max(1, round(turns / batch_turns))


def accumulate_gradients(
    objective: PolicyGradient, context: UpdateContext, batch: Sequence[TurnSample], forward: Forward
) -> tuple[float, list[TokenStats]]:
    """Add up the gradient of one optimiser step over micro-batches and ranks; the step's loss, and sums per turn."""
    vlm, encoder, workers, rl = context.vlm, context.encoder, context.workers, context.params.rl
    loss, stats = 0.0, []
    total = sum(turn.credit.weight for turn in batch)
    samples = [turn.sample for turn in batch]
    for indices, counts in workers.split(list(forward.micro_batches(samples, encoder, rl.micro_batch_tokens))):
        with forward.clock.forward(encoder.vision):
            logprobs = forward(vlm, encoder, [samples[index] for index in indices], rl.sampling)
            part = torch.zeros((), device=encoder.device)
            for index, logprobs_T in zip(indices, logprobs, strict=True):
                turn = batch[index]
                tokens = TurnTokens(logprobs_T, turn.logprobs_T, turn.reference_T, turn.correction_T)
                turn_loss, turn_stats = objective.turn_loss(tokens, turn.credit.advantage)
                part = part + turn_loss * turn.credit.weight
                stats += [turn_stats] * counts
            part = part / total * counts
        with forward.clock.backward():
            (part * workers.loss_scale).backward()
            loss += part.item()
    with forward.clock.backward():
        workers.sum_gradients(vlm.trainable())
    return sum(workers.gather([loss])), workers.gather(stats)
