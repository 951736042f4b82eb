"""Trajectories in AgentRewardBench's form, which the benchmark's `run_judge.py` reads.

A turn is a step with the page before its actions; the page after the last turn is a step without an action. Actions
have the names of our agents' calls, which are not BrowserGym's, except the final answer: `done` is `send_msg_to_user`.
The element list stands in for the accessibility tree.
"""

from __future__ import annotations

from typing import Any

from components.formats.browsergym_actions import MESSAGES, calls_of, text_of
from components.formats.building import split_response, thought_of
from components.formats.result_writing import EXTENSION, FAILED, WrittenTask, picture_of
from components.records import Image, Termination, ToolCall, Trajectory, Turn

FOLDER, SCREENSHOTS = "cleaned", "screenshots"
_SOURCE = "agent_reward_bench"
_NO_ACTION = "noop()"


def cleaned_of(trajectory: Trajectory) -> tuple[dict[str, Any], dict[str, Image]]:
    """The file's value without the paths of its screenshots, and these by their names, one per step.

    `task` is the name of the file.

    Args:
        trajectory: one that is `writable`.

    Raises:
        NotWritable: a step has no screenshot.
    """
    task = trajectory.task
    benchmark = task.website if task.source == _SOURCE else task.source
    steps = [_step(turn, trajectory) for turn in trajectory.turns]
    images = [turn.observation.screenshot for turn in trajectory.turns]
    last = trajectory.turns[-1]
    if trajectory.final_screenshot is not None and trajectory.final_screenshot != last.observation.screenshot:
        url = trajectory.ending.url if trajectory.ending is not None else last.observation.url
        steps.append({"action": None, "reasoning": None, "url": url, "axtree": "", "axtree_pruned": ""})
        images.append(trajectory.final_screenshot)
    for number, (step, before) in enumerate(zip(steps, [None, *trajectory.turns], strict=False)):
        step |= {"num": number, "last_action_error": "" if before is None else _error(before)}
    cleaned = {
        "benchmark": benchmark,
        "agent": trajectory.policy,
        "model": trajectory.policy,
        "experiment": f"{trajectory.policy}_on_{benchmark}",
        "task": task.task_id.removeprefix(f"{benchmark}/").replace("/", "."),
        "goal": task.intent,
        "seed": task.seed,
        "valid": True,
        "model_args": {},
        "flags": {},
        "trajectory_dir": "",
        "summary_info": {"cum_reward": trajectory.site_reward, "n_steps": len(trajectory.turns)},
        EXTENSION: WrittenTask.of(task).model_dump(),
        "steps": steps,
    }
    return cleaned, {f"screenshot_step_{number}.png": picture_of(image) for number, image in enumerate(images)}


def _step(turn: Turn, trajectory: Trajectory) -> dict[str, Any]:
    thought, (_, text) = thought_of(trajectory, turn), split_response(turn.response)
    is_last = turn is trajectory.turns[-1] and trajectory.termination is Termination.DONE
    calls = [call for call in turn.tool_calls if call.error is None]
    actions = [text_of(call) for call in calls if not (is_last and call.name == "done")]
    is_answered = any(call.name in MESSAGES for call in calls)
    if is_last and not is_answered and (trajectory.answer or len(actions) < len(calls)):
        actions.append(text_of(ToolCall(name=MESSAGES[0], arguments={"0": trajectory.answer or ""})))
    return {
        "action": "\n".join(actions) or _not_a_call(text.strip()),
        "reasoning": thought,
        "url": turn.observation.url,
        "axtree": turn.observation.text or "",
        "axtree_pruned": turn.observation.text or "",
    }


def _not_a_call(text: str) -> str:
    """What the agent wrote in place of a call."""
    return text if text and all(call == ToolCall(name=text) for call in calls_of(text)) else _NO_ACTION


def _error(turn: Turn) -> str:
    errors = [line.removeprefix(FAILED) for line in turn.feedback if line.startswith(FAILED)]
    return "\n".join(errors) or turn.parse_error or ""
