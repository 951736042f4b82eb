"""The alias `champion` moves on evidence only."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from components.records import Outcome, Termination, Trajectory, Verdict
from components.stages import _champion
from tests.samples import a_task, a_trajectory, a_verdict, recipe


@dataclass
class Tracker:
    decisions: list[tuple[str, bool, dict]] = field(default_factory=list)

    def register(self, model: Path, name: str) -> str:
        return "2"

    def decision(self, name: str, version: str, promoted: bool, evidence: dict) -> None:
        self.decisions.append((version, promoted, evidence))


def evaluated(successes: int, of: int = 40, aborted: int = 0) -> tuple[list[Trajectory], list[Verdict]]:
    trajectories = [
        a_trajectory(
            a_task(number, split="eval"), termination=Termination.ENV_ERROR if number < aborted else Termination.DONE
        )
        for number in range(of)
    ]
    outcomes = [Outcome.SUCCESS if number >= of - successes else Outcome.FAILURE for number in range(of)]
    return trajectories, [
        a_verdict(t, outcome)
        for t, outcome in zip(trajectories, outcomes, strict=True)
        if t.termination is Termination.DONE
    ]


def decide(monkeypatch: pytest.MonkeyPatch, candidate, champion, version: str = "1") -> Tracker:
    run = SimpleNamespace(params=recipe(), tracker=Tracker())
    known = champion and SimpleNamespace(version=version, path=Path("champion"))
    monkeypatch.setattr(_champion.tracking, "champion", lambda params, name: known)
    monkeypatch.setattr(_champion, "evaluate_model", lambda *_: champion)
    _champion.decide(run, Path("models/rl-long"), *candidate)
    return run.tracker


def test_the_first_candidate_becomes_champion(monkeypatch):
    assert decide(monkeypatch, evaluated(10), None).decisions[0][:2] == ("2", True)


def test_a_clearly_better_candidate_replaces_the_champion_and_the_evidence_is_kept(monkeypatch):
    ((version, promoted, evidence),) = decide(monkeypatch, evaluated(30), evaluated(10)).decisions
    assert (version, promoted) == ("2", True)
    assert evidence["diff"] == pytest.approx(0.5)
    assert evidence["n"] == 40


def test_a_candidate_within_the_noise_does_not(monkeypatch):
    assert decide(monkeypatch, evaluated(11), evaluated(10)).decisions[0][1] is False


def test_a_champion_that_lost_to_a_broken_browser_stays(monkeypatch):
    ((_, promoted, evidence),) = decide(monkeypatch, evaluated(20), evaluated(20, aborted=20)).decisions
    assert promoted is False
    assert "invalid" in evidence["reason"]


def test_the_champion_itself_is_not_compared_with_itself(monkeypatch):
    assert decide(monkeypatch, evaluated(30), evaluated(10), version="2").decisions == []
