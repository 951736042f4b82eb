from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components import store
from components.params import TaskFile, TaskParams
from components.records import Rejection, Task
from components.tasks import at_sites, load_files, parse_rows, unserved
from components.tasks.rows import WebGymRow

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
    assert why[5] == ("web", "WebVoyagerRow: web: 'trains.example' is not an http(s) address")
    assert why[6] == ("", "is not a JSON object: Unterminated string starting at column 51")
    assert why[7] == ("", "is not a JSON object")
    assert why[8][1].startswith("fits no known schema (WebVoyagerRow: web_name, id, ques, web;")


OWN = {"task_id": "x", "intent": "i", "start_url": "https://a.example", "website": "a"}
WEBGYM = {"benchmark_name": "b", "task_name": "t", "website": "a.example", "task_id": "1"}
VERIFIED = {
    "sites": ["shopping"], "task_id": 1, "intent_template_id": 1, "start_urls": ["__SHOPPING__"], "intent": "i",
    "intent_template": "", "instantiation_dict": {}, "revision": 1,
    "eval": [{"evaluator": "AgentResponseEvaluator", "expected": {}}],
}  # fmt: skip


@pytest.mark.parametrize(
    "row, damage, field",
    [
        (VERIFIED, {"task_id": "12a"}, "task_id"),
        (WEBGYM, {"evaluator_reference": "[" * 5000 + "]" * 5000}, "evaluator_reference"),
        (WEBGYM, {"difficulty": 10**20}, "difficulty"),
        (OWN, {"seed": 10**30}, "seed"),
        (OWN, {"seed": -(2**63) - 1}, "seed"),
        (OWN, {"horizon": 2**63}, "horizon"),
    ],
)
def test_a_value_that_no_task_can_hold_costs_its_row_alone(row: dict, damage: dict, field: str) -> None:
    tasks, (rejection,) = parse_rows([row | damage, row], "s", "f.json")
    assert len(tasks) == 1
    assert (rejection.row, rejection.field) == (0, field)


def test_whole_numbers_of_64_bits_are_tasks_and_survive_parquet(tmp_path: Path) -> None:
    tasks, _ = parse_rows([OWN | {"seed": -(2**63), "horizon": 2**63 - 1, "difficulty": 2**63 - 1}], "s", "f.json")
    store.write_table(tmp_path / "tasks.parquet", Task, tasks)
    assert store.read_table(tmp_path / "tasks.parquet", Task) == tasks


@pytest.mark.parametrize("error", [ValueError("of the conversion"), RecursionError("of the conversion")])
def test_a_conversion_that_fails_is_a_rejection(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(row: WebGymRow, source: str) -> Task:
        raise error

    monkeypatch.setattr(WebGymRow, "task", fail)
    tasks, (rejection,) = parse_rows([WEBGYM, OWN], "s", "f.json")
    assert [task.task_id for task in tasks] == ["x"]
    assert (rejection.row, rejection.reason) == (0, "WebGymRow: of the conversion")


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


def test_deepshop_rows_lose_bold_marks_nones_and_garbled_constraints() -> None:
    loaded = load_files([FIXTURES / "deepshop.jsonl"])
    one, three, garbled = loaded.tasks
    assert [(group.id, group.facts) for group in one.rubric] == [("attribute", ["Folding stool under 20 dollars"])]
    assert [group.facts[0] for group in three.rubric] == [
        "Garden hose of 20 m",
        "Garden hose rated 4 stars or higher",
        "Garden hose ranked by sales",
    ]
    assert (one.difficulty, three.difficulty) == (1, 3)
    assert (garbled.intent, garbled.difficulty, garbled.rubric) == ("Find a brass lamp with a warranty.", None, [])
    assert garbled.evaluator == {"type": "deepshop", "level": "hard", "garbled": ["attribute", "filter"]}
    assert "garbled" not in one.evaluator


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
    assert loaded.origins == {"own/1": ("again.parquet", 0, None), "own/2": ("again.parquet", 1, None)}


def test_a_row_that_its_source_could_not_open_is_rejected_with_that_reason() -> None:
    row = {"task_id": "miniwob/x/1", "intent": "", "start_url": "http://miniwob/x.html", "error": "MiniWoB++ has no x"}
    tasks, (rejection,) = parse_rows([row], "miniwob", "miniwob")
    assert tasks == []
    assert (rejection.field, rejection.reason) == ("start_url", "MiniWoB++ has no x")


def test_a_missing_file_is_skipped_and_reported(tmp_path: Path) -> None:
    assert load_files([tmp_path / "nowhere.jsonl"]).missing == [str(tmp_path / "nowhere.jsonl")]


def test_a_file_that_is_no_list_of_rows_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text("{}")
    with pytest.raises(ValueError, match="convert it to JSONL"):
        load_files([tmp_path / "one.json"])
    (tmp_path / "one.csv").write_text("a,b")
    with pytest.raises(ValueError, match="convert it to JSONL"):
        load_files([tmp_path / "one.csv"])


def test_a_rejection_names_the_line_on_which_the_row_begins() -> None:
    assert [(one.row, one.line) for one in load_files([FIXTURES / "insta.jsonl"]).rejections] == [(1, 2), (2, 4)]
    assert [(one.row, one.line) for one in load_files([FIXTURES / "webarena.json"]).rejections] == [(2, 10)]
    assert [one.line for one in load_files([FIXTURES / "questions.jsonl"]).rejections] == [2]


def test_a_list_that_breaks_off_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "half.json").write_text('[{"id": 1},\n {"id": ')
    with pytest.raises(ValueError, match="from line 2 on"):
        load_files([tmp_path / "half.json"])


