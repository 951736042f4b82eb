"""The stages that make tasks, in a project directory, with Chromium, MLflow and Great Expectations."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import traceback
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from components import store
from components.records import Rejection, Task
from tests.benchmarks.price_shops import Shop, task_row
from tests.recipe_reads import recorded, unnamed
from tests.samples import a_task, shipped

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture
def project(tmp_path: Path, mlflow_database: Path) -> Path:
    """A directory with the demo's recipe, shrunk to a few pages, and a task file."""
    recipe = shipped("demo")
    recipe["worlds"]["miniwob"] |= {
        "train": ["click-test-2"],
        "heldout": ["focus-text"],
        "train_per_family": 4,
        "eval_per_family": 2,
        "heldout_per_family": 2,
    }
    recipe["rl"]["validation"] = {"every": 0}
    recipe["tasks"] |= {
        "files": [str(FIXTURES / "tasks.jsonl")],
        "check_start_pages": False,
        "horizon": {"easy": 3, "medium": 6, "hard": 9},
    }
    write_recipe(tmp_path, recipe)
    return tmp_path


def write_recipe(project: Path, recipe: dict) -> None:
    (project / "params.yaml").write_text(yaml.safe_dump(recipe))


class Ended(NamedTuple):
    """How a stage ended. `stderr` has the traceback of an error."""

    returncode: int
    stderr: str


def run_stage(project: Path, name: str) -> Ended:
    """Run a stage in this process."""
    stage = importlib.import_module(f"components.stages.{name}")
    errors = io.StringIO()
    with contextlib.chdir(project), contextlib.redirect_stderr(errors):
        try:
            stage.main()
        except Exception:
            return Ended(1, errors.getvalue() + traceback.format_exc())
    return Ended(0, errors.getvalue())


def result(project: Path, name: str) -> dict:
    return json.loads((project / "reports" / "stages" / f"{name}.json").read_text())


@pytest.mark.slow
def test_too_many_rejected_rows_stop_the_stage_and_leave_the_reasons(project: Path) -> None:
    ended = run_stage(project, "collect_tasks")
    assert ended.returncode != 0
    assert "2 of 12 task rows were rejected, above quality.max_rejected = 0.05" in ended.stderr
    assert "reports/rejected.csv" in ended.stderr
    assert not (project / "data/tasks/tasks.parquet").exists()
    rejected = store.read_table(project / "data/tasks/rejected.parquet", Rejection)
    assert len(rejected) == 2
    assert len((project / "reports/rejected.csv").read_text().splitlines()) == 3


@pytest.mark.slow
def test_a_family_that_does_not_exist_stops_the_stage_before_any_work(project: Path) -> None:
    recipe = yaml.safe_load((project / "params.yaml").read_text())
    recipe["worlds"]["miniwob"]["heldout"] = ["no-such-family"]
    write_recipe(project, recipe)
    ended = run_stage(project, "collect_tasks")
    assert ended.returncode != 0
    assert "no family 'no-such-family'" in ended.stderr
    assert not (project / "data").exists()


@pytest.mark.slow
def test_a_missing_evaluation_set_stops_the_stage_before_any_work(project: Path) -> None:
    recipe = yaml.safe_load((project / "params.yaml").read_text())
    pae = {"path": "data/pae.jsonl", "split": "train"}
    write_recipe(project, recipe | {"tasks": recipe["tasks"] | {"files": [pae, "data/webvoyager.jsonl"]}})
    ended = run_stage(project, "collect_tasks")
    assert ended.returncode != 0
    assert "data/webvoyager.jsonl of tasks.files is missing" in ended.stderr
    assert "pae.jsonl" not in ended.stderr
    assert not (project / "data").exists()


