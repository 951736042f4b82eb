"""What the writers of WebVoyager's and AgentRewardBench's forms write is read back: task, calls, pages, answer."""

from __future__ import annotations

import ast
import json
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.agent import format_call
from components.formats import NotWritable, ReadTrajectory, format_named
from components.formats.building import turn_of
from components.records import NO_SCREENSHOT, Ending, Image, Observation, Termination, ToolCall, Trajectory
from components.redaction import Redaction
from tests.formats.samples import webvoyager_task
from tests.judge.test_agent_reward_bench import cleaned
from tests.samples import a_task, a_trajectory, a_turn, png

WEBVOYAGER, ARB = format_named("webvoyager"), format_named("agent_reward_bench")
OM2W = format_named("online_mind2web")
WRITERS = pytest.mark.parametrize("kind", [WEBVOYAGER, ARB, OM2W], ids=lambda kind: kind.name)

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
answers = words | st.sampled_from(
    ["[a]", "[a] and [b]", "]", "[[a]", "; x", "a\nAction: click {}", "ANSWER; no", '"', ""]
)
names = st.sampled_from(["click", "go_back", "write", "press_keys"])
values = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(-1e9, 1e9) | words
arguments = st.dictionaries(
    st.sampled_from(["x", "text", "target", "keys"]), values | st.lists(values, max_size=2), max_size=3
)
calls = st.builds(ToolCall, name=names, arguments=arguments)
thoughts = words | st.sampled_from(["Action: Click [3]", "The ANSWER is near.", "Thought: Action:"])
pages = st.sampled_from([png(colour) for colour in ("white", "red", "blue")])


@st.composite
def episodes(draw: st.DrawFn) -> Trajectory:
    """Episodes of our agents: several calls per turn, the last of which may answer."""
    is_done, answer = draw(st.booleans()), draw(answers).strip()
    turns = []
    for index in range(draw(st.integers(1, 3))):
        image = draw(pages)
        seen = Observation(url="http://a/", tabs=[], viewport=(8, 6), screenshot=image, text=draw(st.none() | words))
        response, made = f"<think>{draw(thoughts)}</think>x", draw(st.lists(calls, min_size=1, max_size=3))
        turns.append(a_turn(index, observation=seen, response=response, tool_calls=made, feedback=[draw(words)]))
    if is_done:
        done = ToolCall(name="done", arguments={"answer": answer})
        turns[-1] = turns[-1].model_copy(update={"tool_calls": [*turns[-1].tool_calls, done]})
    intent = draw(st.sampled_from(["Find tea.", "Find\n\n tea, and say\twhat it costs.", "Is “it” [here]?"]))
    url = draw(st.sampled_from(["http://a/", "http://a/ |AND| http://b/"]))
    return a_trajectory(
        a_task(3, intent=intent, start_url=url),
        turns=0,
        termination=Termination.DONE if is_done else Termination.MAX_STEPS,
        answer=answer if is_done else None,
        final_screenshot=draw(st.none() | pages),
    ).model_copy(update={"turns": turns})


def read_back(kind, trajectory: Trajectory, folder: Path, clean=str) -> Trajectory:
    assert kind.write(trajectory, None, folder, clean) == []
    (record,) = kind.read(folder)
    assert isinstance(record, ReadTrajectory), record
    assert record.missing == ()
    return record.trajectory


def same(read: Trajectory, ours: Trajectory) -> None:
    task, known = read.task, ours.task
    assert (task.task_id, task.intent, task.start_url) == (known.task_id, known.intent, known.start_url)
    assert task.website == known.website
    assert (read.answer or "") == (ours.answer or "")
    shown = [turn.observation.screenshot for turn in ours.turns]
    assert [turn.observation.screenshot for turn in read.turns] == shown


@given(episodes())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_webvoyagers_form_is_read_back(ours):
    with tempfile.TemporaryDirectory() as folder:
        read = read_back(WEBVOYAGER, ours, Path(folder))
    same(read, ours)
    assert (read.termination, read.final_screenshot) == (ours.termination, ours.final_screenshot)
    assert [turn.tool_calls for turn in read.turns] == [turn.tool_calls for turn in ours.turns]


@given(episodes())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_agent_reward_benchs_form_is_read_back(ours):
    message = ToolCall(name="send_msg_to_user", arguments={"0": ours.answer or ""})
    expected = [[message if call.name == "done" else call for call in turn.tool_calls] for turn in ours.turns]
    with tempfile.TemporaryDirectory() as folder:
        read = read_back(ARB, ours, Path(folder))
    same(read, ours)
    assert read.final_screenshot == (ours.final_screenshot or ours.turns[-1].observation.screenshot)
    assert [turn.tool_calls for turn in read.turns] == expected
    assert (read.policy, read.task.seed) == (ours.policy, ours.task.seed)