def test_each_form_of_a_webgym_reference_becomes_fact_groups() -> None:
    loaded = load_files([FIXTURES / "webgym.jsonl"])
    text, texts, criteria, groups, flagged = loaded.tasks
    assert [[group.facts for group in one.rubric] for one in loaded.tasks] == [
        [["names the royal fern"]],
        [["three plants are named"], ["each grows in shade"]],
        [["the train"], ["its fares"]],
        [["seat", "couchette", "sleeper"]],
        [["the coast line"]],
    ]
    assert (text.task_id, text.website, text.split) == ("webgym/7", "ferns.example", "train")
    assert [one.reference_answer for one in loaded.tasks] == [
        "Royal fern, 12 euros", None, None, None, "the coast line",
    ]  # fmt: skip
    assert [one.difficulty for one in loaded.tasks] == [1, 2, 4, 3, 1]
    assert texts.start_url == "https://ferns.example"
    assert criteria.evaluator == {"type": "webgym", "benchmark": "Trains", "difficulties": [1, 3]}
    assert (groups.decomposed_from, groups.rubric[0].id) == ("webgym/t-9", "2")
    (bad,) = loaded.rejections
    assert bad.field == "website, difficulty, evaluator_reference.groups.0.facts.0"
    assert flagged.evaluator["benchmark"] == "Trains"


def test_a_webgym_reference_may_be_json_text() -> None:
    row = json.loads((FIXTURES / "webgym.jsonl").read_text().splitlines()[3])
    quoted = row | {"evaluator_reference": json.dumps(row["evaluator_reference"])}
    assert parse_rows([quoted], "s", "f")[0] == parse_rows([row], "s", "f")[0]


def test_webgym_as_parquet_is_webgym_as_jsonl(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (FIXTURES / "webgym.jsonl").read_text().splitlines()[2:4]]
    rows[1]["evaluator_reference"][0]["id"] = "2"
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "webgym.parquet")
    loaded = load_files([tmp_path / "webgym.parquet"])
    assert loaded.tasks == parse_rows(rows, "webgym", "webgym.jsonl")[0]
    assert loaded.rejections == []


def test_insta_rows_are_training_tasks_named_by_their_content() -> None:
    loaded = load_files([FIXTURES / "insta.jsonl"])
    (one,) = loaded.tasks
    assert (one.website, one.start_url, one.split) == ("ferns.example", "https://ferns.example", "train")
    assert one.rubric[0].facts == ["the guide was opened", "the answer says twice a week"]
    assert one.evaluator["steps"] == ["Open the guide", "Look for water"]
    assert "duplicate id" in loaded.rejections[0].reason
    assert loaded.rejections[1].field == "instruction, steps"


