"""A trajectory is a trace: a span per turn with its screenshot, and the verdict as feedback."""

from __future__ import annotations

from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Trace, TraceInfo
from mlflow.exceptions import MlflowException
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from mlflow.tracing.attachments import Attachment

from components.params import Params
from components.records import Outcome, Termination, Trajectory, Verdict
from components.tracking import stage_run, traces
from tests.samples import a_task, a_trajectory, a_turn, a_verdict, png, recipe


def logged(
    params: Params, client: MlflowClient, pairs: list[tuple[Trajectory, Verdict]], times: int = 1
) -> list[Trace]:
    for _ in range(times):
        with stage_run(params, "teacher_rollouts", "key", Path("state")) as run:
            run.traces([t for t, _ in pairs], [v for _, v in pairs])
    experiment = client.get_experiment_by_name("waymark").experiment_id
    return list(client.search_traces(locations=[experiment], run_id=run.run_id))


def test_each_turn_is_a_span_with_observation_response_and_feedback(params: Params, client: MlflowClient) -> None:
    turns = [a_turn(0), a_turn(1, parse_error="no tool call", tool_calls=[], feedback=["Parse error."], timings={})]
    trajectory = a_trajectory(turns=0, final_screenshot=png("red")).model_copy(update={"turns": turns})
    (trace,) = logged(params, client, [(trajectory, a_verdict(trajectory))])
    root, first, second = sorted(trace.data.spans, key=lambda span: (span.start_time_ns, span.parent_id is not None))
    assert root.inputs == {"intent": trajectory.task.intent, "start_url": trajectory.task.start_url}
    assert (root.outputs["termination"], root.outputs["answer"]) == ("done", "Done.")
    assert [first.parent_id, second.parent_id] == [root.span_id] * 2
    assert first.inputs["url"] == turns[0].observation.url
    assert first.inputs["text"] == turns[0].observation.text
    assert first.outputs["response"] == turns[0].response
    assert first.outputs["tool_calls"] == [{"name": "click", "arguments": {"coordinate": [512, 86]}}]
    assert second.outputs["feedback"] == ["Parse error."]
    assert first.attributes["seconds.policy"] == 0.5
    assert first.attributes["mlflow.chat.tokenUsage"] == {"input_tokens": 40, "output_tokens": 3, "total_tokens": 43}
    assert first.end_time_ns - first.start_time_ns == 750_000_000  # 0.5 s policy + 0.25 s click
    assert [span.status.status_code.value for span in (root, first, second)] == ["OK", "OK", "ERROR"]
    assert trace.info.tags["waymark.termination"] == "done"


def test_tokens_that_an_endpoint_billed_are_those_of_its_answers(params: Params, client: MlflowClient) -> None:
    diagnostics = {"bills": [{"tokens": 300, "usd": 0.1}, {"tokens": 250, "usd": 0.1}], "response_tokens": 550}
    turns = [a_turn(number, token_ids=[], logprobs=[]) for number in range(2)]
    trajectory = a_trajectory(turns=0, diagnostics=diagnostics).model_copy(update={"turns": turns})
    assert trajectory.response_tokens == 550
    (trace,) = logged(params, client, [(trajectory, a_verdict(trajectory))])
    assert trace.info.token_usage["output_tokens"] == 550


@pytest.mark.parametrize(("answer", "shown"), [("It is 5.", "It is 5."), (None, "(no answer: max_steps)")])
def test_lists_of_traces_show_the_task_and_the_answer(
    params: Params, client: MlflowClient, answer: str | None, shown: str
) -> None:
    ending = {"answer": answer} if answer else {"answer": None, "termination": Termination.MAX_STEPS}
    trajectory = a_trajectory(turns=1, **ending)
    (trace,) = logged(params, client, [(trajectory, a_verdict(trajectory))])
    assert (trace.info.request_preview, trace.info.response_preview) == (trajectory.task.intent, shown)


def test_lists_of_traces_show_the_beginning_of_long_texts(params: Params, client: MlflowClient) -> None:
    """A database server's columns of these texts hold no more."""
    trajectory = a_trajectory(a_task(intent="i" * 1001), turns=1, answer="a" * 1001)
    (trace,) = logged(params, client, [(trajectory, a_verdict(trajectory))])
    assert (trace.info.request_preview, trace.info.response_preview) == ("i" * 1000, "a" * 1000)


