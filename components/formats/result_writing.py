"""What the writers of benchmarks' results share: which episodes are written, their places, texts without secrets.

These forms have one result per task. They do not say that the environment ended an episode, which would count as a
failure of the agent. What they have no place for, and our readers need, is `waymark` in their JSON: a `WrittenTask`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from components.formats.files import damage, short_hash
from components.formats.interface import NotWritable
from components.formats.json_writing import json_text
from components.records import NO_SCREENSHOT, Image, Task, Text, Trajectory, Turn
from components.redaction import cleaned, cleaned_json

EXTENSION = "waymark"
FAILED = "Failed: "
"""The beginning of feedback about a call that failed."""
_FILE_NAME = re.compile(r"\w[\w. +-]*")
_MAX_NAME = 100
"""Characters of a name that is used as it is."""


class WrittenTask(BaseModel):
    """The fields of a task that a form shortens or has no place for."""

    model_config = ConfigDict(extra="ignore")
    task_id: str = Field(min_length=1)
    intent: Text
    start_url: Text
    website: str

    @classmethod
    def of(cls, task: Task) -> Self:
        """Of a task."""
        return cls(task_id=task.task_id, intent=task.intent, start_url=task.start_url, website=task.website)

    def restore(self, task: Task) -> Task:
        """The task that a reader found, with these fields."""
        return task.model_copy(update=self.model_dump())


def writable(trajectory: Trajectory, clean: Callable[[str], str]) -> Trajectory:
    """The trajectory without secrets in what is written. Texts are cleaned here, before they are quoted or escaped.

    Raises:
        NotWritable: the environment ended the episode, it has no turn, or an argument of a call is infinite or no
            number.
    """
    if not trajectory.termination.is_agents_doing:
        raise NotWritable(
            f"the environment ended the episode ({trajectory.termination.value}), and the format would call it a "
            "failure of the agent: run the task again"
        )
    if not trajectory.turns:
        raise NotWritable("it has no turn, and the format needs a step: run the task again")
    for turn in trajectory.turns:
        json_text([call.arguments for call in turn.tool_calls])  # the forms quote them within texts
    task = trajectory.task.model_dump(include={"task_id", "intent", "start_url", "website"})
    ending = trajectory.ending
    return trajectory.model_copy(
        update={
            "task": trajectory.task.model_copy(update=cleaned(task, clean)),
            "policy": clean(trajectory.policy),
            "turns": [_cleaned_turn(turn, clean) for turn in trajectory.turns],
            "answer": None if trajectory.answer is None else clean(trajectory.answer),
            "ending": None if ending is None else ending.model_copy(update={"url": clean(ending.url)}),
        }
    )


def _cleaned_turn(turn: Turn, clean: Callable[[str], str]) -> Turn:
    texts = {"url": turn.observation.url, "text": turn.observation.text}
    calls = [
        call.model_copy(update={"name": clean(call.name), "arguments": cleaned_json(call.arguments, clean)})
        for call in turn.tool_calls
    ]
    return turn.model_copy(
        update={
            "observation": turn.observation.model_copy(update=cleaned(texts, clean)),
            "response": clean(turn.response),
            "tool_calls": calls,
            "feedback": cleaned(turn.feedback, clean),
            "parse_error": None if turn.parse_error is None else clean(turn.parse_error),
        }
    )


def picture_of(image: Image) -> Image:
    """The picture of a step.

    Raises:
        NotWritable: there is none, or it is damaged.
    """
    if image == NO_SCREENSHOT:
        raise NotWritable("a step has no screenshot, and the format needs one: record the task with screenshots")
    if problem := damage(image):
        raise NotWritable(f"a screenshot {problem}: leave this trajectory out")
    return image


def file_name(text: str) -> str:
    """A text as the name of a file or folder: itself, with `_` for `:`, or else a hash."""
    name = text.replace(":", "_")  # as in `base:6889af`, the version of a policy; Windows forbids it
    return name if len(name) <= _MAX_NAME and _FILE_NAME.fullmatch(name) else short_hash(text)


def new_place(name: str, task_id: str, at: Callable[[str], Path], id_at: Callable[[Path], object]) -> Path:
    """The place of a task's result, named by a hash of its id if another task has the name.

    Args:
        at: the path of a name.
        id_at: the id of the task whose result is at a path.

    Raises:
        NotWritable: the task has a result.
    """
    for place in (at(file_name(name)), at(short_hash(task_id))):
        if not place.exists():
            return place
        if id_at(place) == task_id:
            break
    raise NotWritable(f"the format has one result per task, and {task_id} has one: export one attempt per task")