def test_what_webvoyager_publishes_is_written_as_it_was(tmp_path):
    place = webvoyager_task(tmp_path / "theirs")
    messages = json.loads((place / "interact_messages.json").read_text())
    messages[3]["content"] = "The action you have chosen cannot be executed."
    (place / "interact_messages.json").write_text(json.dumps(messages))
    (place / "screenshot2.png").unlink()
    (theirs,) = WEBVOYAGER.read(tmp_path / "theirs")
    read = read_back(WEBVOYAGER, theirs.trajectory, tmp_path / "ours")
    fields = ("tool_calls", "feedback", "observation")
    for turn, other in zip(read.turns, theirs.trajectory.turns, strict=True):
        assert [getattr(turn, field) for field in fields] == [getattr(other, field) for field in fields]
    assert (read.task, read.answer) == (theirs.trajectory.task, theirs.trajectory.answer)
    written = json.loads((tmp_path / "ours/taskAmazon--0/interact_messages.json").read_text())
    assert [m["content"].partition("Action: ")[2] for m in written if m["role"] == "assistant"] == [
        "Type [2]; green tea",
        "Click [33]",
        "ANSWER; It is 5.",
    ]


def test_webvoyagers_own_patterns_find_the_task_and_the_answer(tmp_path):
    ours = a_trajectory(a_task(1, intent="Find\ntea."), answer="It is 5.")
    WEBVOYAGER.write(ours, None, tmp_path, str)
    messages = json.loads(next(tmp_path.rglob("interact_messages.json")).read_text())
    task = re.search(r"Now given a task:(.+?)Please interact with", messages[1]["content"][0]["text"])
    assert task[1].strip() == "Find tea."
    assert "Action: ANSWER" in messages[-1]["content"]
    assert re.search(r"ANSWER[; ]+\[?(.[^\]]*)\]?", messages[-1]["content"])[1].strip() == "It is 5."


def test_what_agent_reward_bench_publishes_is_written_as_it_was(tmp_path):
    (theirs,) = ARB.read(cleaned(tmp_path / "trajectories", last_action="send_msg_to_user('It is 5.')"))
    read = read_back(ARB, theirs.trajectory, tmp_path / "ours")
    assert read == theirs.trajectory
    (file,) = (tmp_path / "ours/cleaned/webarena").rglob("webarena.7.json")
    original = json.loads(next((tmp_path / "trajectories/cleaned").rglob("*.json")).read_text())
    written = json.loads(file.read_text())
    assert {*original} - {*written} == set()
    assert [{*step} - {"stats"} - {*ours} for step, ours in zip(original["steps"], written["steps"], strict=True)] == [
        set(),
        set(),
    ]
    keys = ("url", "last_action_error", "screenshot_path")
    for step, ours in zip(original["steps"], written["steps"], strict=True):
        assert [ours[key] for key in keys] == [step[key] for key in keys]
        assert ast.dump(ast.parse(ours["action"])) == ast.dump(ast.parse(step["action"]))


RUN_JUDGE = {
    "trajectory": {
        *("agent", "benchmark", "flags", "goal", "model", "model_args", "seed", "steps", "summary_info"),
        *("trajectory_dir", "valid"),
    },
    "step": {"action", "axtree", "axtree_pruned", "reasoning", "screenshot_path", "url"},
}
"""Keys that AgentRewardBench's scripts/run_judge.py (commit 66d795fc) and the package agent-reward-bench 0.1.2 read."""


def test_agent_reward_benchs_script_finds_its_keys_and_the_agents_folder(tmp_path):
    ours = a_trajectory(a_task(task_id="city/read_order+layout/3", source="city"), policy="base:6889af")
    ARB.write(ours, None, tmp_path, str)
    (file,) = (tmp_path / "cleaned/city/base_6889af").glob("**/*.json")
    assert file.stem == "read_order+layout.3"
    written = json.loads(file.read_text())
    assert RUN_JUDGE["trajectory"] - {*written} == set()
    assert [RUN_JUDGE["step"] - {*step} for step in written["steps"]] == [set()] * len(written["steps"])


