"""Benchmarks as recipes: pinned, spelled out, laid over the recipe of the model, and documented in docs/reference."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
import yaml

from components.benchmarks.spec import (
    FILES,
    RECIPES,
    Benchmark,
    BenchmarkError,
    file_tasks,
    load_benchmark,
)
from components.judge.rules import hint_of
from components.params import SamplingParams, load
from components.tasks import load_files
from components.worlds import WorldError
from components.worlds.miniwob.params import PinnedPages
from components.worlds.miniwob.world import pinned_families
from tests.samples import recipe

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / RECIPES).glob("*.yaml"))
SHARED = ROOT.parent / "shared/data"


def table() -> dict[str, list[str]]:
    """The rows of the table in docs/reference/benchmarks.md, by set."""
    page = (ROOT / "docs/reference/benchmarks.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    rows = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in rows}


def found(name: str) -> Path:
    """A published file, where it is."""
    path = next((folder / name for folder in (ROOT / FILES, SHARED) if (folder / name).exists()), None)
    if path is None:
        pytest.skip(f"{name} is not here")
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_is_called_what_its_file_is(name):
    assert load_benchmark(name).name == name


def test_the_published_settings_of_the_live_benchmarks():
    """OpenWebRL, A.6 and B."""
    for name in ("webvoyager-643", "webvoyager-595", "online-mind2web", "deepshop"):
        one = load_benchmark(name)
        assert one.decoding["official"] == SamplingParams(temperature=0.6, top_p=0.95, top_k=20)
        assert one.decoding["without_aborted"].temperature == 0
        assert (one.max_response_tokens, one.max_steps, one.inference_timeout_s) == (4096, 30, 120)
    judges = {name: load_benchmark(name).judge for name in NAMES}
    assert judges["webvoyager-595"] == "webvoyager"
    assert judges["online-mind2web"] == "agenttrek"
    assert judges["deepshop"] == "deepshop"
    assert judges["webgym-ood"] == "webgym_rubric"


def test_the_document_has_a_row_for_each_set_that_agrees_with_its_recipe():
    rows = table()
    assert sorted(rows) == NAMES
    for name, (file, count, _, _, sha256, judge, decoding, steps, licence) in rows.items():
        one = load_benchmark(name)
        assert sha256 == (one.sha256[:12] if one.sha256 else "unknown")
        model = f" ({one.judge_model})" if one.judge_model else ""
        assert judge == ", ".join([one.judge, *one.also]) + model
        official = one.decoding["official"]
        rest = f", top-p {official.top_p:g}, top-k {official.top_k}" if official.temperature else ""
        assert decoding == f"T {official.temperature:g}{rest}"
        assert (steps, licence) == (str(one.max_steps), one.licence)
        if one.file is not None:
            assert (file, count) == (one.file.name, str(one.file.rows))


@pytest.mark.parametrize("name", [name for name in NAMES if load_benchmark(ROOT / RECIPES / f"{name}.yaml").file])
def test_the_document_counts_what_is_in_the_files(name):
    one = load_benchmark(name)
    assert one.file is not None
    path = found(one.file.name)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == one.file.sha256
    loaded = load_files([path])
    assert len(loaded.tasks) + len(loaded.rejections) == one.file.rows
    if not loaded.tasks:
        pytest.skip("nothing reads this schema yet")
    tasks, rejected = table()[name][2:4]
    assert (tasks, rejected) == (str(len(loaded.tasks)), str(len(loaded.rejections)))


def test_the_125_pages_are_the_installed_packages_but_five():
    pages = load_benchmark("miniwob-125").pages
    assert pages is not None
    pinned = pages.pinned
    assert isinstance(pinned, PinnedPages)
    families = pinned_families(pinned)
    assert len(families) == 125
    assert not set(families) & {"chase-circle", "moving-items", "simon-says", "hover-shape", "button-delay"}
    assert table()["miniwob-125"][1] == table()["miniwob-125"][2] == str(125 * pinned.per_page)
    with pytest.raises(WorldError, match=r"pip install miniwob==1\.1\.0"):
        pinned_families(pinned.model_copy(update={"sha256": "0" * 64}))


def test_the_families_that_the_demo_never_trains_on_are_the_recipes():
    pages = load_benchmark("demo-heldout").pages
    assert pages is not None
    assert isinstance(pages.pinned, PinnedPages)
    assert pinned_families(pages.pinned) == load(ROOT / "recipes/demo.yaml").worlds["miniwob"].heldout
    assert table()["demo-heldout"][1] == str(2 * pages.pinned.per_page)
    with pytest.raises(WorldError, match="no family click-nothing"):
        pinned_families(pages.pinned.model_copy(update={"families": ["click-nothing"]}))


def small(where: Path, text: str, **changes: object) -> Benchmark:
    """A benchmark of a file of three rows in WebVoyager's schema, one of them garbled."""
    (where / "voyage.jsonl").write_text(text)
    raw = load_benchmark(ROOT / RECIPES / "webvoyager-595.yaml").model_dump(mode="json")
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    raw["file"] |= {"name": "voyage.jsonl", "sha256": sha256, "rows": 3, **changes}
    return Benchmark.model_validate(raw)


