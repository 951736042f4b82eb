"""Online-Mind2Web's results, in both published versions."""

from __future__ import annotations

import json

import pytest

from components.formats import Damaged, ReadTrajectory, format_named, format_of
from components.judge.prompts import distinct_images
from components.records import NO_SCREENSHOT, Termination, ToolCall
from tests.formats.samples import online_mind2web_steps, online_mind2web_task
from tests.samples import a_task, a_trajectory, a_turn, png

OM2W = format_named("online_mind2web")


def one(path) -> ReadTrajectory:
    (record,) = OM2W.read(path)
    assert isinstance(record, ReadTrajectory), record
    return record


def test_version_1_has_its_actions_thoughts_pictures_and_answer(tmp_path):
    online_mind2web_task(tmp_path / "run")
    assert format_of(tmp_path / "run") is OM2W
    record = one(tmp_path / "run")
    trajectory = record.trajectory
    assert (trajectory.task_id, trajectory.task.intent) == ("005be9", "Find the weight of the baggage.")
    assert (trajectory.answer, trajectory.termination) == ("It is 23 kg.", Termination.DONE)
    names = [call.name for turn in trajectory.turns for call in turn.tool_calls]
    assert names == ["Navigate to https://air/", "Click at (963, 72)", 'Type "baggage"'], "the answer is no action"
    assert trajectory.turns[1].response == "<think>A search box.</think>\nClick at (963, 72)"
    assert distinct_images(trajectory) == [png("white"), png("red"), png("blue")]
    assert record.missing == ()


@pytest.mark.parametrize(("pictures", "turns"), [(1, 3), (3, 3), (4, 3), (5, 4)])
def test_pictures_need_not_be_as_many_as_actions(tmp_path, pictures, turns):
    online_mind2web_task(tmp_path, pictures=pictures)
    trajectory = one(tmp_path).trajectory
    assert len(trajectory.turns) == turns
    assert len(distinct_images(trajectory)) == pictures
    assert sum(len(turn.tool_calls) for turn in trajectory.turns) == 3
    assert (trajectory.final_screenshot is not None) is (pictures > 3), "the page after the last action"


def test_pictures_are_sorted_by_number(tmp_path):
    place = online_mind2web_task(tmp_path, pictures=2)
    (place / "trajectory/10_full_screenshot.png").write_bytes(png("black").data)
    assert distinct_images(one(tmp_path).trajectory) == [png("white"), png("red"), png("black")]


def test_a_result_without_pictures_and_answer_says_what_is_missing(tmp_path):
    place = online_mind2web_task(tmp_path, pictures=0, final_result_response=None, thoughts=None)
    record = one(tmp_path)
    assert record.missing == (f"{place / 'trajectory'} has no picture: copy the screenshots there",)
    assert record.trajectory.answer == ""


def test_version_2_names_pictures_and_hides_the_agents_last_account(tmp_path):
    online_mind2web_steps(tmp_path)
    trajectory = one(tmp_path).trajectory
    assert [turn.tool_calls for turn in trajectory.turns] == [
        [ToolCall(name="page -> NAVIGATE -> open")],
        [ToolCall(name="CLICK coords(3, 4) -> button")],
        [ToolCall(name="done")],
    ]
    assert trajectory.turns[1].observation.url == "https://air/1"
    assert trajectory.turns[1].observation.screenshot == png("red")
    assert (trajectory.task.start_url, trajectory.answer) == ("https://air/0", "23 kg")


def test_a_picture_that_version_2_names_and_that_is_gone_is_said(tmp_path):
    place = online_mind2web_steps(tmp_path)
    (place / "trajectory/0001.png").write_bytes(b"")
    (place / "trajectory/0002.png").unlink()
    record = one(tmp_path)
    empty, gone = record.missing
    assert "0001.png is empty" in empty
    assert "0002.png does not exist" in gone
    assert record.trajectory.turns[1].observation.screenshot == NO_SCREENSHOT


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"final_result_response": 5}, "result of Online-Mind2Web: final_result_response: Input should be a valid str"),
        ({"action_history": [{"a": 1}]}, "action_history.0: Input should be a valid string"),
        ({"schema_version": "online-mind2web-v2"}, "version 2: action_history.0"),
    ],
)
def test_a_result_in_another_form_is_damaged_with_its_reason(tmp_path, changes, why):
    online_mind2web_task(tmp_path, **changes)
    (record,) = OM2W.read(tmp_path)
    assert isinstance(record, Damaged)
    assert why in record.reason


def test_a_key_that_occurs_twice_is_no_result(tmp_path):
    place = online_mind2web_task(tmp_path)
    text = json.dumps({"task": "a"})[:-1] + ', "task": "b"}'
    (place / "result.json").write_text(text)
    (record,) = OM2W.read(tmp_path)
    assert record.reason.endswith(
        "has the key 'task' twice: correct it where the file is made, or leave the file out of the folder"
    )


def written(folder, *trajectories) -> list[dict]:
    for trajectory in trajectories:
        assert OM2W.write(trajectory, None, folder, lambda text: text.replace("hunter2", "***")) == []
    return [json.loads(file.read_text()) for file in sorted(folder.glob("*/result.json"))]


