"""Makes a trajectory of an ATIF document. A document that Waymark wrote gives the original trajectory.

A document of another program gives what a judge needs:

- The first message of a user is the task, and its hash the task's id, so that attempts at a task belong together.
- Each step of the agent is a turn; steps that were copied from another trajectory (`is_copied_context`) are left out.
- A turn's page is the last image before it, of a message or result; with several in one step the last one counts.
- The agent's last message is the answer, or, if the last step ends with a call of `done`, `finish`, `answer` or
  `submit`, that call's longest text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from components.formats.atif_extension import (
    CallExtension,
    PageExtension,
    StepExtension,
    TrajectoryExtension,
    extended,
)
from components.formats.atif_records import AtifCall, Content, Document, Metrics, Result, Step, pictures, texts
from components.formats.building import thought_and_action, trajectory_of, turn_of
from components.formats.files import read_screenshot, short_hash
from components.formats.interface import ReadTrajectory, Unreadable
from components.records import NO_SCREENSHOT, Image, Task, Termination, ToolCall, Trajectory, Turn

ENDING_CALLS = frozenset({"done", "finish", "answer", "submit"})


@dataclass
class _Page:
    """The page that the agent sees next."""

    image: Image = NO_SCREENSHOT
    text: str | None = None
    fields: PageExtension = field(default_factory=PageExtension)


def read_trajectory(documents: Mapping[Path, Document], name: str, policy: str) -> ReadTrajectory:
    """A document with its continuations as a trajectory.

    Args:
        documents: by their files, the first one first. The images of each are in the same folder.
        name: the first document's path below the folder that is read. It becomes part of the trajectory's id if
            another agent wrote the document.
        policy: the name of the folder that is read.

    Raises:
        Unreadable: the document has no task, or no step of an agent.
        ValidationError: the document was written by Waymark and changed afterwards.
    """
    file, document = next(iter(documents.items()))
    own = extended(document.extra, TrajectoryExtension)
    steps = _Steps()
    for place, part in documents.items():
        for step in part.steps:
            steps.add(step, place.parent)
    if own is None:
        trajectory = _foreign([step for part in documents.values() for step in part.steps], steps, file, name, policy)
    else:
        trajectory = Trajectory.model_validate(
            own.model_dump(exclude={"verdict"})
            | {"trajectory_id": document.trajectory_id, "turns": steps.turns, "final_screenshot": steps.final}
        )
    return ReadTrajectory(str(file), trajectory, tuple(steps.missing))


def _foreign(all_steps: Sequence[Step], steps: _Steps, file: Path, name: str, policy: str) -> Trajectory:
    intent = next((texts(step.message) for step in all_steps if step.source == "user"), "").strip()
    if not intent:
        raise Unreadable(f"{file}: no step of a user says what the task is: add one with the task as its message")
    if not steps.turns:
        raise Unreadable(f"{file}: has no step of an agent, so there is nothing to judge: run the task again")
    task = Task(
        task_id=f"atif/{short_hash(intent)}",
        intent=intent,
        start_url="",
        website="atif",
        source="atif",
        split="eval",
    )
    return trajectory_of(name, task, policy, steps.turns, Termination.DONE, _answer(all_steps), steps.page.image)


def _answer(steps: Sequence[Step]) -> str:
    last = [step for step in steps if step.source == "agent" and not step.is_copied_context][-1]
    call = last.tool_calls[-1] if last.tool_calls else None
    if call is not None and call.function_name in ENDING_CALLS:
        values = [value for value in call.arguments.values() if isinstance(value, str)]
        if values:
            return max(values, key=len)
    return texts(last.message)


class _Steps:
    """Collects turns, and the pages between them."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.missing: list[str] = []
        self.page = _Page()
        self.final: Image | None = None

    def add(self, step: Step, folder: Path) -> None:
        """Add a step in order. `folder` is the one of its images."""
        if step.is_copied_context:
            return
        results = step.observation.results if step.observation is not None else []
        if step.source == "agent":
            self.turns.append(self._turn(step, results))
        for image in self._images(step.message, folder):
            self.page = _Page(image)
        for result in results:
            self._see(result, folder)

    def _see(self, result: Result, folder: Path) -> None:
        fields = extended(result.extra, PageExtension)
        images = self._images(result.content, folder)
        if fields is not None and fields.is_final:
            self.final = images[-1] if images else NO_SCREENSHOT
        elif fields is not None:
            text = texts(result.content) if _has_text(result) else None
            self.page = _Page(images[-1] if images else NO_SCREENSHOT, text, fields)
        elif images:
            self.page = _Page(images[-1])

    def _turn(self, step: Step, results: list[Result]) -> Turn:
        own = extended(step.extra, StepExtension)
        calls = [_call(call) for call in step.tool_calls or []]
        feedback = [texts(result.content) for result in results if extended(result.extra, PageExtension) is None]
        if own is None:
            feedback = [text for text in feedback if text]
        response = texts(step.message)
        if step.reasoning_content is not None and own is None:
            response = thought_and_action(step.reasoning_content, response)
        elif step.reasoning_content is not None:
            response = f"<think>{step.reasoning_content}</think>{response}"
        page, metrics = self.page, step.metrics or Metrics()
        observed = {} if own is None else page.fields.model_dump(exclude={"is_final"})
        turn = turn_of(len(self.turns), page.image, response, calls, feedback, text=page.text)
        return Turn.model_validate(
            turn.model_dump()
            | {
                "observation": turn.observation.model_dump() | observed,
                "prompt_tokens": metrics.prompt_tokens or 0,
                "token_ids": metrics.completion_token_ids or [],
                "logprobs": metrics.logprobs or [],
            }
            | ({} if own is None else own.model_dump())
        )

    def _images(self, content: str | list[Content] | None, folder: Path) -> list[Image]:
        images = []
        for source in pictures(content):
            screenshot = read_screenshot(source.path, folder)
            images.append(screenshot.image)
            self.missing += [screenshot.missing] if screenshot.missing else []
        return images


def _has_text(result: Result) -> bool:
    return isinstance(result.content, list) and any(part.type == "text" for part in result.content)


def _call(call: AtifCall) -> ToolCall:
    own = extended(call.extra, CallExtension)
    return ToolCall(name=call.function_name, arguments=call.arguments, error=own.error if own else None)
