"""The wall time of a run against schedules that were worked out by hand, and its graph against dvc.yaml."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest
import yaml

from components.params.placement import STAGES
from components.plan import PlanOptions, TimeOptions, plan, time_plan
from components.plan.schedule import NEEDS, REWARD_NEEDS, default_side_by_side, wall_seconds
from flows import graph, scheduling
from tests.samples import shipped

SECONDS = dict.fromkeys(STAGES, 10.0)
CHAIN = ("collect_tasks", "filter_tasks", "dedup_tasks", "teacher_rollouts", "label_trajectories", "curate_sft",
         "train_sft", "train_rl@short", "train_rl@long", "evaluate@rl", "report")  # fmt: skip


def wall(side_by_side: int, reward: str = "rules", between_s: float = 0.0, **changed: float) -> float:
    seconds = {**SECONDS, **{name.replace("__", "@"): value for name, value in changed.items()}}
    return wall_seconds(seconds, side_by_side, between_s, reward)


def closure(needs: dict[str, tuple[str, ...]]) -> set[tuple[str, str]]:
    edges = [(need, name) for name, before in needs.items() for need in before]
    return set(nx.transitive_closure_dag(nx.DiGraph(edges)).edges)


def test_stages_wait_for_those_of_the_dag():
    assert closure(NEEDS) == closure({stage.name: stage.needs for stage in graph.read(".").values()})


@pytest.mark.parametrize("reward", REWARD_NEEDS)
def test_rl_waits_for_the_stage_that_makes_its_judge(reward):
    producers = [
        name
        for name, stage in yaml.safe_load(Path("dvc.yaml").read_text())["stages"].items()
        if f"models/judge/{reward}" in stage.get("outs", [])
    ]
    assert producers == [REWARD_NEEDS[reward]]


def test_one_after_the_other_is_the_sum():
    assert wall(1) == 10 * len(STAGES)
    assert wall(1, between_s=2) == 12 * len(STAGES)


def test_with_room_for_all_the_longest_chain_decides():
    assert wall(9) == 10 * len(CHAIN)
    assert wall(9, evaluate__base=500) == 10 * 2 + 500 + 10  # and the report after it


def test_two_at_a_time_begin_with_the_longest_chain():
    # Beside the chain after SFT: judge_rollouts, distill_judge and evaluate@sft, one after the other.
    assert wall(2) == 10 * len(CHAIN)
    assert wall(2, distill_judge=100) == 70 + 10 + 100 + 10  # evaluate@sft runs beside it
    assert wall(2, evaluate__base=50) == 10 * len(CHAIN)  # it ends with SFT, at 70
    assert wall(2, evaluate__base=80) == 100 + 2 * 10 + 10  # at 100: the judge's two stages and the report are left


def test_a_distilled_judge_that_rewards_comes_before_rl():
    assert wall(2, "distilled") == wall(2) + 20
    assert wall(2, "model") == wall(2) + 10


@pytest.mark.parametrize("recipe", ["smoke", "openwebrl-4b"])
def test_the_default_is_that_of_the_pipeline(recipe, tmp_path):
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(shipped(recipe)))
    machine = plan(Path(recipe)).machine
    assert default_side_by_side(machine.device) == scheduling.default_slots(tmp_path)


def test_the_options_say_how_many_run_at_once():
    planned = plan(Path("smoke"), PlanOptions({"rl.short.iterations": 1, "rl.long.iterations": 0}))
    one, two = (
        time_plan(planned.recipe, planned.machine, TimeOptions(cores=2, side_by_side=count)) for count in (1, 2)
    )
    assert one.stage_seconds == two.stage_seconds
    assert two.seconds < one.seconds
