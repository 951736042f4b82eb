"""What a worker does with an order, without a Prefect server: the flow's function in a clone of a real project."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from prefect.logging import disable_run_logger

from flows import process
from flows.crash_safe_dvc import InfrastructureFailed, StageFailed, repro
from flows.placement import handover, inputs, worker
from flows.placement.handover import Order, OrderRefused
from flows.placement.shared_store import SharedStore
from flows.placement.state_mirror import StateMirror
from flows.placement.worker import run_order
from tests.flows.placement.clones import journal, make_clones

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]


class Leader:
    """The pipeline flow's clone, which has run `collect`, and a worker's clone."""

    def __init__(self, folder: Path) -> None:
        self.store = SharedStore(str(folder / "store"))
        self.root, self.other, self.third = make_clones(folder, self.store.url, 3)
        repro("collect", self.root)
        handover.push(self.root, self.store, ["collect"], ["reports/collect.json"])

    def order(self, token: str = "first", stage: str = "train", **other: object) -> Order:
        order = Order(
            token=token, stage=stage, needs=["collect"], needed_files=["reports/collect.json"],
            own_files=[f"reports/{stage}.json"], commit=handover.commit(self.root),
            params=(self.root / "params.yaml").read_text(), lock=handover.lock_entries(self.root), sync_s=0.2,
            lost_after_s=5,
        )  # fmt: skip
        order = replace(order, **other)  # type: ignore[arg-type]
        handover.send(self.store, order)
        return order

    def report(self, stage: str = "train") -> handover.Report:
        report = handover.report_of(self.store, stage)
        assert report is not None
        return report


@pytest.fixture
def leader(tmp_path: Path) -> Leader:
    return Leader(tmp_path)


@pytest.fixture
def carry_out(leader: Leader, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(worker._Life, "show", lambda life: None)  # artifacts need a server

    def run(token: str, clone: Path, stage: str = "train") -> None:
        monkeypatch.setenv(worker.PROJECT, str(clone))
        monkeypatch.chdir(tmp_path)
        with disable_run_logger():
            run_order.fn(stage, leader.store.url, token)

    return run


def test_a_stage_is_handed_over_with_its_outputs_and_its_entry_of_the_lock(leader, carry_out):
    leader.order()
    carry_out("first", leader.other)
    report = leader.report()
    assert (report.token, report.outcome, report.error) == ("first", "ran", "")
    handover.add_to_lock(leader.root, {"train": report.entry})
    handover.pull(leader.root, leader.store, ["train"], ["reports/train.json"])
    assert (leader.root / "models/train").read_text() == 'collected+collect+{"steps": 1}+train\n'
    assert repro("train", leader.root) == "up to date"

    leader.order("second")  # the pipeline flow was killed before it read the report, and asks another machine
    carry_out("second", leader.third)
    assert leader.report().outcome == "up to date"
    assert journal(leader.third) == [], "the stage ran again"
    assert handover.state_of_stage(leader.store, "train").names() == []


def test_two_stages_may_hand_over_the_same_outputs_at_once(leader):
    collected = (leader.store, ["collect"], ["reports/collect.json"])
    with ThreadPoolExecutor() as pool:
        moves = [pool.submit(handover.push, leader.root, *collected) for _ in range(3)]
        moves += [pool.submit(handover.pull, leader.root, *collected) for _ in range(3)]
    assert [move.result() for move in moves] == [None] * 6


def test_a_stage_that_fails_is_not_tried_again_elsewhere(leader, carry_out):
    for clone in (leader.root, leader.other):
        text = (clone / "dvc.yaml").read_text()
        (clone / "dvc.yaml").write_text(text.replace("stage.py train 60", "stage.py train-fail 1"))
    leader.order()
    with pytest.raises(StageFailed):
        carry_out("first", leader.other)
    assert leader.report().is_stages_own
    assert "train: failed with status 3" in leader.report().error


def test_a_clone_at_another_commit_refuses_and_says_what_to_do(leader, carry_out):
    leader.order(commit="0123456789")
    with pytest.raises(OrderRefused):
        carry_out("first", leader.other)
    assert leader.report().is_stages_own
    assert f"this worker's clone {leader.other} on {socket.gethostname()} is at " in leader.report().error
    assert "the pipeline runs at 0123456789: bring both to the same commit" in leader.report().error


def test_clones_with_different_changes_differ_and_with_the_same_do_not(leader):
    at_first = handover.commit(leader.root)
    (leader.root / "source.txt").write_text("changed\n")
    (leader.other / "source.txt").write_text("changed\n")
    (leader.third / "source.txt").write_text("changed otherwise\n")
    commits = [handover.commit(clone) for clone in (leader.root, leader.other, leader.third)]
    assert commits[0] == commits[1] != commits[2]
    assert at_first not in commits


@pytest.mark.parametrize(("here", "reason"), [(None, "is missing"), ("other tasks", "differs")])
def test_a_clone_without_the_recipes_ignored_files_refuses(leader, carry_out, here, reason):
    recipe = {"tasks": {"files": [{"path": "data/own.jsonl", "split": "train"}, "source.txt"]}, "lr": 3e-05}
    (leader.root / "data/own.jsonl").write_text("tasks")
    if here is not None:
        (leader.other / "data").mkdir()
        (leader.other / "data/own.jsonl").write_text(here)
    needed = inputs.untracked(leader.root, recipe, ["tasks", "lr", "missing.key"])
    leader.order(inputs=needed)
    with pytest.raises(OrderRefused):
        carry_out("first", leader.other)
    assert leader.report().is_stages_own
    assert f"git ignores: data/own.jsonl ({reason}); copy them" in leader.report().error


def test_ignored_files_are_those_of_the_stages_own_keys(leader, tmp_path):
    (leader.root / "data/own.jsonl").write_text("tasks")
    (leader.root / "own.csv").write_text("tasks")
    (leader.root / "data/logins").mkdir()
    (leader.root / "data/logins/shop.json").write_text("{}")
    (tmp_path / "shared.jsonl").write_text("tasks")
    recipe = {
        "tasks": {
            "files": [
                "data/own.jsonl",
                "own.csv",
                "logins",
                "..",
                "/",
                "./stage.py",
                "data/none.jsonl",
                str(tmp_path / "shared.jsonl"),
            ]
        },
        "browser": {"logins": "data/logins"},
    }
    of_tasks = inputs.untracked(leader.root, recipe, ["tasks.files"])
    assert [*of_tasks] == sorted([str(tmp_path / "shared.jsonl"), "data/own.jsonl", "own.csv"])
    of_browser = inputs.untracked(leader.root, recipe, ["browser"])
    assert [*of_browser] == ["data/logins"]
    (leader.root / "data/logins/shop.json").rename(leader.root / "data/logins/mail.json")
    assert inputs.differences(leader.root, of_browser) == ["data/logins (differs)"]


@pytest.mark.parametrize("of_worker", [[], ["own.jsonl", "another.jsonl"]], ids=["too few", "too many"])
def test_a_clone_with_other_task_files_refuses(leader, carry_out, of_worker):
    """DVC tracks their folder, so the stage would be stale wherever the other clone's files are."""
    for clone, names in ((leader.root, ["own.jsonl"]), (leader.other, of_worker)):
        (clone / "data/task_files").mkdir(parents=True)
        for name in names:
            (clone / "data/task_files" / name).write_text("tasks")
    assert inputs.untracked(leader.root, {}, [], ["source.txt"]) == {}
    needed = inputs.untracked(leader.root, {}, [], ["data/task_files"])
    assert [*needed] == ["data/task_files", "data/task_files/own.jsonl"]
    leader.order(inputs=needed)
    with pytest.raises(OrderRefused):
        carry_out("first", leader.other)
    assert "git ignores: data/task_files (differs)" in leader.report().error


