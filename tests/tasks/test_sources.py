from __future__ import annotations

import json
from pathlib import Path

import pytest

from components import store
from components.records import Rejection, Task
from components.tasks import load_files, parse_rows

FIXTURES = Path(__file__).parent / "fixtures"
PUBLISHED = Path(__file__).parents[3] / "shared" / "data"
needs_published = pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published benchmark files are not here")


def reasons(rejections: list[Rejection]) -> dict[int, tuple[str, str]]:
    return {rejection.row: (rejection.field, rejection.reason) for rejection in rejections}


def test_a_webvoyager_row_is_an_evaluation_task_of_its_host() -> None:
    tasks = load_files([FIXTURES / "webvoyager.jsonl"]).tasks
    assert [task.task_id for task in tasks] == ["webvoyager/Gardenbook--0", "webvoyager/Gardenbook--1"]
    assert (tasks[0].website, tasks[0].split, tasks[0].source) == ("gardenbook.example", "eval", "webvoyager")
    assert tasks[0].intent.startswith("Find a shade plant")


def test_every_bad_row_is_rejected_with_its_place_field_and_reason() -> None:
    why = reasons(load_files([FIXTURES / "webvoyager.jsonl"]).rejections)
    assert sorted(why) == [2, 3, 4, 5, 6, 7, 8]
    assert why[2] == ("id", "duplicate id 'webvoyager/Gardenbook--1'")
    assert why[3] == ("notes", "WebVoyagerRow: notes: unknown field")
    assert why[4][0] == "ques"
    assert why[5] == ("web", "WebVoyagerRow: web: 'trains.example' is no http(s) address")
    assert why[6] == why[7] == ("", "is not a JSON object")
    assert why[8][1].startswith("fits no known schema (WebVoyagerRow: web_name, id, ques, web;")


def test_a_rejection_keeps_the_row_and_survives_parquet(tmp_path: Path) -> None:
    rows = [{"web_name": "A", "id": "\ud800", "ques": "x" * 5000, "web": "https://a.example"}]
    _, rejections = parse_rows(rows, "s", "f.jsonl")
    store.write_table(tmp_path / "rejected.parquet", Rejection, rejections)
    (read,) = store.read_table(tmp_path / "rejected.parquet", Rejection)
    assert read == rejections[0]
    assert (read.file, read.row, read.field) == ("f.jsonl", 0, "id")
    assert read.raw.startswith('{"web_name": "A", "id": "\\ud800"')
    assert len(read.raw) <= 2000


def test_a_duplicate_id_is_found_across_files(tmp_path: Path) -> None:
    row = json.loads((FIXTURES / "tasks.jsonl").read_text().splitlines()[0])
    (tmp_path / "a.json").write_text(json.dumps([row]))
    (tmp_path / "b.json").write_text(json.dumps([row]))
    loaded = load_files([tmp_path / "a.json", tmp_path / "b.json"])
    assert len(loaded.tasks) == 1
    assert reasons(loaded.rejections) == {0: ("task_id", "duplicate id 'own/1'")}


def test_revised_online_mind2web_tasks_keep_their_dated_id() -> None:
    loaded = load_files([FIXTURES / "online_mind2web.json"])
    assert [task.task_id for task in loaded.tasks] == ["online_mind2web/0f3c", "online_mind2web/0f3c_110325"]
    assert loaded.tasks[0].evaluator == {"type": "online_mind2web", "level": "medium", "reference_length": 6}
    assert loaded.rejections[0].field == "reference_length, level"


def test_deepshop_nones_are_none_bold_marks_go_and_garbled_rows_are_rejected() -> None:
    loaded = load_files([FIXTURES / "deepshop.jsonl"])
    one, three = loaded.tasks
    assert [(group.id, group.facts) for group in one.rubric] == [("attribute", ["Folding stool under 20 dollars"])]
    assert [group.facts[0] for group in three.rubric] == [
        "Garden hose of 20 m",
        "Garden hose rated 4 stars or higher",
        "Garden hose ranked by sales",
    ]
    assert (one.difficulty, three.difficulty) == (1, 3)
    assert reasons(loaded.rejections)[2][0] == "attribute, filter"


def test_our_own_rows_are_the_task_record() -> None:
    loaded = load_files([FIXTURES / "tasks.jsonl"])
    first, second = loaded.tasks
    assert (first.source, first.split, first.rubric[0].facts) == ("tasks", "train", ["was opened", "was sent"])
    assert (second.source, second.split, second.seed, second.evaluator["expected"]) == ("by hand", "heldout", 7, "9-17")
    why = reasons(loaded.rejections)
    assert why[2][0] == "split"
    assert "two fact groups have the same id" in why[3][1]


def test_our_own_table_is_a_task_file_too(tmp_path: Path) -> None:
    tasks = load_files([FIXTURES / "tasks.jsonl"]).tasks
    store.write_table(tmp_path / "again.parquet", Task, tasks)
    loaded = load_files([tmp_path / "again.parquet"])
    assert loaded.tasks == tasks
    assert loaded.origins == {"own/1": ("again.parquet", 0), "own/2": ("again.parquet", 1)}


def test_a_row_that_its_source_could_not_open_is_rejected_with_that_reason() -> None:
    row = {"task_id": "miniwob/x/1", "intent": "", "start_url": "http://miniwob/x.html", "error": "MiniWoB++ has no x"}
    tasks, (rejection,) = parse_rows([row], "miniwob", "miniwob")
    assert tasks == []
    assert (rejection.field, rejection.reason) == ("start_url", "MiniWoB++ has no x")


def test_a_missing_file_is_skipped_and_said(tmp_path: Path) -> None:
    assert load_files([tmp_path / "nowhere.jsonl"]).missing == [str(tmp_path / "nowhere.jsonl")]


def test_a_file_that_is_no_list_of_rows_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text("{}")
    with pytest.raises(ValueError, match="convert it to JSONL"):
        load_files([tmp_path / "one.json"])
    (tmp_path / "one.csv").write_text("a,b")
    with pytest.raises(ValueError, match="convert it to JSONL"):
        load_files([tmp_path / "one.csv"])


@needs_published
@pytest.mark.parametrize(
    "file, tasks, rejected",
    [
        ("webvoyager_643.jsonl", 643, []),
        ("webvoyager_fara595.jsonl", 595, []),
        ("online_mind2web_300.json", 300, []),
        ("online_mind2web_later_revision.json", 300, []),
        ("deepshop_150.jsonl", 147, [21, 51, 149]),
    ],
)
def test_published_files_load(file: str, tasks: int, rejected: list[int]) -> None:
    loaded = load_files([PUBLISHED / file])
    assert len(loaded.tasks) == tasks
    assert [rejection.row for rejection in loaded.rejections] == rejected
    assert {task.split for task in loaded.tasks} == {"eval"}


@needs_published
def test_two_revisions_of_a_benchmark_can_stand_side_by_side() -> None:
    loaded = load_files([PUBLISHED / "webvoyager_643.jsonl", PUBLISHED / "webvoyager_fara595.jsonl"])
    assert len(loaded.tasks) == 643 + 595
    assert not loaded.rejections