def test_what_the_agent_wrote_in_place_of_a_call_is_its_action(tmp_path):
    error = ToolCall(name="", error="no <tool_call> after the reasoning")
    lost = a_turn(0, response="<think>a</think>I give up", tool_calls=[error], parse_error="no call", feedback=[])
    ours = a_trajectory(termination=Termination.FORMAT_ERROR, answer=None).model_copy(update={"turns": [lost, lost]})
    read = read_back(ARB, ours, tmp_path / "arb")
    assert [turn.tool_calls for turn in read.turns] == [[ToolCall(name="I give up")]] * 2
    assert read.turns[0].feedback == ["Failed: no call"]
    read = read_back(WEBVOYAGER, ours, tmp_path / "webvoyager")
    assert [turn.tool_calls[0].error for turn in read.turns] == ["the response has no action"] * 2


BROKEN = a_turn(observation=a_turn().observation.model_copy(update={"screenshot": Image.of(b"no picture")}))


@WRITERS
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"termination": Termination.ENV_ERROR}, "would call it a failure of the agent"),
        ({"turns": []}, "it has no turn"),
        ({"turns": [turn_of(0, NO_SCREENSHOT, "done")]}, "a step has no screenshot"),
        ({"turns": [BROKEN]}, "a screenshot is no image that can be read"),
        ({"turns": [a_turn(tool_calls=[ToolCall(name="x", arguments={"y": [float("inf")]})])]}, "infinite or none"),
    ],
)
def test_what_no_form_can_hold_is_not_written(tmp_path, kind, changes, why):
    with pytest.raises(NotWritable, match=why):
        kind.write(a_trajectory().model_copy(update=changes), None, tmp_path / "out", str)
    assert not (tmp_path / "out").exists()


def test_a_reward_that_json_cannot_hold_is_not_written(tmp_path):
    with pytest.raises(NotWritable, match="infinite or none"):
        ARB.write(a_trajectory(site_reward=float("nan")), None, tmp_path / "out", str)
    assert not (tmp_path / "out").exists()


def test_an_answer_with_a_line_that_is_an_action_is_read_back(tmp_path):
    ours = a_trajectory(turns=1).model_copy(update={"answer": "Next steps are:\nAction: press Buy"})
    assert read_back(WEBVOYAGER, ours, tmp_path / "out").answer == ours.answer


@pytest.mark.parametrize(
    "intent",
    [
        "Open the page that says: Please interact with us and get tea.",
        "Open the shop. Please interact with the contact form only.",
        "Open the shop. Please\ninteract with the contact form only.",
    ],
)
def test_a_task_that_webvoyagers_script_would_misread_is_not_written(tmp_path, intent):
    ours = a_trajectory(a_task(intent=intent))
    with pytest.raises(NotWritable, match="the words or the address of its task would be read as others"):
        WEBVOYAGER.write(ours, None, tmp_path / "out", str)


@WRITERS
def test_tasks_of_the_same_name_have_folders_of_their_own(tmp_path, kind):
    tasks = [a_task(task_id=f"{name}/a b--1", source="s") for name in ("one", "two", "s", "s/x")]
    for task in tasks:
        kind.write(a_trajectory(task), None, tmp_path, str)
    assert {record.trajectory.task_id for record in kind.read(tmp_path)} == {task.task_id for task in tasks}


@WRITERS
def test_a_second_attempt_at_a_task_is_left_out_with_the_reason(tmp_path, kind):
    ours = a_trajectory()
    kind.write(ours, None, tmp_path, str)
    with pytest.raises(NotWritable, match="export one attempt per task"):
        kind.write(ours.model_copy(update={"attempt": 1}), None, tmp_path, str)


@WRITERS
def test_a_secret_with_quotes_is_removed_where_it_is_escaped(tmp_path, kind):
    secret = "hun\"ter'2\\x"
    call = ToolCall(name="write", arguments={"text": f"it is {secret}"})
    response = f"<think>{secret}</think>\n{format_call('write', text=secret)}"
    turns = [
        a_turn(0, tool_calls=[call], feedback=[f"Failed: {secret}"], response=response),
        a_turn(1, parse_error=f'unknown action "{secret}"'),
    ]
    ending = Ending(url=f"http://a.example/?token={secret}")
    ours = a_trajectory(a_task(1, intent=f"Log in with {secret}.")).model_copy(
        update={"turns": turns, "answer": secret, "ending": ending, "final_screenshot": png("red")}
    )
    kind.write(ours, None, tmp_path, Redaction([secret]))
    (file,) = (path for path in tmp_path.rglob("*.json"))
    text = file.read_text()
    assert "hun" not in text
    assert "it is ***" in text
