"""Trajectories as MLflow traces: one span per turn with its screenshot as an attachment, the verdict as feedback.

An evaluation has a trace of every episode (`log_episodes`), most of them without turns: MLflow's page "Evaluation runs"
shows them as the rows of the run, with the task, the answer and the verdict.

Spans are created afterwards from the recorded timings and end now: durations are right, the time of day is not.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from components.records import NO_SCREENSHOT, Image, Trajectory, Turn, Verdict
from components.tracking.backend import Backend, with_retries

if TYPE_CHECKING:
    from mlflow.entities import Trace
    from mlflow.entities.span import LiveSpan
    from mlflow.tracing.attachments import Attachment

TRAJECTORY, TERMINATION, VERDICT = "waymark.trajectory_id", "waymark.termination", "waymark.verdict"
_SECOND = 1_000_000_000
_PAGE = 500
"""An MLflow server refuses more."""
_DELETED_AT_ONCE = 100
_NAMED = 3
_MAX_INTENT = 700
_MAX_PREVIEW = 1000
"""Characters that a database server's column holds; a longer text loses the whole trace."""


def log_traces(
    backend: Backend,
    run_id: str,
    stage: str,
    trajectories: Iterable[Trajectory],
    verdicts: Iterable[Verdict],
    samples: int,
) -> None:
    """Log a sample of trajectories, without those that the run already has as traces. The others are read one by one
    and not kept in memory."""
    if samples == 0:
        return
    verdict_of = {verdict.trajectory_id: verdict for verdict in verdicts}
    endings: dict[str, tuple[str, str]] = {}

    def noted() -> Iterator[Trajectory]:
        for trajectory in trajectories:
            endings.update(_endings([trajectory], verdict_of))
            yield trajectory

    chosen = sample(noted(), verdict_of, samples)
    logged = _up_to_date(backend, run_id, endings)

    def log(trajectory: Trajectory) -> None:
        _log_trace(backend, run_id, stage, trajectory, verdict_of.get(trajectory.trajectory_id))

    _log_missing(backend, run_id, chosen, logged, log)


def log_episodes(
    backend: Backend,
    run_id: str,
    stage: str,
    trajectories: Sequence[Trajectory],
    verdicts: Sequence[Verdict],
    samples: int,
) -> None:
    """Log all episodes of an evaluation: a sample as `log_traces` does, the others without turns and screenshots.

    The verdicts are those that were given; no judge is asked again. `samples` of 0 logs nothing. MLflow pairs the rows
    of two runs by their request, so it names the task and the attempt: tasks of a family often have the same words.
    """
    if samples == 0:
        return
    verdict_of = {verdict.trajectory_id: verdict for verdict in verdicts}
    sampled = {trajectory.trajectory_id for trajectory in sample(trajectories, verdict_of, samples)}
    logged = _up_to_date(backend, run_id, _endings(trajectories, verdict_of))

    def log(trajectory: Trajectory) -> None:
        identity = trajectory.trajectory_id
        attempt = f", attempt {trajectory.attempt + 1}" if trajectory.attempt else ""
        request = f"{trajectory.task.intent[:_MAX_INTENT]} ({trajectory.task_id}{attempt})"
        _log_trace(backend, run_id, stage, trajectory, verdict_of.get(identity), request, identity in sampled)

    _log_missing(backend, run_id, trajectories, logged, log)


def log_conversations(backend: Backend, run_id: str, stage: str, trajectories: Sequence[Trajectory]) -> None:
    """Log trajectories as conversations, for people to label, without those that the run already has.

    The page of a review shows the messages of a trace's root: the task, each turn's calls, feedback and screenshot, and
    the answer. Rewards, verdicts and the agent's reasoning are left out, because they sway people.
    """

    def log(trajectory: Trajectory) -> None:
        _log_conversation(backend, run_id, stage, trajectory)

    _log_missing(backend, run_id, trajectories, logged_ids(backend, run_id), log)


