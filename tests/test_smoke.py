"""The whole pipeline on the smoke recipe, as `make demo` runs it: every stage for real, on a copy of the project.

Its tasks are of two worlds, MiniWoB++ and a package of another distribution (`tests/third_party_world`). Its protocol
is of a third distribution (`tests/third_party_kinds`), with whose objective one phase is trained again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from components.records import Outcome, Trajectory, Verdict
from components.store import read_table
from perf.two_machines import measure
from tests.all_stages import READS
from tests.recipe_reads import unnamed

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
THIRD_PARTY_WORLD = ROOT / "tests/third_party_world"
THIRD_PARTY_KINDS = ROOT / "tests/third_party_kinds"
STAGES = set(
    "collect_tasks filter_tasks dedup_tasks teacher_rollouts label_trajectories curate_sft train_sft judge_rollouts "
    "distill_judge train_rl@short train_rl@long evaluate@base evaluate@sft evaluate@rl".split()
)
RECIPE_PASSWORD = "planted-in-the-recipe"
PLANTED = {
    name: f"planted-as-{name.lower()}"
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "MLFLOW_TRACKING_PASSWORD", "PREFECT_API_KEY")
}


def copy_project(where: Path) -> None:
    """The files that git knows, as a fresh clone would hold them, in a repository of their own."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    for name in names:
        if (ROOT / name).is_file():
            (where / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, where / name)
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "copy"]):
        subprocess.run(["git", *command], cwd=where, check=True)


def pip_install(package: Path, target: Path) -> None:
    """Install a distribution into a folder as pip installs it, its entry points included."""
    with tempfile.TemporaryDirectory() as folder:
        source = shutil.copytree(package, Path(folder) / "source", ignore=shutil.ignore_patterns("__pycache__"))
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
        subprocess.run([*pip, "--target", str(target), str(source)], check=True)


def run(where: Path, *command: str) -> str:
    bin_dir = Path(sys.executable).parent
    environment = {**os.environ, **PLANTED, "PATH": f"{bin_dir}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, *command], cwd=where, env=environment, capture_output=True, text=True, timeout=2400
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}\n{logs(where)}"
    return done.stdout


