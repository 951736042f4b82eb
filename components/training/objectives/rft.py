"""Rejection fine-tuning: supervised training on selected attempts (BrowserAgent, sections 2.4 and B.5).

    D    = { tau_q : q is mixed }  and a random share of the demonstrations
    loss = that of `objectives.sft` over the turns of D

The share is `rl.objective.demonstrations`; the paper's is 0.8.
A question q is mixed if some of its scored attempts are right and some are wrong (the paper samples 4); tau_q is the
right one with most turns (`tasks.curation`). With `rl.objective.name: rft` an iteration is a round: it samples groups,
selects from all of them, also from those that are not mixed, and trains on D. A round with an empty D changes
nothing. `rl.objective.epochs` are the epochs, `rl.batch_turns` the batch, `sft.warmup` the schedule's warm-up and
`sft.shuffle` what is shuffled; each round has a schedule and an optimiser of its own. The policy's own turns are
trained on by the ids that it sampled, a teacher's by this tokenizer's ids of its text.

Deviations: The paper has one round; more of them are expert iteration, and the phases of the horizon are rounds, too.
Of equally long attempts the first is taken; the paper does not mention them. The paper leaves out attempts that a
string match finds ill-formed; here a right attempt's last turn always parses. The paper draws 400 questions of one
source and 673 of another; here `rl.objective.max_per_source` draws from the `rl.effective_groups` of a round.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import ClassVar, Self

from typing_extensions import override

from components.agent import Renderer
from components.model import Encoder
from components.params import OptimParams, Params, RFTParams
from components.records import Task, Trajectory
from components.rollout import Group, SampledGroups
from components.tasks import SELECTION, Funnel, curate_rft, mix
from components.training.agreement import policy_sample
from components.training.forward import token_count
from components.training.images import image_figures, share_images
from components.training.objectives.interface import (
    NO_UPDATE,
    Objective,
    UpdateContext,
    UpdateStats,
)
from components.training.objectives.sft import demonstrations, shuffle_units
from components.training.objectives.supervised import WeightedSample
from components.training.supervised import train
from components.training.update_clock import UpdateClock


@dataclass(frozen=True)
class RFT(Objective):
    """One right attempt of each mixed question, and a share of the demonstrations."""

    name: ClassVar[str] = "rft"
    params: RFTParams = field(default_factory=RFTParams)
    seed: int = 0

    @classmethod
    @override
    def from_params(cls, params: Params) -> Self:
        section = params.rl.objective
        assert isinstance(section, RFTParams)
        return cls(section, params.sampling_seed)

    @property
    @override
    def needs_demonstrations(self) -> bool:
        return True

    @override
    def problem(self, tasks: Sequence[Task]) -> str | None:
        sources = {task.source for task in tasks}
        unknown = sorted({*(self.params.max_per_source or {})} - sources)
        if not unknown:
            return None
        return (
            f"rl.objective.max_per_source limits {', '.join(unknown)}, and no task of the RL pool is from there: "
            f"correct the name, or leave it out; the sources are {', '.join(sorted(sources))}"
        )

    @override
    def can_learn_from(self, rewards: Sequence[float]) -> bool:
        """The question is mixed. Rewards of right attempts may differ by `rl.action_cost`, and those of wrong ones by
        `rl.format_error`; that alone teaches nothing."""
        is_right = [value > 0 for value in rewards]
        return any(is_right) and not all(is_right)

    @override
    def training_groups(self, sampled: SampledGroups) -> list[Group]:
        return sampled.groups

    @override
    def update(self, context: UpdateContext, groups: Sequence[Group]) -> UpdateStats:
        params, rl, started = context.params, context.params.rl, time.monotonic()
        chosen, _ = select(groups, self.params.max_per_source, context.seed)
        mixed_in, _ = mix([], context.demonstrations, self.params.demonstrations, context.seed)
        trajectories = [
            *sampled_turns(chosen, context.renderer, context.encoder),
            *demonstrations(mixed_in, context.renderer, context.encoder),
        ]
        data = shuffle_units(params.sft.shuffle, trajectories)
        samples = [turn.sample for turns in trajectories for turn in turns]
        if not samples:
            return NO_UPDATE
        clock = UpdateClock()
        with clock.encoding():
            share_images(context.encoder, samples, context.workers)
        losses: list[float] = []

        def report(step: int, steps: int, loss: float) -> None:
            losses.append(loss)
            context.progress(step, steps)

        optim = OptimParams(
            epochs=self.params.epochs,
            lr=rl.lr,
            betas=rl.betas,
            batch_size=rl.batch_turns,
            micro_batch_tokens=rl.micro_batch_tokens,
            max_packing_gap=rl.max_packing_gap,
            warmup=params.sft.warmup,
            weight_decay=rl.weight_decay,
            max_grad_norm=rl.max_grad_norm,
        )
        trained = train(context.vlm, context.encoder, data, optim, context.seed, report, context.workers, clock)
        seconds = time.monotonic() - started
        return UpdateStats(
            turns=len(samples),
            steps=len(losses),
            **trained.packing.figures,
            loss=sum(losses) / len(losses),
            grad_norm=sum(trained.grad_norms) / len(trained.grad_norms),
            tokens_per_s=self.params.epochs * token_count(samples) / seconds,
            train_s=seconds,
            **asdict(clock),
            **asdict(image_figures(context.encoder, samples, context.workers)),
        )

    @override
    def selection(self, groups: Sequence[Group]) -> Funnel:
        return select(groups, self.params.max_per_source, self.seed)[1]

    @override
    def summary(self, figures: Mapping[str, float]) -> str:
        prefix = SELECTION if f"{SELECTION}chosen" in figures else "rft_"  # as in checkpoints of earlier versions
        return f"chosen {figures[f'{prefix}chosen']:.0f} of {figures[f'{prefix}attempts']:.0f} attempts"


def select(
    groups: Sequence[Group], max_per_source: Mapping[str, int] | None, seed: int
) -> tuple[list[Trajectory], Funnel]:
    """The longest right trajectory of each mixed group, of equally long ones the first attempt; and the funnel of all
    attempts. `seed` draws at most `max_per_source` of a source."""
    trajectories = [trajectory for group in groups for trajectory in group.trajectories]
    rewards = [reward for group in groups for reward in group.rewards]
    return curate_rft(trajectories, rewards, max_per_source, seed)


def sampled_turns(
    trajectories: Sequence[Trajectory], renderer: Renderer, encoder: Encoder
) -> list[list[WeightedSample]]:
    """Per trajectory one sample per turn of the policy itself, by the token ids that it sampled.

    Raises:
        TrainerMismatch: a prompt does not render to what the policy saw.
    """
    return [
        [WeightedSample(policy_sample(trajectory, turn, renderer, encoder)) for turn in trajectory.turns]
        for trajectory in trajectories
    ]


KIND = RFT
