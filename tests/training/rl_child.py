"""Runs the RL loop for `test_rl_resume`, in a process of its own.

The model was taught to answer `a` or `b` at once; the judge of this test calls `a` a success. Pages, rollouts, updates
and checkpoints are the real ones.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path

import torch

from components import store
from components.agent import Policy
from components.browser import BrowserPool
from components.params import LoRAParams, Params, RLPhase, TrainingParams, load
from components.policies import VLM, OpenPolicy, TransformersPolicy, follow
from components.records import Outcome, Task, Trajectory, Verdict
from components.sites import MiniWoB
from components.stages._launch import launcher
from components.training.learner import Learner, enlist, gather
from components.training.rl import train_rl
from components.training.sharding import is_sharded
from components.training.team import Team

TASKS = [
    Task(
        task_id=f"click-test/{seed}",
        intent="Click the button.",
        start_url="http://miniwob/click-test.html",
        website="miniwob/click-test",
        source="miniwob",
        seed=seed,
    )
    for seed in range(6)
]


async def judge(trajectories: list[Trajectory]) -> list[Verdict]:
    return [
        Verdict(
            trajectory_id=t.trajectory_id,
            outcome=Outcome.SUCCESS if t.answer == "a" else Outcome.FAILURE,
            rationale="",
            judge="test",
            judge_version="1",
        )
        for t in trajectories
    ]


async def audit(trajectories: list[Trajectory]) -> list[Verdict]:
    """An auditor that believes nothing."""
    return [verdict.model_copy(update={"outcome": Outcome.FAILURE}) for verdict in await judge(trajectories)]


def told(open_policy: OpenPolicy) -> OpenPolicy:
    """Says which weights roll out under which name, when they begin and when they have ended."""

    async def taken(version: str) -> AbstractAsyncContextManager[Policy]:
        return rolling(await open_policy(version))

    @asynccontextmanager
    async def rolling(opened: AbstractAsyncContextManager[Policy]) -> AsyncIterator[Policy]:
        async with opened as policy:
            print(f"begins {policy.version} {fingerprint(policy.vlm)}", flush=True)
            yield policy
            print(f"ends {policy.version} {fingerprint(policy.vlm)}", flush=True)

    return taken


def fingerprint(vlm: VLM) -> str:
    """Of all weights; the same for all models that are spread."""
    digest = hashlib.sha256()
    for tensor in () if is_sharded(vlm) else vlm.model.state_dict().values():
        digest.update(tensor.detach().numpy().tobytes())
    return digest.hexdigest()


def reloaded(team: Team, work: Path, params: Params) -> OpenPolicy:
    """What samples where the model is spread: as servers do, it takes the whole model from a directory."""

    async def taken(version: str) -> TransformersPolicy:
        learner: Learner = team.held["learner"]
        learner.vlm.save(work / "served", team.run(gather))
        return TransformersPolicy(VLM.load(work / "served", params.model), version, 4)

    return taken


async def main(model: Path, state: Path, out: Path, kind: str, team: Team) -> None:
    """`kind` is `plain`, `lora`, `async`, `staler`, two updates behind, or `spread`, which is asynchronous, too."""
    torch.set_num_threads(1)
    params = load("recipes/smoke.yaml")
    agent = params.agent.model_copy(update={"max_response_tokens": 40})
    rl = params.rl.model_copy(
        update={"effective_groups": 2, "max_sampled_groups": 6, "lr": 5e-6, "batch_turns": 4, "group_size": 4}
        | {"asynchronous": kind in ("async", "staler", "spread"), "max_staleness": 2 if kind == "staler" else 1}
    )
    browser = params.browser.model_copy(update={"concurrency": 4})
    training = TrainingParams(processes=team.size, shard=kind == "spread")
    trained_model = params.model.model_copy(update={"lora": LoRAParams(rank=8, alpha=16) if kind == "lora" else None})
    changed = {"agent": agent, "rl": rl, "browser": browser, "model": trained_model, "training": training}
    params = params.model_copy(update=changed)
    team.run(enlist, model, params)
    learner: Learner = team.held["learner"]
    vlm = learner.vlm
    serving = follow(vlm, learner.encoder, model, params, state)
    if kind == "spread":
        assert is_sharded(vlm)
        serving = nullcontext(reloaded(team, state, params))
    async with BrowserPool(params.browser, site=MiniWoB(), text="elements") as pool, serving as open_policy:
        trained = await train_rl(
            learner,
            RLPhase(iterations=4, max_steps=1),
            "test",
            TASKS,
            pool,
            told(open_policy),
            judge,
            state,
            lambda done, total, message: print(f"{done:.2f} {message}", flush=True),
            lambda figures, *_: print(f"after {figures['iteration']:.0f} {fingerprint(vlm)}", flush=True),
            team=team,
            audit=audit,
        )
    torch.save(team.run(gather) or vlm.model.state_dict(), out.with_suffix(".pt"))
    out.write_text(json.dumps(trained.figures))


def run(model: Path, state: Path, out: Path, kind: str, log: Path) -> None:
    """`main` in a process that was forked for it: a group of its own with its browsers, and what it says in `log`."""
    os.setsid()
    with log.open("a") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    if kind == "spread":
        os.execv(sys.executable, launcher(2, "tests.training.rl_child", *map(str, (model, state, out))))
    store._fsync = slow_fsync
    asyncio.run(main(model, state, out, kind, Team()))


def slow_fsync(path: Path, fsync: Callable[[Path], None] = store._fsync) -> None:
    """A slow disk: there is time to kill the run between the writing of a checkpoint and its publication."""
    time.sleep(0.2)
    fsync(path)


if __name__ == "__main__":
    joined = Team.join(cpu=True)
    torch.set_num_threads(1)
    if joined.leads:
        asyncio.run(main(*map(Path, sys.argv[1:]), "spread", joined))
        joined.dismiss()
    else:
        joined.follow()