@pytest.mark.slow
def test_changed_reference_answers_stop_the_stage_before_any_work(project: Path) -> None:
    for name in ("set.jsonl", "answers.json"):
        (project / name).write_text("{}")
    outs = [{"path": "answers.json", "md5": "0" * 32, "size": 1}]
    pin = {"outs": outs, "deps": [{"path": "http://sets.test/answers.json"}], "meta": {"md5": "0" * 32}}
    (project / "answers.json.dvc").write_text(yaml.safe_dump(pin))
    recipe = yaml.safe_load((project / "params.yaml").read_text())
    files = [{"path": "set.jsonl", "answers": "answers.json"}]
    write_recipe(project, recipe | {"tasks": recipe["tasks"] | {"files": files}})
    ended = run_stage(project, "collect_tasks")
    assert ended.returncode != 0
    assert "answers.json is not the version that answers.json.dvc pins" in ended.stderr
    assert not (project / "data").exists()


@pytest.mark.slow
def test_an_evaluation_task_with_a_dead_page_still_excludes_training_tasks(project: Path) -> None:
    site = Shop("127.0.0.1")
    down = Shop("127.0.0.1")
    down.close()
    rows = [task_row(site, "lamp") | {"task_id": "ours/lamp", "website": "ours.test", "split": "train"}]
    rows += [task_row(site, "chair") | {"task_id": "ours/chair", "website": "ours.test", "split": "train"}]
    rows += [task_row(down, "lamp") | {"task_id": "theirs/lamp", "website": "theirs.test"}]
    rows += [task_row(site, "shelf") | {"task_id": "theirs/shelf", "website": "theirs.test"}]
    rows += [task_row(site, "lamp") | {"task_id": "book/1", "intent": "Who?", "start_url": "http://encyclopaedia"}]
    to_serve = {"start_url": "http://localhost:9003/", "evaluator": {"type": "webarena"}}  # without tasks.sites.map
    rows += [task_row(down, "lamp") | {"task_id": "map/1", "intent": "Where?", "website": "map"} | to_serve]
    (project / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    recipe = yaml.safe_load((project / "params.yaml").read_text())
    recipe["worlds"]["miniwob"] |= {"heldout": [], "train_per_family": 1}
    asked = {"files": ["mine.jsonl"], "check_start_pages": True}
    changes = {"tasks": recipe["tasks"] | asked, "filters": recipe["filters"] | {"overlap_threshold": None}}
    write_recipe(project, recipe | changes)
    try:
        for name in ("collect_tasks", "filter_tasks"):
            ended = run_stage(project, name)
            assert ended.returncode == 0, ended.stderr[-3000:]
    finally:
        site.close()

    def ids(table: str) -> list[str]:
        return [task.task_id for task in store.read_table(project / table, Task) if task.seed is None]

    assert ids("data/tasks/tasks.parquet") == ["ours/lamp", "ours/chair", "theirs/shelf", "book/1", "map/1"]
    assert ids("data/tasks/unreachable.parquet") == ["theirs/lamp"]
    rejected = store.read_table(project / "data/tasks/rejected.parquet", Rejection)
    assert [one.field for one in rejected] == ["start_url"], "one of seven rows, which is above quality.max_rejected"
    collected = result(project, "collect_tasks")
    assert (collected["rejected"], collected["unreachable"]) == (1, 1)
    assert ids("data/pools/train.parquet") == ["ours/chair"]
    (overlap,) = [step for step in result(project, "filter_tasks")["funnel"] if step["dropped"]]
    assert overlap["examples"] == ["ours/lamp: What does the lamp cost? (theirs/lamp)"]


@pytest.mark.slow
def test_a_collection_that_is_forced_again_asks_all_start_pages(project: Path) -> None:
    site = Shop("127.0.0.1")
    row = task_row(site, "lamp") | {"task_id": "ours/lamp", "website": "ours.test", "split": "train"}
    (project / "mine.jsonl").write_text(json.dumps(row) + "\n")
    recipe = yaml.safe_load((project / "params.yaml").read_text())
    recipe["worlds"]["miniwob"] |= {"heldout": [], "train_per_family": 1, "eval_per_family": 1}
    write_recipe(project, recipe | {"tasks": recipe["tasks"] | {"files": ["mine.jsonl"], "check_start_pages": True}})
    assert run_stage(project, "collect_tasks").returncode == 0
    site.close()
    ended = run_stage(project, "collect_tasks")
    assert ended.returncode != 0
    assert "none of the start pages of 1 tasks answered (reports/rejected.csv has the reasons)" in ended.stderr
    assert "refused" in (project / "reports/rejected.csv").read_text()


def write_pool_inputs(project: Path, training: list[Task]) -> None:
    """The tables from which filter_tasks and dedup_tasks make pools."""
    evaluation = [a_task(80, intent="Close the page.", split="eval", evaluator={"type": "site_reward"})]
    store.write_table(project / "data/tasks/tasks.parquet", Task, [*training, *evaluation])
    store.write_table(project / "data/tasks/unreachable.parquet", Task, [])
    for pool, tasks in (("train", training), ("eval", evaluation), ("heldout", [])):
        store.write_table(project / f"data/pools/{pool}.parquet", Task, tasks)


@pytest.mark.slow
def test_pools_without_a_training_task_are_refused_with_the_steps(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = yaml.safe_load((project / "params.yaml").read_text())
    dedup = recipe["dedup"] | {"sft_threshold": 1.01, "rl_threshold": 1.01}
    write_recipe(project, recipe | {"filters": {"min_tasks_per_website": 2}, "dedup": dedup})
    write_pool_inputs(project, [a_task(1, evaluator={"type": "site_reward"})])
    ended = run_stage(project, "filter_tasks")
    assert ended.returncode != 0
    assert "training_tasks {'min_value': 1.0}: observed 0" in ended.stderr
    assert "filter_tasks: no training task is left of 1 (1 by 'long tail'): add task files" in capsys.readouterr().out
    write_pool_inputs(project, [])
    ended = run_stage(project, "dedup_tasks")
    assert ended.returncode != 0
    assert "training_tasks {'min_value': 1.0}: observed 0" in ended.stderr


@pytest.mark.slow
def test_thresholds_above_one_keep_all_tasks_and_embed_nothing(project: Path) -> None:
    recipe = yaml.safe_load((project / "params.yaml").read_text())
    dedup = recipe["dedup"] | {"sft_threshold": 1.01, "rl_threshold": 1.01, "embedder": "no/such-model"}
    write_recipe(project, recipe | {"dedup": dedup})
    write_pool_inputs(project, [a_task(number) for number in range(5)])
    ended = run_stage(project, "dedup_tasks")
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert (result(project, "dedup_tasks")["sft"], result(project, "dedup_tasks")["rl"]) == (5, 5)
    assert not (project / ".waymark/cache/embeddings").exists()


@pytest.mark.slow
def test_tasks_that_a_ratio_cannot_draw_are_refused(project: Path) -> None:
    recipe = yaml.safe_load((project / "params.yaml").read_text())
    sampling = {"name": "ratio", "easy": 2, "medium": 5, "hard": 3}
    write_recipe(project, recipe | {"rl": recipe["rl"] | {"task_sampling": sampling}})
    rated = [a_task(number, difficulty=3) for number in range(3)]
    write_pool_inputs(project, [*rated, a_task(9, intent="Read the news.")])
    ended = run_stage(project, "dedup_tasks")
    assert ended.returncode != 0
    assert "rl.task_sampling.name = ratio needs every task's number of facts" in ended.stderr
    assert "miniwob/click-button/9 has none" in ended.stderr


@pytest.mark.slow
def test_tasks_of_rl_alone_are_in_its_pool_and_not_in_that_of_sft(project: Path) -> None:
    write_pool_inputs(
        project,
        [
            a_task(number, intent=intent, split=split, evaluator={"type": "site_reward"})
            for number, intent, split in (
                (1, "Open the calendar of May.", "train"),
                (2, "Open the calendar of May!", "rl"),
                (3, "Sort all the mugs by price.", "rl"),
            )
        ],
    )
    recipe = yaml.safe_load((project / "params.yaml").read_text())
    write_recipe(project, recipe | {"dedup": recipe["dedup"] | {"max_similar": 1}})
    for name in ("filter_tasks", "dedup_tasks"):
        ended = run_stage(project, name)
        assert ended.returncode == 0, ended.stderr[-3000:]
    assert result(project, "filter_tasks")["kept"] == 3
    pools = {
        name: {(task.task_id, task.split) for task in store.read_table(project / f"data/pools/{name}.parquet", Task)}
        for name in ("sft", "rl")
    }
    assert pools["sft"] == {(a_task(1).task_id, "train")}
    assert len(pools["rl"]) == 2, "one of the two calendars is a near duplicate"
    assert (a_task(3).task_id, "rl") in pools["rl"]


@pytest.mark.slow
def test_tasks_go_from_sources_to_two_pools(project: Path) -> None:
    recipe = yaml.safe_load((project / "params.yaml").read_text())
    write_recipe(project, recipe | {"quality": {"max_rejected": 0.5}, "dedup": recipe["dedup"] | {"max_similar": 3}})
    for name in ("collect_tasks", "filter_tasks", "dedup_tasks"):
        ended = run_stage(project, name)
        assert ended.returncode == 0, ended.stderr[-3000:]

    horizons = {t.task_id: t.horizon for t in store.read_table(project / "data/tasks/tasks.parquet", Task)}
    given = {name: steps for name, steps in horizons.items() if steps}
    assert given.pop("own/1") == 3, "its rubric has two facts"
    assert {name.split("/")[0] for name in given} == {"miniwob"}, "MiniWoB++ tasks have rubrics, too"
    collected = result(project, "collect_tasks")
    assert {key: collected[key] for key in ("collected", "rejected", "train", "eval", "heldout")} == {
        "collected": 10,
        "rejected": 2,
        "train": 5,
        "eval": 2,
        "heldout": 3,
    }
    assert result(project, "filter_tasks")["funnel"][-1]["left"] == 5
    pools = {
        path.stem: [task.task_id for task in store.read_table(path, Task)]
        for path in (project / "data/pools").iterdir()
    }
    assert result(project, "filter_tasks")["evaluation_elsewhere"] == 1, "the held-out task of the file"
    assert len(pools["heldout"]) == 2
    assert pools["eval"] == [f"miniwob/click-test-2/{seed}" for seed in (1_000_000, 1_000_001)]
    assert len(pools["train"]) == 5
    # the four pages of one family share one wording, of which three may stay; the task of the file has its own
    assert len(pools["sft"]) == len(pools["rl"]) == 4
    assert set(pools["rl"]) <= set(pools["train"])
    assert not set(pools["train"]) & set(pools["eval"] + pools["heldout"])


@pytest.mark.slow
def test_a_training_row_with_the_seed_of_an_evaluation_row_is_dropped(project: Path) -> None:
    rule = {"evaluator": {"type": "site_reward"}}
    rows = [a_task(7, task_id="ours", **rule), a_task(7, task_id="theirs", split="eval", **rule)]
    (project / "mine.jsonl").write_text("".join(row.model_dump_json() + "\n" for row in rows))
    recipe = yaml.safe_load((project / "params.yaml").read_text())
    write_recipe(project, recipe | {"tasks": recipe["tasks"] | {"files": ["mine.jsonl"]}})
    for name in ("collect_tasks", "filter_tasks"):
        ended = run_stage(project, name)
        assert ended.returncode == 0, ended.stderr[-3000:]
    overlap = result(project, "filter_tasks")["funnel"][1]
    assert (overlap["step"], overlap["dropped"]) == ("evaluation overlap", 1)


@pytest.mark.slow
def test_validation_tasks_on_no_world_of_the_recipe_do_not_count(project: Path) -> None:
    recipe = yaml.safe_load((project / "params.yaml").read_text())
    recipe["rl"]["validation"] |= {"every": 5, "tasks": 2}
    write_recipe(project, recipe | {"filters": recipe["filters"] | {"overlap_threshold": None}})
    page = {"website": "encyclopaedia", "start_url": "http://encyclopaedia", "source": "book"}
    elsewhere = [a_task(90 + n, task_id=f"book/{n}", intent="Who?", split="validation", **page) for n in range(2)]
    evaluation = [a_task(80, intent="Close the page.", split="eval", evaluator={"type": "site_reward"})]
    rule = {"evaluator": {"type": "site_reward"}}
    training = [a_task(number, intent=f'Click on the "{number}" button.', **rule) for number in range(6)]
    store.write_table(project / "data/tasks/tasks.parquet", Task, [*training, *elsewhere, *evaluation])
    store.write_table(project / "data/tasks/unreachable.parquet", Task, [])
    ended = run_stage(project, "filter_tasks")
    assert ended.returncode == 0, ended.stderr[-3000:]
    pool = store.read_table(project / "data/pools/validation.parquet", Task)
    assert [task.website for task in pool] == ["click-button", "click-button"]


@pytest.mark.slow
def test_a_recipe_that_evaluates_on_no_task_is_refused(project: Path) -> None:
    page = {"website": "encyclopaedia", "start_url": "http://encyclopaedia", "source": "book"}
    elsewhere = a_task(90, task_id="book/1", intent="Who?", split="eval", **page)
    store.write_table(project / "data/tasks/tasks.parquet", Task, [a_task(1), elsewhere])
    store.write_table(project / "data/tasks/unreachable.parquet", Task, [])
    ended = run_stage(project, "filter_tasks")
    assert ended.returncode != 0
    assert "none of 1 evaluation tasks is on a world of the recipe" in ended.stderr
    assert not (project / "data/pools").exists()


@pytest.mark.slow
def test_no_wording_of_a_task_that_is_set_aside_is_trained_on(project: Path) -> None:
    recipe = yaml.safe_load((project / "params.yaml").read_text())
    recipe["rl"]["validation"] |= {"every": 5, "tasks": 2}
    write_recipe(project, recipe | {"filters": recipe["filters"] | {"overlap_threshold": None}})
    rule = {"evaluator": {"type": "site_reward"}, "seed": None}
    training = [
        a_task(0, task_id=f"t{number}{wording}", intent=f'Click on "{number}"{wording}.', **rule)
        for number in range(4)
        for wording in ("", "~1")
    ]
    evaluation = [a_task(80, intent="Close the page.", split="eval", evaluator={"type": "site_reward"})]
    store.write_table(project / "data/tasks/tasks.parquet", Task, [*training, *evaluation])
    store.write_table(project / "data/tasks/unreachable.parquet", Task, [])
    with recorded() as reads:
        ended = run_stage(project, "filter_tasks")
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert unnamed("filter_tasks", reads.keys) == []
    pools = {
        name: {task.task_id[:2] for task in store.read_table(project / f"data/pools/{name}.parquet", Task)}
        for name in ("train", "validation")
    }
    assert len(pools["train"]) == len(pools["validation"]) == 2
    assert not pools["train"] & pools["validation"]


@pytest.mark.slow
def test_a_task_that_is_set_aside_and_has_no_rule_is_refused(project: Path) -> None:
    recipe = yaml.safe_load((project / "params.yaml").read_text())
    recipe["rl"]["validation"] |= {"every": 5, "tasks": 2}
    recipe["worlds"]["miniwob"]["train"] = ["click-test-2", "click-button"]
    write_recipe(project, recipe | {"filters": recipe["filters"] | {"overlap_threshold": None}})
    rule = {"evaluator": {"type": "site_reward"}}
    training = [a_task(number, intent=f'Click on the "{number}" button.', **rule) for number in range(6)]
    other = a_task(9, intent="Click anywhere.", website="click-test-2", evaluator={})
    evaluation = a_task(80, intent="Close the page.", split="eval", **rule)
    store.write_table(project / "data/tasks/tasks.parquet", Task, [*training, other, evaluation])
    store.write_table(project / "data/tasks/unreachable.parquet", Task, [])
    ended = run_stage(project, "filter_tasks")
    assert ended.returncode != 0
    assert f"1 tasks have no rule that could judge them ({other.task_id}" in ended.stderr
