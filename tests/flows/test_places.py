"""Which stage goes first."""

from __future__ import annotations

import threading

import pytest

from flows import places
from flows.graph import Stage
from flows.places import Places

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


def test_the_stage_with_the_longest_way_behind_it_goes_first():
    queue, got = Places(1, STAGES, {"sft", "judge", "base", "rl"}), []

    def ask(name: str) -> None:
        with queue.place(name):
            got.append(name)

    threads = [threading.Thread(target=ask, args=(name,), daemon=True) for name in ("base", "judge", "rl")]
    with queue.place("sft"):
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join(10)
    assert got == ["rl", "base", "judge"]


def test_a_ready_stage_that_has_not_asked_yet_keeps_its_turn():
    queue = Places(1, STAGES, {"judge", "rl"})
    asked, got = threading.Event(), []

    def ask_early() -> None:
        asked.set()
        with queue.place("judge"):
            got.append("judge")

    early = threading.Thread(target=ask_early, daemon=True)
    early.start()
    asked.wait(10)
    with queue.place("rl"):
        got.append("rl")
    early.join(10)
    assert got == ["rl", "judge"]


def test_a_stage_that_never_comes_does_not_stop_the_others(monkeypatch):
    monkeypatch.setattr(places, "PATIENCE_S", 0.05)
    queue = Places(1, STAGES, {"judge", "rl"})
    with queue.place("judge"):
        pass


def test_a_stage_whose_needs_failed_holds_no_place_back():
    queue = Places(1, STAGES, {"sft", "rl", "base"})
    with pytest.raises(RuntimeError), queue.place("sft"):
        raise RuntimeError
    with queue.place("base"):
        pass
    with queue.place("sft"):  # tried again
        pass
    with queue.place("rl"):
        pass


def test_no_more_than_count_at_once():
    queue = Places(2, STAGES, {"base", "judge", "rl"})
    most, now, lock = [0], [0], threading.Lock()
    barrier = threading.Barrier(2)

    def work(name: str) -> None:
        with queue.place(name):
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


def test_nobody_waits_when_the_run_is_stopped():
    queue, got = Places(1, STAGES, {"judge", "rl"}), []

    def ask() -> None:
        with queue.place("judge"):
            got.append("judge")

    waiting = threading.Thread(target=ask, daemon=True)
    waiting.start()
    queue.let_all_in()
    waiting.join(10)
    assert got == ["judge"]