def test_an_order_that_was_replaced_does_nothing(leader, carry_out):
    leader.order("first")
    leader.order("second")
    with pytest.raises(OrderRefused, match="was replaced"):
        carry_out("first", leader.other)
    assert handover.report_of(leader.store, "train") is None
    assert journal(leader.other) == []


def test_a_clone_that_works_on_another_recipe_is_left_alone(leader, carry_out, tmp_path):
    leader.order()
    (leader.other / "params.yaml").write_text("placement: {}\n")
    with (
        worker._recipe_in_use("placement: {}\n", leader.other),
        pytest.raises(InfrastructureFailed, match="a stage of another recipe: wait for it"),
    ):
        carry_out("first", leader.other)
    assert not leader.report().is_stages_own
    assert (leader.other / "params.yaml").read_text() == "placement: {}\n"


def test_the_recipe_that_orders_replaced_is_kept_however_many_come(tmp_path):
    (tmp_path / "params.yaml").write_text("by hand")
    for params in ("order 1", "order 2"):
        with worker._recipe_in_use(params, tmp_path):
            assert (tmp_path / "params.yaml").read_text() == params
    assert (tmp_path / worker.FORMER_RECIPE).read_text() == "by hand"
    (tmp_path / "params.yaml").write_text("by hand again")
    with worker._recipe_in_use("order 3", tmp_path):
        assert (tmp_path / worker.FORMER_RECIPE).read_text() == "by hand again"