def test_screenshots_are_attached_byte_for_byte(params: Params, client: MlflowClient, checkout: Path) -> None:
    trajectory = a_trajectory(turns=1, final_screenshot=png("red"))
    (trace,) = logged(params, client, [(trajectory, a_verdict(trajectory))])
    root, turn = sorted(trace.data.spans, key=lambda span: span.parent_id is not None)
    for reference, image in ((turn.inputs["screenshot"], png()), (root.outputs["final_screenshot"], png("red"))):
        parsed = Attachment.parse_ref(reference)
        assert parsed["content_type"] == "image/png"
        (file,) = (checkout / "mlflow/store/artifacts").rglob(f"*{parsed['attachment_id']}*")
        assert file.read_bytes() == image.data


@pytest.mark.parametrize(("judge", "kind"), [("rules", "CODE"), ("distilled", "LLM_JUDGE")])
def test_the_verdict_is_feedback_with_its_reason_and_its_judge(
    params: Params, client: MlflowClient, judge: str, kind: str
) -> None:
    trajectory = a_trajectory(turns=1)
    (trace,) = logged(params, client, [(trajectory, a_verdict(trajectory, Outcome.UNPARSED, judge=judge, tokens=9))])
    (feedback,) = trace.info.assessments
    assert (feedback.name, feedback.value, feedback.rationale) == ("verdict", "unparsed", "The site gave a reward.")
    assert (feedback.source.source_type, feedback.source.source_id) == (kind, f"{judge}@1")
    assert feedback.metadata["tokens"] == "9"


def test_a_few_traces_show_every_outcome(params: Params, client: MlflowClient) -> None:
    rollouts = [a_trajectory(a_task(number), turns=1) for number in range(12)]
    outcomes = [Outcome.SUCCESS] * 10 + [Outcome.FAILURE, Outcome.ERROR]
    pairs = [(t, a_verdict(t, o)) for t, o in zip(rollouts, outcomes, strict=True)]
    traces = logged(params, client, pairs)
    assert sorted(t.info.assessments[0].value for t in traces) == ["error", "failure", "success", "success"]


def test_a_stage_that_is_run_again_does_not_log_its_traces_twice(params: Params, client: MlflowClient) -> None:
    trajectory = a_trajectory(turns=1)
    assert len(logged(params, client, [(trajectory, a_verdict(trajectory))], times=2)) == 1


def test_an_episode_that_is_repeated_replaces_what_the_environment_ended(params: Params, client: MlflowClient) -> None:
    """An evaluation that was invalid is run again: episodes that the environment ended are repeated, the others not."""
    lost = [a_trajectory(a_task(number), turns=0, termination="env_error", answer=None) for number in range(3)]
    done = [a_trajectory(a_task(number), turns=1) for number in range(4)]
    for tried in ([*lost, done[3]], done):
        with stage_run(params, "evaluate@sft", "key", Path("state")) as run:
            run.evaluation(tried, [a_verdict(one) for one in tried if one.answer])
    experiment = client.get_experiment_by_name("waymark").experiment_id
    traces = client.search_traces(locations=[experiment], run_id=run.run_id)
    assert sorted(trace.info.tags["waymark.trajectory_id"] for trace in traces) == sorted(
        one.trajectory_id for one in done
    )
    assert {trace.info.tags["waymark.termination"] for trace in traces} == {"done"}
    assert all(trace.info.assessments for trace in traces)


@pytest.mark.parametrize("count", [1, 2], ids=["once", "again"])
def test_an_episode_that_mlflow_does_not_take_is_logged_again_or_named(
    params: Params,
    client: MlflowClient,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    count: int,
) -> None:
    episodes = [a_trajectory(a_task(number), turns=1) for number in range(4)]
    lost, failures, start = episodes[1].trajectory_id, [], SqlAlchemyStore.start_trace

    def start_trace(store: SqlAlchemyStore, trace_info: TraceInfo) -> TraceInfo:
        if trace_info.tags[traces.TRAJECTORY] == lost and len(failures) < count:
            failures.append(lost)
            raise MlflowException("API request to http://x failed with exception")
        return start(store, trace_info)

    monkeypatch.setattr(SqlAlchemyStore, "start_trace", start_trace)
    with stage_run(params, "evaluate@sft", "key", Path("state")) as run:
        run.evaluation(episodes, [a_verdict(episode) for episode in episodes])
    experiment = client.get_experiment_by_name("waymark").experiment_id
    tags = [trace.info.tags for trace in client.search_traces(locations=[experiment], run_id=run.run_id)]
    assert (lost in {tag[traces.TRAJECTORY] for tag in tags}, len(tags)) == ((True, 4) if count == 1 else (False, 3))
    said = f"MLflow stored no trace of 1 of 4 episodes, such as {lost}\n"
    assert capsys.readouterr().out == ("" if count == 1 else said)