def logs(where: Path) -> str:
    return "\n".join(f"--- {log.name}\n{log.read_text()[-1500:]}" for log in (where / ".waymark/logs").glob("*.log"))


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Iterator[Path]:
    where, package = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("site")
    copy_project(where)
    pip_install(THIRD_PARTY_WORLD, package)
    pip_install(THIRD_PARTY_KINDS, package)
    recipe = where / "recipes/smoke.yaml"
    raw = yaml.safe_load(recipe.read_text())
    raw["construction"] = {"endpoint": {"url": f"http://admin:{RECIPE_PASSWORD}@127.0.0.1:10001/v1", "model": "none"}}
    raw["worlds"]["miniwob"] |= {"train": ["click-test-2", "click-button"], "eval_per_family": 3}
    raw["worlds"]["shelf"] = {"train_per_family": 8, "eval_per_family": 2}
    raw["teacher"]["tasks"], raw["curate"]["max_trajectories"] = 20, 15
    raw["agent"] = {**raw.get("agent", {}), "protocol": "current_page", "repeat_task": False}
    recipe.write_text(yaml.safe_dump(raw, sort_keys=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")]))
        run(where, "-m", "flows.demo", "--recipe", "recipes/smoke.yaml")
        yield where


@pytest.fixture(scope="module")
def report(project) -> dict:
    return json.loads((project / "reports/smoke.json").read_text())


@pytest.mark.timeout(2500)
def test_every_stage_ran_and_left_its_figures(report):
    assert set(report["stages"]) == STAGES
    assert all(stage["ran"] and stage["wall_s"] > 0 for stage in report["stages"].values())
    assert report["tasks"]["collected"] == 2 * (8 + 3) + 3 * (8 + 2) + 2 + (3 + 1), "MiniWoB++ has pages for validation"
    assert report["tasks"]["rejected"] == 0
    for name in ("base", "sft", "rl"):
        success = report["success"][name]
        assert success["n"] == 12
        assert success["ci95"][0] <= success["rate"] <= success["ci95"][1]
    assert set(report["paired"]) == {"sft_minus_base", "rl_minus_sft"}
    assert 0 <= report["judge"]["accuracy"] <= 1


@pytest.mark.timeout(2500)
def test_each_episode_is_on_the_pages_of_its_own_world(project):
    trajectories = read_table(project / "data/teacher/trajectories.parquet", Trajectory)
    outcomes = {v.trajectory_id: v.outcome for v in read_table(project / "data/teacher/verdicts.parquet", Verdict)}
    assert {one.task.source for one in trajectories} == {"shelf", "miniwob"}
    for one in trajectories:
        assert all(turn.observation.url.startswith(f"http://{one.task.source}/") for turn in one.turns)
    shelf = [one for one in trajectories if one.task.source == "shelf"]
    assert Outcome.SUCCESS in {outcomes[one.trajectory_id] for one in shelf}
    assert {Path(one.task.website).name for one in shelf} == {"borrow", "search", "rate"}
    evaluated = read_table(project / "data/evaluation/rl/trajectories.parquet", Trajectory)
    assert {one.task.source for one in evaluated} == {"shelf", "miniwob"}


@pytest.mark.timeout(2500)
def test_trainer_and_rollout_agree_before_every_update(report):
    assert [row["iteration"] for row in report["rl"]] == [1, 2, 3]
    assert all(row["logprob_gap_max"] < 1e-3 for row in report["rl"] if row["logprob_gap_max"] is not None)
    # Whether the attempts of a task differ is up to the sampling, and 16 groups of an iteration may all agree.
    assert sum(row["effective_groups"] for row in report["rl"]) >= 1


@pytest.mark.timeout(2500)
def test_rl_was_validated_and_its_policies_chosen_by_that(project):
    validated = {"short": [0, 1, 2], "long": [0, 1]}
    for phase, iterations in validated.items():
        result = json.loads((project / f"reports/stages/train_rl@{phase}.json").read_text())
        assert [row["iteration"] for row in result["validation"]] == iterations
        assert all(row["success"]["n"] == 6 and row["seconds"] > 0 for row in result["validation"])
        assert all(row["kl_sft"] is not None for row in result["validation"][1:])
        assert {row["family"] for row in result["families"] if row["heldout"]} == {"focus-text"}
        assert result["published"]["iteration"] in iterations
        assert result["checkpoints"][0]["megabytes"] > 0
    assert (project / "models/rl-short/optimizer.pt").exists()
    registered = [path.name for path in (project / "mlflow/store").rglob("optimizer.pt")]
    assert registered == [], "the registry leaves the optimiser out"
    assert "Validation during RL" in (project / "reports/smoke.html").read_text()


@pytest.mark.timeout(2500)
def test_a_second_run_executes_no_stage(project):
    started = time.monotonic()
    before = {path: path.stat().st_mtime_ns for path in (project / "reports/stages").glob("*.json")}
    assert "up to date" in run(project, "-m", "flows.demo")
    assert {path: path.stat().st_mtime_ns for path in (project / "reports/stages").glob("*.json")} == before
    print(f"second run: {time.monotonic() - started:.1f} s")


@pytest.mark.timeout(2500)
def test_dvc_repro_alone_would_run_nothing(project):
    said = run(project, "-m", "dvc", "repro", "--dry")
    assert "Running stage" not in said
    assert said.count("didn't change, skipping") >= len(STAGES)


@pytest.mark.timeout(2500)
def test_models_are_registered_and_the_first_is_champion(project):
    code = (
        "from components.params import load; from components.tracking import champion; "
        "print(*(champion(load(), name).version for name in ('waymark-policy', 'waymark-judge')))"
    )
    assert all(int(version) >= 1 for version in run(project, "-c", code).split()[-2:])


@pytest.mark.timeout(2500)
def test_prefect_has_a_run_of_each_stage_and_logs(project):
    """Even with an API key of another server in the environment (`PLANTED`)."""
    with contextlib.closing(sqlite3.connect(project / ".waymark/prefect/prefect.db")) as database:
        assert {name for (name,) in database.execute("select name from task_run")} == {*STAGES, "report"}
        assert database.execute("select count(*) from log").fetchone()[0] > 0


@pytest.mark.timeout(2500)
def test_a_trajectory_can_be_viewed(project):
    table = project / "data/evaluation/rl/trajectories.parquet"
    identity = pq.read_table(table, columns=["trajectory_id"])["trajectory_id"][0].as_py()
    run(project, "-m", "components.cli.main", "view", identity, "--out", "page.html")
    assert "<svg" in (project / "page.html").read_text()


@pytest.mark.timeout(2500)
def test_no_secret_is_written_anywhere(project):
    """Logs, progress, MLflow's and Prefect's databases, traces, artifacts, tables, reports, DVC's files."""
    secrets = [RECIPE_PASSWORD.encode(), *(value.encode() for value in PLANTED.values())]
    said = run(project, "-m", "components.cli.main", "params").encode()
    assert b"http://admin:***@" in said
    assert not any(secret in said for secret in secrets)
    apart = {".git", "tests"}  # the copy of this file tells them, too
    files = [path for path in project.rglob("*") if path.is_file() and not apart & set(path.parts)]
    recipes = {project / "recipes/smoke.yaml", project / "params.yaml"}
    assert {path for path in files if RECIPE_PASSWORD.encode() in path.read_bytes()} == recipes
    tables = [path for path in files if path.read_bytes()[:4] == b"PAR1"]
    assert len(tables) >= 10
    assert len([path for path in files if path.suffix == ".db"]) >= 2
    for path in set(files) - recipes:
        held = path.read_bytes() + (repr(pq.read_table(path).to_pylist()).encode() if path in tables else b"")
        assert not [secret for secret in secrets if secret in held], path


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.timeout(2500)
def test_the_pipeline_is_complete_after_the_machine_of_rl_is_lost(project, tmp_path):
    """From more iterations of RL on: clones that stand for three machines, of which one is lost."""
    with contextlib.ExitStack() as stack:
        figures = measure(tmp_path, "smoke", "train_rl@short", stack, project)
    assert figures["completed"]
    assert figures["stale"] == []
    assert figures["killed"] in ("b", "c")
    (other,) = {"b", "c"} - {figures["killed"]}
    assert "train_rl@short" in figures["stages"][other]
    assert "train_sft" not in [stage for stages in figures["stages"].values() for stage in stages], "it was not stale"
    assert figures["taken_over"] >= 1
    assert figures["continued_after_s"] < 120


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.timeout(2500)
def test_a_stage_with_its_browsers_in_ray_makes_the_same_trajectories(project):
    def made() -> list[tuple]:
        rows = pq.read_table(project / "data/teacher/trajectories.parquet").to_pylist()
        found = [
            (row["trajectory_id"], row["termination"], row["site_reward"], [turn["response"] for turn in row["turns"]])
            for row in rows
        ]
        return sorted(found)

    here, recipe = made(), (project / "params.yaml").read_text()
    assert here
    shutil.rmtree(project / ".waymark/state/teacher_rollouts")
    (project / "data/teacher/trajectories.parquet").unlink()
    (project / "params.yaml").write_text(recipe.replace("executor: local", "executor: ray"))
    try:
        run(project, "-m", "components.stages.teacher_rollouts")
    finally:
        (project / "params.yaml").write_text(recipe)
    assert made() == here


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.timeout(2500)
def test_sft_on_two_processes_that_shard_learns_what_one_learns(project):
    def losses() -> list[float]:
        return [step["loss"] for step in json.loads((project / "reports/stages/train_sft.json").read_text())["losses"]]

    before, recipe = losses(), (project / "params.yaml").read_text()
    shutil.rmtree(project / ".waymark/state/train_sft")
    (project / "reports/stages/train_sft.json").unlink()
    changed = recipe.replace("processes: 1\n  shard: false", "processes: 2\n  shard: true")
    (project / "params.yaml").write_text(changed.replace("engine: transformers", "engine: vllm"))
    try:
        run(project, "-m", "components.stages.train_sft")
    finally:
        (project / "params.yaml").write_text(recipe)
    assert changed != recipe
    assert losses() == pytest.approx(before, rel=1e-2)


@pytest.fixture(scope="module")
def mean_baseline(project) -> dict:
    """The result of a phase that an installed objective has trained."""
    recipe = (project / "params.yaml").read_text()
    raw = yaml.safe_load(recipe)
    raw["rl"] |= {"objective": {"name": "mean_baseline"}}
    (project / "params.yaml").write_text(yaml.safe_dump(raw))
    try:
        run(project, "-m", "tests.all_stages", "train_rl@short")
    finally:
        (project / "params.yaml").write_text(recipe)
    return json.loads((project / "reports/stages/train_rl@short.json").read_text())


@pytest.mark.timeout(2500)
def test_an_installed_objective_trains_a_phase(mean_baseline):
    assert [row["iteration"] for row in mean_baseline["iterations"]] == [1, 2]
    assert any(row["steps"] for row in mean_baseline["iterations"])


@pytest.mark.timeout(2500)
def test_dvc_yaml_names_the_keys_that_a_phase_reads(project, mean_baseline):
    (keys,) = json.loads((project / READS).read_text()).values()
    assert "rl.short.max_steps" in keys
    assert unnamed("train_rl@short", keys) == []


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.timeout(2500)
def test_m_grpo_trains_on_two_processes_while_a_distilled_judge_rewards(project):
    """Last, since it changes the project's recipe."""
    raw = yaml.safe_load((project / "params.yaml").read_text())
    raw["judge"]["reward"] = "distilled"
    # after this SFT the attempts at one task differ seldom at temperature 1
    raw["rl"] |= {"objective": {"name": "m_grpo"}, "max_staleness": 1, "temperature": 1.5, "group_size": 6}
    raw["training"]["processes"] = 2
    (project / "params.yaml").write_text(yaml.safe_dump(raw))
    run(project, "-m", "components.stages.train_rl", "short")
    result = json.loads((project / "reports/stages/train_rl@short.json").read_text())
    assert [row["iteration"] for row in result["iterations"]] == [1, 2]
    assert all(row["masked_share"] < 1 for row in result["iterations"])
    updated = [row for row in result["iterations"] if row["steps"]]  # one without an effective group changes nothing
    assert updated
    assert all(row["kl_mean"] > 0 for row in updated)
