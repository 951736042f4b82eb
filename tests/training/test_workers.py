"""Two processes, started by `accelerate launch`, train as one does."""

from __future__ import annotations

import json
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch

from components.pipeline.launch import launcher
from components.training.workers import COLLECTIVE_TIMEOUT, SINGLE_PROCESS, Workers
from tests.training.objective_kinds import objective_classes
from tests.training.workers_child import overlap, prepared, teach, weights


def launched(where: Path, kind: str, *cases: str) -> Any:
    command = launcher(2, "tests.training.workers_child", str(where / "out.json"), kind, *cases)
    done = subprocess.run(command, capture_output=True, text=True, timeout=480)
    assert done.returncode == 0, done.stderr[-6000:]
    return json.loads((where / "out.json").read_text())


OBJECTIVES = {
    "copies": [*objective_classes()],
    "shard": [*objective_classes()],
    "bfloat16": ["mm_grpo", "m_grpo"],
    "lora": ["m_grpo"],
    "vision": ["m_grpo"],
}


CASES = [f"{kind}:{name}" for kind, names in OBJECTIVES.items() for name in names]


@pytest.fixture(scope="module")
def of_two_processes(tmp_path_factory) -> dict[str, Any]:
    """What two processes found, by case. They are started once for all."""
    return launched(tmp_path_factory.mktemp("two"), "teach", *CASES)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", CASES)
def test_two_processes_take_the_steps_of_one(tmp_path, of_two_processes, case):
    two = of_two_processes[case]
    kind, objective = case.split(":")
    workers = Workers()
    (tmp_path / "alone").mkdir()
    one = teach(workers, objective, kind, tmp_path / "alone/checkpoint.pt")
    assert [rank for rank, *_ in two["processes"]] == [0, 1]
    assert len({tuple(sums) for _, *sums in two["processes"]}) == 1, "they have drifted apart"
    if kind == "vision":
        assert two["stats"]["encodings_per_image"] >= 1, "a sharded tower encodes in every pass"
    apart = (torch.tensor(two["weights"]) - torch.tensor(one["weights"])).abs()
    if kind == "bfloat16":  # products are rounded, and the sums of both runs have other orders
        step = torch.tensor(one["weights"]) - weights(prepared(kind))
        assert apart.norm() < 0.005 * step.norm()
        assert two["losses"] == pytest.approx(one["losses"], rel=1e-3)
    else:
        # a round steps with AdamW, which divides a gradient by its own size: next to 0, rounding is a part of that
        assert (apart > 2e-6).sum() <= (5 if objective == "rft" else 0), "of 160,176 weights"
        assert apart.max() < 1e-4
        assert two["losses"] == pytest.approx(one["losses"], rel=1e-4)
        check_same_figures(two["stats"], one["stats"])


@pytest.mark.slow
def test_two_overlapping_processes_take_the_steps_of_one(tmp_path):
    """`overlap` itself holds the weights that a rollout gets to those of the update before, and a resumed run to it."""
    two = launched(tmp_path, "overlap")
    (tmp_path / "alone").mkdir()
    one = overlap(Workers(), tmp_path / "alone/model")
    for ours, theirs in zip(two, one, strict=True):
        check_same_figures(ours, theirs)


@pytest.mark.slow
def test_idle_ranks_wait_in_a_group_of_their_own_and_threads_take_turns(tmp_path):
    """The default group would end after a second: on GPUs it is NCCL, whose waiting ranks keep GPU and core busy."""
    assert launched(tmp_path, "waits") == [[number, number] for number in range(101)]


@pytest.mark.slow
def test_a_rank_that_hangs_ends_the_launch(tmp_path):
    """On GPUs a fault of the link or of one device lets a rank hang, and the others wait for it."""
    assert timedelta(minutes=10) <= COLLECTIVE_TIMEOUT <= timedelta(hours=1)
    command = launcher(2, "tests.training.workers_child", str(tmp_path / "out.json"), "hangs")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0
    assert "imed out" in done.stderr
    assert not (tmp_path / "out.json").exists()


def check_same_figures(two: dict[str, float], one: dict[str, float]) -> None:
    times = {"tokens_per_s", "train_s", "encoding_s", "forward_s", "backward_s", "optimizer_s"}
    for name in set(one) - times - {"preparations_per_image", "encodings_per_image"}:
        assert two[name] == pytest.approx(one[name], rel=1e-4, abs=1e-6), name


def test_a_single_process_communicates_with_no_other():
    assert SINGLE_PROCESS.is_main
    assert SINGLE_PROCESS.run(lambda workers, a: a + workers.size, 2) == 3
    assert SINGLE_PROCESS.split([1, 2, 3]) == [(1, True), (2, True), (3, True)]
    assert SINGLE_PROCESS.gather([4]) == [4]
    SINGLE_PROCESS.shut_down()


def test_the_shares_of_all_processes_are_all_items_once():
    items = list(range(7))
    for lockstep in (False, True):
        shares = [Workers(3, rank, lockstep).split(items) for rank in range(3)]
        assert sorted(item for share in shares for item, counts in share if counts) == items
        assert max(map(len, shares)) - min(map(len, shares)) <= (0 if lockstep else 1)