def test_the_entry_of_a_file_sets_its_split() -> None:
    assert [one.split for one in load_files([FIXTURES / "pae.jsonl"]).tasks] == ["eval"]
    (one,) = load_files([TaskFile(path=str(FIXTURES / "pae.jsonl"), split="train")]).tasks
    assert (one.task_id, one.split) == ("pae/0", "train")
    files = TaskParams.model_validate({"files": ["a.jsonl", {"path": "b.jsonl", "split": "train"}]}).files
    assert files == [TaskFile(path="a.jsonl"), TaskFile(path="b.jsonl", split="train")]


def test_golden_answers_are_the_evaluators() -> None:
    (one,) = load_files([FIXTURES / "questions.jsonl"]).tasks
    assert one.evaluator == {"type": "qa", "answers": ["A. Green", "Ada Green"]}
    assert (one.start_url, one.reference_answer) == ("__WIKIPEDIA__", "A. Green; Ada Green")


def test_reference_answers_are_joined_by_id(tmp_path: Path) -> None:
    file = TaskFile(path=str(FIXTURES / "webvoyager.jsonl"), answers=str(FIXTURES / "answers.json"))
    first, second = load_files([file]).tasks
    assert first.reference_answer == "Hosta"
    assert first.evaluator == {"type": "webvoyager", "answer_type": "golden", "notice": "stock changes"}
    assert (second.reference_answer, second.evaluator) == (None, {})
    assert load_files([file.model_copy(update={"answers": "nowhere.json"})]).missing == ["nowhere.json"]
    with pytest.raises(ValueError, match="no reference answers"):
        load_files([file.model_copy(update={"answers": str(FIXTURES / "pae.jsonl")})])
    other = tmp_path / "answers.json"
    for text, wrong, why in (
        ("golden", '"silver"', "silver"), ("Hosta", "5", "5 is no text"), ("stock changes", "null", "None is no text"),
    ):  # fmt: skip
        other.write_text((FIXTURES / "answers.json").read_text().replace(f'"{text}"', wrong))
        with pytest.raises(ValueError, match=rf"no reference answers.*{why}"):
            load_files([file.model_copy(update={"answers": str(other)})])


def test_a_webarena_task_keeps_its_placeholders_and_its_whole_eval() -> None:
    loaded = load_files([FIXTURES / "webarena.json"])
    rows = json.loads((FIXTURES / "webarena.json").read_text())
    shop, forum = loaded.tasks
    assert shop.start_url == "__SHOPPING__/a.html |AND| __SHOPPING__/b.html"
    assert [(one.task_id, one.website) for one in loaded.tasks] == [
        ("webarena/0", "shopping"),
        ("webarena/1", "reddit"),
    ]
    assert [one.evaluator["eval"] for one in loaded.tasks] == [row["eval"] for row in rows[:2]]
    assert (shop.evaluator["type"], shop.evaluator["sites"], shop.evaluator["require_login"]) == (
        "webarena", ["shopping"], True,
    )  # fmt: skip
    assert (forum.evaluator["old_task_id"], shop.reference_answer, forum.reference_answer) == (27, "a", None)
    assert loaded.rejections[0].field == "sites, start_url, eval.eval_types.0"


def test_configured_sites_replace_placeholders_and_published_ports() -> None:
    tasks = load_files([FIXTURES / "webarena.json"]).tasks
    shop, forum = [at_sites(one, {"shopping": "http://shop.test/", "reddit": "http://forum.test"}) for one in tasks]
    assert shop.start_url == "http://shop.test/a.html |AND| http://shop.test/b.html"
    assert shop.evaluator["eval"]["reference_url"] == "http://shop.test/a.html"
    assert shop.evaluator["eval"]["program_html"][0]["url"] == "__SHOPPING_ADMIN__/x", "stands nowhere yet"
    assert forum.start_url == forum.evaluator["eval"]["reference_url"] == "http://forum.test/f/plants"
    assert at_sites(tasks[0], {}) == tasks[0]
    local = at_sites(tasks[0], {"shopping": "http://localhost:8080", "reddit": "http://forum.test"})
    assert local.start_url == "http://localhost:8080/a.html |AND| http://localhost:8080/b.html", "no published port"