def test_a_verdict_that_a_judge_gave_when_asked_again_replaces_its_error(params: Params, client: MlflowClient) -> None:
    first, second = (a_trajectory(a_task(number), turns=1) for number in range(2))
    for outcome in (Outcome.ERROR, Outcome.SUCCESS):
        with stage_run(params, "evaluate@sft", "key", Path("state")) as run:
            run.evaluation([first, second], [a_verdict(first, outcome), a_verdict(second, Outcome.FAILURE)])
    experiment = client.get_experiment_by_name("waymark").experiment_id
    traces = client.search_traces(locations=[experiment], run_id=run.run_id)
    values = {trace.info.tags["waymark.trajectory_id"]: trace.info.assessments[0].value for trace in traces}
    assert values == {first.trajectory_id: "success", second.trajectory_id: "failure"}
    assert len(traces) == 2


def test_a_trace_that_a_kill_left_without_its_feedback_is_logged_anew(
    params: Params, client: MlflowClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    trajectory = a_trajectory(turns=1)
    episodes = [trajectory], [a_verdict(trajectory)]
    with monkeypatch.context() as patched:
        patched.setattr(traces, "_log_feedback", lambda *_: None)
        with stage_run(params, "evaluate@sft", "key", Path("state")) as run:
            run.evaluation(*episodes)
    with stage_run(params, "evaluate@sft", "key", Path("state")) as run:
        run.evaluation(*episodes)
    experiment = client.get_experiment_by_name("waymark").experiment_id
    (trace,) = client.search_traces(locations=[experiment], run_id=run.run_id)
    assert trace.info.assessments


def test_no_samples_means_no_traces(checkout: Path, client: MlflowClient) -> None:
    trajectory = a_trajectory(turns=1)
    assert logged(recipe(tracking={"trace_samples": 0}), client, [(trajectory, a_verdict(trajectory))]) == []


def test_an_environment_ending_is_an_error_and_without_verdict_no_feedback(
    params: Params, client: MlflowClient
) -> None:
    with stage_run(params, "evaluate@base", "key", Path("state")) as run:
        run.traces([a_trajectory(turns=0, termination="env_init_error", answer=None)], [])
    experiment = client.get_experiment_by_name("waymark").experiment_id
    (trace,) = client.search_traces(locations=[experiment], run_id=run.run_id)
    assert trace.info.state.value == "ERROR"
    assert trace.info.assessments == []


@pytest.mark.slow
def test_an_evaluation_has_a_row_for_every_episode(params: Params, client: MlflowClient) -> None:
    """Task, answer and verdict of each of 120 episodes, though a page of traces has 100; turns of four of them."""
    rollouts = [a_trajectory(a_task(number), turns=1, final_screenshot=png("red")) for number in range(119)]
    rollouts.append(a_trajectory(a_task(119), turns=0, termination="env_init_error", answer=None))
    verdicts = [
        a_verdict(trajectory, Outcome.SUCCESS if number % 3 else Outcome.FAILURE)
        for number, trajectory in enumerate(rollouts[:119])
    ]
    for _ in range(2):  # a killed stage runs again, and its rows are there once
        with stage_run(params, "evaluate@sft", "key", Path("state")) as run:
            run.evaluation(rollouts, verdicts)
    assert client.get_run(run.run_id).data.tags["mlflow.runType"] == "genai_evaluate"
    experiment = client.get_experiment_by_name("waymark").experiment_id
    traces = client.search_traces(locations=[experiment], run_id=run.run_id, max_results=500)
    rows = {trace.info.tags["waymark.trajectory_id"]: trace for trace in traces}
    assert len(traces) == len(rows) == 120
    for trajectory, verdict in zip(rollouts, verdicts, strict=False):
        info = rows[trajectory.trajectory_id].info
        request = f"{trajectory.task.intent} ({trajectory.task_id})"
        assert (info.request_preview, info.response_preview) == (request, "Done.")
        (feedback,) = info.assessments
        assert (feedback.value, feedback.run_id) == (verdict.outcome.value, run.run_id)
    assert rows[rollouts[-1].trajectory_id].info.assessments == []
    assert sorted({len(trace.data.spans) for trace in traces}) == [1, 2]
    samples = [trace for trace in traces if len(trace.data.spans) == 2]
    assert len(samples) == params.tracking.trace_samples - 1, "and one that has no turns"
    assert {trace.info.token_usage["total_tokens"] for trace in traces if trace.info.token_usage} == {43}


def test_no_samples_means_no_rows_of_an_evaluation(checkout: Path, client: MlflowClient) -> None:
    trajectory = a_trajectory(turns=1)
    with stage_run(recipe(tracking={"trace_samples": 0}), "evaluate@sft", "key", Path("state")) as run:
        run.evaluation([trajectory], [a_verdict(trajectory)])
    experiment = client.get_experiment_by_name("waymark").experiment_id
    assert client.search_traces(locations=[experiment], run_id=run.run_id) == []
