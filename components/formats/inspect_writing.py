"""Makes a sample of inspect_ai of a trajectory, and the header of a log of its samples.

The task and the first page are a message of the user, each response one of the assistant with its calls, each feedback
one of a tool, and each later page one of the user. The score is whether the episode is a success, by the verdict or by
an ending of the agent that needs none; an unparsed verdict or an error is no score. An episode that the environment
ended is an error.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

from components.formats.building import split_response
from components.formats.files import damage, short_hash
from components.formats.inspect_records import (
    Call,
    Choice,
    Config,
    Content,
    Dataset,
    Error,
    Header,
    Limit,
    Message,
    Metric,
    MetricDefinition,
    Output,
    Results,
    Sample,
    Score,
    Scorer,
    ScoreResults,
    Spec,
    Stats,
    Usage,
)
from components.formats.interface import NotWritable
from components.records import NO_SCREENSHOT, Image, Observation, Termination, Trajectory, Turn, Verdict
from components.success import needs_judge, success

VERDICT, REWARD = "verdict", "site_reward"
_VALUES = {True: "C", False: "I"}
_METRICS = {VERDICT: "accuracy", REWARD: "mean"}


def sample_of(trajectory: Trajectory, verdict: Verdict | None) -> Sample:
    """The sample of an episode. Its epoch is 1: a log numbers the episodes of a task.

    Raises:
        NotWritable: a screenshot cannot be read.
    """
    task, usage = trajectory.task, _usage(trajectory)
    final = [] if trajectory.answer is None else [Choice(message=_answer(trajectory, trajectory.answer))]
    is_ours = trajectory.termination.is_agents_doing
    used_up = trajectory.termination is Termination.MAX_STEPS
    return Sample(
        id=task.task_id,
        epoch=1,
        input=task.intent,
        target=task.reference_answer or "",
        messages=_messages(trajectory),
        output=Output(model=trajectory.policy, choices=final, completion=trajectory.answer or ""),
        scores=_scores(trajectory, verdict) or None,
        metadata=_metadata(trajectory, verdict),
        model_usage={trajectory.policy: usage},
        error=None if is_ours else Error(message=f"the environment ended the episode: {trajectory.termination.value}"),
        limit=Limit(limit=len(trajectory.turns)) if used_up else None,
        turn_count=len(trajectory.turns),
    )


def header_of(samples: Iterable[Sample], created: str, version: str) -> Header:
    """The header of the log of some samples, which are read one at a time.

    Args:
        created: the time of the log, as inspect_ai writes times.
        version: of Waymark.
    """
    values: dict[str, dict[str, list[float]]] = {VERDICT: defaultdict(list), REWARD: defaultdict(list)}
    usage: dict[str, Usage] = {}
    episodes: dict[str, int] = {}
    names: dict[str, Any] = {}
    completed = 0
    for sample in samples:
        episodes[sample.id] = max(episodes.get(sample.id, 0), sample.epoch)
        names = {"world": sample.metadata["world"], "model": sample.output.model}
        completed += sample.error is None
        for name, used in sample.model_usage.items():
            usage[name] = _sum(usage.get(name, Usage()), used)
        for name, score in (sample.scores or {}).items():
            values[name][sample.id].append(float(score.value == "C") if name == VERDICT else float(score.value))
    total, epochs = sum(episodes.values()), max(episodes.values())
    identity = short_hash("\n".join([created, *map(str, names.values()), *episodes]))
    scorers = [name for name, scores in values.items() if scores]
    return Header(
        eval=Spec(
            eval_id=identity,
            run_id=identity,
            created=created,
            task=names["world"],
            task_id=identity,
            dataset=Dataset(name=names["world"], samples=len(episodes), sample_ids=[*episodes]),
            model=names["model"],
            config=Config(epochs=epochs),
            packages={"waymark": version},
            metadata={"exported_by": "waymark export --format inspect"},
            scorers=[
                Scorer(name=name, metrics=[MetricDefinition(name=f"inspect_ai/{_METRICS[name]}")]) for name in scorers
            ],
        ),
        results=Results(
            total_samples=total,
            completed_samples=completed,
            scores=[_results(name, values[name], len(episodes)) for name in scorers],
        ),
        stats=Stats(started_at=created, completed_at=created, model_usage=usage),
    )


def _results(name: str, values: dict[str, list[float]], tasks: int) -> ScoreResults:
    """The mean over tasks of the mean over each task's episodes, as inspect_ai computes it."""
    means = [sum(scores) / len(scores) for scores in values.values()]
    metric = _METRICS[name]
    return ScoreResults(
        name=name,
        scorer=name,
        scored_samples=len(means),
        unscored_samples=tasks - len(means),
        metrics={metric: Metric(name=metric, value=sum(means) / len(means))},
    )


