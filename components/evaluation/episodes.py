"""One small record per episode, without images: the input of all metrics."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import Field

from components.agent.protocols import recorded_protocol
from components.browser import acts
from components.evaluation.breakdowns import Facets, facets
from components.evaluation.comparison import first_names
from components.evaluation.errors import EvaluationError
from components.evaluation.reasoning_markers import Step, markers_of
from components.evaluation.state_summary import StateFigures, state_figures
from components.evaluation.taxonomy import FailureKind, failure_kind
from components.judge import needs_judge
from components.judge.rules import is_complete
from components.records import Record, Task, Termination, Trajectory, Turn, Verdict


class JudgeUse(Record):
    """What a verdict cost: tokens, USD, seconds."""

    tokens: int
    usd: float
    seconds: float


class Episode(Record):
    """One episode, without its images. `success` is None if the episode is unjudged.

    `completed` says whether the agent did the task, whatever else it did and however it ended the episode: a success
    did nothing else and said `done`. `actions` counts its calls that do more than scroll, wait and say `done`.

    `policy_s`, `browser_s` (with the browser's start) and `wall_s` (the whole episode) are seconds; `wall_s` and
    `policy_usd` are None where they were not recorded. An endpoint's response tokens are those that it billed
    (`agent.loop`).
    """

    trajectory_id: str
    task_id: str
    family: str
    split: str
    success: bool | None
    completed: bool = False
    actions: int = 0
    failure: FailureKind | None
    termination: Termination
    turns: int
    response_tokens: int
    prompt_tokens: int = 0
    task_digest: str = ""
    source: str = ""
    facets: Facets = Facets()
    steps: list[Step] = Field(default_factory=list)
    policy_s: float = 0.0
    browser_s: float = 0.0
    wall_s: float | None = None
    policy_usd: float | None = None
    judge: JudgeUse | None = None
    state: StateFigures | None = None


def join_verdicts(trajectories: Iterable[Trajectory], verdicts: Iterable[Verdict]) -> list[Episode]:
    """Episodes from trajectories and their verdicts, with one trajectory in memory at a time.

    Raises:
        EvaluationError: a trajectory ended with an answer and has no verdict.
    """
    verdict_of = {verdict.trajectory_id: verdict for verdict in verdicts}
    episodes, missing = [], []
    for trajectory in trajectories:
        verdict = verdict_of.get(trajectory.trajectory_id)
        if verdict is None and needs_judge(trajectory):
            missing.append(trajectory.trajectory_id)
        episodes.append(_episode(trajectory, verdict))
    if missing:
        raise EvaluationError(
            f"{len(missing)} finished trajectories have no verdict ({first_names(missing)}); "
            "run the judge on them first"
        )
    return episodes


def headline(episodes: Sequence[Episode]) -> Sequence[Episode]:
    """The episodes that the headline rates are of: without held-out families, if others were evaluated."""
    return [episode for episode in episodes if episode.split != "heldout"] or episodes


def scores(episodes: Iterable[Episode]) -> dict[str, float | None]:
    """By task id, the share of judged episodes that succeeded; None if no episode was judged."""
    by_task: dict[str, list[float]] = {}
    for episode in episodes:
        by_task.setdefault(episode.task_id, [])
        if episode.success is not None:
            by_task[episode.task_id].append(float(episode.success))
    return {task: float(np.mean(values)) if values else None for task, values in by_task.items()}


def of_the_agent(episodes: Iterable[Episode]) -> Iterator[Episode]:
    """The episodes, without a success where the environment ended one: that says nothing about a model, and a broken
    browser would make it lose a comparison."""
    for episode in episodes:
        yield episode if episode.termination.is_agents_doing else episode.model_copy(update={"success": None})


def task_set(episodes: Iterable[Episode]) -> str:
    """A checksum of the attempted tasks, 12 hex digits; order and number of attempts do not change it."""
    digests = sorted({episode.task_digest for episode in episodes})
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:12]


def _episode(trajectory: Trajectory, verdict: Verdict | None) -> Episode:
    steps = [_step(turn, trajectory.protocol) for turn in trajectory.turns]
    kind = failure_kind(trajectory, verdict, [step.markers for step in steps])
    timings = [turn.timings for turn in trajectory.turns]
    start = trajectory.diagnostics.get("start")
    return Episode(
        trajectory_id=trajectory.trajectory_id,
        task_id=trajectory.task_id,
        family=trajectory.task.family,
        split=trajectory.task.split,
        success=None if kind is FailureKind.UNJUDGED else kind is None,
        completed=kind is None or (trajectory.termination.is_agents_doing and is_complete(trajectory)),
        actions=sum(acts(call) for turn in trajectory.turns for call in turn.tool_calls),
        failure=kind,
        termination=trajectory.termination,
        turns=len(trajectory.turns),
        response_tokens=trajectory.response_tokens,
        prompt_tokens=sum(turn.prompt_tokens for turn in trajectory.turns),
        task_digest=_task_digest(trajectory.task),
        source=trajectory.task.source,
        facets=facets(trajectory.task),
        steps=steps,
        policy_s=sum(times.get("policy", 0.0) for times in timings),
        browser_s=sum(_browser_s(times) for times in timings) + (_browser_s(start) if isinstance(start, dict) else 0.0),
        wall_s=_number(trajectory.diagnostics, "wall_s"),
        policy_usd=_number(trajectory.diagnostics, "usd"),
        judge=_judge_use(verdict) if verdict is not None else None,
        state=state_figures(trajectory),
    )


def _step(turn: Turn, protocol_name: str) -> Step:
    spoken, reasoning = recorded_protocol(protocol_name), ""
    if spoken is not None:
        parsed = spoken.parse(turn.response)
        reasoning = parsed.thought or (turn.response if parsed.error else "")  # a call without a thought has none
    return Step(markers=markers_of(reasoning), tokens=len(turn.token_ids), characters=len(turn.response))


def _judge_use(verdict: Verdict) -> JudgeUse:
    return JudgeUse(tokens=verdict.tokens, usd=verdict.cost_usd, seconds=verdict.latency_s)


def _browser_s(timings: Mapping[str, float]) -> float:
    return sum(seconds for operation, seconds in timings.items() if operation not in ("policy", "queue"))


def _task_digest(task: Task) -> str:
    """A checksum of the fields that identify a task; the split and other fields of ours are not among them."""
    identity = "\x00".join([task.task_id, task.intent, task.start_url, task.reference_answer or ""])
    return hashlib.sha256(identity.encode()).hexdigest()


def _number(values: Mapping[str, Any], name: str) -> float | None:
    value = values.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
