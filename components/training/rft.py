"""A round of rejection fine-tuning: supervised training on what was selected (BrowserAgent, sections 2.4 and B.5).

An iteration of `training.rl` with `rl.objective: rft` is a round: its groups are attempts at questions,
`objectives.rft` selects from the mixed ones, `rl.max_per_source` of a source at most, and adds a share of the earlier
demonstrations, and this trains on both. The selection's funnel is among the iteration's figures.
The paper has one round; more of them are expert iteration, and the horizon's phases are rounds too. `rl.ppo_epochs`
are the epochs, `rl.batch_turns` the batch, `sft.warmup` the schedule's warm-up, `sft.shuffle` what is shuffled; each
round has a schedule and an optimiser of its own.

The policy's own turns are trained on by the ids that it sampled, a teacher's by this tokenizer's ids of its text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from components.agent import Renderer
from components.params import OptimParams, Params
from components.policies import VLM, Encoder, Sample
from components.records import Trajectory, Turn
from components.rollout import Group
from components.training.objectives.rft import mixed, selected
from components.training.sft import Weighted, demonstrations, shuffled_as, train
from components.training.team import Team
from components.training.update import NO_UPDATE, UpdateStats, tokens_of


def fine_tune(
    vlm: VLM,
    encoder: Encoder,
    groups: Sequence[Group],
    taught: Sequence[Trajectory],
    params: Params,
    seed: int,
    progress: Callable[[int, int], None],
    team: Team,
) -> UpdateStats:
    """Train in place on one right attempt of each mixed group and a share of `taught`; all processes of a team call
    this alike. `groups` are all that were sampled."""
    rl, started = params.rl, time.monotonic()
    renderer = Renderer(params.agent, params.observation, params.model.think_prefix)
    chosen, _ = selected(groups, rl.max_per_source, seed)
    shown = mixed([], taught, rl.demonstrations, seed)
    trajectories = [*sampled_turns(chosen, renderer, encoder), *demonstrations(shown, renderer, encoder)]
    data = shuffled_as(params.sft.shuffle, trajectories)
    losses: list[float] = []

    def report(step: int, steps: int, loss: float) -> None:
        losses.append(loss)
        progress(step, steps)

    optim = OptimParams(
        epochs=rl.ppo_epochs,
        lr=rl.lr,
        batch_size=rl.batch_turns,
        micro_batch_tokens=rl.micro_batch_tokens,
        max_packing_gap=rl.max_packing_gap,
        warmup=params.sft.warmup,
        weight_decay=rl.weight_decay,
        max_grad_norm=rl.max_grad_norm,
    )
    checked = train(vlm, encoder, data, optim, seed, report, team)
    took_s = time.monotonic() - started
    samples = [one.sample for turns in trajectories for one in turns]
    return replace(
        NO_UPDATE,
        turns=len(samples),
        steps=len(losses),
        **checked.figures,
        loss=sum(losses) / len(losses),
        tokens_per_s=rl.ppo_epochs * tokens_of(samples) / took_s,
        train_s=took_s,
    )


def sampled_turns(trajectories: Sequence[Trajectory], renderer: Renderer, encoder: Encoder) -> list[list[Weighted]]:
    """Per trajectory one sample per turn of what the policy did itself, by the ids that it sampled."""

    def sample(one: Trajectory, turn: Turn) -> Sample:
        prompt = renderer.prompt(one.task, one.turns[: turn.index], turn.observation)
        return Sample(encoder.encode(prompt), turn.token_ids)

    return [[Weighted(sample(one, turn)) for turn in one.turns] for one in trajectories]
