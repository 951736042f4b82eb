"""Damaged task files: every row is a task or a rejection with its line and reason, or one error names the file."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.params import TaskFile
from components.tasks import load_files
from tests.tasks.test_sources import FIXTURES, PUBLISHED, needs_published

ROWS = [{"web_name": "A", "id": f"A--{n}", "ques": f"Is it {n}?", "web": "https://a.example"} for n in range(6)]


def loaded(path: Path, content: bytes | str) -> tuple[int, list[tuple[int | None, str]]]:
    """The number of tasks, and the line and reason of each rejection."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    everything = load_files([path])
    return len(everything.tasks), [(one.line, one.reason) for one in everything.rejections]


def jsonl(rows: list) -> str:
    return "\n".join(json.dumps(row) for row in rows)


def listed(rows: list) -> str:
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]"


@pytest.mark.parametrize("between", ["\n", ",\n", ""])
def test_rows_after_the_end_of_a_list_are_rejected_one_by_one(tmp_path, between):
    tasks, rejected = loaded(tmp_path / "two.json", listed(ROWS[:2]) + between + listed(ROWS[2:]))
    assert tasks == 2
    assert len(rejected) == 4
    assert {reason for _, reason in rejected} == {"stands after the end of the file's JSON list in line 4"}
    assert rejected[0][0] in (5, 6)


@pytest.mark.parametrize("junk", [" junk\n", " and {so on\n", "\n}, end\n", ' junk "[\n'])
@pytest.mark.parametrize("form", [jsonl, listed])
def test_each_row_after_junk_after_a_list_is_a_rejection(tmp_path, junk, form):
    tasks, rejected = loaded(tmp_path / "two.json", listed(ROWS[:2]) + junk + form(ROWS[2:]))
    assert tasks == 2
    assert len(rejected) == 5, "the junk is one, and each of 4 rows is one"
    assert {reason for _, reason in rejected} == {"stands after the end of the file's JSON list in line 4"}
    lines = [line for line, _ in rejected]
    assert lines == sorted({*lines}), "each has its own line"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (json.dumps(ROWS[0]) + json.dumps(ROWS[1]), "is not a JSON object: Extra data at column 80"),
        (json.dumps(ROWS[0])[:-5], "is not a JSON object: Unterminated string starting at column 60"),
        ("two words", "is not a JSON object: Expecting value at column 1"),
        ('"a text"', "is not a JSON object"),
        ("[1, 2]", "is not a JSON object"),
    ],
)
def test_a_line_that_is_no_object_is_rejected_with_the_place(tmp_path, line, reason):
    assert loaded(tmp_path / "a.jsonl", jsonl(ROWS[2:4]) + "\n" + line) == (2, [(3, reason)])


def test_text_after_the_end_of_a_list_is_one_rejection(tmp_path):
    assert loaded(tmp_path / "a.json", listed(ROWS) + "\n}, end") == (
        6,
        [(9, "stands after the end of the file's JSON list in line 8")],
    )


def test_a_byte_order_mark_is_not_a_part_of_the_first_row(tmp_path):
    assert loaded(tmp_path / "a.jsonl", b"\xef\xbb\xbf" + jsonl(ROWS).encode()) == (6, [])
    assert loaded(tmp_path / "a.json", b"\xef\xbb\xbf" + listed(ROWS).encode()) == (6, [])


@pytest.mark.parametrize(("name", "text"), [("a.jsonl", jsonl(ROWS)), ("a.json", listed(ROWS))])
def test_a_byte_that_is_not_utf8_costs_its_row_alone(tmp_path, name, text):
    tasks, rejected = loaded(tmp_path / name, text.encode().replace(b"Is it 3?", b"Caf\xe9 3?"))
    assert tasks == 5
    assert [reason[:36] for _, reason in rejected] == ["has a byte that is not UTF-8: 0xe9 a"]


def test_another_encoding_is_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match=r"a\.jsonl is UTF-16, not UTF-8"):
        loaded(tmp_path / "a.jsonl", jsonl(ROWS).encode("utf-16"))


