"""ATIF 1.8: what is written is valid, and reading it gives the same trajectory; documents of others are read too."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.formats import Damaged, NotWritable, ReadTrajectory, format_named, format_of
from components.formats.public_changes import public_check
from components.records import (
    HAR,
    NO_SCREENSHOT,
    BranchPoint,
    Ending,
    Image,
    Observation,
    Outcome,
    Reading,
    RowChange,
    StateCheck,
    Tab,
    Termination,
    ToolCall,
    Trajectory,
    Turn,
)
from components.redaction import Redaction
from tests.samples import a_task, a_trajectory, a_turn, a_verdict, png

ATIF = format_named("atif")
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(__file__).parent / "fixtures/atif-1.8.schema.json").read_text())
)
"""Of the records of the package atif 1.8.0 (MIT), without its texts."""

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
optional = st.none() | texts
images = st.sampled_from([png(colour) for colour in ("white", "red", "blue")])
floats = st.floats(allow_nan=False, allow_infinity=False)
values = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | floats | texts
json_objects = st.dictionaries(
    texts, values | st.lists(values, max_size=2) | st.dictionaries(texts, values, max_size=2), max_size=3
)
tabs = st.builds(Tab, index=st.integers(0, 5), title=texts, url=texts, active=st.booleans())
observations = st.builds(
    Observation,
    url=texts,
    tabs=st.lists(tabs, max_size=2),
    viewport=st.tuples(st.integers(0, 4000), st.integers(0, 4000)),
    screenshot=images | st.just(NO_SCREENSHOT),
    text=optional,
)
responses = texts | st.builds("<think>{}</think>{}".format, texts, texts) | st.just("<think>a</think>b</think>c")
turns = st.builds(
    Turn,
    index=st.integers(0, 50),
    observation=observations,
    prompt_sha256=texts,
    prompt_tokens=st.integers(0, 10**6),
    response=responses,
    token_ids=st.lists(st.integers(0, 2**31), max_size=4),
    logprobs=st.lists(floats, max_size=4),
    finish_reason=st.sampled_from(["stop", "length"]),
    tool_calls=st.lists(st.builds(ToolCall, name=texts, arguments=json_objects, error=optional), max_size=3),
    feedback=st.lists(texts, max_size=4),
    parse_error=optional,
    timings=st.dictionaries(texts, floats, max_size=2),
)
readings = st.builds(Reading, url=texts, locator=texts, address=texts, text=optional, error=optional)
rows = st.none() | st.dictionaries(texts, optional, max_size=2)
checks = st.builds(
    StateCheck,
    reward=floats,
    credit=floats,
    missing=st.lists(texts, max_size=2),
    answer_ok=st.none() | st.booleans(),
    changes=st.lists(st.builds(RowChange, table=texts, key=texts, before=rows, after=rows), max_size=2),
)
trajectories = st.builds(
    Trajectory,
    trajectory_id=texts,
    task=st.builds(a_task, st.integers(0, 9), intent=texts, reference_answer=optional, evaluator=json_objects),
    attempt=st.integers(0, 9),
    policy=texts,
    protocol=texts,
    seed=st.integers(0, 9),
    turns=st.lists(turns, max_size=3),
    termination=st.sampled_from(Termination),
    answer=optional,
    site_reward=st.none() | floats,
    late_actions=st.none() | st.integers(0, 9),
    branch_of=st.none() | st.builds(BranchPoint, parent=texts, turn=st.integers(1, 9), difference=optional),
    final_screenshot=st.none() | images,
    ending=st.none() | st.builds(Ending, url=texts, readings=st.lists(readings, max_size=2)),
    state_check=st.none() | checks,
)


def written(trajectory: Trajectory, folder: Path, **changes: object) -> Path:
    """Write a trajectory; returns the document's file, with some of its keys changed."""
    ATIF.write(trajectory, None, folder, str)
    (file,) = folder.rglob("trajectory.json")
    if changes:
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    return file


def read(path: Path) -> ReadTrajectory:
    (record,) = ATIF.read(path)
    assert isinstance(record, ReadTrajectory), record
    return record


