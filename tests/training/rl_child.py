"""Runs the RL loop for `test_rl_resume`: `python -m tests.training.rl_child MODEL STATE OUT [lora]`.

The model was taught to answer `a` or `b` at once; the judge of this test calls `a` a success. Pages, rollouts, updates
and checkpoints are the real ones.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import torch

from components.browser import BrowserPool
from components.params import LoRAParams, RLPhase, load
from components.policies import VLM, follow
from components.records import Outcome, Task, Trajectory, Verdict
from components.sites import MiniWoB
from components.training.learner import Learner
from components.training.rl import train_rl

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


async def main(model: Path, state: Path, out: Path, lora: bool) -> None:
    torch.set_num_threads(1)
    params = load("recipes/smoke.yaml")
    agent = params.agent.model_copy(update={"max_response_tokens": 40})
    rl = params.rl.model_copy(
        update={"effective_groups": 2, "max_sampled_groups": 6, "lr": 5e-6, "batch_turns": 4, "group_size": 4}
    )
    browser = params.browser.model_copy(update={"concurrency": 4})
    trained_model = params.model.model_copy(update={"lora": LoRAParams(rank=8, alpha=16) if lora else None})
    params = params.model_copy(update={"agent": agent, "rl": rl, "browser": browser, "model": trained_model})
    vlm = VLM.load(model, params.model)
    learner = Learner.begin(vlm, params)
    serving = follow(vlm, learner.encoder, model, params, state)
    async with BrowserPool(params.browser, site=MiniWoB(), text="elements") as pool, serving as open_policy:
        trained = await train_rl(
            learner,
            RLPhase(iterations=3, max_steps=1),
            "test",
            TASKS,
            pool,
            open_policy,
            judge,
            state,
            lambda done, total, message: print(f"{done:.2f} {message}", flush=True),
            lambda figures, trajectories, verdicts: None,
        )
    weights = sum(p.double().abs().sum().item() for p in vlm.trainable())
    out.write_text(json.dumps({"figures": trained.figures, "weights": weights}))


if __name__ == "__main__":
    asyncio.run(main(*map(Path, sys.argv[1:4]), lora="lora" in sys.argv[4:]))
