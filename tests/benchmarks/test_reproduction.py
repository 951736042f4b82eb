"""`waymark reproduce`: claimed beside reproduced, with the denominators and all that is missing."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.benchmarks.claimed_settings import RECORDED_KEYS, deviation
from components.benchmarks.options import Options
from components.benchmarks.reproduction import Reproduction, compare_with_claims, load_reproduction
from components.benchmarks.requirements import missing_everywhere, missing_for
from components.benchmarks.result_assembly import _settings
from components.benchmarks.results import BenchmarkResult, write_result
from components.benchmarks.spec import Benchmark, BenchmarkError, load_benchmark
from components.cli.main import main, parser
from components.params import complete, load
from components.pipeline.evaluation import InvalidEvaluation
from components.reports import published
from components.statistics import Interval
from tests.benchmarks.price_shops import TRUE_PRICES, Shop, task_row
from tests.benchmarks.test_results import a_result
from tests.benchmarks.test_run import lay_out

ROOT = Path(__file__).parents[2]
SHIPPED = sorted(path.stem for path in (ROOT / "recipes/reproductions").glob("*.yaml"))


@cache
def settings_of(recipe: str) -> dict[str, Any]:
    """The settings that a result on DeepShop records with a recipe, judged by the model of the claim."""
    benchmark = load_benchmark("deepshop")
    params = benchmark.over(load(ROOT / f"recipes/{recipe}.yaml"))
    return json.loads(json.dumps(_settings(params, benchmark, Options(model="x")))) | {
        "judge_model": benchmark.judge_model
    }


def on_deepshop(**changes: object) -> BenchmarkResult:
    """A result on DeepShop as its recipe measures."""
    benchmark, settings = load_benchmark("deepshop"), settings_of("openwebrl-4b")
    measured = {"benchmark": "deepshop", "version": benchmark.identity, "judge": benchmark.judge, "settings": settings}
    return a_result(**measured | changes)


def with_settings(result: BenchmarkResult, **changes: object) -> BenchmarkResult:
    """The result with other settings; None leaves one out, as an earlier version did."""
    settings = {key: value for key, value in (result.settings | changes).items() if value is not None}
    return result.model_copy(update={"settings": settings | {"limit": changes.get("limit")}})


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_reproduction_has_a_claim_on_each_of_its_benchmarks(name: str) -> None:
    reproduction = load_reproduction(name)
    row = reproduction.claims()
    assert all(row.share(load_benchmark(benchmark).name) is not None for benchmark in reproduction.benchmarks)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_recipe_that_is_named_has_the_harness_that_is_pinned(name: str) -> None:
    reproduction = load_reproduction(name)
    lines = missing_everywhere(reproduction, load(ROOT / f"recipes/{reproduction.recipe}.yaml"), ROOT)
    assert not any("harness" in line for line in lines)


def test_openwebrls_claims_are_those_of_table_2() -> None:
    compared = compare_with_claims(load_reproduction("openwebrl-4b"), [], {}, None)
    assert [(line.benchmark, line.claimed) for line in compared.benchmarks] == [
        ("webvoyager-595", 0.741),
        ("online-mind2web", 0.67),
        ("deepshop", 0.64),
    ]
    assert not compared.is_complete


def test_a_recipe_with_another_harness_is_named_key_by_key() -> None:
    reproduction = load_reproduction("openwebrl-4b")
    [harness, checkpoint] = missing_everywhere(reproduction, load(ROOT / "recipes/demo.yaml"), None)
    assert "browser.viewport is [160, 210] and not [1280, 720]" in harness
    assert "`waymark use openwebrl-4b`" in harness
    assert "agent.protocol" not in harness
    assert "hf download OpenWebRL/OpenWebRL-4B`" in checkpoint


def test_a_pinned_revision_is_asked_for() -> None:
    reproduction = load_reproduction("openwebrl-4b-sft")
    lines = missing_everywhere(reproduction, load(ROOT / "recipes/openwebrl-4b.yaml"), None)
    assert any("--revision 15e777db2ddba2e0e82080ebccd3ad8d215b7f0a" in line for line in lines)


def test_another_judge_and_its_missing_key_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    params = load(ROOT / "recipes/openwebrl-4b.yaml")
    lines = missing_for(load_benchmark("online-mind2web"), params, tmp_path)
    assert any("online_mind2web_300.json is missing: download it" in line for line in lines)
    assert any("judged by o4-mini" in line and "gpt-4.1" in line for line in lines)
    assert any("$OPENAI_API_KEY" in line for line in lines)


def test_sites_that_must_be_served_and_rules_that_cannot_judge_are_named(tmp_path: Path) -> None:
    row = {"task_id": "1", "intent": "Buy it.", "start_url": "__SHOPPING__/", "website": "shopping"}
    values = {"name": "shops", "judge": "rules", "judge_model": None, "reach": {}}
    params = load(ROOT / "recipes/openwebrl-4b.yaml")

    def lines(**changes: object) -> list[str]:
        text = json.dumps(row | changes)
        (tmp_path / "shops.jsonl").write_text(text)
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        file = {"name": "shops.jsonl", "sha256": sha256, "rows": 1, "url": "https://x"}
        raw = load_benchmark("deepshop").model_dump(mode="json") | values | {"file": file}
        return missing_for(Benchmark.model_validate(raw), params, tmp_path)

    [unserved] = lines()
    assert "give the address in tasks.sites of the recipe, as shopping" in unserved
    [unjudged] = lines(start_url="http://shop.example/", evaluator={"type": "qa", "answers": []})
    assert "1 cannot be judged by their rules" in unjudged


def test_what_a_benchmark_lacks_is_listed_also_where_a_file_names_it() -> None:
    path = str(ROOT / "recipes/benchmarks/deepshop.yaml")
    [line] = compare_with_claims(a_reproduction(benchmarks=[path]), [], {"deepshop": ["a key"]}, None).benchmarks
    assert (line.benchmark, line.missing) == ("deepshop", ["a key"])


def a_reproduction(**changes: object) -> Reproduction:
    values = load_reproduction(ROOT / "recipes/reproductions/openwebrl-4b.yaml").model_dump(mode="json")
    return Reproduction.model_validate(values | {"benchmarks": ["deepshop"]} | changes)


@pytest.mark.parametrize(("interval", "holds"), [((0.6, 0.7), True), ((0.65, 0.7), False), ((0.1, 0.63), False)])
def test_a_claim_is_held_against_the_interval(tmp_path: Path, interval: tuple[float, float], holds: bool) -> None:
    benchmark, result = load_benchmark("deepshop"), on_deepshop()
    assert result.summary is not None
    summary = result.summary.model_copy(update={"ci95": Interval(*interval)})
    changes = {"benchmark": "deepshop", "version": benchmark.identity, "summary": summary}
    write_result(result.model_copy(update=changes | {"status": "complete", "problem": None}), tmp_path)
    [line] = compare_with_claims(a_reproduction(), [], {}, "abc123", tmp_path).benchmarks
    assert (line.claimed, line.reproduced, line.n, line.is_reproduced) == (0.64, 0.5, 4, holds)
    assert line.progress is not None
    assert (line.progress.tasks, line.progress.asked, line.progress.done) == (9, 4, 4)
    write_result(result.model_copy(update=changes), tmp_path / "partial")
    [line] = compare_with_claims(a_reproduction(), [], {}, "abc123", tmp_path / "partial").benchmarks
    assert (line.status, line.is_reproduced) == ("partial", None), "a partial result decides nothing"


def test_a_limited_result_is_shown_where_the_limit_is_asked_for(tmp_path: Path) -> None:
    result = on_deepshop()
    whole = result.model_copy(update={"status": "complete", "problem": None})
    few = result.model_copy(update={"settings": result.settings | {"limit": 4}})
    for stored in (whole, few):
        write_result(stored, tmp_path)
    statuses = {
        limit: compare_with_claims(a_reproduction(), [], {}, "abc123", tmp_path, limit).benchmarks[0].status
        for limit in (None, 4, 5)
    }
    assert statuses == {None: "complete", 4: "partial", 5: "complete"}


def test_results_on_another_revision_or_by_another_model_do_not_count(tmp_path: Path) -> None:
    write_result(on_deepshop(version="another"), tmp_path)
    [line] = compare_with_claims(a_reproduction(), [], {}, "abc123", tmp_path).benchmarks
    assert line.reproduced is None
    write_result(on_deepshop(), tmp_path)
    [line] = compare_with_claims(a_reproduction(), [], {}, "fffff", tmp_path).benchmarks
    assert line.reproduced is None


def test_a_result_of_another_harness_is_named_and_does_not_count(tmp_path: Path) -> None:
    result = on_deepshop()
    context = {"feedback": False, "reasoning_history": True, "repeat_task": False}
    write_result(with_settings(result, context=context), tmp_path)
    [line] = compare_with_claims(a_reproduction(), [], {}, "abc123", tmp_path).benchmarks
    assert (line.reproduced, line.status, line.is_reproduced) == (None, "of another harness", None)
    assert line.problem == "agent.feedback is False and not True: run `waymark reproduce` with --run again"


@pytest.mark.parametrize("name", SHIPPED)
def test_a_result_records_the_harness_that_a_reproduction_pins(tmp_path: Path, name: str) -> None:
    reproduction, benchmark = load_reproduction(name), load_benchmark("deepshop")
    result = on_deepshop(settings=settings_of(reproduction.recipe))
    assert deviation(result, benchmark, reproduction.harness) is None
    for key in reproduction.harness:
        other = deviation(result, benchmark, reproduction.harness | {key: "another"})
        assert other is not None
        assert other.problem.startswith(f"{key} is "), key


@pytest.mark.parametrize(
    ("key", "status", "named"),
    [
        ("context", "harness", "agent.repeat_task, agent.feedback, agent.reasoning_history"),
        ("observation", "harness", "observation.text, observation.screenshots"),
        ("scroll_bars", "harness", "browser.scroll_bars"),
        ("sampling", "decoding or step budget", "sampling.temperature, sampling.top_p, sampling.top_k"),
        ("max_steps", "decoding or step budget", "max_steps"),
        ("judge_model", "judge", "judge_model"),
    ],
)
def test_a_setting_that_is_not_recorded_is_not_the_same(tmp_path: Path, key: str, status: str, named: str) -> None:
    result = with_settings(on_deepshop(), **{key: None})
    write_result(result.model_copy(update={"status": "complete", "problem": None}), tmp_path)
    [line] = compare_with_claims(a_reproduction(), [], {}, "abc123", tmp_path).benchmarks
    assert (line.reproduced, line.status, line.is_reproduced) == (None, f"of an unrecorded {status}", None)
    assert line.problem == f"not recorded: {named}: run `waymark reproduce` with --run again"


def test_what_differs_is_said_before_what_is_not_recorded(tmp_path: Path) -> None:
    write_result(with_settings(on_deepshop(), viewport=None, judge_model="tiny"), tmp_path)
    [line] = compare_with_claims(a_reproduction(), [], {}, "abc123", tmp_path).benchmarks
    assert line.status == "of another judge"
    assert line.problem is not None
    assert line.problem.startswith("judge_model is 'tiny' and not 'gpt-4o'; not recorded: browser.viewport: run")


@pytest.mark.parametrize("key", ["browser.concurrency", "agent.fedback"])
def test_a_pin_that_no_result_records_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match=rf"harness has {key}, which results do not record"):
        a_reproduction(harness={key: 1})
    assert set(load_reproduction("openwebrl-4b").harness) <= set(RECORDED_KEYS)


def test_a_partial_result_counts_before_one_of_another_harness(tmp_path: Path) -> None:
    result = on_deepshop()
    other = with_settings(result, think_prefix=False)
    write_result(other.model_copy(update={"status": "complete", "problem": None}), tmp_path)
    [line] = compare_with_claims(a_reproduction(), [], {}, "abc123", tmp_path).benchmarks
    assert (line.status, line.reproduced) == ("of another harness", None)
    assert write_result(result, tmp_path).name.endswith(".partial.json")
    [line] = compare_with_claims(a_reproduction(), [], {}, "abc123", tmp_path).benchmarks
    assert (line.status, line.reproduced) == ("partial", 0.5)


def test_a_limited_partial_result_counts_before_one_of_another_harness(tmp_path: Path) -> None:
    result = on_deepshop()
    result = with_settings(result, limit=4)
    other = with_settings(result, limit=4, think_prefix=False)
    write_result(other.model_copy(update={"status": "complete", "problem": None}), tmp_path)
    assert ".limit-4.partial." in write_result(result, tmp_path).name
    [line] = compare_with_claims(a_reproduction(), [], {}, "abc123", tmp_path, 4).benchmarks
    assert (line.status, line.reproduced) == ("partial", 0.5)


@pytest.mark.parametrize(("listed", "is_named"), [(1, True), (6, True), (7, False)])
def test_gpus_that_a_machine_lacks_are_named(monkeypatch: pytest.MonkeyPatch, listed: int, is_named: bool) -> None:
    monkeypatch.setattr("components.benchmarks.requirements.gpus", lambda: ["GPU"] * listed)
    lines = missing_everywhere(load_reproduction("openwebrl-4b"), load(ROOT / "recipes/openwebrl-4b.yaml"), ROOT)
    assert any(f"take the GPUs 4 to 6, and nvidia-smi lists {listed}" in line for line in lines) is is_named


@pytest.mark.parametrize(
    ("changes", "settings", "status", "why"),
    [
        ({"judge": "rules"}, {}, "judge", "judge is 'rules' and not "),
        ({}, {"judge_model": "tiny"}, "judge", "judge_model is 'tiny' and not "),
        ({}, {"max_steps": 5}, "decoding or step budget", "max_steps is 5 and not "),
        ({}, {"sampling": {"temperature": 0.5, "top_p": 1.0, "top_k": 0}}, "decoding or step budget", "sampling.temp"),
    ],
)
def test_a_result_of_another_judge_or_decoding_does_not_count(
    tmp_path: Path, changes: dict[str, object], settings: dict[str, object], status: str, why: str
) -> None:
    write_result(with_settings(on_deepshop(**changes), **settings), tmp_path)
    [line] = compare_with_claims(a_reproduction(), [], {}, "abc123", tmp_path).benchmarks
    assert (line.reproduced, line.status, line.is_reproduced) == (None, f"of another {status}", None)
    assert line.problem is not None
    assert line.problem.startswith(why)


def test_a_protocol_without_its_model_is_another_judge_and_rules_are_not() -> None:
    result, benchmark = on_deepshop(), load_benchmark("deepshop")
    without = result.model_copy(update={"settings": result.settings | {"judge_model": None}})
    other = deviation(without, benchmark, {})
    assert other is not None
    assert other.status == "of another judge"
    by_rules = benchmark.model_copy(update={"judge": "rules"})
    without = without.model_copy(update={"judge": "rules"})
    assert deviation(without, by_rules, {}) is None, "rules leave undecided what only a model can decide"
    unrecorded = without.model_copy(
        update={"settings": {key: result.settings[key] for key in ("sampling", "max_steps")}}
    )
    other = deviation(unrecorded, by_rules, {})
    assert other is not None
    assert other.problem == "not recorded: judge_model"


def test_a_row_that_the_paper_does_not_have_is_refused() -> None:
    with pytest.raises(BenchmarkError, match="has 0 rows 'OpenWebRL-5B'"):
        compare_with_claims(a_reproduction(row="OpenWebRL-5B"), [], {}, None)
    assert published.table("OpenWebRL", "2", "success")


def test_an_unknown_name_is_refused_with_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "openwebrl-5b"]) == 1
    assert "name one of openwebrl-4b, openwebrl-4b-sft" in capsys.readouterr().err


def test_the_command_prints_what_is_missing_and_ends_with_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "params.yaml").write_text(complete(ROOT / "recipes/demo.yaml"))
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "openwebrl-4b"]) == 3
    out = capsys.readouterr().out
    assert "claimed     74.1% of the 595 tasks" in out
    assert "reproduced  nothing yet" in out
    assert "data/benchmarks/deepshop_150.jsonl is missing" in out
    assert main(["reproduce", "openwebrl-4b", "--format", "json"]) == 3
    assert len(json.loads(capsys.readouterr().out)["benchmarks"]) == 3


def test_an_invalid_benchmark_stops_no_other_and_json_stands_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluated = []

    def evaluate(name: str, options: Options) -> None:
        evaluated.append(name)
        print("progress")
        raise InvalidEvaluation(f"{name} is invalid")

    for function in ("missing_everywhere", "missing_for"):
        monkeypatch.setattr(f"components.benchmarks.requirements.{function}", lambda *_: [])
    monkeypatch.setattr("components.benchmarks.run.evaluate", evaluate)
    (tmp_path / "params.yaml").write_text(complete(ROOT / "recipes/demo.yaml"))
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "openwebrl-4b", "--checkpoint", str(ROOT / "data/base_model"), "--run", "--format", "json"]
    assert main(command) == 3
    out, err = capsys.readouterr()
    assert evaluated == ["webvoyager-595", "online-mind2web", "deepshop"]
    assert len(json.loads(out)["benchmarks"]) == 3
    assert "progress\ndeepshop is invalid\n" in err


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["0", "-1"])
def test_a_limit_below_one_task_is_refused(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(["reproduce", "openwebrl-4b", "--run", "--limit", limit])
    assert ended.value.code == 2
    assert f"argument --limit: {limit} is too small: give at least 1" in capsys.readouterr().err


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_checkpoint_that_is_here_is_evaluated_and_compared(tmp_path: Path) -> None:
    shop = Shop("127.0.0.2")
    try:
        rows = [task_row(shop, item) for item in list(TRUE_PRICES)[:3]]
        lay_out(
            tmp_path,
            rows,
            "http://127.0.0.1:9/v1",
            ["127.0.0.2"],
            politeness={"per_host": 2, "delay_s": 0.1, "robots": True},
        )
        values = a_reproduction(benchmarks=["shops.yaml"], harness={"agent.protocol": "openwebrl"})
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(values.model_dump(mode="json")))
        command = [sys.executable, "-m", "components.cli.main", "reproduce", "mine.yaml", "--files", "."]
        command += ["--checkpoint", str(ROOT / "data/base_model"), "--format", "json"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        before = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert before.returncode == 3, before.stderr
        after = subprocess.run(
            [*command, "--run"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )
        assert after.returncode == 0, after.stdout + after.stderr
        [line] = json.loads(after.stdout)["benchmarks"]
        assert (line["status"], line["n"], line["progress"]["done"]) == ("complete", 3, 3)
        assert line["claimed"] is None
    finally:
        shop.close()
