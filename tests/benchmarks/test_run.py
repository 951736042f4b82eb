"""`waymark evaluate` on live-like sites: killed, out of budget, raised, polite; and without a network."""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from components.benchmarks.options import Options
from components.benchmarks.run import evaluate as evaluate_here
from components.benchmarks.spec import BenchmarkError, load_benchmark
from components.cli.main import main
from components.evaluation import EvaluationError
from components.judge import RuleError
from components.records import Trajectory
from components.store import read_table
from tests.benchmarks.price_shops import Shop, answer, task_row, verdict
from tests.endpoint_server import Server
from tests.samples import shipped

ROOT = Path(__file__).parents[2]
DELAY_S = 1.0
PRICED_AT = 0.1
"""USD that the model costs a request, of 1000 tokens read."""


@pytest.fixture
def world(tmp_path, mlflow_database):
    """Two shops that every robot may visit, one whose robots.txt says no, and a model."""
    shops = [Shop("127.0.0.2"), Shop("127.0.0.3"), Shop("127.0.0.4", "User-agent: *\nDisallow: /\n")]
    model = Server()
    model.reply, model.delay_s = answer, 0.3
    yield tmp_path, shops, model
    for one in (*shops, model):
        one.close()


def lay_out(where: Path, rows: list[dict], model_url: str, private: list[str], **changes: object) -> None:
    """A project's directory: the recipe in use, the benchmark's file and its recipe."""
    recipe = shipped("smoke")
    recipe["model"] |= {"base": str(ROOT / "data/base_model"), "judge_base": str(ROOT / "data/base_model")}
    recipe["teacher"] = {
        "policy": "endpoint",
        "tasks": 12,
        "endpoint": {
            "url": model_url,
            "model": "a/model",
            "key_variable": None,
            "max_retries": 0,
            "usd_per_million_prompt": PRICED_AT / 1000 * 1e6,
        },
    }
    (where / "params.yaml").write_text(yaml.safe_dump(recipe))
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (where / "shops.jsonl").write_text(text)
    benchmark = load_benchmark(ROOT / "recipes/benchmarks/webvoyager-595.yaml").model_dump(mode="json")
    benchmark |= {
        "name": "shops",
        "title": "Shops",
        "version": "1",
        "file": {
            "name": "shops.jsonl",
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "rows": len(rows),
            "url": "https://example.org/shops.jsonl",
        },
        "judge": "rules",
        "max_response_tokens": None,
        "max_steps": 4,
        "reach": {"allowed_hosts": [], "private_hosts": private},
        "politeness": {"per_host": 1, "delay_s": DELAY_S, "robots": True},
        **changes,
    }
    (where / "shops.yaml").write_text(yaml.safe_dump(benchmark))


def start(where: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "components.cli.main", "evaluate", "shops.yaml", "--files", ".", *options],
        cwd=where,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def evaluate_apart(where: Path, *options: str) -> tuple[int, str, str]:
    """Run the command in a process of its own. Its start takes 20 s of CPU."""
    child = start(where, *options)
    out, err = child.communicate(timeout=200)
    return child.returncode, out, err


