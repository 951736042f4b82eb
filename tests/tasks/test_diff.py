from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from components.cli import main
from components.records import Task
from components.tasks.diff import diff, diff_files, lines

MakeTask = Callable[..., Task]
PUBLISHED = Path(__file__).parents[3] / "shared" / "data"
needs_published = pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published benchmark files are not here")


def test_tasks_are_added_removed_and_changed_field_by_field(task: MakeTask) -> None:
    before = [task("a/1", source="a"), task("a/2", source="a"), task("a/3", source="a", evaluator={"x": {"y": 1}})]
    after = [
        task("b/3", source="b", intent="Do a/3.", evaluator={"x": {"y": 2, "z": None}}),
        task("b/1", source="b", intent="Do a/1."),
        task("b/4", source="b"),
    ]
    found = diff(before, after)
    assert [one.task_id for one in found.added] == ["b/4"]
    assert [one.task_id for one in found.removed] == ["a/2"]
    (changed,) = found.changed
    assert [(one.field, one.before, one.after) for one in changed.fields] == [("evaluator.x.y", 1, 2)]
    assert found.unchanged == 1


def test_an_equal_id_matches_first_and_then_the_text_without_its_date(task: MakeTask) -> None:
    before = [task("x", intent="old"), task("y", intent="same"), task("z_010125", intent="z")]
    after = [
        task("x_110325", intent="new"),
        task("y_110325", intent="other"),
        task("y", intent="same"),
        task("z_020225"),
    ]
    found = diff(before, after)
    assert [(one.before_id, one.after_id, one.fields[0].field) for one in found.changed] == [
        ("x", "x_110325", "id"),
        ("z_010125", "z_020225", "id"),
    ]
    assert [one.task_id for one in found.added] == ["y_110325"]
    assert found.removed == []


def test_the_command_says_what_changed_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"web_name": "A", "id": "A--0", "ques": "Find a fern.", "web": "https://a.example/"}
    (tmp_path / "one.jsonl").write_text("\n".join(map(json.dumps, [row, row | {"id": "A--1"}])))
    (tmp_path / "two.jsonl").write_text("\n".join(map(json.dumps, [row | {"ques": "Find moss."}, {"id": "A--2"}])))
    assert main.main(["tasks", "diff", str(tmp_path / "one.jsonl"), str(tmp_path / "two.jsonl")]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "- A--1: Find a fern.",
        "~ A--0",
        "    intent",
        "      - Find a fern.",
        "      + Find moss.",
        "2 tasks -> 1: 0 added, 1 removed, 1 changed (intent 1), 0 the same",
    ]
    assert "1 rows are no tasks" in said.err
    assert main.main(["tasks", "diff", "--json", str(tmp_path / "one.jsonl"), str(tmp_path / "one.jsonl")]) == 0
    assert json.loads(capsys.readouterr().out)["changed"] == []
    assert main.main(["tasks", "diff", str(tmp_path / "no.jsonl"), str(tmp_path / "one.jsonl")]) == 1
    assert "is missing" in capsys.readouterr().err


@needs_published
def test_the_revisions_of_online_mind2web_differ_in_46_dated_tasks() -> None:
    files = [PUBLISHED / name for name in ("online_mind2web_300.json", "online_mind2web_later_revision.json")]
    found, rejected = diff_files(*files)
    assert (len(found.added), len(found.removed), rejected) == (0, 0, 0)
    assert sum(one.before_id != one.after_id for one in found.changed) == 46
    assert lines(found)[-1].startswith("300 tasks -> 300: 0 added, 0 removed, ")


@needs_published
def test_the_595_tasks_of_webvoyager_are_643_less_48_and_some_reworded() -> None:
    found, _ = diff_files(PUBLISHED / "webvoyager_643.jsonl", PUBLISHED / "webvoyager_fara595.jsonl")
    assert (found.before, found.after, len(found.added), len(found.removed)) == (643, 595, 0, 48)
    assert {change.field for one in found.changed for change in one.fields} <= {"intent", "start_url", "website"}


@needs_published
def test_webarena_lites_tasks_have_the_old_numbers_of_webarena() -> None:
    webarena = PUBLISHED / "webarena_812.raw.json"
    lite, _ = diff_files(webarena, PUBLISHED / "webarena_lite_165.raw.json")
    train, _ = diff_files(webarena, PUBLISHED / "webarena_lite_train_647.json")
    assert (len(lite.added), len(lite.removed)) == (0, 647)
    assert (len(train.added), len(train.removed)) == (0, 165)
