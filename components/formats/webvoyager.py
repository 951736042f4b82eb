"""Results in the form of WebVoyager's agent (He et al., 2024): `task<ID>/interact_messages.json` and screenshots.

The published code writes the messages of the conversation without their images, and `screenshot<N>.png` of round N. The
first user message names the task and the website; each user message is a round. A round after an error (an action that
could not be executed, a response in another format) has a message of text alone, and no screenshot. Older messages are
shortened to "(Omitted in context.)", their screenshots are not.

As in the published `auto_eval.py`, an episode whose last response does not answer is a failure. Two endings have no
verdict here, which the published code counts as failures: a run that has no round, and one whose last message waits for
a response of the model. `webvoyager_writing` writes the form; a screenshot after the last round is the final page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from components.formats.building import trajectory_of, turn_of
from components.formats.files import FIX, Screenshot, problems, read_each, read_json_file, read_screenshot
from components.formats.interface import Damaged, Format, ReadTrajectory, Unreadable
from components.formats.json_writing import json_text
from components.formats.registry import register
from components.formats.result_writing import EXTENSION, WrittenTask, new_place, writable
from components.formats.webvoyager_actions import TASK, calls_of
from components.formats.webvoyager_writing import messages_of
from components.records import NO_SCREENSHOT, Task, Termination, Trajectory, Turn, Verdict

FILE = "interact_messages.json"
_OBSERVATION = re.compile(r"\n(\[\d+\]: .*)", re.DOTALL)
_SHORTENED = "(Omitted in context.)"


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: Literal["system", "user", "assistant"]
    content: str | list[dict[str, Any]]
    waymark: WrittenTask | None = None
    """The whole task, in the system's message of a file that we wrote."""

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
    writes: ClassVar[bool] = True

    def recognises(self, path: Path) -> bool:
        """Whether there is a file of messages."""
        return path.name == FILE or (path.is_dir() and next(path.rglob(FILE), None) is not None)

    def read(self, path: Path) -> Iterator[ReadTrajectory | Damaged]:
        """One trajectory per file of messages."""
        files = sorted(path.rglob(FILE)) if path.is_dir() else [path]
        if not files:
            raise Unreadable(f"{path} has no {FILE}: name the folder that holds the tasks' folders")
        yield from read_each(files, path, _read)

    def write(
        self, trajectory: Trajectory, verdict: Verdict | None, folder: Path, clean: Callable[[str], str]
    ) -> list[str]:
        """Write the messages and screenshots; the form has no place for a verdict.

        The folder is called like the task, without the name of its file, because the published script looks for that.
        """
        trajectory = writable(trajectory, clean)
        messages, images = messages_of(trajectory)
        place = new_place(
            trajectory.task_id.rpartition("/")[2],
            trajectory.task_id,
            lambda name: folder / f"task{name}",
            lambda place: read_json_file(place / FILE)[0][EXTENSION]["task_id"],
        )
        text = json_text(messages, indent=1)
        place.mkdir(parents=True)
        for name, image in images.items():
            (place / name).write_bytes(image.data)
        (place / FILE).write_text(text + "\n", encoding="utf-8")
        return []


def _read(file: Path, root: Path) -> ReadTrajectory:
    try:
        messages = _MESSAGES.validate_python(read_json_file(file))
    except ValidationError as error:
        raise Unreadable(f"{file}: are no messages of WebVoyager: {problems(error)}: {FIX}") from error
    conversation = [message for message in messages if message.role != "system"]
    if not conversation:
        raise Unreadable(f"{file}: has no round, so there is nothing to judge: run the task again")
    match = TASK.search(conversation[0].text)
    if match is None:
        raise Unreadable(
            f"{file}: the first user message does not say `Now given a task: … Please interact with ADDRESS and get "
            "the answer`: restore it, or name the file's own format with --format"
        )
    turns, missing = _turns(conversation, match["url"], file)
    answer = _answer(turns[-1]) if turns else None
    final = Screenshot(NO_SCREENSHOT)
    if conversation[-1].role == "user":
        termination = Termination.INFERENCE_TIMEOUT
    else:
        termination = Termination.MAX_STEPS if answer is None else Termination.DONE
        final = _final_page(conversation, file)
        missing += [final.missing] if final.missing else []
    name = file.parent.name.removeprefix("task")
    task = Task(
        task_id=name or file.stem,
        intent=match["intent"],
        start_url=match["url"],
        website=name.partition("--")[0] or "webvoyager",
        source="webvoyager",
        split="eval",
    )
    written = next((message.waymark for message in messages if message.waymark is not None), None)
    task = task if written is None else written.restore(task)
    place = str(file.parent.relative_to(root)) if file.parent != root else file.parent.name
    trajectory = trajectory_of(place, task, root.name, turns, termination, answer, final.image)
    return ReadTrajectory(str(file), trajectory, tuple(missing))


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
                calls_of(message.text),
                url=start_url if number == 1 else "",
                text=text,
            )
        )
    return turns, missing


def _final_page(conversation: list[_Message], file: Path) -> Screenshot:
    """The screenshot after the last round, which the published code does not make."""
    name = f"screenshot{sum(message.role == 'user' for message in conversation) + 1}.png"
    return read_screenshot(name, file.parent) if (file.parent / name).exists() else Screenshot(NO_SCREENSHOT)


def _round(message: _Message, number: int, file: Path) -> tuple[Screenshot, str | None]:
    """The screenshot of a round and the page's elements as text."""
    elements = _OBSERVATION.search(message.text)
    text = elements[1] if elements else None
    name = f"screenshot{number}.png"
    if message.has_screenshot or (file.parent / name).exists():
        return read_screenshot(name, file.parent), text
    return Screenshot(NO_SCREENSHOT), text


def _answer(turn: Turn) -> str | None:
    call = turn.tool_calls[-1]
    return str(call.arguments.get("answer", "")) if call.name == "done" else None