ROWS = "".join(
    json.dumps({"web_name": "A", "id": f"A--{n}", "ques": "Find it." if n else "", "web": "https://a.example/"}) + "\n"
    for n in range(3)
)


def test_a_pinned_file_is_read_and_its_version_has_its_checksum(tmp_path):
    one = small(tmp_path, ROWS)
    tasks, rejections = file_tasks(one, tmp_path)
    assert [task.task_id for task in tasks] == ["voyage/A--1", "voyage/A--2"]
    assert len(rejections) == 1
    assert one.identity == f"2025-08-31 sha256:{one.sha256[:12]}"


def test_every_task_of_a_benchmark_is_a_test_task(tmp_path):
    """The tasks of WebGym and of Waymark's own format are training tasks by default."""
    own = {"task_id": "o", "intent": "Find it.", "start_url": "https://a.example/", "website": "a.example"}
    webgym = {"benchmark_name": "b", "task_name": "Find it.", "website": "https://a.example/", "task_id": 1}
    text = "".join(json.dumps(row) + "\n" for row in (own, webgym, {**own, "task_id": "p", "split": "train"}))
    tasks, rejections = file_tasks(small(tmp_path, text), tmp_path)
    assert rejections == []
    assert [task.split for task in tasks] == ["eval"] * 3


ANSWERS = json.dumps({"A": {"notice": "", "answers": [{"id": 1, "type": "golden", "ans": "42"}]}})


def test_reference_answers_are_joined_from_a_file_that_is_pinned_too(tmp_path):
    (tmp_path / "answers.json").write_text(ANSWERS)
    pin = {
        "name": "answers.json",
        "sha256": hashlib.sha256(ANSWERS.encode()).hexdigest(),
        "rows": 1,
        "url": "https://x",
    }
    one = small(tmp_path, ROWS, answers=pin)
    assert [task.reference_answer for task in file_tasks(one, tmp_path)[0]] == ["42", None]
    (tmp_path / "answers.json").write_text(ANSWERS.replace("42", "43"))
    with pytest.raises(BenchmarkError, match=r"answers\.json has sha256 .*another revision"):
        file_tasks(one, tmp_path)
    (tmp_path / "answers.json").unlink()
    with pytest.raises(BenchmarkError, match=r"answers\.json is missing: download it \(https://x"):
        file_tasks(one, tmp_path)


def test_every_task_of_webvoyager_has_its_published_answer():
    one = load_benchmark("webvoyager-643")
    tasks, _ = file_tasks(one, found(one.file.answers.name).parent)
    assert sum(hint_of(task) is not None for task in tasks) == one.file.answers.rows == len(tasks)


