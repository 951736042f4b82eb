"""The flow reads its DAG from dvc.yaml, so the two cannot drift apart; here is what that means, edge by edge."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flows import graph
from flows.crash_safe_dvc import repro

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """Waymark's own dvc.yaml in a repository of its own, so that the checkout's locks and journals stay untouched."""
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    subprocess.run([sys.executable, "-m", "dvc", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def dvc_dag(root: Path) -> set[tuple[str, str]]:
    """The edges that `dvc dag --mermaid` draws, (before, after), by the names of the stages."""
    text = subprocess.run(
        [sys.executable, "-m", "dvc", "dag", "--mermaid"], cwd=root, capture_output=True, text=True, check=True
    ).stdout
    names = dict(re.findall(r'^\s*(node\d+)\["(.+?)"\]', text, re.MULTILINE))
    return {(names[before], names[after]) for before, after in re.findall(r"(node\d+)-->(node\d+)", text)}


def test_the_tasks_and_their_edges_are_those_of_dvc_dag(ours: Path) -> None:
    stages = graph.read(ours)
    edges = {(need, stage.name) for stage in stages.values() for need in stage.needs}
    frozen = {"pretrain_base"}
    assert edges == {edge for edge in dvc_dag(ours) if not frozen.intersection(edge)}
    assert frozen.isdisjoint(stages)


@pytest.mark.parametrize(
    ("reward", "needed"), [("rules", set()), ("distilled", {"distill_judge"}), ("model", {"judge_rollouts"})]
)
def test_rl_waits_for_what_judges_only_where_that_rewards(ours: Path, reward: str, needed: set[str]) -> None:
    recipe = (ours / "params.yaml").read_text()
    (ours / "params.yaml").write_text(recipe.replace("reward: rules", f"reward: {reward}"))
    found = {before for before, after in dvc_dag(ours) if after == "train_rl@short"}
    assert found & {"distill_judge", "judge_rollouts"} == needed


def test_the_stages_that_the_design_names_are_all_there(ours: Path) -> None:
    assert {name.partition("@")[0] for name in graph.read(ours)} == {
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


def test_a_stage_comes_after_those_that_it_needs(ours: Path) -> None:
    seen: set[str] = set()
    for stage in graph.read(ours).values():
        assert seen.issuperset(stage.needs)
        seen.add(stage.name)


def test_every_stage_runs_a_module_of_components_stages_that_exists(ours: Path) -> None:
    for stage in graph.read(ours).values():
        found = re.fullmatch(r"python -m components\.stages\.(\w+)( \w+)?", stage.command)
        assert found, stage.command
        assert (ROOT / "components/stages" / f"{found[1]}.py").is_file()


def test_everything_is_stale_at_first_and_a_change_only_what_follows(project: Path) -> None:
    def due() -> set[str]:
        return graph.to_run(graph.read(project, with_status=True))

    assert due() == {"collect", "train@left", "train@right", "report"}
    for stage in graph.read(project):
        repro(stage, project)
    assert due() == set()
    (project / "models/left.txt").unlink()
    assert due() == {"train@left", "report"}


def test_the_reason_names_what_changed(project: Path) -> None:
    for stage in graph.read(project):
        repro(stage, project)
    (project / "source.txt").write_text("changed\n")
    assert graph.read(project, with_status=True)["collect"].stale == "changed deps source.txt"
