"""The smoke recipe on three clones that stand for machines, of which one is lost in the middle of RL."""

from __future__ import annotations

import contextlib

import pytest

from perf.two_machines import measure


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_the_pipeline_is_complete_after_the_machine_of_rl_is_lost(tmp_path):
    with contextlib.ExitStack() as stack:
        figures = measure(tmp_path, "smoke", "train_rl@short", stack)
    assert figures["completed"]
    assert figures["stale"] == []
    assert figures["killed"] in ("b", "c")
    (other,) = {"b", "c"} - {figures["killed"]}
    assert "train_rl@short" in figures["stages"][other]
    assert figures["taken_over"] >= 1
    assert figures["continued_after_s"] < 120
