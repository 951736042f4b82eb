"""Trajectories in AgentRewardBench's form (Lù et al., 2025); `judge.expert_annotations` reads the 1,302 labels.

The published files:

- `trajectories/cleaned/<benchmark>/<agent>/<experiment>/<task>.json`: goal, steps with reasoning, action, address and
  screenshot, and the benchmark's own reward; `screenshots/` is beside `cleaned`.

OpenWebRL reports results on it in appendix C.2. Its agents differ from ours: actions name elements by id, and the only
feedback is the error of an action and the next address. All trajectories are judged; those without a final message have
an empty answer here. The accessibility trees and HTML of the pages are not read. `agent_reward_bench_writing` writes
the form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from components.formats.agent_reward_bench_writing import FOLDER, SCREENSHOTS, cleaned_of
from components.formats.browsergym_actions import MESSAGES, calls_of
from components.formats.building import turn_of
from components.formats.files import Screenshot, conversion_of, parsed, read_each, read_json_file, read_screenshot
from components.formats.interface import Damaged, Format, ReadTrajectory, Unreadable
from components.formats.json_writing import json_text
from components.formats.registry import register
from components.formats.result_writing import EXTENSION, FAILED, WrittenTask, file_name, new_place, writable
from components.records import NO_SCREENSHOT, Image, Int64, Task, Termination, Trajectory, Turn, Verdict, trajectory_id

_ANSWERS = ("0", "text", "reason")
"""Arguments of these actions that are the answer: the first one, which some agents name."""


class _Step(BaseModel):
    model_config = ConfigDict(extra="ignore")
    url: str = ""
    action: str | None = None
    reasoning: str | None = None
    screenshot_path: str
    last_action_error: str | None = None


class _Summary(BaseModel):
    model_config = ConfigDict(extra="ignore")
    cum_reward: float | None = Field(default=None, allow_inf_nan=False)


class _Cleaned(BaseModel):
    model_config = ConfigDict(extra="ignore")
    benchmark: str
    agent: str
    goal: str
    seed: Int64 | None = None
    valid: bool = True
    summary_info: _Summary = _Summary()
    steps: list[_Step]
    waymark: WrittenTask | None = None
    """The whole task, in a file that we wrote."""


def benchmark_of(trajectory: Trajectory) -> str:
    """The benchmark of a trajectory as AgentRewardBench reports it: WorkArena's second level is `workarena++`."""
    name = trajectory.task.website
    is_second_level = name == "workarena" and "l2" in trajectory.task_id.lower()
    return "workarena++" if is_second_level else name


def identity_of(benchmark: str, agent: str, task: str) -> str:
    """The id of an agent's trajectory on a task."""
    return trajectory_id(f"{benchmark}/{task}", 0, agent, 0)


@register
class AgentRewardBench(Format):
    """The published folder `trajectories`."""

    name: ClassVar[str] = "agent_reward_bench"
    about: ClassVar[str] = f"AgentRewardBench's folder `trajectories` with `{FOLDER}` and `{SCREENSHOTS}`"
    writes: ClassVar[bool] = True

    def recognises(self, path: Path) -> bool:
        """Whether the folder has `cleaned`."""
        return (path / FOLDER).is_dir()

    def read(self, path: Path) -> Iterator[ReadTrajectory | Damaged]:
        """Yields a trajectory per file, or `Damaged` if it has no step or the benchmark marks it as not valid."""
        files = sorted((path / FOLDER).rglob("*.json"))
        if not files:
            raise Unreadable(f"{path / FOLDER} has no .json file: name the folder `trajectories`")
        yield from read_each(files, path, _read)

    def write(
        self, trajectory: Trajectory, verdict: Verdict | None, folder: Path, clean: Callable[[str], str]
    ) -> list[str]:
        """Write the file in `cleaned` and the screenshots beside it; the form has no place for a verdict."""
        trajectory = writable(trajectory, clean)
        cleaned, images = cleaned_of(trajectory)
        parts = file_name(cleaned["benchmark"]), file_name(cleaned["agent"])
        place = new_place(
            cleaned["task"],
            trajectory.task_id,
            lambda name: folder.joinpath(FOLDER, *parts, file_name(cleaned["experiment"]), f"{name}.json"),
            lambda place: read_json_file(place)[EXTENSION]["task_id"],
        )
        shots = Path(SCREENSHOTS, *parts, place.stem)
        for step, name in zip(cleaned["steps"], images, strict=True):
            step["screenshot_path"] = Path("trajectories", shots, name).as_posix()
        text = json_text(cleaned, indent=1)
        (folder / shots).mkdir(parents=True)
        for name, image in images.items():
            (folder / shots / name).write_bytes(image.data)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text + "\n", encoding="utf-8")
        return []


