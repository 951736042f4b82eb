"""Reads the trajectories of AgentRewardBench (Lù et al., 2025); `expert_annotations` reads the labels of 1,302 of them.

The published files:

- `trajectories/cleaned/<benchmark>/<agent>/<experiment>/<task>.json`: goal, steps with reasoning, action, address and
  screenshot, and the benchmark's own reward; `screenshots/` is beside `cleaned`.

OpenWebRL reports results on it in appendix C.2. Its agents differ from ours: actions name elements by id, and the only
feedback is the error of an action and the next address. All trajectories are judged; those without a final message have
an empty answer here. The accessibility trees and HTML of the pages are not read.
"""

from __future__ import annotations

import ast
import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from components.judge.expert_annotations import Unreadable, identity_of
from components.records import Image, Observation, Task, Termination, ToolCall, Trajectory, Turn

_MESSAGES = ("send_msg_to_user", "report_infeasible")
"""Actions that give the final answer."""


class _Step(BaseModel):
    model_config = ConfigDict(extra="ignore")
    url: str = ""
    action: str | None = None
    reasoning: str | None = None
    screenshot_path: str
    last_action_error: str | None = None


class _Cleaned(BaseModel):
    model_config = ConfigDict(extra="ignore")
    benchmark: str
    agent: str
    goal: str
    seed: int | None = None
    valid: bool = True
    summary_info: dict[str, Any] = Field(default_factory=dict)
    steps: list[_Step]


def benchmark_of(trajectory: Trajectory) -> str:
    """The benchmark of a trajectory as AgentRewardBench reports it: WorkArena's second level is `workarena++`."""
    name = trajectory.task.website
    is_second_level = name == "workarena" and "l2" in trajectory.task_id.lower()
    return "workarena++" if is_second_level else name


def iter_trajectories(folder: Path) -> Iterator[Trajectory]:
    """The valid trajectories of the published `trajectories` folder, one in memory at a time.

    Raises:
        Unreadable: a file has another form, or a screenshot is missing.
    """
    for path in sorted((folder / "cleaned").rglob("*.json")):
        try:
            cleaned = _Cleaned.model_validate(json.loads(path.read_bytes().removeprefix(BOM_UTF8)))
        except (ValueError, RecursionError, ValidationError) as error:
            raise Unreadable(f"{path}: not a cleaned trajectory of AgentRewardBench: {error}") from error
        if cleaned.valid and cleaned.steps:
            yield _trajectory(cleaned, path.stem, folder)


def _trajectory(cleaned: _Cleaned, task: str, folder: Path) -> Trajectory:
    images = [_screenshot(step, folder) for step in cleaned.steps]
    following = [*cleaned.steps[1:], None]
    steps_with_action = [step for step in cleaned.steps if step.action]
    turns = [
        _turn(index, step, image, next_step)
        for index, (step, image, next_step) in enumerate(zip(cleaned.steps, images, following, strict=True))
        if step.action
    ]
    last = parse_action(steps_with_action[-1].action or "") if steps_with_action else None
    has_answer = last is not None and last.name in _MESSAGES
    reward = cleaned.summary_info.get("cum_reward")
    return Trajectory(
        trajectory_id=identity_of(cleaned.benchmark, cleaned.agent, task),
        task=Task(
            task_id=f"{cleaned.benchmark}/{task}",
            intent=cleaned.goal,
            start_url=cleaned.steps[0].url,
            website=cleaned.benchmark,
            source="agent_reward_bench",
            split="eval",
            seed=cleaned.seed,
        ),
        attempt=0,
        policy=cleaned.agent,
        protocol="browsergym",
        seed=0,
        turns=turns,
        termination=Termination.DONE,
        answer=str(last.arguments.get("0", "")) if last is not None and has_answer else "",
        site_reward=None if reward is None else float(reward),
        final_screenshot=images[-1],
    )


def _turn(index: int, step: _Step, image: Image, next_step: _Step | None) -> Turn:
    if next_step is None:
        feedback = "The episode ended."
    elif next_step.last_action_error:
        feedback = f"Failed: {next_step.last_action_error}"
    else:
        feedback = f"The page is now {next_step.url}"
    return Turn(
        index=index,
        observation=Observation(url=step.url, tabs=[], viewport=(1280, 720), screenshot=image),
        prompt_sha256="",
        prompt_tokens=0,
        response=f"<think>{step.reasoning or ''}</think>\n{step.action}",
        token_ids=[],
        logprobs=[],
        finish_reason="stop",
        tool_calls=[parse_action(step.action or "")],
        feedback=[feedback],
    )


def parse_action(text: str) -> ToolCall:
    """An action such as `fill('a12', 'tea')` as a call with numbered arguments; other text becomes the call's name."""
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            arguments = {str(number): ast.literal_eval(argument) for number, argument in enumerate(call.args)}
            arguments |= {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg is not None}
            return ToolCall(name=call.func.id, arguments=json.loads(json.dumps(arguments)))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        pass
    return ToolCall(name=text.strip())


def _screenshot(step: _Step, folder: Path) -> Image:
    """Read a step's screenshot. Paths in the files begin with `trajectories/`, which is `folder`."""
    path = folder.joinpath(*Path(step.screenshot_path).parts[1:])
    if ".." in path.parts or not path.is_file():
        raise Unreadable(f"{path}: no such screenshot; AgentRewardBench's `screenshots` belong beside its `cleaned`")
    return Image.of(path.read_bytes())
