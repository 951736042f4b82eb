"""`waymark tasks propose | decompose | split | build | paraphrase`, with an HTTP server that stands for the model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from components.cli import main
from components.records import FactGroup, Task
from components.tasks import load_files, write_tasks
from tests.endpoint_server import Server
from tests.samples import raw_recipe

CONCERT = [
    FactGroup(id="who", description="the pianist", facts=["name", "prize"]),
    FactGroup(id="what", description="the final", facts=["year", "city", "video"]),
    FactGroup(id="where", description="the concert", facts=["date", "city of it", "venue", "page"]),
]


def reply(asked: dict) -> str:
    """Rubrics of two groups, the first with three facts, and tasks that name the groups they keep."""
    shown, _ = json.JSONDecoder().raw_decode(asked["messages"][-1]["content"])
    if "wordings" in shown:
        return json.dumps({"wordings": [f"I want this: {shown['task']}", f"Please, {shown['task']}"]})
    if "keep" in shown:
        names = {group["id"]: group["description"] for group in shown["keep"]}
        return json.dumps({"task": f"Tell about {' and '.join(names.values())}.", "quotes": names})
    if "vague" in shown["task"]:
        return "I would rather not."
    facts = [{"fact": word, "quote": word} for word in shown["task"].split()]
    groups = [{"description": "the first", "facts": facts[:3]}, {"description": "the rest", "facts": facts[3:]}]
    return json.dumps({"groups": groups})


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The model, and a folder to run in with a recipe that names it and two task files."""
    monkeypatch.chdir(tmp_path)
    running = Server()
    running.reply = reply
    recipe(running)
    row = {"start_url": "https://{site}.example/", "website": "{site}.example"}
    plain = [
        {"task_id": f"{site}{i}", "intent": f"find {site} number {i} now"}
        | {key: value.format(site=site) for key, value in row.items()}
        for site in ("a", "b", "c")
        for i in range(2)
    ]
    Path("plain.jsonl").write_text("".join(json.dumps(one) + "\n" for one in plain))
    write_tasks(Path("concerts.jsonl"), [concert("d")])
    yield running
    running.close()


def recipe(server: Server, **changes: object) -> None:
    raw = raw_recipe()
    endpoint = {"url": server.url, "model": "m", "key_variable": None, "usd_per_million_prompt": 10.0}
    raw["construction"] = {"endpoint": endpoint, "test_websites": 1, "max_tries": 2} | changes
    Path("params.yaml").write_text(yaml.safe_dump(raw))


def concert(site: str) -> Task:
    return Task(
        task_id=f"{site}-concert", intent="Find a concert.", start_url=f"https://{site}.example/",
        website=f"{site}.example", source="concerts", rubric=CONCERT, difficulty=9,
    )  # fmt: skip


def waymark(*arguments: str) -> int:
    return main.main(["tasks", *arguments])


def test_tasks_in_other_words_follow_the_tasks_and_are_paid_for_once(
    server: Server, capsys: pytest.CaptureFixture
) -> None:
    recipe(server, wordings=2)
    for _ in range(2):
        assert waymark("paraphrase", "plain.jsonl", "--out", "new") == 0
    tasks = load_files(["new/tasks.jsonl"]).tasks
    assert [task.task_id for task in tasks[:4]] == ["a0", "a0~1", "a0~2", "a1"]
    assert tasks[2].intent == "Please, find a number 0 now"
    assert len(server.asked) == 6, "one question for each task, and none in the second run"
    assert "new/tasks.jsonl: 18 tasks, 0 of them decomposed, on 3 websites" in capsys.readouterr().out


def test_a_file_of_fact_groups_becomes_tasks_that_the_loader_reads(
    server: Server, capsys: pytest.CaptureFixture
) -> None:
    assert waymark("decompose", "concerts.jsonl", "--out", "new") == 0
    loaded = load_files(["new/tasks.jsonl"])
    assert loaded.rejections == []
    assert [(task.task_id, task.difficulty) for task in loaded.tasks] == [
        ("d-concert", 9), ("d-concert#2", 3), ("d-concert#3", 4), ("d-concert#1+2", 5), ("d-concert#1+3", 6),
        ("d-concert#2+3", 7),
    ]  # fmt: skip
    assert loaded.tasks[3].intent == "Tell about the pianist and the final."
    assert {task.source for task in loaded.tasks} == {"concerts"}
    said = capsys.readouterr().out
    assert "6 tasks, 5 of them decomposed, on 1 websites; 1 easy, 3 medium, 2 hard" in said
    assert "0.0500 USD" in said, "five answers at 1000 tokens of 10 USD a million"