def evaluate(where: Path, *options: str) -> tuple[int, str, str]:
    """Run the command in this process; returns what `evaluate_apart` does."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(where), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["evaluate", "shops.yaml", "--files", ".", *options])
    return code, out.getvalue(), err.getvalue()


def result(where: Path) -> dict:
    (path,) = (where / "reports/benchmarks").glob("*.json")
    return json.loads(path.read_text())


def journal(where: Path) -> list[dict]:
    found = list((where / ".waymark/state/benchmark@shops").glob("*/episodes.jsonl"))
    return [json.loads(line) for path in found for line in path.read_text().splitlines() if line.endswith("}")]


@pytest.mark.slow
def test_a_killed_run_stopped_by_its_budget_ends_as_an_undisturbed_one(world):
    where, (first, second, closed), model = world
    items = ["lamp", "chair", "table"]
    rows = [*(task_row(first, item) for item in items), task_row(second, "shelf"), task_row(closed, "lamp")]
    shops = (first, second, closed)
    lay_out(where, rows, model.url, [f"{shop.host}:{shop.port}" for shop in shops])

    child = start(where, "--model", "teacher")
    deadline = time.monotonic() + 120
    while not journal(where):
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    kept = {one["trajectory_id"]: one["task"]["task_id"] for one in journal(where)}
    assert len(kept) < 4, "it ended before it could be killed"
    opened = [len(shop.visits.opened) for shop in shops]

    # each episode is two requests: what three of them cost, with those before the kill counted
    code, out, err = evaluate_apart(where, "--model", "teacher", "--budget-usd", str(6 * PRICED_AT - 0.001))
    assert code == 0, err
    said = result(where)
    assert said["status"] == "partial"
    assert "stopped at the budget: usd 0.599" in said["problem"]
    assert "raise it and run again" in out
    done = said["progress"]["done"]
    assert len(kept) <= done < 4
    assert said["progress"] | {"stopped_by": None, "done": None, "retried": 0} == {
        "tasks": 5,
        "rejected": 0,
        "asked": 4,
        "done": None,
        "skipped": {"robots": ["127.0.0.4/lamp"]},
        "retried": 0,
        "stopped_by": None,
    }

    code, out, err = evaluate_apart(where, "--model", "teacher", "--budget-usd", "100", "--steps", "1,2,4")
    assert code == 0, err
    said = result(where)
    assert said["progress"]["done"] == 4
    assert said["status"] == "partial", "one task was never asked: this is not the whole set"
    assert said["problem"] == "4 of 5 tasks are done, 1 left out (robots)"
    assert said["version"].startswith("1 sha256:")
    # the table's page does not say what the task expects
    assert said["summary"]["rate"] == 0.75
    assert [(point["steps"], point["rate"]) for point in said["curve"]] == [(1, 0.0), (2, 0.75), (4, 0.75)]
    unnoted = len(model.asked) - said["spent"]["usd"] / PRICED_AT
    assert -1e-6 < unnoted < 3 + 1e-6, "of four episodes, the three others may have had a request in flight at the kill"
    assert len(journal(where)) == 4, "a finished episode was run again"

    # over all three processes, no host was visited faster than allowed, and the closed shop not at all
    assert closed.visits.opened == []
    for shop in (first, second):
        times = [at for at, _ in shop.visits.opened]
        # a page is opened a moment after its episode's start is counted; two answers of the model take 0.6 s besides
        assert all(later - earlier > DELAY_S - 0.5 for earlier, later in itertools.pairwise(times))
    again = [item for shop, before in zip(shops, opened, strict=True) for _, item in shop.visits.opened[before:]]
    finished = {task.split("/")[1] for task in kept.values()}
    assert not finished & set(again), "a finished episode was run again"


@pytest.mark.slow
def test_without_a_network_the_result_is_invalid_and_never_0_percent(world):
    where, (shop, *_), model = world
    rows = [
        task_row(shop, item) | {"start_url": f"http://{item}.invalid/", "website": f"{item}.invalid"}
        for item in ("lamp", "chair")
    ]
    lay_out(where, rows, model.url, [], reach={"allowed_hosts": ["*"], "private_hosts": []})
    code, _, err = evaluate(where, "--model", "teacher")
    assert code == 1
    assert "2 of 2 episodes were ended by the environment" in err
    assert "evaluation.max_aborted is 0.1" in err
    said = result(where)
    assert said["status"] == "invalid"
    assert said["summary"] is None
    assert "env_init_error" in said["problem"]
    assert model.asked == []


@pytest.mark.slow
def test_a_start_page_outside_of_the_allowed_hosts_is_left_out_and_counted(world):
    where, (shop, other, _), model = world
    rows = [task_row(shop, "lamp"), task_row(other, "chair")]
    lay_out(where, rows, model.url, [shop.host])
    code, _, err = evaluate(where, "--model", "teacher", "--limit", "2")
    assert code == 0, err
    said = result(where)
    assert said["progress"]["skipped"] == {"not_allowed": [f"{other.host}/chair"]}
    assert other.visits.opened == []
    assert said["summary"]["rate"] == 1.0
    page = next((where / "reports/benchmarks").glob("*.html")).read_text()
    assert "127.0.0.2" in page
    assert "partial" in page


@pytest.mark.slow
def test_a_model_that_cannot_be_downloaded_ends_with_a_sentence(world, monkeypatch):
    where, shops, model = world
    lay_out(where, [task_row(shops[0], "lamp")], model.url, [f"{shops[0].host}:{shops[0].port}"])
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    code, _, err = evaluate_apart(where, "--model", "example/missing")
    assert code == 1
    assert "Traceback" not in err
    assert "the model example/missing cannot be opened: " in err
    assert "name another with --model" in err


@pytest.mark.slow
def test_another_occasion_draws_other_attempts_and_the_same_one_none(world):
    where, (shop, _, _), model = world
    lay_out(where, [task_row(shop, "lamp")], model.url, [shop.host])
    for occasion in ("2026-11-25", "2026-11-26", "2026-11-26"):
        code, _, err = evaluate(where, "--model", "teacher", "--occasion", occasion)
        assert code == 0, err
    policies, seeds = zip(*((episode["policy"], episode["seed"]) for episode in journal(where)), strict=True)
    assert sorted(policy.partition("@")[2].partition(":")[0] for policy in policies) == ["2026-11-25", "2026-11-26"]
    assert len(set(seeds)) == 2
    names = sorted(path.stem.partition(".")[2] for path in (where / "reports/benchmarks").glob("*.json"))
    assert names == ["occasion-2026-11-25", "occasion-2026-11-26"]
    assert len([*(where / "data/benchmarked").glob("*/trajectories.parquet")]) == 2


@pytest.mark.slow
def test_a_limited_run_leaves_the_complete_result_and_its_tables(world):
    where, (shop, _, _), model = world
    lay_out(where, [task_row(shop, "lamp"), task_row(shop, "chair")], model.url, [shop.host])
    for options in ([], ["--limit", "1"]):
        code, _, err = evaluate(where, "--model", "teacher", *options)
        assert code == 0, err
    results = {path.stem: json.loads(path.read_text()) for path in (where / "reports/benchmarks").glob("*.json")}
    assert {name: (said["status"], said["summary"]["n"]) for name, said in results.items()} == {
        "shops@teacher-a-model": ("complete", 2),
        "shops@teacher-a-model.limit-1": ("partial", 1),
    }
    tables = {path.parent.name: path for path in (where / "data/benchmarked").glob("*/trajectories.parquet")}
    assert {name: len(read_table(path, Trajectory)) for name, path in tables.items()} == {
        "shops@teacher-a-model": 2,
        "shops@teacher-a-model.limit-1": 1,
    }
    assert (where / "reports/leaderboard.md").read_text().count("| measured | a/model (teacher) |") == 2


@pytest.mark.slow
def test_a_model_judges_by_the_benchmarks_protocol_and_is_required(world):
    where, (shop, other, _), model = world
    rows = [task_row(shop, "lamp"), task_row(other, "chair")]
    lay_out(where, rows, model.url, [shop.host, other.host], judge="webvoyager")
    code, _, err = evaluate(where, "--model", "teacher")
    assert code == 1
    assert "asks a model (the published numbers are by gpt-4o): name one in judge.model.endpoint" in err
    assert model.asked == []

    judge = Server()
    judge.reply = verdict
    recipe = yaml.safe_load((where / "params.yaml").read_text())
    price = {"key_variable": None, "usd_per_million_prompt": 0.5 / 1000 * 1e6, "max_in_flight": 1}
    recipe["judge"]["model"] = {"endpoint": {"url": judge.url, "model": "a/judge", **price}}
    (where / "params.yaml").write_text(yaml.safe_dump(recipe))
    # two episodes of two requests leave 0.2 USD, with which the judge begins one question
    code, _, err = evaluate(where, "--model", "teacher", "--budget-usd", str(4 * PRICED_AT + 0.2))
    assert code == 0, err
    said = result(where)
    assert (said["status"], said["progress"]["done"], said["summary"]["n"], len(judge.asked)) == ("partial", 1, 1, 1)
    spent = "judges have cost 0.50 USD, and their part of the budget is 0.20 USD"
    assert f"stopped at the budget: {spent}" in said["problem"]
    code, _, err = evaluate(where, "--model", "teacher")
    judge.close()
    assert code == 0, err
    said = result(where)
    assert said["summary"]["families"] == {shop.host: {"rate": 1.0, "n": 1}, other.host: {"rate": 0.0, "n": 1}}
    assert said["status"] == "complete"
    assert (len(judge.asked), said["judge_usd"]) == (2, 1.0)
    assert said["spent"]["usd"] == pytest.approx(1.0 + PRICED_AT * len(model.asked))


def test_an_evaluation_without_a_figure_ends_the_command_with_one_sentence(monkeypatch, capsys):
    def evaluate_nothing(*_):
        raise EvaluationError("the figures are missing; run the judge first")

    monkeypatch.setattr("components.benchmarks.run.evaluate", evaluate_nothing)
    assert main(["evaluate", "shops"]) == 1
    assert capsys.readouterr().err == "the figures are missing; run the judge first\n"


@pytest.mark.parametrize(
    "option",
    ["--budget-usd=-1", "--budget-usd=nan", "--budget-minutes=inf", "--budget-tokens=-1", "--limit=0", "--steps=3,0"],
)
def test_a_wrong_amount_is_refused_with_the_option_that_has_it(option, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", "shops", option])
    assert ended.value.code == 2
    assert f"argument {option.split('=')[0]}: " in capsys.readouterr().err


@pytest.mark.parametrize("limit", [0, -1])
def test_a_run_attempts_at_least_one_task(limit):
    with pytest.raises(ValueError, match="limit"):
        Options(limit=limit)


def test_rules_that_judge_beside_a_model_are_read_before_anything_starts(tmp_path, monkeypatch):
    row = {
        "task_id": "127.0.0.2/lamp",
        "intent": "What does the lamp cost?",
        "start_url": "http://127.0.0.2/lamp",
        "website": "127.0.0.2",
        "source": "shops",
        "evaluator": {"type": "qa", "answers": []},
    }
    lay_out(tmp_path, [row], "http://127.0.0.1:9/v1", [], judge="webvoyager", also=["rules"])
    params = yaml.safe_load((tmp_path / "params.yaml").read_text())
    params["judge"]["model"] = {"endpoint": {"url": "http://127.0.0.1:9/v1", "model": "m", "key_variable": None}}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RuleError, match=r"127\.0\.0\.2/lamp cannot be judged by their rules"):
        evaluate_here("shops.yaml", Options(model="nowhere", files=Path()))


@pytest.mark.parametrize(("name", "site"), [("nq", "wikipedia"), ("webarena-lite", "gitlab|reddit|shopping|map")])
def test_unserved_sites_are_named_before_anything_starts(name, site):
    files = ROOT.parent / "shared/data"
    if not files.exists():
        pytest.skip("the published files are not here")
    with pytest.raises(BenchmarkError, match=rf"give the address in tasks\.sites of the recipe, as ({site})"):
        evaluate_here(name, Options(model="teacher", files=files))
