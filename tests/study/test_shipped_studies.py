"""What the shipped studies promise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from components.study import load_study, plan
from components.study.study_file import MIN_SEEDS
from flows import graph
from flows.study_plan import RunPlan, StudyRuns, require_possible, signatures_of

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "recipes/studies").glob("*.yaml"))
ASKED_FOR = {
    *"screenshots horizon dynamic-sampling ppo-epochs clip group-size".split(),
    *"sft-weight reward task-sampling difficulty memory thinking feedback reasoning-history".split(),
}


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_the_studies_of_the_papers_ablations_are_shipped():
    assert ASKED_FOR - {path.stem for path in SHIPPED} == set()


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_study_loads_and_each_arm_differs_from_the_base(path):
    study = load_study(path)
    assert len(study.file.seeds) >= MIN_SEEDS
    assert len(study.runs) == len(study.file.seeds) * (1 + len(study.arms))
    assert all(study.changed(arm) for arm in study.arms)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_study_changes_one_thing_per_arm(path):
    """All keys of an arm are in one section of the recipe."""
    study = load_study(path)
    assert all(len({change.key.partition(".")[0] for change in study.changed(arm)}) == 1 for arm in study.arms)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_study_is_short(path):
    assert len(path.read_text().splitlines()) <= 40


def test_the_clip_of_the_base_is_the_one_in_its_name():
    study = load_study(ROOT / "recipes/studies/clip.yaml")
    assert [(change.old, change.new) for change in study.changed("symmetric")] == [(0.28, 0.2)]


def test_groups_of_all_sizes_have_about_as_many_attempts():
    study = load_study(ROOT / "recipes/studies/group-size.yaml")
    sections = {run.arm: run.params.rl for run in study.runs}
    wanted = {arm: rl.group_size * rl.effective_groups for arm, rl in sections.items()}
    limits = {arm: rl.group_size * rl.max_sampled_groups for arm, rl in sections.items()}
    assert wanted == {"groups-of-5": 50, "groups-of-3": 51, "groups-of-8": 48}
    assert limits == {"groups-of-5": 130, "groups-of-3": 129, "groups-of-8": 128}
    assert {rl.extra_attempts for rl in sections.values()} == {0}


def test_dynamic_sampling_has_room_to_sample_more_than_the_fixed_arm():
    study = load_study(ROOT / "recipes/studies/dynamic-sampling.yaml")
    base, fixed = (next(run.params.rl for run in study.runs if run.arm == arm) for arm in ("dynamic", "fixed-groups"))
    assert base.max_sampled_groups > 2 * fixed.max_sampled_groups
    assert fixed.effective_groups == fixed.max_sampled_groups


def test_fixed_horizons_have_as_many_iterations_as_the_curriculum():
    study = load_study(ROOT / "recipes/studies/horizon.yaml")
    totals = {run.arm: run.params.rl.short.iterations + run.params.rl.long.iterations for run in study.runs}
    assert set(totals.values()) == {20}


def test_all_objectives_have_the_same_number_of_episodes():
    study = load_study(ROOT / "recipes/studies/objectives.yaml")
    sections = {run.arm: run.params.rl for run in study.runs}
    assert all(rl.effective_groups == rl.max_sampled_groups and not rl.extra_attempts for rl in sections.values())
    assert {rl.group_size * rl.max_sampled_groups * rl.short.iterations for rl in sections.values()} == {1200}
    assert {rl.long.iterations for rl in sections.values()} == {0}


def test_each_option_of_rl_stands_alone_at_the_same_budget():
    study = load_study(ROOT / "recipes/studies/options.yaml")
    sections = {run.arm: run.params.rl for run in study.runs}
    assert len(study.file.seeds) >= 5
    assert all(rl.effective_groups == rl.max_sampled_groups for rl in sections.values())
    iterations = {rl.short.iterations + rl.long.iterations for rl in sections.values()}
    # a group without a success among its first five attempts gets the further ones: one of 19, by the comment
    episodes = {rl.group_size * rl.max_sampled_groups + rl.extra_attempts for rl in sections.values()}
    assert (iterations, episodes) == ({20}, {100})
    budget = {"rl.effective_groups", "rl.max_sampled_groups"}
    options = {arm: {change.key for change in study.changed(arm)} - budget for arm in study.arms}
    helpers = {"rl.objective.kl", "rl.objective.reference"}
    assert sorted(key for keys in options.values() for key in keys - helpers) == [
        "rl.action_cost",
        "rl.extra_attempts",
        "rl.objective.advantage_std",
        "rl.objective.advantage_std",
        "rl.objective.anchor_decay",
        "rl.objective.dual_clip",
        "rl.task_sampling.min_groups",
    ]
    assert options["kl-to-sft"] == helpers


def test_the_study_of_the_how_to_page_loads(tmp_path):
    page = (ROOT / "docs/how-to/run-a-study.md").read_text()
    example = tmp_path / "example.yaml"
    example.write_text(page.partition("```yaml\n")[2].partition("```")[0])
    study = load_study(example)
    assert [(change.key, change.new) for change in study.changed("groups-of-8")] == [("rl.group_size", 8)]


def test_the_how_to_page_lists_every_shipped_study():
    page = (ROOT / "docs/how-to/run-a-study.md").read_text()
    assert [path.stem for path in SHIPPED if f"| `{path.stem}` |" not in page] == []


@pytest.mark.slow
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_study_can_be_planned(path, stages):
    study = StudyRuns.parse(json.dumps(plan(load_study(path))))
    plans = [
        RunPlan(run, ROOT, stages, frozenset(stages), signatures_of(stages, yaml.safe_load(run.params)), {})
        for run in study.runs
    ]
    require_possible(study, plans)


@pytest.fixture(scope="module")
def stages() -> dict[str, graph.Stage]:
    return graph.read(ROOT, with_status=False)
