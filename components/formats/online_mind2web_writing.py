"""Trajectories in Online-Mind2Web's form, version 2, which the benchmark's own judge reads.

A step is a turn with the screenshot that the agent saw; its action is the turn's calls. The last step is the agent's
own account, which the benchmark does not show to its judge: the call of `done`, or how the episode ended without one.
The form has no place for an environment that ended an episode, so that such an episode would count as a failure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from components.formats.atif_writing import split_response
from components.formats.files import damage
from components.formats.interface import NotWritable
from components.records import NO_SCREENSHOT, Image, Termination, ToolCall, Trajectory, Turn

VERSION_2 = "online-mind2web-v2"
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp", "image/gif": ".gif"}


def result_of(trajectory: Trajectory) -> tuple[dict[str, Any], dict[str, Image]]:
    """The value of `result.json` and the pictures by their names.

    Raises:
        NotWritable: the environment ended the episode, or a step has no picture.
    """
    if not trajectory.termination.is_agents_doing:
        raise NotWritable(
            f"the environment ended the episode ({trajectory.termination.value}), and the format would call it a "
            "failure of the agent: run the task again"
        )
    if not trajectory.turns:
        raise NotWritable("it has no turn, and the format needs a step: run the task again")
    steps: list[dict[str, Any]] = []
    images: dict[str, Image] = {}
    for number, (turn, image, action) in enumerate(_steps(trajectory)):
        name = f"{number:04}{_suffix(image)}"
        images[name] = image
        thought, _ = split_response(turn.response)
        steps.append(
            {
                "step": number,
                "screenshot": name,
                "url": turn.observation.url,
                "action": action,
                "action_status": "error" if _failed(turn) else "success",
                "thought": thought,
            }
        )
    result = {
        "schema_version": VERSION_2,
        "task": trajectory.task.intent,
        "task_id": trajectory.task_id,
        "agent_final_answer": trajectory.answer,
        "action_history": steps,
    }
    return result, images


def _steps(trajectory: Trajectory) -> Iterator[tuple[Turn, Image, str]]:
    """The turn, the picture and the action of each step."""
    *others, last = trajectory.turns
    yield from ((turn, turn.observation.screenshot, _action(turn.tool_calls)) for turn in others)
    if trajectory.termination is Termination.DONE:
        yield last, last.observation.screenshot, f"TASK_COMPLETE -> ANSWER: {trajectory.answer or ''}"
        return
    yield last, last.observation.screenshot, _action(last.tool_calls)
    account = last.model_copy(update={"response": "", "tool_calls": [], "parse_error": None})
    image = trajectory.final_screenshot or last.observation.screenshot
    yield account, image, f"ENDED -> {trajectory.termination.value}"


def _failed(turn: Turn) -> bool:
    return turn.parse_error is not None or any(call.error for call in turn.tool_calls)


def _action(calls: list[ToolCall]) -> str:
    words = [f"{call.name} -> {json.dumps(call.arguments, ensure_ascii=False, sort_keys=True)}" for call in calls]
    return "; ".join(words) or "NONE"


def _suffix(image: Image) -> str:
    """The ending of a picture's name.

    Raises:
        NotWritable: there is no picture, or it is damaged.
    """
    if image == NO_SCREENSHOT:
        raise NotWritable("a step has no screenshot, and the format needs one: record the task with screenshots")
    if problem := damage(image):
        raise NotWritable(f"a screenshot {problem}: leave this trajectory out")
    return _SUFFIXES.get(image.media_type, ".png")
