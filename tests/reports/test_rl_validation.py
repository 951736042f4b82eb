"""The validations of RL as the stage wrote them, now and in earlier versions."""

from __future__ import annotations

from components.reports.rl_validation import WatchedPhase
from components.statistics import Interval, SuccessRate

HELDOUT = {"heldout_success": 0.25, "heldout_low": 0.1, "heldout_high": 0.4}
PLAIN = {"iteration": 3, "success": 0.5, "success_low": 0.3, "success_high": 0.7, "n": 36, "seconds": 4.5}


def family(name: str, heldout: bool, n: int, iteration: int = 3) -> dict:
    return {"iteration": iteration, "family": name, "heldout": heldout, "n": n, "rate": 0.5, "wilson95": [0.1, 0.9]}


def test_rates_of_an_earlier_version_are_read_with_their_intervals() -> None:
    families = [family("a", False, 36), family("b", True, 3), family("c", True, 5), family("b", True, 7, iteration=0)]
    watched = WatchedPhase.model_validate({"validation": [PLAIN | HELDOUT], "families": families})
    (row,) = watched.validation
    assert row.success == SuccessRate(rate=0.5, n=36, ci95=Interval(0.3, 0.7))
    assert row.heldout == SuccessRate(rate=0.25, n=8, ci95=Interval(0.1, 0.4))


def test_a_validation_of_an_earlier_version_without_heldout_tasks_has_none() -> None:
    nothing = dict.fromkeys(HELDOUT)
    (row,) = WatchedPhase.model_validate({"validation": [PLAIN | nothing]}).validation
    assert row.heldout is None
