"""Reads the results of WebVoyager's agent (He et al., 2024): `task<ID>/interact_messages.json` and screenshots.

The published code writes the messages of the conversation without their images, and `screenshot<N>.png` of round N. The
first user message names the task and the website; each user message is a round. A round after an error (an action that
could not be executed, a response in another format) has a message of text alone, and no screenshot. Older messages are
shortened to "(Omitted in context.)", their screenshots are not.

As in the published `auto_eval.py`, an episode whose last response does not answer is a failure. Two endings have no
verdict here, which the published code counts as failures: a run that has no round, and one whose last message waits for
a response of the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from components.formats.building import trajectory_of, turn_of
from components.formats.files import MEND, Screenshot, problems, read_each, read_json_file, read_screenshot
from components.formats.interface import Damaged, Format, ReadTrajectory, Unreadable
from components.formats.registry import register
from components.records import NO_SCREENSHOT, Task, Termination, ToolCall, Turn

FILE = "interact_messages.json"
_TASK = re.compile(r"Now given a task:\s*(?P<intent>.+?)\s*Please interact with\s+(?P<url>\S+?)\s+and get", re.DOTALL)
_OBSERVATION = re.compile(r"\n(\[\d+\]: .*)", re.DOTALL)
_SHORTENED = "(Omitted in context.)"
_ACTION = re.compile(r"Action:\s*(?P<action>.*)", re.DOTALL)
_CALL = re.compile(r"(?P<name>[A-Za-z]+)[;\s]*(?:\[(?P<target>[^\]]*)\])?[;\s]*(?P<rest>.*)", re.DOTALL)
_ANSWER = "answer"


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: Literal["system", "user", "assistant"]
    content: str | list[dict[str, Any]]

    @property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "\n".join(str(part.get("text", "")) for part in self.content if part.get("type") == "text")

    @property
    def has_screenshot(self) -> bool:
        """Whether the round had a screenshot, which is a file, not a part of the message."""
        if isinstance(self.content, str):
            return _SHORTENED in self.content and "screenshot" in self.content
        return any(part.get("type") == "image_url" for part in self.content)


_MESSAGES = TypeAdapter(list[_Message])


@register
class WebVoyager(Format):
    """A folder of tasks, or the folder or the file of one."""

    name: ClassVar[str] = "webvoyager"
    about: ClassVar[str] = f"WebVoyager's `task<ID>/{FILE}` with screenshot1.png and so on"

    def recognises(self, path: Path) -> bool:
        """Whether there is a file of messages."""
        return path.name == FILE or (path.is_dir() and next(path.rglob(FILE), None) is not None)

    def read(self, path: Path) -> Iterator[ReadTrajectory | Damaged]:
        """One trajectory per file of messages."""
        files = sorted(path.rglob(FILE)) if path.is_dir() else [path]
        if not files:
            raise Unreadable(f"{path} has no {FILE}: name the folder that holds the tasks' folders")
        yield from read_each(files, path, _read)


def _read(file: Path, root: Path) -> ReadTrajectory:
    try:
        messages = _MESSAGES.validate_python(read_json_file(file))
    except ValidationError as error:
        raise Unreadable(f"{file}: are no messages of WebVoyager: {problems(error)}: {MEND}") from error
    conversation = [message for message in messages if message.role != "system"]
    if not conversation:
        raise Unreadable(f"{file}: has no round, so there is nothing to judge: run the task again")
    match = _TASK.search(conversation[0].text)
    if match is None:
        raise Unreadable(
            f"{file}: the first user message does not say `Now given a task: … Please interact with ADDRESS and get "
            "the answer`: restore it, or name the file's own format with --format"
        )
    turns, missing = _turns(conversation, match["url"], file)
    answer = _answer(turns[-1]) if turns else None
    if conversation[-1].role == "user":
        termination = Termination.INFERENCE_TIMEOUT
    else:
        termination = Termination.MAX_STEPS if answer is None else Termination.DONE
    name = file.parent.name.removeprefix("task")
    task = Task(
        task_id=name or file.stem,
        intent=match["intent"],
        start_url=match["url"],
        website=name.partition("--")[0] or "webvoyager",
        source="webvoyager",
        split="eval",
    )
    place = str(file.parent.relative_to(root)) if file.parent != root else file.parent.name
    return ReadTrajectory(str(file), trajectory_of(place, task, root.name, turns, termination, answer), tuple(missing))


def _turns(conversation: list[_Message], start_url: str, file: Path) -> tuple[list[Turn], list[str]]:
    """The turns, and a sentence about each missing screenshot. A user message without a response ends the episode."""
    turns: list[Turn] = []
    missing: list[str] = []
    number, screenshot, text = 0, Screenshot(NO_SCREENSHOT), None
    for message in conversation:
        if message.role == "user":
            number += 1
            screenshot, text = _round(message, number, file)
            missing += [screenshot.missing] if screenshot.missing else []
            if number > 1 and not message.has_screenshot and turns:
                failed = turns[-1]
                turns[-1] = failed.model_copy(update={"feedback": [f"Failed: {message.text.strip()}"]})
            continue
        turns.append(
            turn_of(
                len(turns),
                screenshot.image,
                message.text,
                [call_of(message.text)],
                url=start_url if number == 1 else "",
                text=text,
            )
        )
    return turns, missing


def _round(message: _Message, number: int, file: Path) -> tuple[Screenshot, str | None]:
    """The screenshot of a round and the page's elements as text."""
    elements = _OBSERVATION.search(message.text)
    text = elements[1] if elements else None
    name = f"screenshot{number}.png"
    if message.has_screenshot or (file.parent / name).exists():
        return read_screenshot(name, file.parent), text
    return Screenshot(NO_SCREENSHOT), text


def call_of(response: str) -> ToolCall:
    """The action of a response, such as `Type [7]; tea`, as a call with `target` and `text`; `ANSWER` is `done`."""
    match = _ACTION.search(response)
    if match is None:
        return ToolCall(name="", error="the response has no action")
    action = match["action"].strip()
    parts = _CALL.fullmatch(action)
    if parts is None:
        return ToolCall(name=action)
    if parts["name"].lower() == _ANSWER:
        return ToolCall(name="done", arguments={"answer": _answer_text(action)})
    given = {"target": parts["target"], "text": parts["rest"].strip()}
    return ToolCall(name=parts["name"].lower(), arguments={key: value for key, value in given.items() if value})


def _answer_text(action: str) -> str:
    """The text behind `ANSWER;`, without brackets around the whole."""
    text = action[len(_ANSWER) :].lstrip("; \t\n").strip()
    inner = text.removeprefix("[").removesuffix("]")
    return inner.strip() if len(inner) == len(text) - 2 and "]" not in inner else text


def _answer(turn: Turn) -> str | None:
    call = turn.tool_calls[-1]
    return str(call.arguments["answer"]) if call.name == "done" else None