def _log_missing(
    backend: Backend,
    run_id: str,
    trajectories: Sequence[Trajectory],
    logged: set[str],
    log: Callable[[Trajectory], None],
) -> None:
    """Log trajectories without those that the run has. MLflow only warns of a trace that it could not store, so what
    is missing afterwards is logged once more. If it is missing still, this says so: no result depends on traces."""
    missing = [trajectory for trajectory in trajectories if trajectory.trajectory_id not in logged]
    for _ in range(2):
        if not missing:
            return
        for trajectory in missing:
            log(trajectory)
        logged = logged_ids(backend, run_id)
        missing = [trajectory for trajectory in missing if trajectory.trajectory_id not in logged]
    if missing:
        names = ", ".join(trajectory.trajectory_id for trajectory in missing[:_NAMED])
        print(f"MLflow stored no trace of {len(missing)} of {len(trajectories)} episodes, such as {names}", flush=True)


def sample(trajectories: Iterable[Trajectory], verdict_of: dict[str, Verdict], samples: int) -> list[Trajectory]:
    """The first trajectories of each outcome in turn, so that a small sample has successes and failures."""
    by_outcome: dict[str, list[Trajectory]] = defaultdict(list)
    for trajectory in trajectories:
        verdict = verdict_of.get(trajectory.trajectory_id)
        kept = by_outcome[verdict.outcome if verdict else ""]
        if len(kept) < samples:
            kept.append(trajectory)
    rounds = zip_longest(*(by_outcome[outcome] for outcome in sorted(by_outcome)))
    return [trajectory for row in rounds for trajectory in row if trajectory is not None][:samples]


def logged_ids(backend: Backend, run_id: str) -> set[str]:
    """The trajectories that a run has traces of."""
    return {trace.info.tags.get(TRAJECTORY, "") for trace in traces_of(backend, run_id)}


def _endings(trajectories: Iterable[Trajectory], verdict_of: Mapping[str, Verdict]) -> dict[str, tuple[str, str]]:
    """How each trajectory ended and what was decided, as the tags of a trace, by trajectory id."""
    return {
        trajectory.trajectory_id: (trajectory.termination.value, _named(verdict_of.get(trajectory.trajectory_id)))
        for trajectory in trajectories
    }


def _up_to_date(backend: Backend, run_id: str, endings: Mapping[str, tuple[str, str]]) -> set[str]:
    """The trajectories that a run has traces of, given how they ended now. Traces of episodes that were repeated since
    and ended in another way, such as those that the environment had ended in an invalid evaluation, are deleted. So are
    those with another verdict, such as an error of a judge that was asked again, or without the feedback of theirs.
    Traces of earlier versions do not name their verdict."""
    logged, outdated = set[str](), list[str]()
    for trace in traces_of(backend, run_id):
        tags = trace.info.tags
        identity = tags.get(TRAJECTORY, "")
        ending, verdict = endings.get(identity, (tags.get(TERMINATION), tags.get(VERDICT)))
        has_feedback = tags.get(VERDICT, "none") == "none" or trace.info.assessments  # a kill may come before it
        if (ending, verdict) == (tags.get(TERMINATION), tags.get(VERDICT, verdict)) and has_feedback:
            logged.add(identity)
        else:
            outdated.append(trace.info.trace_id)
    for first in range(0, len(outdated), _DELETED_AT_ONCE):
        chunk = outdated[first : first + _DELETED_AT_ONCE]
        with_retries(partial(backend.client.delete_traces, backend.experiment_id, trace_ids=chunk))
    return logged


def _named(verdict: Verdict | None) -> str:
    """What was decided and by whom, as a tag."""
    return "none" if verdict is None else f"{verdict.outcome.value} by {verdict.judge}@{verdict.judge_version}"


def traces_of(backend: Backend, run_id: str) -> Iterator[Trace]:
    """The traces of a run, without their spans."""
    token: str | None = None
    while True:
        page = with_retries(
            partial(
                backend.client.search_traces,
                locations=[backend.experiment_id],
                run_id=run_id,
                include_spans=False,
                max_results=_PAGE,
                page_token=token,
            )
        )
        yield from page
        token = page.token
        if not token:
            return


