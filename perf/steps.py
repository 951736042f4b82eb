"""Optimiser steps of shuffled turns against steps of whole groups: `python -m perf.steps`.

The iteration is a real one of a recipe: demonstrations of the scripted teacher, SFT on them, groups of rollouts in the
browser, rewards by the rules. Then the gradients of an epoch's steps are computed without taking a step, in several
shuffles, both ways. A step's gradient estimates that of the whole iteration; its variance is the mean squared distance
to it. Steps of whole groups depend on fewer tasks each, and share more prompts (`components.training.packing`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from components.agent import EpisodeSettings, Renderer
from components.browser import open_browsers
from components.journal import Journal
from components.judge import reward, rules_verdict
from components.model import VLM, Encoder
from components.params import Params, SamplingParams, load
from components.policies import TransformersPolicy
from components.policies.scripted import scripted_policy
from components.records import Reward, Task, Trajectory
from components.rollout import Group, PolicyFor, collect, episode_specs
from components.training.forward import Forward
from components.training.objectives import UpdateContext, objective_of
from components.training.objectives.policy_gradient import (
    PolicyGradient,
    TurnSample,
    accumulate_gradients,
    number_of_steps,
    turn_samples,
)
from components.training.objectives.sft import SFT
from components.training.supervised import no_report, train
from components.worlds import worlds_of

GREEDY = SamplingParams(temperature=0.0)


@dataclass(frozen=True)
class Figures:
    """Of one way to make steps: relative variance of a step's gradient, and seconds of an epoch's passes."""

    variance: float
    epoch_s: float


def split(groups: Sequence[Sequence[TurnSample]], form: str, batch_turns: int, seed: int) -> list[list[TurnSample]]:
    """An epoch's steps: of shuffled `turns`, or of shuffled `groups` whose turns stay together."""
    rng = random.Random(seed)
    order = rng.sample(list(groups), len(groups))
    turns = [turn for members in order for turn in members]
    if form == "turns":
        rng.shuffle(turns)
    indices = np.array_split(range(len(turns)), number_of_steps(len(turns), batch_turns))
    return [[turns[index] for index in step] for step in indices]


def gradient(context: UpdateContext, objective: PolicyGradient, turns: list[TurnSample]) -> torch.Tensor:
    """The gradient of a step on these turns, as one vector."""
    context.optimizer.zero_grad()
    accumulate_gradients(objective, context, turns, Forward())
    grads = [parameter.grad for parameter in context.vlm.trainable()]
    return torch.cat([grad.flatten().double() for grad in grads if grad is not None])


def measure(
    context: UpdateContext, objective: PolicyGradient, groups: Sequence[Sequence[TurnSample]], shuffles: int
) -> dict[str, Figures]:
    """Both ways, in turns, over `shuffles` epochs each."""
    whole = gradient(context, objective, [turn for members in groups for turn in members])
    square = float(whole @ whole)
    variances: dict[str, list[float]] = {"groups": [], "turns": []}
    seconds: dict[str, list[float]] = {"groups": [], "turns": []}
    for seed in range(shuffles):
        for form in variances:
            began = time.perf_counter()
            steps = split(groups, form, context.params.rl.batch_turns, seed)
            away = [gradient(context, objective, step) - whole for step in steps]
            seconds[form].append(time.perf_counter() - began)
            variances[form] += [float(offset @ offset) / square for offset in away]
    return {
        form: Figures(round(statistics.mean(values), 3), round(statistics.median(seconds[form]), 2))
        for form, values in variances.items()
    }


async def roll(
    params: Params, tasks: list[Task], policy_for: PolicyFor, attempts: int, sampling: SamplingParams
) -> list[Trajectory]:
    """Episodes of these tasks in the recipe's browsers."""
    settings = EpisodeSettings(
        Renderer(params.agent, params.observation, params.model.think_prefix),
        params.agent,
        sampling,
        params.rl.short.max_steps,
        params.agent.max_response_tokens,
    )
    with TemporaryDirectory() as folder:
        async with open_browsers(params.browser, worlds_of(params).sites(), params.observation.text) as pool:
            with Journal(Path(folder) / "episodes.jsonl", Trajectory) as journal:
                specs = episode_specs(tasks, attempts, "steps", params.seed)
                return list(await collect(specs, pool, policy_for, settings, journal))


async def sampled_groups(params: Params, vlm: VLM, encoder: Encoder, tasks: int) -> list[Group]:
    """SFT on the teacher's successes at half of the tasks, and groups of the policy at the other half."""
    rows = [row for world in worlds_of(params) for row in await world.tasks(params.seed, params.browser.viewport)]
    pool = [Task.model_validate(row) for row in rows if row["split"] == "train" and "error" not in row]
    chosen = random.Random(params.seed).sample(pool, 2 * tasks)
    taught = await roll(params, chosen[:tasks], scripted_policy(worlds_of(params), 0.0), 1, GREEDY)
    demonstrations = SFT.from_params(params).samples(taught, encoder)
    await asyncio.to_thread(train, vlm, encoder, demonstrations, params.sft, params.seed, no_report)
    async with TransformersPolicy(vlm, "steps", encoder=encoder) as policy:
        size = params.rl.group_size
        trajectories = await roll(params, chosen[tasks:], lambda spec, session: policy, size, params.rl.sampling)
    members = [trajectories[begin : begin + size] for begin in range(0, len(trajectories), size)]
    return [
        Group(attempts[0].task, attempts, [rewarded(params, attempt) for attempt in attempts]) for attempts in members
    ]


def rewarded(params: Params, attempt: Trajectory) -> Reward:
    """The reward of an attempt by the rules, with the recipe's costs."""
    return reward(attempt, rules_verdict(attempt), params.rl.format_error, params.rl.action_cost)


def compared(params: Params, vlm: VLM, encoder: Encoder, groups: Sequence[Group], shuffles: int) -> dict[str, Any]:
    """The figures of both ways on the groups that can be learned from."""
    objective = objective_of(params)
    assert isinstance(objective, PolicyGradient)
    effective = [group for group in groups if group.is_effective]
    if not effective:
        raise SystemExit(f"none of {len(groups)} groups can be learned from: give more --tasks")
    optimizer = torch.optim.AdamW(vlm.trainable())
    context = UpdateContext(vlm, encoder, params, optimizer, seed=params.seed)
    turns = [turn_samples([group], context.renderer, encoder, objective) for group in effective]
    vlm.model.train()
    figures = measure(context, objective, turns, shuffles)
    return {
        "effective_groups": len(effective),
        "trained_turns": sum(map(len, turns)),
        "variance_ratio": round(figures["groups"].variance / figures["turns"].variance, 3),
        "time_ratio": round(figures["turns"].epoch_s / figures["groups"].epoch_s, 3),
        **{form: asdict(part) for form, part in figures.items()},
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="recipes/demo.yaml")
    parser.add_argument("--tasks", type=int, default=24, help="groups, and demonstrations")
    parser.add_argument("--shuffles", type=int, default=10)
    options = parser.parse_args()
    params = load(options.recipe)
    torch.manual_seed(params.seed)
    vlm, encoder = loaded(params)
    groups = asyncio.run(sampled_groups(params, vlm, encoder, options.tasks))
    print(json.dumps(compared(params, vlm, encoder, groups, options.shuffles)))


def loaded(params: Params) -> tuple[VLM, Encoder]:
    """The base, to be trained, and its encoder."""
    vlm = VLM.load(params.model.base, params.model, train=True)
    vlm.prepare(params.model, params.seed, dropout=False)
    return vlm, Encoder(vlm)


if __name__ == "__main__":
    main()