def test_tasks_without_a_rubric_get_one(server: Server) -> None:
    assert waymark("propose", "plain.jsonl", "concerts.jsonl", "--out", "new") == 0
    tasks = load_files(["new/tasks.jsonl"]).tasks
    assert [task.difficulty for task in tasks] == [5] * 6 + [9]
    assert [group.facts for group in tasks[0].rubric] == [["find", "a", "number"], ["0", "now"]]
    assert len(server.asked) == 6
    assert all(asked["temperature"] == 0.0 for asked in server.asked)


def test_a_build_proposes_decomposes_and_splits(server: Server) -> None:
    assert waymark("build", "plain.jsonl", "concerts.jsonl", "--out", "new") == 0
    train, test = load_files(["new/train.jsonl"]).tasks, load_files(["new/test.jsonl"]).tasks
    assert len(test) == 1
    assert test[0].split == "heldout"
    assert test[0].website not in {task.website for task in train}
    built = json.loads(Path("new/built.json").read_text())
    assert built["funnel"][0]["left"] == 6 * 2 + 6, "each plain task has a large group and a small one"
    assert built["train"]["tasks"] == len(train)
    assert list(built["files"]) == ["plain.jsonl", "concerts.jsonl"]
    assert (built["model"], built["rejected"], built["usd"]) == ("m", 0, pytest.approx(0.01 * (6 + 6 + 5)))


def test_a_restarted_run_pays_for_nothing_twice(server: Server) -> None:
    waymark("build", "plain.jsonl", "--out", "one")
    paid = len(server.asked)
    assert waymark("build", "plain.jsonl", "--out", "two") == 0
    assert len(server.asked) == paid
    for name in ("train.jsonl", "test.jsonl", "built.json"):
        assert Path("one", name).read_text() == Path("two", name).read_text()


def test_files_that_were_corrected_by_hand_are_kept(server: Server, capsys: pytest.CaptureFixture) -> None:
    waymark("propose", "plain.jsonl", "--out", "new")
    assert waymark("propose", "plain.jsonl", "--out", "new") == 0
    assert not Path("new/tasks.jsonl.bak").exists(), "the same tasks replace themselves"
    corrected = Path("new/tasks.jsonl").read_text().replace("find", "look for")
    Path("new/tasks.jsonl").write_text(corrected)
    assert waymark("propose", "plain.jsonl", "--out", "new") == 0
    assert Path("new/tasks.jsonl.bak").read_text() == corrected
    assert "new/tasks.jsonl had other tasks, which are in tasks.jsonl.bak now" in capsys.readouterr().err


def test_tasks_that_the_model_failed_are_in_a_file_with_the_reason(
    server: Server, capsys: pytest.CaptureFixture
) -> None:
    rows = Path("plain.jsonl").read_text().splitlines()
    vague = json.loads(rows[4]) | {"intent": "something vague"}
    rows[4] = json.dumps(vague)
    Path("plain.jsonl").write_text("\n".join(rows))
    assert waymark("propose", "plain.jsonl", "--out", "new") == 1
    assert "1 of 6 task rows were rejected, above quality.max_rejected" in capsys.readouterr().err
    (line,) = Path("new/rejected.csv").read_text().splitlines()[1:]
    assert line.startswith("plain.jsonl,4,")
    assert "rubric,no usable answer in 2 tries; the last: not one JSON object" in line
    assert not Path("new/tasks.jsonl").exists()


def test_a_refused_question_drops_one_task_and_the_run_continues(server: Server) -> None:
    server.trouble = [400]
    recipe(server, endpoint={"url": server.url, "model": "m", "key_variable": None, "max_in_flight": 1})
    raw = yaml.safe_load(Path("params.yaml").read_text())
    raw["quality"] = {"max_rejected": 0.5}
    Path("params.yaml").write_text(yaml.safe_dump(raw))
    assert waymark("propose", "plain.jsonl", "--out", "new") == 0
    assert len(load_files(["new/tasks.jsonl"]).tasks) == 5
    assert "BadRequestError" in Path("new/rejected.csv").read_text()