def test_a_site_without_an_address_is_named_by_its_first_tab() -> None:
    shop, forum = load_files([FIXTURES / "webarena.json"]).tasks
    assert unserved(forum, {}) == ("http://localhost:8080/f/plants", "reddit")
    assert unserved(forum, {"reddit": "http://localhost:9999"}) is None
    assert unserved(shop, {"reddit": "http://forum.test"}) == ("__SHOPPING__/a.html", "shopping")
    assert unserved(shop, {"shopping": "http://localhost:8080"}) is None, "served there, though it is another's port"


def test_a_published_port_is_an_address_like_any_other_in_other_tasks(task: Callable[..., Task]) -> None:
    own = task("t", start_url="http://localhost:8080/shop", reference_answer="http://localhost:8080/7")
    assert at_sites(own, {"reddit": "http://forum.test"}) == own
    verified = task("u", start_url="__REDDIT__/ |AND| http://localhost:8082/")
    placed = at_sites(verified, {"reddit": "http://forum.test", "shopping": "http://shop.test"})
    assert placed.start_url == "http://forum.test/ |AND| http://localhost:8082/"


@needs_published
@pytest.mark.parametrize(
    "file, tasks, rejected",
    [
        ("webvoyager_643.jsonl", 643, []),
        ("webvoyager_fara595.jsonl", 595, []),
        ("online_mind2web_300.json", 300, []),
        ("online_mind2web_later_revision.json", 300, []),
        ("deepshop_150.jsonl", 150, []),
        ("webarena_812.raw.json", 812, []),
        ("webarena_lite_165.raw.json", 165, []),
        ("webarena_lite_train_647.json", 647, []),
        ("browseragent_nq_dev.parquet", 300, []),
    ],
)
def test_published_files_load(file: str, tasks: int, rejected: list[int]) -> None:
    loaded = load_files([PUBLISHED / file])
    assert len(loaded.tasks) == tasks
    assert [rejection.row for rejection in loaded.rejections] == rejected
    assert {task.split for task in loaded.tasks} == {"eval"}


@needs_published
def test_the_garbled_rows_of_deepshop_are_tasks_without_constraints() -> None:
    tasks = load_files([PUBLISHED / "deepshop_150.jsonl"]).tasks
    garbled = {number: one.evaluator["garbled"] for number, one in enumerate(tasks) if "garbled" in one.evaluator}
    assert garbled == {21: ["attribute", "filter", "sort"], 51: ["attribute", "filter"], 149: ["attribute", "sort"]}
    assert not any(tasks[number].rubric for number in garbled)
    assert all("**" not in fact for one in tasks for group in one.rubric for fact in group.facts)


@needs_published
def test_two_revisions_of_a_benchmark_can_stand_side_by_side() -> None:
    loaded = load_files([PUBLISHED / "webvoyager_643.jsonl", PUBLISHED / "webvoyager_fara595.jsonl"])
    assert len(loaded.tasks) == 643 + 595
    assert not loaded.rejections


@needs_published
def test_every_published_reference_answer_finds_its_task() -> None:
    answers = str(PUBLISHED / "webvoyager_reference_answer.json")
    tasks = load_files([TaskFile(path=str(PUBLISHED / "webvoyager_643.jsonl"), answers=answers)]).tasks
    assert sum(task.reference_answer is not None for task in tasks) == 643
    assert {task.evaluator["answer_type"] for task in tasks} == {"golden", "possible"}


@needs_published
@pytest.mark.parametrize("file", ["webarena_812.raw", "webarena_lite_165.raw", "webarena_lite_train_647"])
def test_published_webarena_tasks_keep_all_of_eval_wherever_the_sites_are(file: str) -> None:
    rows = json.loads((PUBLISHED / f"{file}.json").read_text())
    tasks = load_files([PUBLISHED / f"{file}.json"]).tasks
    assert [task.evaluator["eval"] for task in tasks] == [row["eval"] for row in rows]
    assert [task.evaluator["sites"] for task in tasks] == [row["sites"] for row in rows]
    names = ("shopping", "shopping_admin", "gitlab", "reddit", "map", "wikipedia", "homepage")
    sites = {name: f"https://{name.replace('_', '-')}.test" for name in names}
    placed = "".join(at_sites(task, sites).model_dump_json() for task in tasks)
    assert "__" + "SHOPPING" not in placed
    assert "http://localhost" not in placed
