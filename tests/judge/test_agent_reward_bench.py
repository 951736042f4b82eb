"""AgentRewardBench's files, as they are published, in small."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from components.formats import Damaged, ReadTrajectory, Unreadable, format_named
from components.formats.agent_reward_bench import benchmark_of, identity_of, iter_trajectories
from components.formats.browsergym_actions import calls_of
from components.judge.expert_annotations import (
    of_split,
    read_experts,
    second_expert,
    summarise_aspects,
)
from components.judge.labels import read_labels
from components.records import Outcome
from tests.samples import png

HEAD = (
    "annotator_name,benchmark,task_id,model_name,exp_name,trajectory_success,trajectory_side_effect,"
    "trajectory_optimality,trajectory_looping\n"
)
AGENT = "GenericAgent-gpt-4o-2024-11-20"


def annotations(path: Path, *rows: tuple[str, str, str]) -> Path:
    """Rows of annotator, task, success."""
    lines = [
        f"{who},webarena,{task},{AGENT},{AGENT}_on_webarena,{said},No,2. Suboptimal,No" for who, task, said in rows
    ]
    path.write_text(HEAD + "\n".join(lines) + "\n")
    return path


def cleaned(
    folder: Path, task: str = "webarena.7", last_action: str = 'send_msg_to_user("It is 5.")', **changes: object
) -> Path:
    """A trajectory of two steps with its screenshots; returns the `trajectories` folder."""
    shots = folder / "screenshots/webarena" / AGENT / task
    shots.mkdir(parents=True, exist_ok=True)
    for number, colour in enumerate(("red", "blue")):
        (shots / f"screenshot_step_{number}.png").write_bytes(png(colour).data)
    where = f"trajectories/screenshots/webarena/{AGENT}/{task}/screenshot_step_"
    steps = [
        {"num": 0, "url": "http://shop/", "action": "click('a51')", "reasoning": "The link.", "last_action_error": "",
         "screenshot_path": f"{where}0.png", "axtree": "…", "stats": {}},
        {"num": 1, "url": "http://shop/tea", "action": last_action, "reasoning": None,
         "last_action_error": "", "screenshot_path": f"{where}1.png", "axtree": "…", "stats": {}},
    ]  # fmt: skip
    content = {
        "benchmark": "webarena",
        "agent": AGENT,
        "model": "gpt-4o",
        "valid": True,
        "experiment": "e",
        "goal": "What does tea cost?",
        "seed": 3,
        "summary_info": {"cum_reward": 1.0},
        "steps": steps,
    }
    file = folder / "cleaned/webarena" / AGENT / "e" / f"{task}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content | changes))
    return folder


def test_the_primary_expert_labels_unless_unsure(tmp_path):
    path = annotations(
        tmp_path / "a.csv",
        ("A", "webarena.1", "Successful"),
        ("B", "webarena.1", "Unsuccessful"),
        ("A", "webarena.2", "Unsuccessful"),
        ("C", "webarena.3", "Unsure"),
        ("D", "webarena.3", "Successful"),
    )
    known = read_labels(path)
    assert known.outcomes == {
        identity_of("webarena", AGENT, "webarena.1"): Outcome.SUCCESS,
        identity_of("webarena", AGENT, "webarena.2"): Outcome.FAILURE,
    }
    assert known.left_out == [f"{path}:5: the primary expert is unsure whether it is a success"]


def test_a_row_with_an_unknown_label_is_left_out_and_said(tmp_path):
    path = annotations(tmp_path / "a.csv", ("A", "webarena.1", "Perhaps"), ("A", "webarena.2", "Successful"))
    known = read_labels(path)
    assert list(known.outcomes.values()) == [Outcome.SUCCESS]
    assert known.left_out == [f"{path}:2: trajectory_success is 'Perhaps', not Successful or Unsuccessful"]


def test_a_second_expert_never_takes_the_place_of_the_primary_one(tmp_path):
    path = annotations(
        tmp_path / "a.csv",
        ("A", "webarena.1", "Sucessful"),
        ("B", "webarena.1", "Unsuccessful"),
        ("A", "webarena.2", "Successful"),
    )
    known = read_labels(path)
    assert list(known.outcomes) == [identity_of("webarena", AGENT, "webarena.2")]
    assert known.left_out == [f"{path}:2: trajectory_success is 'Sucessful', not Successful or Unsuccessful"]
    rows, _ = read_experts(path).values()
    assert [row.success for row in rows] == [None, Outcome.FAILURE]


def test_another_file_is_refused_with_what_it_lacks(tmp_path):
    (tmp_path / "b.csv").write_text("a,b\n1,2\n")
    with pytest.raises(Unreadable, match="no column benchmark"):
        read_experts(tmp_path / "b.csv")


def test_a_trajectory_is_what_our_judges_read(tmp_path):
    (one,) = iter_trajectories(cleaned(tmp_path / "trajectories"))
    assert one.trajectory_id == identity_of("webarena", AGENT, "webarena.7")
    assert (one.task.intent, one.answer, one.site_reward) == ("What does tea cost?", "It is 5.", 1.0)
    assert [turn.tool_calls[0].name for turn in one.turns] == ["click", "send_msg_to_user"]
    assert one.turns[0].feedback == ["The page is now http://shop/tea"]
    assert "The link." in one.turns[0].response
    assert one.turns[0].observation.screenshot == png("red")
    assert one.final_screenshot == png("blue")


@pytest.mark.parametrize("folder", ["trajectories", "mine"])
@pytest.mark.parametrize("first", ["trajectories/", ""])
def test_screenshots_are_below_the_folder_that_was_named(tmp_path, folder, first):
    """Published paths begin with `trajectories/`, whatever the folder is called here."""
    place = cleaned(tmp_path / folder)
    file = next((place / "cleaned").rglob("*.json"))
    file.write_text(file.read_text().replace("trajectories/screenshots", f"{first}screenshots"))
    (record,) = format_named("agent_reward_bench").read(place)
    assert record.missing == ()
    assert record.trajectory.turns[0].observation.screenshot == png("red")


def test_a_missing_screenshot_is_named_as_the_file_has_it(tmp_path):
    place = cleaned(tmp_path / "mine")
    file = next((place / "cleaned").rglob("*.json"))
    file.write_text(file.read_text().replace("trajectories/screenshots", "pictures"))
    (record,) = format_named("agent_reward_bench").read(place)
    name = f"pictures/webarena/{AGENT}/webarena.7/screenshot_step_0.png"
    assert record.missing[0].startswith(f"{place / name} does not exist")


def test_the_judge_sees_failed_actions_and_actions_without_a_message(tmp_path):
    folder = cleaned(tmp_path / "trajectories")
    file = next((folder / "cleaned").rglob("*.json"))
    content = json.loads(file.read_text())
    content["steps"][1] |= {"last_action_error": "no such element", "action": "noop(1000)"}
    file.write_text(json.dumps(content))
    (one,) = iter_trajectories(folder)
    assert one.turns[0].feedback == ["Failed: no such element"]
    assert (one.answer, one.termination) == ("", "done")


@pytest.mark.parametrize(
    "action, answer",
    [
        ("send_msg_to_user('42')", "42"),
        ("send_msg_to_user(text='42')", "42"),
        ("report_infeasible(reason='It is sold out.')", "It is sold out."),
        ("report_infeasible('It is sold out.')", "It is sold out."),
        ("fill('a12', text='42')", ""),
        ("send_msg_to_user()", ""),
    ],
)
def test_the_answer_is_the_final_message_with_or_without_its_name(tmp_path, action, answer):
    (one,) = iter_trajectories(cleaned(tmp_path, last_action=action))
    assert one.answer == answer


def test_invalid_trajectories_are_left_out_and_broken_ones_are_named(tmp_path):
    assert list(iter_trajectories(cleaned(tmp_path / "a", valid=False))) == []
    with pytest.raises(Unreadable, match=r"webarena\.7\.json"):
        list(iter_trajectories(cleaned(tmp_path / "b", goal=None)))
    folder = cleaned(tmp_path / "c")
    next((folder / "screenshots").rglob("*.png")).unlink()
    with pytest.raises(Unreadable, match=r"does not exist.*beside its `cleaned`"):
        list(iter_trajectories(folder))


@pytest.mark.parametrize(
    "changes, why",
    [
        ({"summary_info": {"cum_reward": "n/a"}}, "summary_info.cum_reward: Input should be a valid number"),
        ({"summary_info": {"cum_reward": [1]}}, "summary_info.cum_reward: Input should be a valid number"),
        ({"summary_info": {"cum_reward": 10**400}}, "summary_info.cum_reward: Input should be a valid number"),
        ({"seed": 10**30}, "seed: Input should be less than"),
        ({"agent": "\ud800"}, r"is no trajectory that can be read \('utf-8' codec can't encode"),
    ],
)
def test_a_value_that_no_trajectory_can_hold_costs_no_other_record(tmp_path, changes, why):
    folder = cleaned(tmp_path, "webarena.7", **changes)
    cleaned(tmp_path, "webarena.8")
    damaged, whole = format_named("agent_reward_bench").read(folder)
    assert isinstance(damaged, Damaged)
    assert damaged.reason.startswith(str(next((folder / "cleaned").rglob("webarena.7.json"))))
    assert re.search(why, damaged.reason)
    assert isinstance(whole, ReadTrajectory)
    with pytest.raises(Unreadable, match=why):
        list(iter_trajectories(folder))


@pytest.mark.parametrize(
    "text, name, arguments",
    [
        ("fill('a12', 'tea')", "fill", {"0": "a12", "1": "tea"}),
        ("scroll(0, 200.5)", "scroll", {"0": 0, "1": 200.5}),
        ("select_option('a', options=['x', 'y'])", "select_option", {"0": "a", "options": ["x", "y"]}),
        ("noop()", "noop", {}),
        ("__import__('os').system('ls')", "__import__('os').system('ls')", {}),
        ("click(open('x'))", "click(open('x'))", {}),
        ("click('a", "click('a", {}),
        ("", "", {}),
    ],
)
def test_actions_are_parsed_and_never_run(text, name, arguments):
    (call,) = calls_of(text)
    assert (call.name, call.arguments) == (name, arguments)


def test_several_actions_are_several_calls():
    assert [call.name for call in calls_of("click('a')\nfill('b', 'tea')")] == ["click", "fill"]
    assert [call.name for call in calls_of("click('a')\nx = 1")] == ["click('a')\nx = 1"]


def experts_of(tmp_path: Path) -> Path:
    """Three trajectories, two of them with a second expert, who says the same of one."""
    return annotations(
        tmp_path / "annotations.csv",
        ("A", "webarena.1", "Successful"),
        ("B", "webarena.1", "Successful"),
        ("A", "visualwebarena.resized.2", "Unsuccessful"),
        ("B", "visualwebarena.resized.2", "Successful"),
        ("A", "webarena.3", "Unsuccessful"),
    )


def test_the_second_expert_is_the_ceiling_of_agreement(tmp_path):
    ceiling = second_expert(read_experts(experts_of(tmp_path)), 200, 0)
    assert (ceiling.judge, ceiling.n, ceiling.accuracy.value) == ("second expert", 2, 0.5)
    alone = annotations(tmp_path / "b.csv", ("A", "webarena.1", "Successful"))
    assert second_expert(read_experts(alone), 200, 0) is None


def test_side_effects_optimality_and_repetition_are_summarised(tmp_path):
    side, optimal, looping = summarise_aspects(read_experts(experts_of(tmp_path)))
    assert [part.aspect for part in (side, optimal, looping)] == ["side_effect", "optimality", "looping"]
    assert (side.counts, optimal.counts, side.pairs) == ({"No": 3}, {"2. Suboptimal": 3}, 2)
    assert side.agreement.value == 1.0
    assert side.agreement.ci95.low < 1, "two pairs are no certainty"


def test_a_published_split_chooses_its_tasks(tmp_path):
    path = experts_of(tmp_path)
    with pytest.raises(Unreadable, match="copy AgentRewardBench's data/splits"):
        of_split(read_experts(path), path, "dev")
    (tmp_path / "splits.csv").write_text(
        "\ufefftask_id,split\nwebarena.1,dev\nvisualwebarena.2,test\nwebarena.3,test\n"
    )
    tasks = {rows[0].task for rows in of_split(read_experts(path), path, "test").values()}
    assert tasks == {"visualwebarena.resized.2", "webarena.3"}
    (tmp_path / "splits.csv").write_text("task_id,split\nother,dev\n")
    with pytest.raises(Unreadable, match="no annotated task of the split 'dev'"):
        of_split(read_experts(path), path, "dev")


def test_a_byte_order_mark_or_a_short_row_does_not_confuse_the_annotations(tmp_path):
    path = annotations(tmp_path / "a.csv", ("A", "webarena.1", "Successful"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert list(read_labels(path).outcomes.values()) == [Outcome.SUCCESS]
    path.write_text(HEAD + "A,webarena,webarena.1\n")
    left_out: list[str] = []
    assert read_experts(path, left_out) == {}
    assert left_out == [f"{path}:2: the row ends before model_name, trajectory_success"]
    path.write_bytes(HEAD.encode() + b"\xff")
    with pytest.raises(Unreadable, match=r"a\.csv is not UTF-8"):
        read_experts(path)


def test_a_line_separator_in_a_value_does_not_end_a_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("benchmark,task_id,model_name,trajectory_success\nwebarena,1,m\u2028x,Successful\n")
    assert read_labels(path).outcomes == {identity_of("webarena", "m\u2028x", "1"): Outcome.SUCCESS}


@pytest.mark.parametrize(
    "content, why",
    [
        (b"task_id,split\n\xff,dev\n", r"splits\.csv is not UTF-8 \(byte 14\)"),
        (b"task_id,split\n" + b"x" * 200_000, r"splits\.csv:2: is not CSV \(field larger than"),
        (b"task_id,split,split\nwebarena.1,dev,test\n", r"splits\.csv has the column 'split' twice"),
    ],
)
def test_splits_that_cannot_be_read_are_refused_by_name(tmp_path, content, why):
    path = experts_of(tmp_path)
    (tmp_path / "splits.csv").write_bytes(content)
    with pytest.raises(Unreadable, match=why):
        of_split(read_experts(path), path, "dev")


def test_the_second_level_of_workarena_is_a_benchmark_of_its_own(tmp_path):
    folder = cleaned(tmp_path / "a", "workarena.servicenow.order-l2", benchmark="workarena")
    (second,) = iter_trajectories(folder)
    (plain,) = iter_trajectories(cleaned(tmp_path / "b"))
    assert (benchmark_of(second), benchmark_of(plain)) == ("workarena++", "webarena")
