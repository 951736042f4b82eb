"""Results in Online-Mind2Web's form (Xue et al., 2025): `<task_id>/result.json` and `trajectory/` with pictures.

Version 2 is written (`online_mind2web_writing`). Both versions are read, as the benchmark's `src/run.py` does:

- Version 1 has lists of texts: `task`, `action_history`, `thoughts`, `final_result_response`. The pictures of
  `trajectory/` are sorted by the first number in their names, and nothing says which action each belongs to: here the
  first belongs to the first action, and so on.
- Version 2 (`schema_version: online-mind2web-v2`) has a step per item of `action_history`, with `action`, `thought`,
  `url` and the name of its `screenshot`, and `agent_final_answer`. The last step's action is the agent's own account
  ("TASK_COMPLETE -> …"), which the benchmark does not show to its judge; here it is a call of `done`.

An episode without a final answer is judged like any other, because the benchmark asks for states of pages, not answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from components.formats.building import thought_and_action, trajectory_of, turn_of
from components.formats.files import Screenshot, parsed, read_each, read_json_file, read_screenshot
from components.formats.interface import Damaged, Format, ReadTrajectory, Unreadable
from components.formats.json_writing import json_text
from components.formats.online_mind2web_writing import VERSION_2, result_of
from components.formats.registry import register
from components.formats.result_writing import new_place, writable
from components.records import NO_SCREENSHOT, Image, Task, Termination, ToolCall, Trajectory, Turn, Verdict

FILE, FOLDER = "result.json", "trajectory"
_PICTURES = {".png", ".jpg", ".jpeg", ".webp", ".gif"}
_NUMBER = re.compile(r"\d+")


class _Lists(BaseModel):
    """Version 1."""

    model_config = ConfigDict(extra="ignore")
    task: str = Field(min_length=1)
    task_id: str | None = None
    action_history: list[str] = Field(default_factory=list)
    thoughts: list[str | None] = Field(default_factory=list)
    final_result_response: str | None = None

    @field_validator("action_history", "thoughts", mode="before")
    @classmethod
    def _as_list(cls, value: Any) -> Any:
        """Turns null into an empty list and a single text into a list, because some runners write these."""
        if isinstance(value, str):
            return [value]
        return [] if value is None else value


class _Step(BaseModel):
    model_config = ConfigDict(extra="ignore")
    screenshot: str
    action: str
    action_status: str | None = None
    thought: str | None = None
    url: str | None = None


class _Steps(BaseModel):
    """Version 2."""

    model_config = ConfigDict(extra="ignore")
    schema_version: Literal["online-mind2web-v2"]
    task: str = Field(min_length=1)
    task_id: str
    agent_final_answer: str | None = None
    action_history: list[_Step] = Field(min_length=1)


@register
class OnlineMind2Web(Format):
    """A folder of tasks, or the folder or the file of one."""

    name: ClassVar[str] = "online_mind2web"
    about: ClassVar[str] = f"Online-Mind2Web's `<task_id>/{FILE}` with {FOLDER}/"
    writes: ClassVar[bool] = True

    def recognises(self, path: Path) -> bool:
        """Whether a file of a result is beside a folder of pictures."""
        return next(_files(path), None) is not None

    def read(self, path: Path) -> Iterator[ReadTrajectory | Damaged]:
        """One trajectory per result."""
        files = sorted(_files(path)) or (sorted(path.rglob(FILE)) if path.is_dir() else [path])
        if not files:
            raise Unreadable(f"{path} has no {FILE}: name the folder that holds the tasks' folders")
        yield from read_each(files, path, _read)

    def write(
        self, trajectory: Trajectory, verdict: Verdict | None, folder: Path, clean: Callable[[str], str]
    ) -> list[str]:
        """Write `result.json` and the pictures in `trajectory/`; the form has no place for a verdict.

        The folder is called like the task, without the name of its file, because the benchmark takes the id from there.
        """
        result, images = result_of(writable(trajectory, clean))
        place = new_place(
            result["task_id"].rpartition("/")[2],
            result["task_id"],
            lambda name: folder / name,
            lambda place: read_json_file(place / FILE)["task_id"],
        )
        text = json_text(result, indent=1)
        (place / FOLDER).mkdir(parents=True)
        for picture, image in images.items():
            (place / FOLDER / picture).write_bytes(image.data)
        (place / FILE).write_text(text + "\n", encoding="utf-8")
        return []


def _files(path: Path) -> Iterator[Path]:
    """Results beside a folder of pictures; a whole benchmark may have other files of that name."""
    candidates = path.rglob(FILE) if path.is_dir() else [path]
    return (file for file in candidates if file.name == FILE and (file.parent / FOLDER).is_dir())


def _read(file: Path, root: Path) -> ReadTrajectory:
    value = read_json_file(file)
    if isinstance(value, dict) and value.get("schema_version") == VERSION_2:
        record: _Lists | _Steps = parsed(_Steps, value, str(file), "result of Online-Mind2Web, version 2")
    else:
        record = parsed(_Lists, value, str(file), "result of Online-Mind2Web")
    if isinstance(record, _Steps):
        (turns, screenshots), final = _turns_of_steps(record, file), NO_SCREENSHOT
        answer = record.agent_final_answer
    else:
        turns, screenshots, final = _turns_of_lists(record, file)
        answer = record.final_result_response
    missing = [screenshot.missing for screenshot in screenshots if screenshot.missing]
    if not screenshots:
        missing = [f"{file.parent / FOLDER} has no picture: copy the screenshots there"]
    task = Task(
        task_id=record.task_id or file.parent.name,
        intent=record.task,
        start_url=turns[0].observation.url if turns else "",
        website="online_mind2web",
        source="online_mind2web",
        split="eval",
    )
    place = str(file.parent.relative_to(root)) if file.parent != root else file.parent.name
    trajectory = trajectory_of(place, task, root.name, turns, Termination.DONE, answer or "", final)
    return ReadTrajectory(str(file), trajectory, tuple(missing))


def _turns_of_lists(record: _Lists, file: Path) -> tuple[list[Turn], list[Screenshot], Image]:
    """A turn per action, or per picture but the last if these are more, and the page after the last action: usually
    there is one picture more than actions. The answer is no step: the published judges get the actions alone."""
    folder = file.parent / FOLDER
    names = [path.name for path in folder.iterdir() if path.suffix.lower() in _PICTURES] if folder.is_dir() else []
    screenshots = [read_screenshot(name, folder) for name in sorted(names, key=_position)]
    images, final = [screenshot.image for screenshot in screenshots], NO_SCREENSHOT
    if len(images) > len(record.action_history):
        final = images.pop()
    count = max(len(record.action_history), len(images))
    images += [NO_SCREENSHOT] * (count - len(images))
    actions = [*record.action_history, *[""] * count]
    thoughts = [*record.thoughts, *[None] * count]
    turns = [
        turn_of(index, image, thought_and_action(thought or "", action), [ToolCall(name=action)] if action else [])
        for index, (image, action, thought) in enumerate(zip(images, actions, thoughts, strict=False))
    ]
    return turns, screenshots, final


def _turns_of_steps(record: _Steps, file: Path) -> tuple[list[Turn], list[Screenshot]]:
    screenshots = [read_screenshot(step.screenshot, file.parent / FOLDER) for step in record.action_history]
    last = len(screenshots) - 1
    turns = [
        turn_of(
            index,
            screenshot.image,
            thought_and_action(step.thought or "", step.action),
            [ToolCall(name="done" if index == last else step.action)],
            [step.action_status] if step.action_status else [],
            step.url or "",
        )
        for index, (step, screenshot) in enumerate(zip(record.action_history, screenshots, strict=True))
    ]
    return turns, screenshots


def _position(name: str) -> tuple[int, str]:
    """The sort key of a picture: the first number in its name, as in the benchmark's own code. Names without a number
    come last."""
    number = _NUMBER.search(name)
    return (int(number[0]) if number else 10**9, name)