@pytest.mark.parametrize("form", [jsonl, listed])
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ('"id": "A--3", "id": "A--9"', "has the key 'id' twice"),
        ('"id": NaN', "has NaN, which is not JSON"),
        (f'"id": {"[" * 200}{"]" * 200}', "is nested more deeply than 100 levels"),
        ('"id": ' + '["]{", {"a\\\\": ' * 1500 + "0" + "}]" * 1500, "is nested more deeply than 100 levels"),
        (f'"id": {"1" * 5000}', "has a number of more than 4300 digits"),
    ],
)
def test_what_json_or_python_forbids_costs_its_row_alone(tmp_path, form, damage, reason):
    name = "a.jsonl" if form is jsonl else "a.json"
    tasks, rejected = loaded(tmp_path / name, form(ROWS).replace('"id": "A--3"', damage))
    assert (tasks, [why for _, why in rejected]) == (5, [reason])


def test_nesting_that_ends_the_parser_does_not_end_the_reading(tmp_path):
    deep = "[" * 100_000 + "]" * 100_000
    tasks, rejected = loaded(tmp_path / "a.jsonl", f"{jsonl(ROWS)}\n{deep}")
    assert (tasks, rejected) == (6, [(7, "is nested more deeply than 100 levels")])
    tasks, rejected = loaded(tmp_path / "a.json", f"[{deep},\n{json.dumps(ROWS[0])}]")
    assert (tasks, rejected) == (1, [(1, "is nested more deeply than 100 levels")])
    with pytest.raises(ValueError, match=r"a\.json is not JSON from line 1 on \(it is nested too deeply"):
        loaded(tmp_path / "a.json", f"[{deep[:-1]}")


