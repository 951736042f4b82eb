"""AgentRewardBench's files, as they are published, in small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from components.judge.agent_reward_bench import (
    Unreadable,
    identity_of,
    iter_trajectories,
    parse_action,
    read_annotations,
)
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


def cleaned(folder: Path, task: str = "webarena.7", **changes: object) -> Path:
    """A trajectory of two steps with its screenshots; returns the `trajectories` folder."""
    shots = folder / "screenshots/webarena" / AGENT / task
    shots.mkdir(parents=True, exist_ok=True)
    for number, colour in enumerate(("red", "blue")):
        (shots / f"screenshot_step_{number}.png").write_bytes(png(colour).data)
    where = f"trajectories/screenshots/webarena/{AGENT}/{task}/screenshot_step_"
    steps = [
        {"num": 0, "url": "http://shop/", "action": "click('a51')", "reasoning": "The link.", "last_action_error": "",
         "screenshot_path": f"{where}0.png", "axtree": "…", "stats": {}},
        {"num": 1, "url": "http://shop/tea", "action": 'send_msg_to_user("It is 5.")', "reasoning": None,
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
    assert read_annotations(path) == {
        identity_of("webarena", AGENT, "webarena.1"): Outcome.SUCCESS,
        identity_of("webarena", AGENT, "webarena.2"): Outcome.FAILURE,
    }


def test_another_file_or_label_is_refused_with_its_place(tmp_path):
    with pytest.raises(Unreadable, match=r":2: trajectory_success is 'Perhaps'"):
        read_annotations(annotations(tmp_path / "a.csv", ("A", "webarena.1", "Perhaps")))
    (tmp_path / "b.csv").write_text("a,b\n1,2\n")
    with pytest.raises(Unreadable, match="no column benchmark"):
        read_annotations(tmp_path / "b.csv")


def test_a_trajectory_is_what_our_judges_read(tmp_path):
    (one,) = iter_trajectories(cleaned(tmp_path / "trajectories"))
    assert one.trajectory_id == identity_of("webarena", AGENT, "webarena.7")
    assert (one.task.intent, one.answer, one.site_reward) == ("What does tea cost?", "It is 5.", 1.0)
    assert [turn.tool_calls[0].name for turn in one.turns] == ["click", "send_msg_to_user"]
    assert one.turns[0].feedback == ["The page is now http://shop/tea"]
    assert "The link." in one.turns[0].response
    assert one.turns[0].observation.screenshot == png("red")
    assert one.final_screenshot == png("blue")


def test_the_judge_sees_failed_actions_and_actions_without_a_message(tmp_path):
    folder = cleaned(tmp_path / "trajectories")
    file = next((folder / "cleaned").rglob("*.json"))
    content = json.loads(file.read_text())
    content["steps"][1] |= {"last_action_error": "no such element", "action": "noop(1000)"}
    file.write_text(json.dumps(content))
    (one,) = iter_trajectories(folder)
    assert one.turns[0].feedback == ["Failed: no such element"]
    assert (one.answer, one.termination) == ("", "done")


def test_invalid_trajectories_are_left_out_and_broken_ones_are_named(tmp_path):
    assert list(iter_trajectories(cleaned(tmp_path / "a", valid=False))) == []
    with pytest.raises(Unreadable, match=r"webarena\.7\.json"):
        list(iter_trajectories(cleaned(tmp_path / "b", goal=None)))
    folder = cleaned(tmp_path / "c")
    next((folder / "screenshots").rglob("*.png")).unlink()
    with pytest.raises(Unreadable, match="no such screenshot"):
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
    call = parse_action(text)
    assert (call.name, call.arguments) == (name, arguments)