def test_what_an_earlier_order_left_ends_before_the_state_is_replaced(leader, carry_out, monkeypatch):
    record = leader.other / process.CALLS / "train.json"
    record.parent.mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-c", ""]) as flow:
        flow.wait()
    record.write_text(json.dumps({"mark": "left", "pid": flow.pid, "started": 0.0}))
    lived, restore = [], StateMirror.restore

    def noted(mirror: StateMirror) -> int:
        lived.append(left.poll() is None)
        return restore(mirror)

    monkeypatch.setattr(StateMirror, "restore", noted)
    environment = {**os.environ, process.MARK: "left"}
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=environment) as left:
        leader.order()
        carry_out("first", leader.other)
    assert lived == [False]
    assert leader.report().outcome == "ran"


FLOW_RUN = """
import sys
from prefect.logging import disable_run_logger
from flows.placement import worker
worker._Life.show = lambda life: None  # artifacts need a server
with disable_run_logger():
    worker.run_order.fn(*sys.argv[1:])
"""


def test_a_stage_ends_when_only_its_flow_run_is_killed(leader, carry_out):
    leader.order()
    environment = {**os.environ, worker.PROJECT: str(leader.other), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", FLOW_RUN, "train", leader.store.url, "first"]
    with subprocess.Popen(command, env=environment) as flow_run:
        while len(journal(leader.other)) < 5:
            assert flow_run.poll() is None
            time.sleep(0.1)
        mark = json.loads((leader.other / process.CALLS / "train.json").read_text())["mark"]
        tree = process._marked_processes(mark)
        flow_run.kill()
    _, alive = psutil.wait_procs(tree, timeout=30)
    assert tree
    assert alive == []
    done = len(journal(leader.other))
    assert done < 60
    leader.order("second")
    carry_out("second", leader.other)
    assert [line["step"] for line in journal(leader.other)] == list(range(60))
    assert {line["try"] for line in journal(leader.other)} <= {0, *range(4, done + 1)}


def test_a_machine_that_was_replaced_leaves_its_successors_state_alone(leader, carry_out, monkeypatch):
    """It is replaced between its last look at the order and its report."""
    state, send_report = handover.state_of_stage(leader.store, "train"), handover.send_report

    def replaced(store: SharedStore, stage: str, report: handover.Report) -> bool:
        leader.order("second")
        state.write("files.json", b'{"writer": "second", "files": {}}')
        return send_report(store, stage, report)

    monkeypatch.setattr(handover, "send_report", replaced)
    leader.order()
    carry_out("first", leader.other)
    assert handover.report_of(leader.store, "train") is None
    assert state.read_json("files.json") == {"writer": "second", "files": {}}


def test_what_a_lost_machine_has_not_finished_is_not_taken_up_again(leader, carry_out):
    """Another machine has finished the stage. Later, its code may be another one."""
    lost = leader.other / ".waymark/state/train"
    for entry, is_finished in (("key", False), ("other", False), ("done", True)):
        (lost / entry).mkdir(parents=True)
        (lost / entry / "journal.jsonl").write_text('{"step": 0, "clone": "lost", "try": 0}\n')
        if is_finished:
            (lost / entry / "finished").write_text("{}")
    leader.order()
    carry_out("first", leader.third)
    assert leader.report().state == ["key"]
    leader.order("second")
    carry_out("second", leader.other)
    assert sorted(entry.name for entry in lost.iterdir()) == ["done", "other"]


def test_what_a_killed_stage_left_does_not_stand_in_the_way(leader, carry_out):
    """A person's files do (below): nothing says that they may be removed."""
    leader.order()
    carry_out("first", leader.third)
    handover.add_to_lock(leader.root, {"train": leader.report().entry})
    (leader.other / "models").mkdir()
    (leader.other / "models/train").write_text("half")
    mark = leader.other / ".waymark/placement/running/train"
    mark.parent.mkdir(parents=True)
    mark.touch()
    given = {"needs": ["train"], "needed_files": ["reports/train.json"], "own_files": ["reports/report.json"]}
    leader.order("second", "report", **given)
    carry_out("second", leader.other, "report")
    text = (leader.other / "reports/report.txt").read_text()
    assert "half" not in text
    assert text.endswith("+report\n")
    assert [*mark.parent.iterdir()] == []


def test_outputs_that_dvc_does_not_know_are_not_overwritten(leader, carry_out):
    (leader.other / "data").mkdir()
    (leader.other / "data/collect.txt").write_text("mine")
    leader.order()
    with pytest.raises(InfrastructureFailed):
        carry_out("first", leader.other)
    assert (leader.other / "data/collect.txt").read_text() == "mine"


def test_the_environments_of_a_clone_are_its_own(leader):
    python = leader.root / ".venv-vllm/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text("")
    recipe = {"inference": {"vllm": {"python": ".venv-vllm/bin/python"}}}
    assert inputs.untracked(leader.root, recipe, ["inference"]) == {}
