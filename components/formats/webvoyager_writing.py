"""Trajectories in WebVoyager's form, which the benchmark's `auto_eval.py` reads.

A turn is a round: the page with its screenshot, and a response whose thoughts come first. Its calls follow as lines
`Action: …`: in WebVoyager's words where it has them (`ANSWER; …`, `Type [7]; tea`), else a name and arguments as JSON.
"""

from __future__ import annotations

import json
from typing import Any

from components.formats.building import thought_of
from components.formats.interface import NotWritable
from components.formats.result_writing import EXTENSION, FAILED, WrittenTask, picture_of
from components.formats.webvoyager_actions import ANSWER, TASK, answer_text, calls_of
from components.records import NO_SCREENSHOT, Image, Termination, ToolCall, Trajectory, Turn, start_tabs

ACTION = "Action: "
_SYSTEM = "You solve a task in a web browser. Each round shows the page; you answer with a Thought and an Action."
_LOOK = "Please look at the attached screenshot and give the Thought and Action."
_BEHIND = "Please interact with"
"""The words at which the published script ends the task."""
_PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,{b64_img}"}}
"""The published code leaves images out of the messages, too; they are files."""


def messages_of(trajectory: Trajectory) -> tuple[list[dict[str, Any]], dict[str, Image]]:
    """The messages, and the screenshots by their names.

    Args:
        trajectory: one that is `writable`.

    Raises:
        NotWritable: the words of the task or of the answer would be read as others, or a round has no screenshot.
    """
    task = WrittenTask.of(trajectory.task)
    messages: list[dict[str, Any]] = [{"role": "system", "content": _SYSTEM, EXTENSION: task.model_dump()}]
    images: dict[str, Image] = {}
    before: Turn | None = None
    for number, turn in enumerate(trajectory.turns, start=1):
        image = turn.observation.screenshot
        if image == NO_SCREENSHOT and before is not None and any(line.startswith(FAILED) for line in before.feedback):
            messages.append({"role": "user", "content": " ".join(before.feedback).removeprefix(FAILED)})
        else:
            images[f"screenshot{number}.png"] = picture_of(image)
            head = _first(trajectory) if before is None else f"Observation: {' '.join(before.feedback)} {_LOOK}"
            text = f"{head}\n{turn.observation.text or ''}"
            messages.append({"role": "user", "content": [{"type": "text", "text": text}, _PICTURE]})
        is_answer = turn is trajectory.turns[-1] and trajectory.termination is Termination.DONE
        messages.append(
            {"role": "assistant", "content": _response(trajectory, turn, trajectory.answer or "", is_answer)}
        )
        before = turn
    if trajectory.final_screenshot is not None:
        images[f"screenshot{len(trajectory.turns) + 1}.png"] = picture_of(trajectory.final_screenshot)
    return messages, images


def _first(trajectory: Trajectory) -> str:
    """The task in the words by which the published script finds it, on one line."""
    intent = " ".join(trajectory.task.intent.split())
    page = start_tabs(trajectory.task.start_url)[0].strip()
    text = f"Now given a task: {intent}  {_BEHIND} {page} and get the answer. "
    match = TASK.search(text)
    if match is None or (match["intent"], match["url"]) != (intent, page) or _BEHIND in intent:
        raise NotWritable("the words or the address of its task would be read as others: leave this trajectory out")
    return f"{text}\nObservation: {_LOOK}"


def _response(trajectory: Trajectory, turn: Turn, answer: str, is_answer: bool) -> str:
    thought = (
        (thought_of(trajectory, turn) or "").strip().replace(ACTION.strip(), "Action -").replace(ANSWER, ANSWER.lower())
    )
    calls = [call for call in turn.tool_calls if call.error is None and not (is_answer and call.name == "done")]
    if is_answer:
        actions = [*map(_own, calls), _answer(answer)]
    else:
        actions = [*map(_own, calls[:-1]), *map(_action, calls[-1:])]
    return f"Thought: {thought}\n\n" + "\n".join(f"{ACTION}{action}" for action in actions)


def _answer(answer: str) -> str:
    """The action that answers, in brackets if the text would else lose its own."""
    for text in (answer, f"[{answer}]"):
        action = f"{ANSWER}; {text}"
        if answer_text(action) == answer.strip() and [call.name for call in calls_of(f"{ACTION}{action}")] == ["done"]:
            return action
    raise NotWritable("its answer would be read as another one: leave this trajectory out")


def _own(call: ToolCall) -> str:
    return f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}"


def _action(call: ToolCall) -> str:
    """The last action of a response, which alone may have WebVoyager's words."""
    target, text = (call.arguments.get(key) for key in ("target", "text"))
    name = call.name.capitalize()
    words = name + ("" if target is None else f" [{target}]") + ("" if text is None else f"; {text}")
    if "\n" not in words and calls_of(f"{ACTION}{words}") == [call] and call.name != "done":
        return words
    return _own(call)
