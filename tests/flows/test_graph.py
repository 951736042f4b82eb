"""The flow reads its DAG from dvc.yaml, so both have the same edges. These tests check each edge."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from flows import graph
from tests.flows.conftest import make_repository

ROOT = Path(__file__).resolve().parents[2]


def our_project(root: Path) -> Path:
    """Waymark's own dvc.yaml in a repository of its own, so that the checkout's locks and journals stay untouched."""
    make_repository(root)
    shutil.copy(ROOT / "dvc.yaml", root)
    shutil.copy(ROOT / "params.yaml", root)
    return root


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return our_project(tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="module")
def stages(ours: Path) -> dict[str, graph.Stage]:
    return graph.read(ours)


def dvc_dag(root: Path) -> set[tuple[str, str]]:
    """The edges that `dvc dag --mermaid` draws, (before, after), by the names of the stages."""
    text = subprocess.run(
        [sys.executable, "-m", "dvc", "dag", "--mermaid"], cwd=root, capture_output=True, text=True, check=True
    ).stdout
    names = dict(re.findall(r'^\s*(node\d+)\["(.+?)"\]', text, re.MULTILINE))
    return {(names[before], names[after]) for before, after in re.findall(r"(node\d+)-->(node\d+)", text)}


def test_the_tasks_and_their_edges_are_those_of_dvc_dag(ours: Path, stages: dict[str, graph.Stage]) -> None:
    edges = {(need, stage.name) for stage in stages.values() for need in stage.needs}
    frozen = {"pretrain_base"}
    assert edges == {edge for edge in dvc_dag(ours) if not frozen.intersection(edge)}
    assert frozen.isdisjoint(stages)


@pytest.mark.parametrize(
    ("reward", "needed"), [("rules", set()), ("distilled", {"distill_judge"}), ("model", {"judge_rollouts"})]
)
def test_rl_depends_on_the_distilled_judge_only_if_it_rewards(tmp_path: Path, reward: str, needed: set[str]) -> None:
    project = our_project(tmp_path)
    recipe = (project / "params.yaml").read_text()
    assert "reward: rules" in recipe
    (project / "params.yaml").write_text(recipe.replace("reward: rules", f"reward: {reward}"))
    found = {before for before, after in dvc_dag(project) if after == "train_rl@short"}
    assert found & {"distill_judge", "judge_rollouts"} == needed


def test_the_stages_that_the_design_names_are_all_there(stages: dict[str, graph.Stage]) -> None:
    assert {name.partition("@")[0] for name in stages} == {
        "collect_tasks",
        "filter_tasks",
        "dedup_tasks",
        "teacher_rollouts",
        "label_trajectories",
        "curate_sft",
        "train_sft",
        "judge_rollouts",
        "distill_judge",
        "train_rl",
        "evaluate",
        "report",
    }


def test_a_stage_comes_after_those_that_it_needs(stages: dict[str, graph.Stage]) -> None:
    seen: set[str] = set()
    for stage in stages.values():
        assert seen.issuperset(stage.needs)
        seen.add(stage.name)


def test_every_stage_runs_a_module_of_components_stages_that_exists(stages: dict[str, graph.Stage]) -> None:
    for stage in stages.values():
        found = re.fullmatch(r"python -m components\.stages\.(\w+)( \w+)?", stage.command)
        assert found, stage.command
        assert (ROOT / "components/stages" / f"{found[1]}.py").is_file()


def test_all_stages_are_stale_at_first_and_a_change_affects_later_ones(project: Path, finished: Path) -> None:
    def due(root: Path) -> set[str]:
        return graph.to_run(graph.read(root, with_status=True))

    assert due(project) == {"collect", "train@left", "train@right", "report"}
    assert due(finished) == set()
    (finished / "models/left.txt").unlink()
    assert due(finished) == {"train@left", "report"}


def test_a_changed_task_file_makes_the_tasks_stale(tmp_path: Path) -> None:
    """A commit stands for a run of the stage."""
    project = our_project(tmp_path)
    for folder in ("components", "data/task_files"):
        shutil.copytree(ROOT / folder, project / folder, ignore=shutil.ignore_patterns("__pycache__", "*.jsonl"))
    stage = yaml.safe_load((project / "dvc.yaml").read_text())["stages"]["collect_tasks"]
    for name in [*stage["outs"], *(name for metric in stage["metrics"] for name in metric)]:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).touch()
    commit = [sys.executable, "-m", "dvc", "commit", "--force", "collect_tasks"]
    subprocess.run(commit, cwd=project, capture_output=True, check=True)
    stage_now = graph.read(project, with_status=True)["collect_tasks"]
    assert stage_now.stale is None
    assert {"data/task_files", "components/worlds"} <= set(stage_now.reads)
    (project / "data/task_files/shop.jsonl").write_text("{}\n")
    assert graph.read(project, with_status=True)["collect_tasks"].stale == "changed deps data/task_files"


def test_the_reason_names_what_changed(finished: Path) -> None:
    (finished / "source.txt").write_text("changed\n")
    assert graph.read(finished, with_status=True)["collect"].stale == "changed deps source.txt"