def damaged(path: Path) -> str:
    (record,) = ATIF.read(path)
    assert isinstance(record, Damaged), record
    return record.reason


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(trajectories)
def test_reading_what_was_written_gives_the_same_trajectory(trajectory):
    with tempfile.TemporaryDirectory() as folder:
        written(trajectory, Path(folder))
        record = read(Path(folder))
    check = trajectory.state_check
    public = None if check is None else public_check(check)
    assert record.trajectory == trajectory.model_copy(update={"state_check": public})
    assert record.missing == ()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(trajectories)
def test_what_is_written_is_valid_by_the_published_schema(trajectory):
    with tempfile.TemporaryDirectory() as folder:
        document = json.loads(written(trajectory, Path(folder)).read_text())
    SCHEMA.validate(document)
    assert [step["step_id"] for step in document["steps"]] == [*range(1, len(document["steps"]) + 1)]
    for step in document["steps"]:
        ids = {call["tool_call_id"] for call in step.get("tool_calls", [])}
        results = step.get("observation", {}).get("results", [])
        assert {result["source_call_id"] for result in results if "source_call_id" in result} <= ids
        assert step["source"] == "agent" or not step.keys() & {"metrics", "tool_calls", "reasoning_content"}


def test_a_document_has_tokens_calls_and_images_where_atif_has_them(tmp_path):
    turn = a_turn(response='<think>The tea.</think><tool_call>{"name": "click"}</tool_call>')
    trajectory = a_trajectory(a_task(intent="Buy tea."), turns=0).model_copy(
        update={"turns": [turn], "final_screenshot": png("red")}
    )
    verdict = a_verdict(trajectory, Outcome.FAILURE)
    ATIF.write(trajectory, verdict, tmp_path, str)
    file = tmp_path / trajectory.trajectory_id / "trajectory.json"
    document = json.loads(file.read_text())
    user, system, agent = document["steps"]
    assert (document["schema_version"], user["message"], agent["reasoning_content"]) == (
        "ATIF-v1.8",
        "Buy tea.",
        "The tea.",
    )
    assert agent["metrics"] == {
        "prompt_tokens": 40,
        "completion_tokens": 3,
        "completion_token_ids": [5, 6, 7],
        "logprobs": [-0.5, -0.25, 0.0],
    }
    (call,) = agent["tool_calls"]
    assert (call["function_name"], call["arguments"]) == ("click", {"coordinate": [512, 86]})
    feedback, page = agent["observation"]["results"]
    assert (feedback["source_call_id"], feedback["content"]) == (call["tool_call_id"], "Clicked at [512, 86].")
    (picture,) = page["content"]
    assert (file.parent / picture["source"]["path"]).read_bytes() == png("red").data
    assert picture["source"]["media_type"] == "image/png"
    assert system["observation"]["results"][0]["content"][0]["text"] == turn.observation.text
    assert document["extra"]["waymark"]["verdict"]["outcome"] == "failure"


def test_tokens_of_a_response_with_a_secret_are_left_out(tmp_path):
    turns = [a_turn(0, response="I type hunter2hunter2."), a_turn(1)]
    trajectory = a_trajectory(turns=0).model_copy(update={"turns": turns, "diagnostics": {"machine": "m"}})
    left_out = ATIF.write(trajectory, None, tmp_path, Redaction(["hunter2hunter2"]))
    first, second = read(tmp_path).trajectory.turns
    assert (first.response, first.token_ids, first.logprobs) == ("I type ***.", [], [])
    assert second.token_ids == [5, 6, 7]
    assert left_out == [f"{trajectory.trajectory_id}: the tokens of 1 turns, which contain a secret"]
    assert read(tmp_path).trajectory.diagnostics == {}


@pytest.mark.parametrize(
    ("turn", "why"),
    [
        (a_turn(logprobs=[float("nan")]), "infinite or none"),
        (a_turn(tool_calls=[ToolCall(name="scroll", arguments={"by": [float("inf")]})]), "infinite or none"),
        (a_turn(timings={"policy": float("inf")}), "infinite or none"),
        (
            a_turn(observation=a_turn().observation.model_copy(update={"screenshot": Image.of(b"no picture")})),
            "a screenshot is no image that can be read",
        ),
    ],
)
def test_what_atif_cannot_hold_is_refused(tmp_path, turn, why):
    with pytest.raises(NotWritable, match=why):
        ATIF.write(a_trajectory(turns=0).model_copy(update={"turns": [turn]}), None, tmp_path, str)
    assert not [*tmp_path.rglob("trajectory.json")]