def _log_trace(
    backend: Backend,
    run_id: str,
    stage: str,
    trajectory: Trajectory,
    verdict: Verdict | None,
    request: str | None = None,
    with_turns: bool = True,
) -> None:
    import mlflow
    from mlflow.entities import SpanStatusCode, SpanType
    from mlflow.tracing.constant import SpanAttributeKey, TraceMetadataKey

    attributes: dict[str, Any] = {  # MLflow declares text and takes any JSON
        "policy": trajectory.policy,
        "protocol": trajectory.protocol,
        "attempt": trajectory.attempt,
        "seed": trajectory.seed,
        **({} if trajectory.branch_of is None else {"branch_of": trajectory.branch_of.model_dump()}),
        "diagnostics": trajectory.diagnostics,
        **(
            {}
            if with_turns
            else {SpanAttributeKey.CHAT_USAGE: _usage(_prompt_tokens(trajectory), trajectory.response_tokens)}
        ),
    }
    clock = time.time_ns() - sum(_duration(turn) for turn in trajectory.turns)
    root = mlflow.start_span_no_context(
        trajectory.task_id,
        span_type=SpanType.AGENT,
        inputs={"intent": trajectory.task.intent, "start_url": trajectory.task.start_url},
        attributes=attributes,
        tags={
            TRAJECTORY: trajectory.trajectory_id,
            TERMINATION: trajectory.termination.value,
            VERDICT: _named(verdict),
            "waymark.stage": stage,
        },
        metadata={TraceMetadataKey.SOURCE_RUN: run_id},
        experiment_id=backend.experiment_id,
        start_time_ns=clock,
    )
    for turn in trajectory.turns:
        clock = _log_turn(root, turn, _sampled(trajectory, turn), clock) if with_turns else clock + _duration(turn)
    outputs: dict[str, object] = {
        "termination": trajectory.termination.value,
        "answer": trajectory.answer,
        "site_reward": trajectory.site_reward,
        "late_actions": trajectory.late_actions,
    }
    if trajectory.final_screenshot and with_turns:
        outputs["final_screenshot"] = _attachment(trajectory.final_screenshot)
    root.set_outputs(outputs)
    _preview(root, trajectory, request)
    status = SpanStatusCode.OK if trajectory.termination.is_agents_doing else SpanStatusCode.ERROR
    root.end(status=status, end_time_ns=clock)
    if verdict:
        _log_feedback(root.trace_id, run_id, verdict)


def _log_conversation(backend: Backend, run_id: str, stage: str, trajectory: Trajectory) -> None:
    import mlflow
    from mlflow.entities import SpanType
    from mlflow.tracing.constant import TraceMetadataKey

    root = mlflow.start_span_no_context(
        trajectory.task_id,
        span_type=SpanType.CHAT_MODEL,
        inputs={"messages": _messages(trajectory)},
        tags={TRAJECTORY: trajectory.trajectory_id, "waymark.stage": stage},
        metadata={TraceMetadataKey.SOURCE_RUN: run_id},
        experiment_id=backend.experiment_id,
    )
    root.set_outputs({"choices": [{"index": 0, "message": {"role": "assistant", "content": _ending(trajectory)}}]})
    _preview(root, trajectory)
    root.end()


def _preview(root: LiveSpan, trajectory: Trajectory, request: str | None = None) -> None:
    """Show the request, or else the intent, and the answer in lists of traces, not JSON. The span is in no context, so
    that MLflow's `update_current_trace` does not find its trace."""
    from mlflow.tracing.trace_manager import InMemoryTraceManager

    with InMemoryTraceManager.get_instance().get_trace(root.trace_id) as trace:
        if trace is not None:
            trace.info.request_preview = (request or trajectory.task.intent)[:_MAX_PREVIEW]
            trace.info.response_preview = _ending(trajectory)[:_MAX_PREVIEW]


def _ending(trajectory: Trajectory) -> str:
    return trajectory.answer or f"(no answer: {trajectory.termination.value})"


