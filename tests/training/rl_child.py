"""The child process of `test_rl_resume` and `test_rl_branches` runs the RL loop.

The model was trained to answer `a` or `b` at once, and the judge of this test calls `a` a success. Pages, rollouts,
updates and checkpoints are real.
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
from dataclasses import asdict
from pathlib import Path

import torch

from components import store
from components.agent import Policy
from components.browser import BrowserPool
from components.model import VLM
from components.params import (
    BranchParams,
    CheckpointParams,
    LoRAParams,
    MMGRPOParams,
    Params,
    RLPhase,
    TrainingParams,
    ValidationParams,
    load,
)
from components.pipeline.launch import launcher
from components.policies import OpenPolicy, TransformersPolicy, training_policies
from components.records import Outcome, Task, Trajectory, Verdict
from components.training.learner import Learner
from components.training.rl import RLTrainer
from components.training.rl_rollouts import RolloutSetup, ValidationSetup
from components.training.sharding import is_sharded
from components.training.validation import validation_tables
from components.training.workers import Replicas, Workers
from components.worlds.miniwob.site import MiniWoBSite

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

VALIDATION = [
    TASKS[0].model_copy(update={"task_id": f"click-test/{seed}", "seed": seed, "split": "validation"})
    for seed in range(100, 108)
]
"""As many as decide a rollback: of fewer tasks that all fall, others may not, with some chance."""


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


async def validate(trajectories: list[Trajectory]) -> list[Verdict]:
    """A judge that sees successes only, and after iteration 4 failures only, as if the policy had fallen."""
    fallen = any(t.policy.startswith("test@4=validation") for t in trajectories)
    outcome = Outcome.FAILURE if fallen else Outcome.SUCCESS
    return [verdict.model_copy(update={"outcome": outcome}) for verdict in await judge(trajectories)]


async def audit(trajectories: list[Trajectory]) -> list[Verdict]:
    """An auditor that calls everything a failure."""
    return [verdict.model_copy(update={"outcome": Outcome.FAILURE}) for verdict in await judge(trajectories)]


def told(open_policy: OpenPolicy) -> OpenPolicy:
    """Print which weights each rollout uses, at its begin and at its end."""

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
    """Hash all weights; sharded models all have the same hash."""
    digest = hashlib.sha256()
    for tensor in () if is_sharded(vlm) else vlm.model.state_dict().values():
        digest.update(tensor.detach().numpy().tobytes())
    return digest.hexdigest()


def reloaded(learners: Replicas[Learner], work: Path, params: Params) -> OpenPolicy:
    """Sample from a sharded model as servers do: load the whole model from a directory."""

    async def taken(version: str) -> TransformersPolicy:
        learners.local.vlm.save(work / "served", learners.run(Learner.gathered_weights))
        return TransformersPolicy(VLM.load(work / "served", params.model), version, 4)

    return taken


async def main(model: Path, state: Path, out: Path, kind: str, workers: Workers) -> None:
    """Run RL as `plain`, `lora`, `async`, `staler` (two updates behind, groups in a stream), `spread` (sharded with
    its vision tower, asynchronous), `watched` (validated, and with a fall after iteration 4), or `branches`: episodes
    of up to 3 turns that branch. `lora` and `spread` have a KL to a moving average."""
    torch.set_num_threads(1)
    params = load("recipes/smoke.yaml")
    agent = params.agent.model_copy(update={"max_response_tokens": 40})
    rl = params.rl.model_copy(
        update={"effective_groups": 2, "max_sampled_groups": 6, "lr": 5e-6, "batch_turns": 4, "group_size": 4}
        | {"max_staleness": {"async": 1, "spread": 1, "staler": 2}.get(kind, 0)}
        | {"open_groups": 2 if kind == "staler" else None}
    )
    if kind == "watched":
        checkpoints = CheckpointParams(every=3, rollback=0.5)
        validation = ValidationParams(every=2, tasks=len(VALIDATION))
        rl = rl.model_copy(update={"checkpoints": checkpoints, "validation": validation})
    if kind in ("lora", "spread"):
        rl = rl.model_copy(update={"objective": MMGRPOParams(kl=0.1, anchor_decay=0.5)})
    if kind == "branches":
        rl = rl.model_copy(update={"branches": BranchParams(per_group=2, continuations=2)})
    browser = params.browser.model_copy(update={"concurrency": 4})
    training = TrainingParams(processes=workers.size, shard=kind == "spread")
    lora = LoRAParams(rank=8, alpha=16) if kind == "lora" else None
    trained_model = params.model.model_copy(update={"lora": lora, "train_vision": kind == "spread"})
    changed = {"agent": agent, "rl": rl, "browser": browser, "model": trained_model, "training": training}
    params = params.model_copy(update=changed)
    learners = workers.replicate(Learner.load_model, model, params, "short")
    learner = learners.local
    vlm = learner.vlm
    serving = training_policies(vlm, learner.encoder, model, params, state)
    if kind == "spread":
        assert is_sharded(vlm)
        serving = nullcontext(reloaded(learners, state, params))
    async with BrowserPool(params.browser, site=MiniWoBSite(), text="elements") as pool, serving as open_policy:
        trainer = RLTrainer(
            learners,
            RLPhase(
                iterations={"watched": 5, "branches": 1, "spread": 3}.get(kind, 4),
                max_steps=3 if kind == "branches" else 1,
            ),
            "test",
            RolloutSetup(TASKS, pool, told(open_policy), judge, audit),
            state,
            lambda done, total, message: print(f"{done:.2f} {message}", flush=True),
            lambda figures, *_: print(f"after {figures['iteration']:.0f} {fingerprint(vlm)}", flush=True),
            validation=ValidationSetup(VALIDATION, validate, model) if kind == "watched" else None,
        )
        trained = await trainer.run()
    torch.save(learners.run(Learner.gathered_weights) or vlm.model.state_dict(), out.with_suffix(".pt"))
    watched = {**validation_tables(trained.validations), "published": trained.published}
    watched["rollbacks"] = [asdict(rollback) for rollback in trained.rollbacks]
    out.with_suffix(".watched").write_text(json.dumps(watched))
    out.write_text(json.dumps(trained.figures))


def run(model: Path, state: Path, out: Path, kind: str, log: Path) -> None:
    """Run `main` in a forked process, which leads a process group with its browsers and writes its output to `log`."""
    os.setsid()
    with log.open("a") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    if kind == "spread":
        os.execv(sys.executable, launcher(2, "tests.training.rl_child", *map(str, (model, state, out))))
    store.sync = slow_fsync
    asyncio.run(main(model, state, out, kind, Workers()))


def slow_fsync(path: Path, fsync: Callable[[Path], None] = store.sync) -> None:
    """Simulate a slow disk, so that a kill can hit between the writing of a checkpoint and its publication."""
    time.sleep(0.2)
    fsync(path)


if __name__ == "__main__":
    joined = Workers.join(cpu=True)
    torch.set_num_threads(1)
    if joined.is_main:
        asyncio.run(main(*map(Path, sys.argv[1:]), "spread", joined))
        joined.shut_down()
    else:
        joined.serve_jobs()