def test_a_damaged_or_foreign_parquet_file_is_refused_by_name(tmp_path):
    from components.records import Task
    from components.store import write_table

    write_table(tmp_path / "whole.parquet", Task, load_files([FIXTURES / "tasks.jsonl"]).tasks)
    content = (tmp_path / "whole.parquet").read_bytes()
    for damaged in (b"", b"PAR1", content[:-20], content[: len(content) // 2], b"not a table", content[40:]):
        with pytest.raises(ValueError, match=r"a\.parquet is not a Parquet file that can be read"):
            loaded(tmp_path / "a.parquet", damaged)


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.jsonl", ""), ("a.jsonl", " \n\n"), ("a.jsonl", "\ufeff"), ("a.json", "[]"), ("a.json", "\ufeff[\n]\n")],
)
def test_a_file_without_rows_is_refused_by_name(tmp_path, name, content):
    with pytest.raises(ValueError, match=rf"{name} has no rows: write a task per line into it"):
        loaded(tmp_path / name, content)


def test_a_parquet_file_without_rows_is_refused_by_name(tmp_path):
    from components.records import Task
    from components.store import write_table

    write_table(tmp_path / "a.parquet", Task, [])
    with pytest.raises(ValueError, match=r"a\.parquet has no rows"):
        load_files([tmp_path / "a.parquet"])


def test_a_parquet_row_that_is_no_utf8_is_rejected_and_the_others_stay(tmp_path):
    stored = pa.array([b"one", b"\xff", b"three"], pa.binary())
    intents = pa.Array.from_buffers(pa.string(), 3, stored.buffers())
    columns = {name: pa.array([row[name] for row in ROWS[:3]]) for name in ROWS[0]} | {"ques": intents}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    found = load_files([tmp_path / "a.parquet"])
    assert [task.intent for task in found.tasks] == ["one", "three"]
    (rejection,) = found.rejections
    assert (rejection.row, "cannot be read" in rejection.reason) == (1, True)


def test_a_parquet_column_that_occurs_twice_is_refused(tmp_path):
    columns = [pa.array(["a"]), pa.array(["do"]), pa.array(["do not"])]
    pq.write_table(pa.Table.from_arrays(columns, names=["task_id", "intent", "intent"]), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet has the column 'intent' twice"):
        load_files([tmp_path / "a.parquet"])


def test_a_parquet_row_with_a_broken_evaluator_is_rejected(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    row = {"task_id": "a/1", "intent": "x", "start_url": "https://a.example", "website": "a.example"}
    table = pa.Table.from_pylist([row | {"evaluator": "{"}, row | {"task_id": "a/2", "evaluator": "{}"}])
    pq.write_table(table, tmp_path / "a.parquet")
    everything = load_files([tmp_path / "a.parquet"])
    assert [task.task_id for task in everything.tasks] == ["a/2"]
    assert everything.rejections[0].reason.startswith("evaluator: ")


def test_reference_answers_with_a_site_twice_are_refused_by_name(tmp_path):
    (tmp_path / "t.jsonl").write_text(jsonl(ROWS))
    (tmp_path / "a.json").write_text('{"A": {"answers": []}, "A": {"answers": []}}')
    with pytest.raises(ValueError, match=r"a\.json.*has the key 'A' twice"):
        load_files([TaskFile(path=str(tmp_path / "t.jsonl"), answers=str(tmp_path / "a.json"))])


@pytest.mark.parametrize(("second", "refused"), [("Oak", True), ("Elm", False)])
def test_two_reference_answers_to_one_task_must_agree(tmp_path, second, refused):
    (tmp_path / "t.jsonl").write_text(jsonl(ROWS))
    answers = [{"id": 0, "type": "golden", "ans": name} for name in ("Elm", second)]
    (tmp_path / "a.json").write_text(json.dumps({"A": {"answers": answers}}))
    file = TaskFile(path=str(tmp_path / "t.jsonl"), answers=str(tmp_path / "a.json"))
    with pytest.raises(ValueError, match="two different reference answers to A--0") if refused else nullcontext():
        load_files([file])


DAMAGE = st.lists(st.tuples(st.integers(0, 10**6), st.binary(max_size=3), st.integers(0, 40)), min_size=1, max_size=3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(DAMAGE, st.sampled_from([("a.jsonl", jsonl(ROWS)), ("a.json", listed(ROWS)), ("a.json", listed(ROWS) * 2)]))
def test_damage_anywhere_is_said_and_never_crashes(tmp_path, damage, file):
    name, text = file
    content = text.encode()
    for place, inserted, removed in damage:
        at = place % (len(content) + 1)
        content = content[:at] + inserted + content[at + removed :]
    try:
        tasks, rejected = loaded(tmp_path / name, content)
    except ValueError as error:
        refusal = str(error)
    else:
        refusal = ""
    assert not refusal or str(tmp_path / name) in refusal
    if refusal:
        return
    assert all(reason and line for line, reason in rejected)
    if name == "a.jsonl":
        lines = [line for line in content.decode("utf-8-sig", errors="surrogateescape").split("\n") if line.strip()]
        assert tasks + len(rejected) == len(lines)


@needs_published
def test_no_published_row_is_lost_when_two_files_are_joined(tmp_path):
    whole = (PUBLISHED / "webarena_812.raw.json").read_text()
    rows = json.loads(whole)
    tasks, rejected = loaded(tmp_path / "a.json", json.dumps(rows[:662]) + json.dumps(rows[662:]))
    assert (tasks, len(rejected)) == (662, 150)


def test_a_folder_with_the_name_of_a_file_is_refused(tmp_path):
    folder = tmp_path / "tasks.json"
    folder.mkdir()
    with pytest.raises(ValueError, match=r"tasks\.json is a folder: name the files in it"):
        load_files([folder])


def test_evaluators_that_parquet_filled_with_nulls_are_as_they_were(tmp_path):
    answers = [{"must_include": ["a"]}, {"exact_match": "a"}]
    pages = [[{"url": "http://a.example/", "locator": "x"}], [{"url": "http://a.example/", "required": "y"}]]
    evaluators = [
        {
            "type": "webarena",
            "eval": {"eval_types": ["string_match"], "reference_answers": answer, "program_html": page},
        }
        for answer, page in zip(answers, pages, strict=True)
    ]
    row = {"intent": "Find it", "start_url": "https://a.example/", "website": "a.example"}
    rows = [row | {"task_id": f"t{number}", "evaluator": rule} for number, rule in enumerate(evaluators)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    assert [task.evaluator for task in load_files([tmp_path / "a.parquet"]).tasks] == evaluators