def _messages(trajectory: Trajectory) -> list[dict[str, Any]]:
    """The episode in the form of chat messages: screenshots are the user's, calls the assistant's."""
    messages: list[dict[str, Any]] = []
    text = f"{trajectory.task.intent}\n{trajectory.task.start_url}"
    for turn in trajectory.turns:
        messages.append({"role": "user", "content": _shown(text, turn.observation.screenshot)})
        calls = [f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}" for call in turn.tool_calls]
        messages.append({"role": "assistant", "content": "\n".join(calls) or "(no call)"})
        text = "\n".join(turn.feedback) or "(no feedback)"
    messages.append({"role": "user", "content": _shown(text, trajectory.final_screenshot)})
    return messages


def _shown(text: str, image: Image | None) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if image is not None and image != NO_SCREENSHOT:
        parts.append({"type": "image_url", "image_url": {"url": _attachment(image)}})
    return parts


def _log_turn(root: LiveSpan, turn: Turn, sampled: int, clock: int) -> int:
    import mlflow
    from mlflow.entities import SpanStatusCode, SpanType
    from mlflow.tracing.constant import SpanAttributeKey

    attributes: dict[str, Any] = {
        SpanAttributeKey.CHAT_USAGE: _usage(turn.prompt_tokens, sampled),
        "finish_reason": turn.finish_reason,
        **{f"seconds.{operation}": seconds for operation, seconds in turn.timings.items()},
    }
    span = mlflow.start_span_no_context(
        f"turn {turn.index}",
        span_type=SpanType.LLM,
        parent_span=root,
        inputs={
            "url": turn.observation.url,
            "text": turn.observation.text,
            "screenshot": _attachment(turn.observation.screenshot),
        },
        attributes=attributes,
        start_time_ns=clock,
    )
    span.set_outputs(
        {
            "response": turn.response,
            "tool_calls": [call.model_dump(exclude_none=True) for call in turn.tool_calls],
            "feedback": turn.feedback,
            "parse_error": turn.parse_error,
        }
    )
    end = clock + _duration(turn)
    span.end(status=SpanStatusCode.ERROR if turn.parse_error else SpanStatusCode.OK, end_time_ns=end)
    return end


def _prompt_tokens(trajectory: Trajectory) -> int:
    return sum(turn.prompt_tokens for turn in trajectory.turns)


def _sampled(trajectory: Trajectory, turn: Turn) -> int:
    """Tokens of a response: those that are recorded, or that the endpoint billed."""
    bills = trajectory.diagnostics.get("bills")
    bill = bills[turn.index] if isinstance(bills, list) and turn.index < len(bills) else None
    billed = bill.get("tokens") if isinstance(bill, dict) else None
    return len(turn.token_ids) or (billed if isinstance(billed, int) else 0)


def _usage(prompt: int, sampled: int) -> dict[str, int]:
    """Tokens in MLflow's names."""
    return {"input_tokens": prompt, "output_tokens": sampled, "total_tokens": prompt + sampled}


def _log_feedback(trace_id: str, run_id: str, verdict: Verdict) -> None:
    """The verdict as `mlflow.genai.evaluate` would log a scorer's: as an assessment of this run."""
    import mlflow
    from mlflow.entities import AssessmentSource, AssessmentSourceType
    from mlflow.tracing.constant import AssessmentMetadataKey

    kind = AssessmentSourceType.CODE if verdict.judge == "rules" else AssessmentSourceType.LLM_JUDGE
    with_retries(
        lambda: mlflow.log_feedback(
            trace_id=trace_id,
            name="verdict",
            value=verdict.outcome.value,
            rationale=verdict.rationale,
            source=AssessmentSource(source_type=kind, source_id=f"{verdict.judge}@{verdict.judge_version}"),
            metadata={
                AssessmentMetadataKey.SOURCE_RUN_ID: run_id,
                "tokens": str(verdict.tokens),
                "cost_usd": str(verdict.cost_usd),
                "latency_s": str(verdict.latency_s),
            },
        )
    )


def _attachment(image: Image) -> Attachment:
    from mlflow.tracing.attachments import Attachment

    return Attachment(content_type=image.media_type, content_bytes=image.data)


def _duration(turn: Turn) -> int:
    """The turn's duration in nanoseconds; at least one, so that spans keep their order."""
    return max(1, int(sum(turn.timings.values()) * _SECOND))
