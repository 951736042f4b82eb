"""Trajectories in Online-Mind2Web's form, version 2, which the benchmark's own judge reads.

A step is a turn with the screenshot that the agent saw; its action is the turn's calls without those that were not run,
because they cannot be parsed or their arguments are wrong. The last step is the agent's own account, which the
benchmark does not show to its judge: the call of `done`, or how the episode ended without one. Other calls of the turn
that calls `done` are a step before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from components.formats.building import thought_of
from components.formats.result_writing import FAILED, picture_of
from components.records import Image, Termination, ToolCall, Trajectory, Turn

VERSION_2 = "online-mind2web-v2"
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp", "image/gif": ".gif"}


def result_of(trajectory: Trajectory) -> tuple[dict[str, Any], dict[str, Image]]:
    """The value of `result.json` and the pictures by their names.

    Args:
        trajectory: one that is `writable`.

    Raises:
        NotWritable: a step has no picture.
    """
    steps: list[dict[str, Any]] = []
    images: dict[str, Image] = {}
    for number, (turn, image, action) in enumerate(_steps(trajectory)):
        name = f"{number:04}{_SUFFIXES.get(image.media_type, '.png')}"
        images[name] = picture_of(image)
        steps.append(
            {
                "step": number,
                "screenshot": name,
                "url": turn.observation.url,
                "action": action,
                "action_status": "error" if _failed(turn) else "success",
                "thought": thought_of(trajectory, turn),
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
    account = f"ENDED -> {trajectory.termination.value}"
    calls = last.tool_calls
    if trajectory.termination is Termination.DONE:
        account = f"TASK_COMPLETE -> ANSWER: {trajectory.answer or ''}"
        calls = [call for call in calls if call.name != "done"]
        if not calls:
            yield last, last.observation.screenshot, account
            return
    yield last, last.observation.screenshot, _action(calls)
    image = trajectory.final_screenshot or last.observation.screenshot
    yield (
        last.model_copy(update={"response": "", "tool_calls": [], "parse_error": None, "feedback": []}),
        image,
        account,
    )


def _failed(turn: Turn) -> bool:
    return (
        turn.parse_error is not None
        or any(call.error for call in turn.tool_calls)
        or any(line.startswith(FAILED) for line in turn.feedback)
    )


def _action(calls: list[ToolCall]) -> str:
    """The calls that were run: the benchmark wants factual actions only."""
    run = [call for call in calls if call.error is None]
    words = [f"{call.name} -> {json.dumps(call.arguments, ensure_ascii=False, sort_keys=True)}" for call in run]
    return "; ".join(words) or "NONE"
