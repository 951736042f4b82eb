"""The alias `champion` moves on evidence only."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from components.pipeline import champion, judge_champion, promotion
from components.pipeline.evaluation import summarise
from components.records import Outcome, Termination, Trajectory, Verdict
from components.tracking.registry import INTERFACE, ChampionChanged, ModelVersion
from tests.samples import a_task, a_trajectory, a_verdict, recipe


@dataclass
class Tracker:
    decisions: list[tuple[int, bool, dict]] = field(default_factory=list)

    def register(self, model: Path, name: str) -> int:
        return 2

    def decision(self, name: str, version: int, promoted: bool, evidence: dict, champion: int | None) -> None:
        self.decisions.append((version, promoted, evidence))

    def remove_tag(self, key: str) -> None:
        """No tag is set."""


class KilledTracker(Tracker):
    """Of a process that is killed when it logs its decision."""

    def decision(self, name: str, version: int, promoted: bool, evidence: dict, champion: int | None) -> None:
        super().decision(name, version, promoted, evidence, champion)
        raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class Run:
    """A stage whose clock stands still unless a test moves it. Its state is in the present folder."""

    def __init__(self, tracker: Tracker | None = None) -> None:
        self.name, self.state = "evaluate@rl", Path("state")
        self.params, self.tracker, self.seconds = recipe(), tracker or Tracker(), 10.0
        self.results: dict[str, object] = {}
        self.result = self.results.update
        self.evaluation = lambda trajectories, verdicts: None


def evaluated(
    successes: int, of: int = 40, aborted: int = 0, split: str = "eval"
) -> tuple[list[Trajectory], list[Verdict]]:
    trajectories = [
        a_trajectory(
            a_task(number, split=split), termination=Termination.ENV_ERROR if number < aborted else Termination.DONE
        )
        for number in range(of)
    ]
    outcomes = [Outcome.SUCCESS if number >= of - successes else Outcome.FAILURE for number in range(of)]
    return trajectories, [
        a_verdict(t, outcome)
        for t, outcome in zip(trajectories, outcomes, strict=True)
        if t.termination is Termination.DONE
    ]


def decide(monkeypatch: pytest.MonkeyPatch, candidate, incumbent, version: str = "1", tags=None) -> Tracker:
    run = Run()
    known = incumbent and ModelVersion("waymark-policy", int(version), Path("champion"), tags or {})
    monkeypatch.setattr(promotion.tracking, "champion", lambda params, name: known)
    monkeypatch.setattr(champion, "evaluate_model", lambda *_: incumbent)
    champion.decide(run, Path("models/rl-long"), *candidate)
    return run.tracker


def test_a_champion_with_other_observations_is_not_compared(monkeypatch):
    tags = {INTERFACE: "of the pixels recipe", "waymark.recipe": "pixels"}
    ((_, promoted, evidence),) = decide(monkeypatch, evaluated(30), evaluated(0), tags=tags).decisions
    assert not promoted
    assert "recipe pixels" in evidence["reason"]


@pytest.mark.parametrize("who", ["candidate", "champion"])
def test_tasks_that_the_environment_ended_decide_nothing(monkeypatch, who):
    """The models do alike; a few episodes of one were lost, within the limit of a valid evaluation."""
    whole, broken = evaluated(90, of=90), evaluated(90, of=90, aborted=9)
    pair = (broken, whole) if who == "candidate" else (whole, broken)
    ((_, promoted, evidence),) = decide(monkeypatch, *pair).decisions
    assert not promoted
    assert evidence["n"] == 81


def test_a_judge_replaces_the_champion_only_on_evidence(monkeypatch, tmp_path):
    trajectories, verdicts = evaluated(20)
    labels = [verdict.outcome for verdict in verdicts]
    wrong = [
        a_verdict(t, Outcome.FAILURE if label is Outcome.SUCCESS else Outcome.SUCCESS)
        for t, label in zip(trajectories, labels, strict=True)
    ]

    def judged(mine, theirs) -> Tracker:
        run = SimpleNamespace(params=recipe(), tracker=Tracker(), state=tmp_path)
        monkeypatch.setattr(
            promotion.tracking, "champion", lambda params, name: ModelVersion("waymark-judge", 1, tmp_path, {})
        )
        monkeypatch.setattr(judge_champion.VLM, "load", lambda *_: None)
        monkeypatch.setattr(judge_champion, "DistilledJudge", lambda *_: SimpleNamespace(judge=lambda tested: theirs))
        judge_champion.decide_judge(run, 2, trajectories, labels, mine)
        return run.tracker

    assert judged(verdicts, wrong).decisions[0][1] is True
    assert judged(verdicts, verdicts).decisions[0][1] is False
    assert judged(wrong, verdicts).decisions[0][1] is False


class OvertakenTracker(Tracker):
    """Another pipeline makes version 7 the champion while this one compares with version 1."""

    champion = 1

    def decision(self, name: str, version: int, promoted: bool, evidence: dict, champion: int | None) -> None:
        self.champion = 7
        if promoted and champion != self.champion:
            raise ChampionChanged("version 7 has become the champion meanwhile")
        super().decision(name, version, promoted, evidence, champion)


@pytest.mark.parametrize(("of_seven", "promoted"), [(25, False), (5, True)])
def test_a_candidate_is_compared_with_the_champion_of_the_moment(monkeypatch, of_seven, promoted):
    run = Run(OvertakenTracker())
    champions = {1: evaluated(5), 7: evaluated(of_seven)}
    monkeypatch.setattr(
        promotion.tracking,
        "champion",
        lambda params, name: ModelVersion("waymark-policy", run.tracker.champion, Path("champion"), {}),
    )
    monkeypatch.setattr(champion, "evaluate_model", lambda *_: champions[run.tracker.champion])
    champion.decide(run, Path("models/rl-long"), *evaluated(28))
    ((_, is_promoted, evidence),) = run.tracker.decisions
    assert (is_promoted, evidence["against"]) == (promoted, 7)


def test_the_first_candidate_becomes_champion(monkeypatch):
    assert decide(monkeypatch, evaluated(10), None).decisions[0][:2] == (2, True)


def test_a_clearly_better_candidate_replaces_the_champion_with_evidence(monkeypatch):
    ((version, promoted, evidence),) = decide(monkeypatch, evaluated(30), evaluated(10)).decisions
    assert (version, promoted) == (2, True)
    assert evidence["diff"] == pytest.approx(0.5)
    assert evidence["n"] == 40


def test_a_candidate_within_the_noise_does_not_replace_the_champion(monkeypatch):
    assert decide(monkeypatch, evaluated(11), evaluated(10)).decisions[0][1] is False


def test_held_out_families_decide_where_nothing_else_is_evaluated(monkeypatch):
    better, worse = evaluated(30, split="heldout"), evaluated(10, split="heldout")
    ((_, promoted, evidence),) = decide(monkeypatch, better, worse).decisions
    assert promoted is True
    assert evidence["n"] == 40


def test_a_champion_without_a_verdict_stays(monkeypatch):
    trajectories, _ = evaluated(0)
    unparsed = [a_verdict(trajectory, Outcome.UNPARSED) for trajectory in trajectories]
    ((_, promoted, evidence),) = decide(monkeypatch, evaluated(20), (trajectories, unparsed)).decisions
    assert promoted is False
    assert "none of 40 episodes has a verdict" in evidence["reason"]


def test_a_champion_that_lost_to_a_broken_browser_stays(monkeypatch):
    ((_, promoted, evidence),) = decide(monkeypatch, evaluated(20), evaluated(20, aborted=20)).decisions
    assert promoted is False
    assert "invalid" in evidence["reason"]


def test_the_champion_itself_is_not_compared_with_itself(monkeypatch):
    assert decide(monkeypatch, evaluated(30), evaluated(10), version="2").decisions == []


@pytest.mark.parametrize("of", [1, 5, 9])
def test_a_few_tasks_never_move_the_champion(monkeypatch, capsys, of):
    ((_, promoted, evidence),) = decide(monkeypatch, evaluated(of, of), evaluated(0, of)).decisions
    assert promoted is False
    assert (evidence["diff"], evidence["n"], evidence["min_tasks"]) == (1.0, of, 10)
    assert "fewer than evaluation.promotion_min_tasks = 10" in capsys.readouterr().out


def test_the_champions_errors_and_seconds_stand_apart_from_the_models(monkeypatch):
    run = Run()

    def evaluate_champion(*_: object) -> tuple[list[Trajectory], list[Verdict]]:
        run.seconds += 30
        return with_harness_errors(3)

    known = ModelVersion("waymark-policy", 1, Path("champion"), {})
    monkeypatch.setattr(promotion.tracking, "champion", lambda params, name: known)
    monkeypatch.setattr(champion, "evaluate_model", evaluate_champion)
    model = with_harness_errors(1)
    summarise(run, *model)
    champion.decide(run, Path("models/rl-long"), *model)
    assert run.results["harness_errors"] == 1
    assert run.results["champion"] == {"version": 1, "harness_errors": 3, "wall_s": 30.0}


def killed_and_run_again(monkeypatch: pytest.MonkeyPatch, former: ModelVersion | None, candidate, incumbent):
    """A stage that is killed once its decision was logged, and the next try, which finds the alias at version 2.

    Returns the decision of the killed try and the next try's stage.
    """
    aliases = iter([former, ModelVersion("waymark-policy", 2, Path("champion"), {})])
    monkeypatch.setattr(promotion.tracking, "champion", lambda params, name: next(aliases))
    monkeypatch.setattr(champion, "evaluate_model", lambda *_: incumbent)
    killed, again = Run(KilledTracker()), Run()
    with pytest.raises(KeyboardInterrupt):
        champion.decide(killed, Path("models/rl-long"), *candidate)
    champion.decide(again, Path("models/rl-long"), *candidate)
    return killed.tracker.decisions, again


def test_a_decision_before_a_kill_is_reported_by_the_next_try(monkeypatch):
    former = ModelVersion("waymark-policy", 1, Path("champion"), {})
    decisions, again = killed_and_run_again(monkeypatch, former, evaluated(30), evaluated(10))
    assert again.tracker.decisions == decisions
    assert [(version, promoted) for version, promoted, _ in decisions] == [(2, True)]
    assert again.results["champion"] == {"version": 1, "harness_errors": 0, "wall_s": 0.0}


def test_a_first_champion_before_a_kill_is_reported_by_the_next_try(monkeypatch):
    _, again = killed_and_run_again(monkeypatch, None, evaluated(30), None)
    assert again.tracker.decisions == [(2, True, {"reason": "first champion"})]
    assert "champion" not in again.results, "no champion was evaluated"


def test_a_model_that_a_person_made_champion_has_no_decision(monkeypatch):
    """The stage decided against it, and the alias was moved by hand."""
    former = ModelVersion("waymark-policy", 1, Path("champion"), {})
    decisions, again = killed_and_run_again(monkeypatch, former, evaluated(10), evaluated(30))
    assert decisions[0][1] is False
    assert again.tracker.decisions == []


def with_harness_errors(count: int) -> tuple[list[Trajectory], list[Verdict]]:
    trajectories, verdicts = evaluated(20)
    broken = [t.model_copy(update={"termination": Termination.HARNESS_ERROR}) for t in trajectories[:count]]
    return [*broken, *trajectories[count:]], verdicts[count:]