def _messages(trajectory: Trajectory) -> list[Message]:
    turns, task = trajectory.turns, trajectory.task
    messages: list[Message] = []

    def add(role: Any, content: str | list[Content], **fields: Any) -> None:
        messages.append(
            Message(id=f"{trajectory.trajectory_id}-{len(messages) + 1}", role=role, content=content, **fields)
        )

    add("user", _page(turns[0].observation, task.intent) if turns else task.intent, source="input")
    for turn, following in zip_longest(turns, turns[1:]):
        calls = _calls(turn)
        add("assistant", _response(turn), source="generate", tool_calls=calls or None, model=trajectory.policy)
        for call, feedback in zip_longest(calls, turn.feedback):
            if call is None:
                add("user", feedback)
            else:
                add("tool", feedback or "", tool_call_id=call.id, function=call.function)
        if following is not None:
            add("user", _page(following.observation))
    if trajectory.final_screenshot is not None:
        add("user", [_text("The last page."), *_picture(trajectory.final_screenshot)])
    return messages


def _response(turn: Turn) -> list[Content]:
    reasoning, rest = split_response(turn.response)
    if reasoning is None and "</think>" in rest:  # the prompt had the opening tag (`model.think_prefix`)
        reasoning, _, rest = rest.rpartition("</think>")
    thought = [Content(type="reasoning", reasoning=reasoning)] if reasoning is not None else []
    return [*thought, _text(rest)]


def _calls(turn: Turn) -> list[Call]:
    return [
        Call(id=f"{turn.index}-{number}", function=call.name, arguments=call.arguments, parse_error=call.error)
        for number, call in enumerate(turn.tool_calls, start=1)
    ]


def _answer(trajectory: Trajectory, answer: str) -> Message:
    return Message(
        id=f"{trajectory.trajectory_id}-answer",
        role="assistant",
        content=answer,
        source="generate",
        model=trajectory.policy,
    )


def _page(seen: Observation, intent: str | None = None) -> list[Content]:
    """The page in one text and its screenshot. Empty lines keep the parts apart in Markdown."""
    return [_text("\n\n".join(filter(None, [intent, seen.url, seen.text]))), *_picture(seen.screenshot)]


def _picture(image: Image) -> list[Content]:
    if image == NO_SCREENSHOT:
        return []
    if problem := damage(image):
        raise NotWritable(f"a screenshot {problem}: leave this trajectory out")
    data = base64.b64encode(image.data).decode()
    return [Content(type="image", image=f"data:{image.media_type};base64,{data}")]


def _text(text: str) -> Content:
    return Content(type="text", text=text)


def _scores(trajectory: Trajectory, verdict: Verdict | None) -> dict[str, Score]:
    scores: dict[str, Score] = {}
    outcome = success(trajectory, verdict)
    if outcome is not None:
        judged = verdict if needs_judge(trajectory) else None
        scores[VERDICT] = Score(
            value=_VALUES[outcome],
            answer=trajectory.answer,
            explanation=judged.rationale if judged else f"No judge is needed: {_ending(trajectory)}.",
            metadata={"judge": judged.judge, "judge_version": judged.judge_version} if judged else None,
        )
    if trajectory.site_reward is not None:
        scores[REWARD] = Score(value=trajectory.site_reward)
    return scores


def _ending(trajectory: Trajectory) -> str:
    if trajectory.late_actions:
        return "the agent acted on a page after the page had ended the task"
    return f"the agent ended the episode without a valid answer ({trajectory.termination.value})"


def _metadata(trajectory: Trajectory, verdict: Verdict | None) -> dict[str, Any]:
    task = trajectory.task
    fields = {
        "termination": trajectory.termination.value,
        "world": task.source,
        "family": task.family,
        "split": task.split,
        "start_url": task.start_url,
        "difficulty": task.difficulty,
        "trajectory_id": trajectory.trajectory_id,
        "attempt": trajectory.attempt,
        "seed": trajectory.seed,
        "protocol": trajectory.protocol,
        "verdict": None if verdict is None else verdict.outcome.value,
        "state_credit": None if trajectory.state_check is None else trajectory.state_check.credit,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _usage(trajectory: Trajectory) -> Usage:
    prompt, response = sum(turn.prompt_tokens for turn in trajectory.turns), trajectory.response_tokens
    return Usage(input_tokens=prompt, output_tokens=response, total_tokens=prompt + response)


def _sum(first: Usage, second: Usage) -> Usage:
    return Usage(
        input_tokens=first.input_tokens + second.input_tokens,
        output_tokens=first.output_tokens + second.output_tokens,
        total_tokens=first.total_tokens + second.total_tokens,
    )