def test_a_file_that_is_missing_changed_or_unknown_is_refused_with_the_fix(tmp_path):
    one = small(tmp_path, ROWS)
    with pytest.raises(BenchmarkError, match=r"is missing: download it \(https://github\.com/microsoft/fara.*--files"):
        file_tasks(one, tmp_path / "elsewhere")
    (tmp_path / "voyage.jsonl").write_text(ROWS + "\n")
    with pytest.raises(BenchmarkError, match=r"another revision.*its own name"):
        file_tasks(one, tmp_path)
    (tmp_path / "voyage.jsonl.dvc").touch()
    with pytest.raises(BenchmarkError, match=r"dvc update .*voyage\.jsonl\.dvc"):
        file_tasks(one, tmp_path)
    with pytest.raises(BenchmarkError, match=r"write `sha256: [0-9a-f]{64}` into its recipe"):
        file_tasks(small(tmp_path, ROWS, sha256=None), tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("mine.jsonl", "", r"mine\.jsonl has no rows: write a task per line into it"),
        ("mine.json", "[]", r"mine\.json has no rows"),
        (
            "mine.json",
            "{}",
            r"the file of webvoyager-595 cannot be read: .*mine\.json has no JSON list of rows; convert it",
        ),
        ("mine.csv", "a,b\n", r"mine\.csv is neither \.jsonl, \.json nor \.parquet; convert it"),
    ],
)
def test_a_file_of_ones_own_without_rows_is_refused_with_the_fix(tmp_path, name, text, why):
    one = small(tmp_path, text, name=name)
    (tmp_path / name).write_text(text)
    with pytest.raises(BenchmarkError, match=why):
        file_tasks(one, tmp_path)


def test_a_benchmark_is_laid_over_the_recipe_and_leaves_the_harness_alone():
    params = recipe(agent__max_context_tokens=32768, browser__egress={"blocked_hosts": ["ads.example"]})
    laid = load_benchmark("webvoyager-595").over(params, max_steps=90)
    assert laid.evaluation.sampling == SamplingParams(temperature=0.6, top_p=0.95, top_k=20)
    assert (laid.evaluation.max_steps, laid.evaluation.max_response_tokens) == (90, 4096)
    assert laid.evaluation.max_aborted == params.evaluation.max_aborted
    # three times the steps, three times the wall-clock limit
    assert (laid.agent.task_timeout_s, laid.agent.inference_timeout_s) == (1800, 120)
    assert laid.browser.egress.allowed_hosts == ["*"]
    assert laid.browser.egress.blocked_hosts == ["ads.example"]
    assert (laid.agent.protocol, laid.observation, laid.browser.viewport) == (
        params.agent.protocol,
        params.observation,
        params.browser.viewport,
    )
    greedy = load_benchmark("webvoyager-595").over(params, "without_aborted")
    assert greedy.evaluation.sampling.temperature == 0


def test_what_cannot_be_laid_over_a_recipe_is_refused():
    one = load_benchmark("webvoyager-595")
    with pytest.raises(
        BenchmarkError,
        match=r"4096 tokens per response, and recipe sample has a context of 1024.*, or, .* set max_resp",
    ):
        one.over(recipe())
    with pytest.raises(BenchmarkError, match=r"no decoding 'nucleus'; it has official, without_aborted"):
        one.over(recipe(agent__max_context_tokens=32768), "nucleus")


def test_a_wrong_benchmark_is_refused_by_field(tmp_path):
    raw = load_benchmark(ROOT / RECIPES / "deepshop.yaml").model_dump(mode="json")
    raw |= {"judge": "a friend", "max_steps": 0}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(raw))
    with pytest.raises(BenchmarkError) as refused:
        load_benchmark(tmp_path / "mine.yaml")
    assert re.search(r"judge = 'a friend'", str(refused.value))
    assert re.search(r"max_steps = 0", str(refused.value))
    (tmp_path / "mine.yaml").write_text("extends: deepshop\nreach: {allowed_hosts: [https://shop.example/]}\n")
    with pytest.raises(BenchmarkError, match=r"allowed_hosts.*write the host alone, such as shop\.example"):
        load_benchmark(tmp_path / "mine.yaml")
    with pytest.raises(BenchmarkError, match=r"no benchmark 'webvoyager'; name one of .*webvoyager-595"):
        load_benchmark("webvoyager")


def test_only_politeness_leaves_the_key_of_a_result_unchanged():
    one = load_benchmark("deepshop")
    gentle = one.politeness.model_copy(update={"per_host": 1})
    assert one.model_copy(update={"politeness": gentle, "title": "Shop"}).key == one.key
    assert one.model_copy(update={"max_steps": 31}).key != one.key
