"""Studies on a small project with real git, real DVC and real kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from flows.crash_safe_dvc import StageFailed
from flows.study import StudyRunner, require_all
from flows.study_folders import Checkout, NoCheckout, OutOfReach, StudyBusy, folder_of, locked, prepare
from flows.study_plan import ImpossibleStudy, RunPlan, StudyRun, StudyRuns, describe, make_plan
from tests.flows.conftest import make_repository

pytestmark = pytest.mark.slow

STAGE = """
import os, pathlib, sys, time, yaml
name, seconds, out, *keys = sys.argv[1:]
params = yaml.safe_load(open("params.yaml"))
if name == "train" and params["lr"] < 0:
    sys.exit("the learning rate is below 0")
state = pathlib.Path(".waymark/state"); state.mkdir(parents=True, exist_ok=True)
journal = state / name
for step in range(len(journal.read_text()) if journal.exists() else 0, 4):
    time.sleep(float(seconds) / 4)
    with journal.open("a") as file:
        file.write("x")
pathlib.Path(out).parent.mkdir(parents=True, exist_ok=True)
pathlib.Path(out).write_text(" ".join(str(params[key]) for key in keys))
"""
DVC_YAML = """
stages:
  filter_tasks:
    cmd: python stage.py filter_tasks {s} data/tasks.txt seed
    deps: [stage.py]
    params: [seed]
    outs: [data/tasks.txt]
  train:
    cmd: python stage.py train {s} models/policy.txt seed lr
    deps: [data/tasks.txt, stage.py]
    params: [seed, lr]
    outs: [models/policy.txt]
  evaluate_sft:
    cmd: python stage.py evaluate_sft {s} data/sft.txt seed
    deps: [data/tasks.txt, stage.py]
    params: [seed]
    outs: [data/sft.txt]
  evaluate:
    foreach: {{rl: {{}}}}
    do:
      cmd: python stage.py evaluate {s} data/${{key}}.txt seed steps
      deps: [models/policy.txt]
      params: [seed, steps]
      outs: ["data/${{key}}.txt"]