def test_a_spent_budget_ends_the_run_and_a_larger_one_goes_on(server: Server, capsys: pytest.CaptureFixture) -> None:
    endpoint = {"url": server.url, "model": "m", "key_variable": None, "usd_per_million_prompt": 10.0}
    recipe(server, endpoint=endpoint | {"max_usd": 0.02, "max_in_flight": 1})
    assert waymark("propose", "plain.jsonl", "--out", "new") == 1
    assert "raise max_usd and run again" in capsys.readouterr().err
    assert len(server.asked) == 2
    recipe(server, endpoint=endpoint | {"max_usd": 1.0})
    assert waymark("propose", "plain.jsonl", "--out", "new") == 0
    assert len(server.asked) == 6


def test_benchmark_tasks_are_split_and_decomposed_only_if_they_train(
    server: Server, capsys: pytest.CaptureFixture
) -> None:
    write_tasks(Path("benchmark.jsonl"), [concert(site).model_copy(update={"split": "eval"}) for site in "de"])
    assert waymark("build", "benchmark.jsonl", "--out", "new") == 1
    assert "mark them as training tasks (--split train)" in capsys.readouterr().err
    assert waymark("decompose", "benchmark.jsonl", "--out", "new") == 0
    assert len(load_files(["new/tasks.jsonl"]).tasks) == 2
    assert server.asked == []
    assert waymark("build", "benchmark.jsonl", "--split", "train", "--out", "new") == 0
    assert len(load_files(["new/train.jsonl"]).tasks) == 6


def test_a_split_asks_no_model(server: Server) -> None:
    assert waymark("split", "plain.jsonl", "concerts.jsonl", "--out", "new") == 0
    assert server.asked == []
    assert len(load_files(["new/test.jsonl"]).tasks) == 1


def test_a_split_needs_no_model_if_it_is_told_the_number_of_websites(
    server: Server, capsys: pytest.CaptureFixture
) -> None:
    files = ["plain.jsonl", "concerts.jsonl"]
    assert waymark("split", *files, "--test-websites", "2", "--out", "new") == 0
    assert len(load_files(["new/test.jsonl"]).tasks) == 2, "the recipe has 1"
    Path("params.yaml").write_text(yaml.safe_dump(raw_recipe()))
    assert waymark("split", *files, "--test-websites", "2", "--out", "again") == 0
    assert Path("again/test.jsonl").read_text() == Path("new/test.jsonl").read_text()
    assert waymark("split", *files, "--out", "new") == 1
    assert "params.yaml: construction = None: give the number of test websites" in capsys.readouterr().err
    assert waymark("split", *files, "--test-websites", "9", "--out", "new") == 1
    assert "4 websites are too few for 9 unrelated test websites" in capsys.readouterr().err


def test_impossible_options_are_refused_before_anything_is_paid(server: Server, capsys: pytest.CaptureFixture) -> None:
    recipe(server, test_websites=9)
    assert waymark("build", "plain.jsonl", "--out", "new") == 1
    assert "3 websites are too few for 9 unrelated test websites" in capsys.readouterr().err
    assert waymark("propose", "nowhere.jsonl", "--out", "new") == 1
    assert "nowhere.jsonl: no such file" in capsys.readouterr().err
    Path("params.yaml").write_text(yaml.safe_dump(raw_recipe()))
    assert waymark("propose", "plain.jsonl", "--out", "new") == 1
    assert "params.yaml: construction = None: name the model" in capsys.readouterr().err
    assert server.asked == []


def test_new_tasks_do_not_replace_those_they_are_made_of(server: Server, capsys: pytest.CaptureFixture) -> None:
    before = Path("plain.jsonl").rename("train.jsonl").read_text()
    assert waymark("split", "train.jsonl", "--out", ".") == 1
    assert "train.jsonl would be replaced by the new tasks: name another folder" in capsys.readouterr().err
    assert Path("train.jsonl").read_text() == before