def iter_trajectories(folder: Path) -> Iterator[Trajectory]:
    """The valid trajectories of the published `trajectories` folder, one in memory at a time.

    Raises:
        Unreadable: a file has another form, or a screenshot is missing.
    """
    for file in sorted((folder / FOLDER).rglob("*.json")):
        cleaned = _cleaned(file)
        if not cleaned.valid or not cleaned.steps:
            continue
        with conversion_of(file):
            record = _converted(cleaned, file, folder)
        if record.missing:
            raise Unreadable(f"{record.missing[0]}; AgentRewardBench's `screenshots` belong beside its `{FOLDER}`")
        yield record.trajectory


def _read(file: Path, folder: Path) -> ReadTrajectory:
    cleaned = _cleaned(file)
    if not cleaned.valid or not cleaned.steps:
        reason = "has no step" if cleaned.valid else "is marked `valid: false`"
        raise Unreadable(f"{file}: {reason}, and AgentRewardBench leaves it out: leave it out, too")
    return _converted(cleaned, file, folder)


def _cleaned(file: Path) -> _Cleaned:
    return parsed(_Cleaned, read_json_file(file), str(file), "cleaned trajectory of AgentRewardBench")


def _converted(cleaned: _Cleaned, file: Path, folder: Path) -> ReadTrajectory:
    screenshots = [_screenshot(step, folder) for step in cleaned.steps]
    missing = tuple(screenshot.missing for screenshot in screenshots if screenshot.missing)
    trajectory = _trajectory(cleaned, file.stem, [screenshot.image for screenshot in screenshots])
    return ReadTrajectory(str(file), trajectory, missing)


def _trajectory(cleaned: _Cleaned, task: str, images: list[Image]) -> Trajectory:
    following = [*cleaned.steps[1:], None]
    steps_with_action = [step for step in cleaned.steps if step.action]
    turns = [
        _turn(index, step, image, next_step)
        for index, (step, image, next_step) in enumerate(zip(cleaned.steps, images, following, strict=True))
        if step.action
    ]
    read_task = Task(
        task_id=f"{cleaned.benchmark}/{task}",
        intent=cleaned.goal,
        start_url=cleaned.steps[0].url,
        website=cleaned.benchmark,
        source="agent_reward_bench",
        split="eval",
        seed=cleaned.seed,
    )
    return Trajectory(
        trajectory_id=identity_of(cleaned.benchmark, cleaned.agent, task),
        task=read_task if cleaned.waymark is None else cleaned.waymark.restore(read_task),
        attempt=0,
        policy=cleaned.agent,
        protocol="browsergym",
        seed=0,
        turns=turns,
        termination=Termination.DONE,
        answer=_answer(steps_with_action[-1].action or "") if steps_with_action else "",
        site_reward=cleaned.summary_info.cum_reward,
        final_screenshot=None if images[-1] == NO_SCREENSHOT else images[-1],
    )


def _answer(action: str) -> str:
    """The text of a final message; empty for other actions."""
    call = calls_of(action)[-1]
    answers = [call.arguments[name] for name in _ANSWERS if name in call.arguments]
    return str(answers[0]) if answers and call.name in MESSAGES else ""


def _turn(index: int, step: _Step, image: Image, next_step: _Step | None) -> Turn:
    if next_step is None:
        feedback = "The episode ended."
    elif next_step.last_action_error:
        feedback = f"{FAILED}{next_step.last_action_error}"
    else:
        feedback = f"The page is now {next_step.url}"
    response = f"<think>{step.reasoning or ''}</think>\n{step.action}"
    return turn_of(index, image, response, calls_of(step.action or ""), [feedback], step.url)


def _screenshot(step: _Step, folder: Path) -> Screenshot:
    """A step's screenshot. Paths in the published files begin with `trajectories/`, which is `folder`."""
    return read_screenshot(step.screenshot_path.removeprefix("trajectories/"), folder)