def test_our_trajectories_are_written_and_read_back(tmp_path):
    ours = a_trajectory(a_task(1), turns=2, answer="It is 23 kg, hunter2.")
    ours = ours.model_copy(update={"turns": [*ours.turns, a_turn(2, tool_calls=[ToolCall(name="done")])]})
    (result,) = written(tmp_path / "out", ours)
    assert [step["action"] for step in result["action_history"]][-1] == "TASK_COMPLETE -> ANSWER: It is 23 kg, ***."
    assert (result["schema_version"], result["task_id"]) == ("online-mind2web-v2", ours.task_id)
    read = one(tmp_path / "out")
    assert read.missing == ()
    assert (read.trajectory.task_id, read.trajectory.task.intent) == (ours.task_id, ours.task.intent)
    assert read.trajectory.answer == "It is 23 kg, ***."
    assert [turn.observation.screenshot for turn in read.trajectory.turns] == [
        turn.observation.screenshot for turn in ours.turns
    ]
    assert [turn.observation.url for turn in read.trajectory.turns] == [turn.observation.url for turn in ours.turns]


@pytest.mark.parametrize("final", [None, png("red")])
def test_calls_beside_done_are_a_step_before_the_account(tmp_path, final):
    """As most episodes end: the last click and `done` are calls of one turn."""
    press = ToolCall(name="press_keys", arguments={"keys": ["Enter"]})
    last = a_turn(1, tool_calls=[press, ToolCall(name="done", arguments={"answer": "23 kg"})])
    ours = a_trajectory(a_task(1), turns=1, answer="23 kg", final_screenshot=final)
    ours = ours.model_copy(update={"turns": [*ours.turns, last]})
    (result,) = written(tmp_path / "out", ours)
    assert [step["action"] for step in result["action_history"]] == [
        'click -> {"coordinate": [512, 86]}',
        'press_keys -> {"keys": ["Enter"]}',
        "TASK_COMPLETE -> ANSWER: 23 kg",
    ]
    read = one(tmp_path / "out").trajectory
    assert sum(len(turn.tool_calls) for turn in read.turns) == sum(len(turn.tool_calls) for turn in ours.turns)
    assert read.turns[-1].observation.screenshot == (final or png())


def test_a_call_that_failed_in_the_browser_is_an_error(tmp_path):
    failed = a_turn(1, feedback=["Failed: `click` execution failed: no element."])
    ours = a_trajectory(a_task(1), turns=1, termination=Termination.MAX_STEPS, answer=None)
    (result,) = written(tmp_path / "out", ours.model_copy(update={"turns": [*ours.turns, failed]}))
    assert [step["action_status"] for step in result["action_history"]] == ["success", "error", "success"]


def test_a_call_that_was_never_run_is_no_action(tmp_path):
    """WebJudge reads factual actions only."""
    cut_off, unknown = ToolCall(name="", error="no JSON"), ToolCall(name="press_: http", error="unknown tool")
    click = ToolCall(name="click", arguments={"x": 1})
    turns = [a_turn(0, tool_calls=[click, cut_off]), a_turn(1, tool_calls=[unknown]), a_turn(2, tool_calls=[cut_off])]
    ours = a_trajectory(a_task(1), turns=0, termination=Termination.MAX_STEPS, answer=None)
    (result,) = written(tmp_path / "out", ours.model_copy(update={"turns": turns}))
    steps = [(step["action"], step["action_status"]) for step in result["action_history"]]
    assert steps == [
        ('click -> {"x": 1}', "error"),
        ("NONE", "error"),
        ("NONE", "error"),
        ("ENDED -> max_steps", "success"),
    ]


@pytest.mark.parametrize(
    ("protocol", "response", "thought"),
    [
        ("openwebrl", 'I press it.\n</think>\n<tool_call>{"name": "done"}</tool_call>', "I press it."),
        ("webagent_r1_bare", '# I press it.\ndo(action="Click", element="1")', "# I press it."),
        ("another", "I press it.", None),
    ],
)
def test_a_thought_is_found_as_its_protocol_writes_it(tmp_path, protocol, response, thought):
    """With `model.think_prefix` the prompt has the opening tag, and a response begins within its reasoning."""
    turn = a_turn(0, response=response)
    ours = a_trajectory(a_task(1), turns=0, protocol=protocol, termination=Termination.MAX_STEPS, answer=None)
    (result,) = written(tmp_path / "out", ours.model_copy(update={"turns": [turn]}))
    assert result["action_history"][0]["thought"] == thought


def test_an_episode_without_done_ends_with_its_last_page_and_how_it_ended(tmp_path):
    ours = a_trajectory(termination=Termination.MAX_STEPS, answer=None, turns=2, final_screenshot=png("red"))
    (result,) = written(tmp_path / "out", ours)
    assert len(result["action_history"]) == 3
    assert result["action_history"][-1]["action"] == "ENDED -> max_steps"
    assert one(tmp_path / "out").trajectory.turns[-1].observation.screenshot == png("red")


def test_the_folder_has_the_benchmarks_id_unless_another_task_has_it(tmp_path):
    tasks = [a_task(task_id=name) for name in ("online_mind2web_300/005be9", "later/005be9")]
    results = written(tmp_path / "out", *map(a_trajectory, tasks))
    assert {result["task_id"] for result in results} == {task.task_id for task in tasks}
    assert json.loads((tmp_path / "out/005be9/result.json").read_text())["task_id"] == "online_mind2web_300/005be9"
