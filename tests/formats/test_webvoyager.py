"""WebVoyager's results: messages, screenshots by round, and what a run that broke off leaves."""

from __future__ import annotations

import json

import pytest

from components.formats import Damaged, ReadTrajectory, Unreadable, format_named, format_of
from components.formats.webvoyager_actions import calls_of
from components.records import NO_SCREENSHOT, Termination, ToolCall
from tests.formats.samples import webvoyager_task
from tests.samples import png

WEBVOYAGER = format_named("webvoyager")


def one(path) -> ReadTrajectory:
    (record,) = WEBVOYAGER.read(path)
    assert isinstance(record, ReadTrajectory), record
    return record


def test_a_task_has_its_words_actions_screenshots_and_answer(tmp_path):
    webvoyager_task(tmp_path / "results")
    assert format_of(tmp_path / "results") is WEBVOYAGER
    record = one(tmp_path / "results")
    trajectory, task = record.trajectory, record.trajectory.task
    assert (task.task_id, task.intent, task.start_url) == (
        "Amazon--0",
        "What does green tea cost?",
        "https://www.amazon.com/",
    )
    assert (task.website, trajectory.answer, trajectory.termination) == ("Amazon", "It is 5.", Termination.DONE)
    assert [turn.tool_calls for turn in trajectory.turns] == [
        [ToolCall(name="type", arguments={"target": "2", "text": "green tea"})],
        [ToolCall(name="click", arguments={"target": "33"})],
        [ToolCall(name="done", arguments={"answer": "It is 5."})],
    ]
    seen = [turn.observation.screenshot for turn in trajectory.turns]
    assert seen == [png("red"), png("blue"), png("green")], "screenshot1 is the page of round 1"
    assert trajectory.turns[1].observation.text == '[0]: "Tea";\t[1]: <button> "Go";'
    assert record.missing == ()


def test_a_screenshot_that_a_round_had_and_that_is_gone_is_said(tmp_path):
    (webvoyager_task(tmp_path) / "screenshot2.png").unlink()
    record = one(tmp_path)
    (missing,) = record.missing
    assert "screenshot2.png does not exist" in missing
    assert record.trajectory.turns[1].observation.screenshot == NO_SCREENSHOT


def test_a_round_after_an_error_has_no_screenshot_and_none_is_missing(tmp_path):
    place = webvoyager_task(tmp_path)
    messages = json.loads((place / "interact_messages.json").read_text())
    messages[3]["content"] = "The action you have chosen cannot be executed."
    (place / "interact_messages.json").write_text(json.dumps(messages))
    (place / "screenshot2.png").unlink()
    record = one(tmp_path)
    assert record.missing == ()
    assert record.trajectory.turns[0].feedback == ["Failed: The action you have chosen cannot be executed."]


def test_an_episode_without_an_answer_ran_out_of_steps(tmp_path):
    webvoyager_task(tmp_path, answer=None)
    trajectory = one(tmp_path).trajectory
    assert (trajectory.answer, trajectory.termination) == (None, Termination.MAX_STEPS)


def test_a_run_that_waits_for_the_model_was_ended_by_the_environment(tmp_path):
    place = webvoyager_task(tmp_path)
    messages = json.loads((place / "interact_messages.json").read_text())
    (place / "interact_messages.json").write_text(json.dumps(messages[:-1]))
    assert one(tmp_path).trajectory.termination is Termination.INFERENCE_TIMEOUT


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ([{"role": "system", "content": "You browse."}], "has no round"),
        ([{"role": "user", "content": "Hello."}], "does not say `Now given a task"),
        ([{"role": "robot", "content": "x"}], "0.role: Input should be 'system', 'user' or 'assistant'"),
        ({"messages": []}, "Input should be a valid list"),
    ],
)
def test_a_file_that_is_no_conversation_is_damaged_with_its_reason(tmp_path, content, why):
    place = webvoyager_task(tmp_path, messages=content)
    (record,) = WEBVOYAGER.read(tmp_path)
    assert isinstance(record, Damaged)
    assert record.reason.startswith(str(place / "interact_messages.json"))
    assert why in record.reason


def test_a_call_of_done_without_its_answer_is_an_empty_answer(tmp_path):
    place = webvoyager_task(tmp_path)
    messages = json.loads((place / "interact_messages.json").read_text())
    messages[-1]["content"] = 'Thought: I am done.\nAction: done {"success": true}'
    (place / "interact_messages.json").write_text(json.dumps(messages))
    assert one(tmp_path).trajectory.answer == ""


def test_a_damaged_task_does_not_end_the_reading_of_the_others(tmp_path):
    file = webvoyager_task(tmp_path, "Amazon--0") / "interact_messages.json"
    webvoyager_task(tmp_path, "Apple--1")
    file.write_text(file.read_text()[:100])
    damaged, read = WEBVOYAGER.read(tmp_path)
    assert isinstance(damaged, Damaged)
    assert f"{file}:1: is not JSON" in damaged.reason
    assert isinstance(read, ReadTrajectory)


def test_the_same_task_in_two_runs_is_two_trajectories(tmp_path):
    webvoyager_task(tmp_path / "monday")
    webvoyager_task(tmp_path / "tuesday")
    first, second = WEBVOYAGER.read(tmp_path)
    assert first.trajectory.trajectory_id != second.trajectory.trajectory_id
    assert first.trajectory.task_id == second.trajectory.task_id


def test_a_folder_without_messages_is_refused(tmp_path):
    with pytest.raises(Unreadable, match=r"has no interact_messages\.json: name the folder"):
        list(WEBVOYAGER.read(tmp_path))


@pytest.mark.parametrize(
    ("response", "call"),
    [
        ("Thought: x\nAction: Click [12]", ToolCall(name="click", arguments={"target": "12"})),
        (
            "Thought: x\nAction: Scroll [WINDOW]; up\n",
            ToolCall(name="scroll", arguments={"target": "WINDOW", "text": "up"}),
        ),
        ("Thought: x\nAction: GoBack", ToolCall(name="goback")),
        ("Action: ANSWER; [Sep 1, 2024]", ToolCall(name="done", arguments={"answer": "Sep 1, 2024"})),
        ("Action: ANSWER; a [b] c", ToolCall(name="done", arguments={"answer": "a [b] c"})),
        ("Action: ANSWER; [a] and [b]", ToolCall(name="done", arguments={"answer": "[a] and [b]"})),
        ("Action: ANSWER;\nTwo\nlines", ToolCall(name="done", arguments={"answer": "Two\nlines"})),
        (
            "Thought: My last Action: Click [3] did it.\nAction: ANSWER; [Blue]",
            ToolCall(name="done", arguments={"answer": "Blue"}),
        ),
        ("I do not know.", ToolCall(name="", error="the response has no action")),
    ],
)
def test_actions_are_parsed_and_answers_are_whole(response, call):
    assert calls_of(response) == [call]