def another_agents(folder: Path, **changes: object) -> Path:
    """A document as Harbor's agents write it, with one screenshot per step."""
    (folder / "images").mkdir(parents=True)
    for name in ("0", "1", "2"):
        (folder / f"images/{name}.png").write_bytes(png(("white", "red", "blue")[int(name)]).data)

    def shot(name: str) -> dict:
        return {"type": "image", "source": {"media_type": "image/png", "path": f"images/{name}.png"}}

    def shown(name: str) -> dict:
        return {"source_call_id": "c", "content": [{"type": "text", "text": "Clicked."}, shot(name)]}

    steps = [
        {"step_id": 1, "source": "system", "message": "You browse."},
        {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "What does tea cost?"}, shot("0")]},
        {"step_id": 3, "source": "agent", "message": "Copied.", "is_copied_context": True},
        {
            "step_id": 4,
            "source": "agent",
            "message": "I click.",
            "reasoning_content": "A link.",
            "timestamp": "2026-01-01T00:00:00Z",
            "tool_calls": [{"tool_call_id": "c", "function_name": "click", "arguments": {"x": 1}}],
            "observation": {"results": [shown("1"), shown("2")]},
            "metrics": {"completion_token_ids": [1, 2], "logprobs": [-1.0, -2.0], "cost_usd": 0.1},
            "extra": {"theirs": 1},
        },
        {"step_id": 5, "source": "agent", "message": "It is 5."},
    ]
    document = {"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1"}, "steps": steps} | changes
    (folder / "trajectory.json").write_text(json.dumps(document))
    return folder


def test_a_document_of_another_agent_has_what_a_judge_needs(tmp_path):
    folder = another_agents(tmp_path / "job/trial")
    assert format_of(tmp_path / "job") is ATIF
    record = read(tmp_path / "job")
    trajectory = record.trajectory
    assert (trajectory.task.intent, trajectory.answer, trajectory.termination) == (
        "What does tea cost?",
        "It is 5.",
        Termination.DONE,
    )
    first, second = trajectory.turns
    assert first.response == "<think>A link.</think>\nI click."
    assert (first.tool_calls, first.feedback) == (
        [ToolCall(name="click", arguments={"x": 1})],
        ["Clicked.", "Clicked."],
    )
    assert (first.token_ids, first.logprobs) == ([1, 2], [-1.0, -2.0])
    assert [turn.observation.screenshot for turn in (first, second)] == [png("white"), png("blue")]
    assert (trajectory.final_screenshot, record.missing) == (png("blue"), ())
    again = another_agents(tmp_path / "job/other")
    assert len({item.trajectory.trajectory_id for item in ATIF.read(tmp_path / "job")}) == 2
    assert len({item.trajectory.task_id for item in ATIF.read(tmp_path / "job")}) == 1, "attempts at one task"
    assert read(folder).trajectory.task == read(again).trajectory.task


def test_the_answer_may_be_in_the_last_call(tmp_path):
    folder = another_agents(tmp_path / "a")
    document = json.loads((folder / "trajectory.json").read_text())
    document["steps"][-1] |= {
        "message": "",
        "tool_calls": [{"tool_call_id": "d", "function_name": "done", "arguments": {"answer": "5 euros", "ok": True}}],
    }
    (folder / "trajectory.json").write_text(json.dumps(document))
    assert read(folder).trajectory.answer == "5 euros"


def test_a_missing_a_damaged_and_an_outside_screenshot_are_said(tmp_path):
    folder = another_agents(tmp_path / "a")
    (folder / "images/0.png").unlink()
    (folder / "images/1.png").write_bytes(png("red").data[:40])
    (tmp_path / "private.png").write_bytes(png().data)
    document = (folder / "trajectory.json").read_text().replace("images/2.png", "../private.png")
    (folder / "trajectory.json").write_text(document)
    record = read(folder)
    missing, cut, outside = record.missing
    assert "0.png does not exist" in missing
    assert "1.png is no image that can be read" in cut
    assert "../private.png leads out of" in outside
    assert record.trajectory.turns[0].observation.screenshot == NO_SCREENSHOT