"""
STAGES = ["filter_tasks", "train", "evaluate@rl"]


def make_project(root: Path, seconds: float = 0.04) -> Path:
    make_repository(root)
    (root / ".dvc/config").write_text("[core]\n    analytics = false\n    check_update = false\n")
    (root / ".gitignore").write_text("/data/\n/models/\n/.waymark/\n")
    (root / "stage.py").write_text(STAGE)
    (root / "dvc.yaml").write_text(DVC_YAML.format(s=seconds))
    (root / "params.yaml").write_text("{seed: 9, lr: 1.0, steps: 4, other: 0}\n")
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


def study_of(arms: dict[str, dict], shared: tuple[str, ...] = (), seeds: tuple[int, ...] = (0, 1)) -> StudyRuns:
    base = {"lr": 1.0, "steps": 4, "other": 0}
    runs = [
        StudyRun(f"{arm}-seed{seed}", arm, seed, json.dumps(base | keys | {"seed": seed}) + "\n", tuple(keys))
        for arm, keys in {"base": {}, **arms}.items()
        for seed in seeds
    ]
    return StudyRuns("mine", "base", "evaluate@rl", shared, tuple(runs))


def planned(project: Path, study: StudyRuns) -> list[RunPlan]:
    checkout = Checkout.of(project)
    folders = {run.name: folder_of(project, study.name, run.name) for run in study.runs}
    for run in study.runs:
        prepare(checkout, folders[run.name], run.params)
    return make_plan(study, folders)


def run_study(project: Path, study: StudyRuns, side_by_side: int = 1) -> StudyRunner:
    runner = StudyRunner(planned(project, study), project / ".waymark/studies/mine")
    runner.run(side_by_side)
    return runner


def events(project: Path, outcome: str) -> list[tuple[str, str]]:
    lines = (project / ".waymark/studies/mine/events.jsonl").read_text().splitlines()
    return [(event["run"], event["stage"]) for event in map(json.loads, lines) if event["outcome"] == outcome]


SLOW = {"slow": {"lr": 0.5}}


def test_every_run_ends_with_its_own_recipe(project):
    runner = run_study(project, study_of(SLOW))
    assert {state.state for state in runner.states.values()} == {"finished"}
    policies = [(plan.folder / "models/policy.txt").read_text() for plan in runner.plans]
    assert policies == ["0 1.0", "1 1.0", "0 0.5", "1 0.5"]


def test_files_that_git_ignores_are_copied_if_a_recipe_names_them(project):
    (project / "data").mkdir()
    (project / "data/mine.jsonl").write_text("one")
    (project / "data/other.jsonl").write_text("two")
    study = study_of(
        {"more": {"lr": 0.5, "tasks": {"files": [{"path": "data/mine.jsonl"}, {"path": "data/none.jsonl"}]}}}
    )
    plain, more = (planned(project, study)[at].folder for at in (0, 2))
    assert not (plain / "data/mine.jsonl").exists()
    assert (more / "data/mine.jsonl").read_text() == "one"
    assert not (more / "data/other.jsonl").exists()


def test_what_a_run_makes_itself_is_not_replaced_by_the_projects(project):
    (project / "models").mkdir()
    (project / "models/policy.txt").write_text("the project's own")
    study = study_of({"named": {"lr": 0.5, "labels": "models/policy.txt"}})
    runner = run_study(project, study)
    named = runner.plans[2].folder / "models/policy.txt"
    assert named.read_text() == "0 0.5"
    assert planned(project, study)[2].folder / "models/policy.txt" == named
    assert named.read_text() == "0 0.5"


def test_a_folder_that_a_recipe_names_is_there_in_each_run(project):
    blobs, base = project / "data/blobs", project / "models/mine/weights"
    blobs.mkdir(parents=True)
    base.mkdir(parents=True)
    (blobs / "1234").write_text("large")
    (base / "model.safetensors").symlink_to("../../../data/blobs/1234")
    study = study_of({"mine": {"lr": 0.5, "model": {"base": "models/mine"}}})
    folder = planned(project, study)[-1].folder
    assert not (folder_of(project, "mine", "base-seed0") / "models").exists()
    weights = folder / "models/mine/weights/model.safetensors"
    assert not weights.is_symlink()
    assert weights.samefile(blobs / "1234")
    (blobs / "5678").write_text("larger")
    (blobs / "5678").replace(blobs / "1234")
    planned(project, study)
    assert weights.read_text() == "larger"


def test_a_file_out_of_the_checkout_needs_its_absolute_path(project):
    (project.parent / "mine.jsonl").write_text("one")
    study = study_of({"more": {"lr": 0.5, "tasks": {"files": [{"path": "../mine.jsonl"}]}}})
    with pytest.raises(OutOfReach, match=f"absolute path, {project.parent}/mine.jsonl"):
        planned(project, study)


def test_an_environment_that_a_recipe_names_is_linked_and_not_copied(project):
    (project / ".venv-vllm/bin").mkdir(parents=True)
    (project / ".venv-vllm/bin/python").write_text("")
    (project / ".gitignore").write_text("/.venv-*\n/.waymark/\n")
    study = study_of({"served": {"lr": 0.5, "inference": {"vllm": {"python": ".venv-vllm/bin/python"}}}})
    folder = planned(project, study)[-1].folder
    assert (folder / ".venv-vllm").is_symlink()
    assert (folder / ".venv-vllm/bin/python").is_file()


def test_shared_stages_run_once_per_seed(project):
    run_study(project, study_of(SLOW))
    assert sorted(events(project, "ran")) == sorted(
        [(f"base-seed{seed}", stage) for seed in range(2) for stage in STAGES]
        + [(f"slow-seed{seed}", stage) for seed in range(2) for stage in STAGES[1:]]
    )
    assert events(project, "restored") == [(f"slow-seed{seed}", "filter_tasks") for seed in range(2)]


def test_the_policy_before_rl_is_evaluated_in_every_run(project):
    study = replace(study_of({}), before="evaluate_sft")
    runner = run_study(project, study)
    assert sorted(events(project, "ran")) == sorted(
        (f"base-seed{seed}", stage) for seed in range(2) for stage in [*STAGES, "evaluate_sft"]
    )
    assert [(plan.folder / "data/sft.txt").read_text() for plan in runner.plans] == ["0", "1"]


def test_runs_side_by_side_compute_a_shared_stage_once(tmp_path):
    project = make_project(tmp_path / "project", seconds=0.4)
    run_study(project, study_of(SLOW), side_by_side=4)
    assert sorted(stage for _, stage in events(project, "ran")) == sorted(["filter_tasks"] * 2 + STAGES[1:] * 4)


def test_a_second_call_runs_no_stage(project):
    run_study(project, study_of(SLOW))
    before = events(project, "ran")
    plans = planned(project, study_of(SLOW))
    assert [plan.due for plan in plans] == [frozenset()] * 4
    assert {state.state for state in run_study(project, study_of(SLOW)).states.values()} == {"finished"}
    assert events(project, "ran") == before


def test_a_finished_run_keeps_the_commit_at_which_it_was_finished(project):
    folder = project / ".waymark/studies/mine"
    for commit, arms in (("a", {}), ("b", SLOW)):
        StudyRunner(planned(project, study_of(arms)), folder, commit).run(side_by_side=1)
    commits = {name: state["commit"] for name, state in json.loads((folder / "runs.json").read_text()).items()}
    assert commits == {"base-seed0": "a", "base-seed1": "a", "slow-seed0": "b", "slow-seed1": "b"}
    (folder / "runs.json").write_text("[")
    assert {state.commit for state in run_study(project, study_of(SLOW)).states.values()} == {""}


def test_an_arm_that_is_added_later_runs_alone(project):
    run_study(project, study_of(SLOW))
    before = len(events(project, "ran"))
    run_study(project, study_of(SLOW | {"slower": {"lr": 0.25}}))
    assert [run for run, _ in events(project, "ran")[before:]] == [
        f"slower-seed{n}" for n in range(2) for _ in range(2)
    ]


def test_changed_code_makes_the_stages_of_all_runs_stale(project):
    run_study(project, study_of(SLOW))
    (project / "stage.py").write_text(STAGE + "\n# changed\n")
    assert [plan.due for plan in planned(project, study_of(SLOW))] == [frozenset(STAGES)] * 4


def test_a_failed_run_names_its_log_and_the_others_go_on(project):
    runner = run_study(project, study_of({"broken": {"lr": -1.0}, "slow": {"lr": 0.5}}, seeds=(0,)))
    states = {name: state.state for name, state in runner.states.items()}
    assert states == {"base-seed0": "finished", "broken-seed0": "failed", "slow-seed0": "finished"}
    failed = runner.states["broken-seed0"]
    assert failed.stage == "train"
    assert "the learning rate is below 0" in Path(failed.log).read_text()
    assert json.loads((project / ".waymark/studies/mine/runs.json").read_text())["broken-seed0"]["state"] == "failed"


def test_a_run_that_shares_a_failed_stage_is_blocked_by_it(project):
    bad = study_of({"more": {"lr": -1.0}, "long": {"lr": -1.0, "steps": 8}}, seeds=(0,))
    runner = run_study(project, bad)
    assert (runner.states["long-seed0"].state, runner.states["long-seed0"].error) == ("blocked", "failed in more-seed0")


def test_a_failed_run_goes_on_when_its_cause_is_corrected(project):
    run_study(project, study_of({"broken": {"lr": -1.0}}, seeds=(0,)))
    runner = run_study(project, study_of({"broken": {"lr": 2.0}}, seeds=(0,)))
    assert {state.state for state in runner.states.values()} == {"finished"}


def test_the_dry_run_lists_what_is_shared_and_what_is_stale(project):
    study = study_of({"long": {"steps": 8}}, seeds=(0,))
    assert describe(planned(project, study)) == [
        "base-seed0  (the base)",
        "  to run: filter_tasks, train, evaluate@rl",
        "long-seed0  (steps)",
        "  from base-seed0: filter_tasks, train",
        "  to run: evaluate@rl",
    ]
    run_study(project, study)
    (project / ".waymark/studies/mine/base-seed0/models/policy.txt").unlink()
    assert describe(planned(project, study))[:4] == [
        "base-seed0  (the base)",
        "  up to date: filter_tasks",
        "  to run: train, evaluate@rl",
        "  stale: train: changed outs models/policy.txt",
    ]


def test_an_arm_whose_keys_no_stage_reads_is_refused(project):
    with pytest.raises(ImpossibleStudy, match=r"arms\.odd: no stage up to evaluate@rl reads what it sets \(other\)"):
        planned(project, study_of({"odd": {"other": 1}}))


def test_an_arm_that_changes_the_test_tasks_is_refused(project):
    text = (project / "dvc.yaml").read_text()
    (project / "dvc.yaml").write_text(text.replace("params: [seed]", "params: [seed, other]"))
    with pytest.raises(ImpossibleStudy, match="put these keys into `set`, so that all arms are tested on the same"):
        planned(project, study_of({"odd": {"other": 1}}))


def test_a_declared_shared_stage_that_an_arm_changes_is_refused(project):
    with pytest.raises(ImpossibleStudy, match="so the runs of a seed cannot share train"):
        planned(project, study_of(SLOW, shared=("train",)))
    with pytest.raises(
        ImpossibleStudy, match="shared: trian: no such stage before evaluate@rl; there are filter_tasks"
    ):
        planned(project, study_of(SLOW, shared=("trian",)))


def test_two_arms_that_the_stages_cannot_tell_apart_are_refused(project):
    with pytest.raises(ImpossibleStudy, match=r"arms\.b: the stages read the same values as in the arm a"):
        planned(project, study_of({"a": {"lr": 0.5}, "b": {"lr": 0.5, "other": 1}}))


def test_what_a_run_lacks_is_named_before_any_run_works(project):
    plans = planned(project, study_of(SLOW, seeds=(0,)))
    require_all(plans)
    (plans[1].folder / "params.yaml").write_text("{seed: 0, steps: 4}\n")
    with pytest.raises(StageFailed, match=r"^slow-seed0: params\.yaml lacks lr, "):
        require_all(plans)


def test_a_study_runs_once_at_a_time(project):
    holder = "import sys, time; from pathlib import Path; from flows.study_folders import locked\n"
    holder += "with locked(Path(sys.argv[1]), 'mine'): print('held', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", holder, str(project)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(StudyBusy, match=f"is being run by process {child.pid}"), locked(project, "mine"):
            pass
        child.kill()
    with locked(project, "mine"):
        pass


def test_a_folder_without_git_is_refused(tmp_path):
    with pytest.raises(NoCheckout, match="run a study in the root of one"):
        Checkout.of(tmp_path)


def test_a_file_that_is_gone_from_the_project_is_gone_from_the_folders(project):
    (project / "extra.py").write_text("")
    planned(project, study_of(SLOW))
    folder = folder_of(project, "mine", "base-seed0")
    assert (folder / "extra.py").exists()
    (project / "extra.py").unlink()
    planned(project, study_of(SLOW))
    assert not (folder / "extra.py").exists()


RUN = """
import sys; from pathlib import Path
from tests.flows.test_study_runner import SLOW, run_study, study_of
run_study(Path(sys.argv[1]), study_of(SLOW), side_by_side=int(sys.argv[2]))
"""


@pytest.mark.parametrize("side_by_side", [1, 3])
def test_a_killed_study_goes_on_where_it_was(tmp_path, side_by_side):
    """Every stage takes four steps and journals them; each kill lands in the middle of one."""
    project = make_project(tmp_path / "project", seconds=2.0)
    root = Path(__file__).parents[2]
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", RUN, str(project), str(side_by_side)], cwd=root)
        deadline, known = time.time() + 120, steps(project)
        while steps(project) < known + 6 and time.time() < deadline:
            time.sleep(0.05)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    runner = run_study(project, study_of(SLOW), side_by_side)
    assert {state.state for state in runner.states.values()} == {"finished"}
    ran = events(project, "ran")
    assert len(ran) == len(set(ran)), "no stage that had ended ran again"
    journals = list((project / ".waymark/studies/mine").glob("*/.waymark/state/*"))
    assert {len(journal.read_text()) for journal in journals} == {4}, "every stage went on after its last step"
    assert sum(journal.name == "filter_tasks" for journal in journals) == 2


@pytest.mark.parametrize("text", ["", '{"write": {"data'])
def test_a_study_is_planned_with_the_damaged_locks_that_a_kill_left(tmp_path, text):
    project, study = make_project(tmp_path / "project"), study_of(SLOW, seeds=(0,))
    run_study(project, study)
    for run in study.runs:
        (folder_of(project, study.name, run.name) / ".dvc/tmp/rwlock").write_text(text)
    assert not any(plan.due for plan in planned(project, study))


def steps(project: Path) -> int:
    return sum(len(path.read_text()) for path in (project / ".waymark/studies").glob("*/*/.waymark/state/*"))
