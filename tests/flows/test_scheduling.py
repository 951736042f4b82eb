"""Which stage goes first."""

from __future__ import annotations

import threading

import pytest

from flows import scheduling
from flows.graph import Stage
from flows.scheduling import StageSlots

NEEDS = {
    "tasks": (),
    "base": ("tasks",),
    "sft": ("tasks",),
    "judge": ("sft",),
    "rl": ("sft",),
    "after": ("rl",),
    "report": ("base", "judge", "after"),
}
STAGES = {name: Stage(name, "", "", needs, ()) for name, needs in NEEDS.items()}


def test_the_stage_with_the_longest_remaining_path_runs_first():
    queue, got = StageSlots(1, STAGES, {"sft", "judge", "base", "rl"}), []

    def ask(name: str) -> None:
        with queue.hold(name):
            got.append(name)

    threads = [threading.Thread(target=ask, args=(name,), daemon=True) for name in ("base", "judge", "rl")]
    with queue.hold("sft"):
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join(10)
    assert got == ["rl", "base", "judge"]


def test_a_ready_stage_keeps_its_turn_before_it_asks():
    queue = StageSlots(1, STAGES, {"judge", "rl"})
    asked, got = threading.Event(), []

    def ask_early() -> None:
        asked.set()
        with queue.hold("judge"):
            got.append("judge")

    early = threading.Thread(target=ask_early, daemon=True)
    early.start()
    asked.wait(10)
    with queue.hold("rl"):
        got.append("rl")
    early.join(10)
    assert got == ["rl", "judge"]


def test_a_stage_that_never_comes_does_not_stop_the_others(monkeypatch):
    monkeypatch.setattr(scheduling, "RESERVED_S", 0.05)
    queue = StageSlots(1, STAGES, {"judge", "rl"})
    with queue.hold("judge"):
        pass


def test_a_stage_whose_dependency_failed_blocks_no_slot():
    queue = StageSlots(1, STAGES, {"sft", "rl", "base"})
    with pytest.raises(RuntimeError), queue.hold("sft"):
        raise RuntimeError
    with queue.hold("base"):
        pass
    with queue.hold("sft"):  # tried again
        pass
    with queue.hold("rl"):
        pass


def test_no_more_stages_run_at_once_than_slots():
    queue = StageSlots(2, STAGES, {"base", "judge", "rl"})
    most, now, lock = [0], [0], threading.Lock()
    barrier = threading.Barrier(2)

    def work(name: str) -> None:
        with queue.hold(name):
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            if name != "judge":  # the two that go first meet inside
                barrier.wait(10)
            with lock:
                now[0] -= 1

    threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in ("judge", "base", "rl")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert most == [2]


def test_no_stage_waits_after_the_run_is_stopped():
    queue, got = StageSlots(1, STAGES, {"judge", "rl"}), []

    def ask() -> None:
        with queue.hold("judge"):
            got.append("judge")

    waiting = threading.Thread(target=ask, daemon=True)
    waiting.start()
    queue.release_all()
    waiting.join(10)
    assert got == ["judge"]


@pytest.mark.parametrize(("recipe", "count"), [("", 2), ("model: {device: cpu}", 2), ("model: {device: cuda}", 1)])
def test_stages_that_use_gpus_run_one_at_a_time(tmp_path, recipe, count):
    (tmp_path / "params.yaml").write_text(recipe)
    assert scheduling.default_slots(tmp_path) == count


def test_without_a_recipe_two_stages_run_at_once(tmp_path):
    assert scheduling.default_slots(tmp_path) == 2