@pytest.mark.parametrize(
    "name, shown",
    [
        ("images/\0.png", r"images/\x00.png cannot be read (embedded null byte): write the screenshot to a file"),
        (
            "data:image/png;base64," + "A" * 6000,
            "A… cannot be read (File name too long): write the screenshot to a file",
        ),
        ("images/\ud800.png", r"images/\ud800.png"),
    ],
)
def test_a_screenshot_with_a_name_that_no_file_can_have_is_missing(tmp_path, name, shown):
    folder = another_agents(tmp_path / "a")
    document = json.loads((folder / "trajectory.json").read_text())
    document["steps"][1]["message"][1]["source"]["path"] = name
    (folder / "trajectory.json").write_text(json.dumps(document))
    (missing,) = read(folder).missing
    assert shown in missing
    assert len(missing.encode()) < 1000


def test_a_document_with_a_value_that_cannot_be_used_costs_no_other(tmp_path):
    another_agents(tmp_path / "a", steps=[
        {"step_id": 1, "source": "user", "message": "\ud800"}, {"step_id": 2, "source": "agent", "message": "Yes."},
    ])  # fmt: skip
    another_agents(tmp_path / "b")
    damaged, whole = ATIF.read(tmp_path)
    assert isinstance(damaged, Damaged)
    assert damaged.reason.startswith(f"{tmp_path / 'a/trajectory.json'}: is no trajectory that can be read ('utf-8'")
    assert isinstance(whole, ReadTrajectory)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"steps": []}, "no step of a user says what the task is"),
        ({"steps": [{"step_id": 1, "source": "user", "message": "Buy."}]}, "has no step of an agent"),
        ({"steps": [{"step_id": 2, "source": "user", "message": "Buy."}]}, r"step_id is 2, not 1: steps are missing"),
        ({"schema_version": "2"}, "schema_version"),
        ({"agent": None}, "agent: "),
    ],
)
def test_a_damaged_document_is_named_with_its_reason(tmp_path, changes, why):
    folder = another_agents(tmp_path / "a", **changes)
    reason = damaged(folder)
    assert reason.startswith(str(folder / "trajectory.json"))
    assert why in reason


def test_a_document_that_is_cut_off_is_named_with_its_line(tmp_path):
    file = written(a_trajectory(), tmp_path)
    file.write_text(file.read_text()[:2000])
    lines = file.read_text().count("\n") + 1
    assert damaged(tmp_path).startswith(f"{file}:{lines}: is not JSON")
    file.write_bytes(b'{"schema_version": "ATIF-v1.8", "x": "\xff"}')
    assert "is not UTF-8" in damaged(tmp_path)


def test_a_number_that_json_lacks_is_named_with_its_place_and_a_fix(tmp_path):
    """Python writes such numbers; the original of a file has them as well as its copy."""
    file = written(a_trajectory(), tmp_path)
    file.write_text('{"schema_version": "ATIF-v1.8", "note": "NaN",\n "logprobs": [-0.5, -Infinity]}')
    assert damaged(tmp_path) == (
        f"{file}:2: has -Infinity, which is not JSON, at column 21: "
        "correct it where the file is made, or leave the file out of the folder"
    )


def test_our_part_of_a_document_that_was_changed_is_damaged(tmp_path):
    written(a_trajectory(), tmp_path, extra={"waymark": {"attempt": "x"}})
    assert "what Waymark wrote was changed" in damaged(tmp_path)


def test_the_har_with_the_cookies_of_the_login_is_left_out(tmp_path):
    readings = [
        Reading(url=HAR, locator="", address="http://a.test/", text='[{"cookies": "session=planted"}]'),
        Reading(url="last", locator="h1", address="http://a.test/", text="Orders"),
    ]
    trajectory = a_trajectory(turns=1).model_copy(update={"ending": Ending(url="http://a.test/", readings=readings)})
    (sentence,) = ATIF.write(trajectory, None, tmp_path, lambda text: text)
    assert "the HAR" in sentence
    assert not any(b"planted" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    (record,) = ATIF.read(tmp_path)
    assert [reading.text for reading in record.trajectory.ending.readings] == [None, "Orders"]
