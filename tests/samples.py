"""A complete small recipe and handmade records for the tests of all packages."""

from __future__ import annotations

import copy
import io
from functools import cache
from pathlib import Path

from PIL import Image as Pillow

from components.params import ObjectiveParams, Params, load, parse
from components.params.objectives import objective_kind
from components.records import (
    Image,
    Observation,
    Outcome,
    Tab,
    Task,
    Termination,
    ToolCall,
    Trajectory,
    Turn,
    Verdict,
    trajectory_id,
)

RECIPES = Path(__file__).parent.parent / "recipes"
_OPTIM = {"epochs": 1, "lr": 1e-4, "batch_size": 4}
RECIPE = {
    "name": "sample",
    "model": {"base": "data/base_model", "judge_base": "data/base_model"},
    "observation": {"text": "elements"},
    "agent": {"max_response_tokens": 64, "max_context_tokens": 1024},
    "browser": {"viewport": [160, 210], "concurrency": 2},
    "worlds": {"miniwob": {"train": ["click-button"], "train_per_family": 4, "eval_per_family": 2}},
    "dedup": {"sft_threshold": 0.99, "rl_threshold": 0.9},
    "teacher": {"tasks": 4},
    "curate": {"max_trajectories": 4, "max_per_website": 4},
    "sft": _OPTIM,
    "judge": {"distill": {"rollout_tasks": 4, "rollout_attempts": 2, "optim": _OPTIM}},
    "rl": {
        "short": {"iterations": 1, "max_steps": 2},
        "long": {"iterations": 1, "max_steps": 4},
        "effective_groups": 2,
        "max_sampled_groups": 4,
        "lr": 1e-5,
    },
    "evaluation": {"max_steps": 4},
}


def raw_recipe(**changes: object) -> dict:
    """The recipe as read from YAML with changed fields: `rl__lr=1e-6` sets `rl.lr`, and `...` drops a field."""
    raw = copy.deepcopy(RECIPE)
    for path, value in changes.items():
        *sections, field = path.split("__")
        section = raw
        for name in sections:
            section = section.setdefault(name, {})
        section[field] = value
        if value is ...:
            del section[field]
    return raw


def recipe(**changes: object) -> Params:
    """The validated recipe with changed fields."""
    return parse(raw_recipe(**changes))


def shipped(name: str) -> dict:
    """A shipped recipe with all of its keys, as `waymark use` writes it."""
    return load(RECIPES / f"{name}.yaml").model_dump(mode="json")


def objective(name: str = "mm_grpo", epochs: int = 2, kl: float = 0.001, **keys: object) -> ObjectiveParams:
    """The parameters of an objective; `kl` is M-GRPO's alone."""
    kind = objective_kind({"name": name})
    given = {"ppo_epochs": epochs, "epochs": epochs} | ({"kl": kl} if name == "m_grpo" else {})
    return kind(**{key: value for key, value in given.items() if key in kind.model_fields}, **keys)


VERIFIED = {
    "type": "webarena_verified",
    "row": {"task_id": 1, "eval": [{"evaluator": "AgentResponseEvaluator", "expected": {}}]},
    "addresses": {},
}
"""The evaluator of a task of webarena-verified."""


@cache
def png(colour: str = "white") -> Image:
    """A real PNG of 8 x 6 px."""
    data = io.BytesIO()
    Pillow.new("RGB", (8, 6), colour).save(data, "PNG")
    return Image.of(data.getvalue())


def a_task(number: int = 0, **changes: object) -> Task:
    fields = {
        "task_id": f"miniwob/click-button/{number}",
        "intent": 'Click on the "Ok" button.',
        "start_url": "http://miniwob/click-button.html",
        "website": "click-button",
        "source": "miniwob",
        "seed": number,
    }
    return Task.model_validate(fields | changes)


def a_turn(index: int = 0, **changes: object) -> Turn:
    observation = Observation(
        url="http://miniwob/click-button.html",
        tabs=[Tab(index=0, title="Click Button", url="http://miniwob/click-button.html", active=True)],
        viewport=(160, 210),
        screenshot=png(),
        text='- button "Ok" 512 086',
    )
    fields = {
        "index": index,
        "observation": observation,
        "prompt_sha256": "0" * 64,
        "prompt_tokens": 40,
        "response": '<think>Ok.</think><tool_call>{"name": "click"}</tool_call>',
        "token_ids": [5, 6, 7],
        "logprobs": [-0.5, -0.25, 0.0],
        "finish_reason": "stop",
        "tool_calls": [ToolCall(name="click", arguments={"coordinate": [512, 86]})],
        "feedback": ["Clicked at [512, 86]."],
        "timings": {"policy": 0.5, "click": 0.25},
    }
    return Turn.model_validate(fields | changes)


def a_trajectory(task: Task | None = None, turns: int = 2, attempt: int = 0, **changes: object) -> Trajectory:
    task = task or a_task()
    fields = {
        "trajectory_id": trajectory_id(task.task_id, attempt, "sample", 0),
        "task": task,
        "attempt": attempt,
        "policy": "sample",
        "protocol": "openwebrl",
        "seed": 0,
        "turns": [a_turn(index) for index in range(turns)],
        "termination": Termination.DONE,
        "answer": "Done.",
    }
    return Trajectory.model_validate(fields | changes)


def a_verdict(trajectory: Trajectory, outcome: Outcome = Outcome.SUCCESS, **changes: object) -> Verdict:
    fields = {
        "trajectory_id": trajectory.trajectory_id,
        "outcome": outcome,
        "rationale": "The site gave a reward.",
        "judge": "rules",
        "judge_version": "1",
    }
    return Verdict.model_validate(fields | changes)
