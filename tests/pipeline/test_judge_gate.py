"""A judge that agrees too seldom with the labels rewards nothing: measured before RL's first rollout."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from components.judge import JudgeClients, agreement, rules_verdict
from components.judge.labelled_verdicts import LabelledVerdicts
from components.params import Params, RecipeError
from components.pipeline.judge_gate import LABELS, ROLLOUTS, UntrustedJudge, trust_distilled, trusted_model
from components.pipeline.labels import is_audited
from components.records import Outcome, Task, Termination, Trajectory, Verdict
from components.stages import train_rl as stage
from components.stages.train_rl import inputs_of
from components.store import write_json, write_table
from components.training.rl_rollouts import RolloutSetup
from tests.endpoint_server import Server, text_of
from tests.judge.webarena_episodes import ours, task_of
from tests.samples import a_task, a_trajectory, recipe


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A judge, and twenty labelled rollouts, the first half of them successes."""
    monkeypatch.chdir(tmp_path)
    write_table(ROLLOUTS, Trajectory, rollouts())
    write_table(LABELS, Verdict, [rules_verdict(one) for one in rollouts()])
    running = Server()
    yield running
    running.close()


def rollouts() -> list[Trajectory]:
    return [
        a_trajectory(a_task(number, intent=f"Task {number}."), site_reward=1.0 if number < 10 else 0.0)
        for number in range(20)
    ]


def rewarded(server: Server, **judge: object) -> Params:
    endpoint = {"url": server.url, "model": "gpt-x", "key_variable": None, "max_retries": 0}
    trust = {"audit_share": 1.0, "min_agreement": 0.8, "labels": None}
    trust |= {key: judge.pop(f"trust_{key}") for key in trust if f"trust_{key}" in judge}
    if not trust["min_agreement"]:
        del trust["audit_share"]  # nothing is compared
    told = {"reward": "model", "model": {"endpoint": endpoint}, "trust": trust} | judge
    return recipe(**{f"judge__{key}": value for key, value in told.items()})


def opened(params: Params, state: Path) -> dict:
    """Open the judge that rewards, as RL does; returns the stage's result and metrics."""
    told: dict = {"metrics": []}
    run = SimpleNamespace(params=params, state=state, result=told.update, metrics=told["metrics"].append)

    async def main() -> None:
        async with JudgeClients(params.judge.model, state, state / "answers.sqlite") as clients:
            reward = await trusted_model(run, clients)
            (verdict,) = await reward(rollouts()[:1])
            told["first"] = verdict.outcome

    try:
        asyncio.run(main())
    except UntrustedJudge as error:
        told["error"] = str(error)
    return told


def forget_answers(state: Path) -> None:
    """The file of all answers, and the journal of those that this run paid for."""
    for path in (state / "answers.sqlite", *state.glob("*.answers.jsonl")):
        path.unlink()


def says_success_below(number: int):
    def reply(asked: dict) -> str:
        success = any(f"Task {one}." in text_of(asked) for one in range(number))
        return f"Verdict: {'SUCCESS' if success else 'NOT SUCCESS'}"

    return reply


def test_a_model_that_agrees_rewards_and_its_agreement_is_in_the_result(server, tmp_path):
    server.reply = says_success_below(12)
    told = opened(rewarded(server), tmp_path)
    assert (told["judge_trust"]["n"], told["judge_trust"]["accuracy"]) == (20, 0.9)
    assert told["metrics"] == [{"judge_trust": told["judge_trust"]}]
    assert told["first"] is Outcome.SUCCESS
    assert len(server.asked) == 20, "what was asked before is not paid for again"


def test_a_model_that_agrees_too_seldom_is_refused_with_both_figures(server, tmp_path):
    server.reply = says_success_below(20)
    told = opened(rewarded(server), tmp_path)
    assert "gpt-x agrees with the rules on 50.0% of 20 labelled rollouts" in told["error"]
    assert "less than judge.trust.min_agreement = 80.0%" in told["error"]
    assert "judge.model.endpoint" in told["error"]
    assert told["metrics"][0]["judge_trust"]["accuracy"] == 0.5
    assert "first" not in told


def test_only_a_fixed_sample_is_asked_about(server, tmp_path):
    server.reply = says_success_below(10)
    sample = [one for one in rollouts() if is_audited(one, 0.4)]
    told = opened(rewarded(server, trust_audit_share=0.4), tmp_path)
    assert told["judge_trust"]["n"] == len(sample) < 20


def test_an_outage_does_not_count_against_the_judge(server, tmp_path):
    server.reply = says_success_below(10)
    server.trouble = [503] * 5
    told = opened(rewarded(server), tmp_path)
    assert (told["judge_trust"]["n"], told["judge_trust"]["accuracy"]) == (15, 1.0)
    assert LabelledVerdicts.model_validate(told["judge_verdicts"]).calibration(500, 0).outages == 5
    forget_answers(tmp_path)
    server.trouble = [503] * 18
    assert "18 could not be judged" in opened(rewarded(server), tmp_path)["error"]
    server.trouble = [503] * 20
    forget_answers(tmp_path)
    assert "none was judged" in (said := opened(rewarded(server), tmp_path)["error"])
    assert "check that judge.model.endpoint answers" in said


def test_an_empty_sample_is_refused_with_the_keys_to_raise(server, tmp_path):
    assert "raise judge.trust.audit_share" in opened(rewarded(server, trust_audit_share=0.0), tmp_path)["error"]


def test_a_model_that_labels_itself_is_refused_with_what_would_measure_it(server):
    with pytest.raises(RecipeError) as refusal:
        rewarded(server, labels="model")
    for fix in ("judge.trust.min_agreement = 0.8 cannot be measured", "judge.trust.labels", "judge.labels to rules"):
        assert fix in str(refusal.value)
    rewarded(server, labels="model", trust_min_agreement=0.0)
    rewarded(server, labels="model", reward="distilled")


@pytest.mark.parametrize("other", [{"reward": "rules"}, {"trust_min_agreement": 0.0}])
def test_trust_labels_that_would_measure_nothing_are_refused(server, other):
    with pytest.raises(RecipeError, match=r"judge\.trust\.labels.*set it to null"):
        rewarded(server, trust_labels={"file": "mine.csv"}, **other)


def by_hand(server: Server, **trust: str) -> Params:
    return rewarded(server, labels="model", trust_audit_share=0.1, trust_labels={"file": "mine.csv"} | trust)


def test_a_model_that_labels_itself_is_compared_with_all_human_labels(server, tmp_path):
    """Of the first twelve rollouts, six successes to people; the rules' labels would have been ten."""
    rows = [f"{one.trajectory_id},{'success' if number < 6 else 'failure'}" for number, one in enumerate(rollouts())]
    Path("mine.csv").write_text("trajectory_id,outcome\n" + "\n".join(rows[:12]))
    server.reply = says_success_below(7)
    told = opened(by_hand(server), tmp_path)
    assert (told["judge_trust"]["n"], told["judge_trust"]["accuracy"]) == (12, 11 / 12)
    assert told["first"] is Outcome.SUCCESS
    measured = LabelledVerdicts.model_validate(told["judge_verdicts"]).calibration(bootstrap=500, seed=0)
    said = measured.said_by_label
    assert (said["success"]["success"], said["failure"]["success"], said["failure"]["failure"]) == (6, 1, 5)
    assert (measured.false_positives.rate.value, measured.tasks) == (1 / 6, 12)
    server.reply = says_success_below(12)
    forget_answers(tmp_path)
    assert "gpt-x agrees with mine.csv on 50.0% of 12 labelled rollouts" in opened(by_hand(server), tmp_path)["error"]


def test_episodes_that_the_environment_ended_are_no_errors_of_the_model(server, tmp_path):
    """Of twelve labelled ones, four; more than a quarter of errors would refuse the measurement."""
    Path("mine.csv").write_text(
        "trajectory_id,outcome\n"
        + "".join(f"{one.trajectory_id},{'success' if n < 6 else 'failure'}\n" for n, one in enumerate(rollouts()[:12]))
    )
    ended = {"termination": Termination.SANDBOX_ERROR}
    attempts = [one.model_copy(update=ended if n % 3 == 0 else {}) for n, one in enumerate(rollouts())]
    write_table(ROLLOUTS, Trajectory, attempts)
    server.reply = says_success_below(6)
    told = opened(by_hand(server), tmp_path)
    assert (told["judge_trust"]["n"], told["judge_trust"]["accuracy"]) == (8, 1.0)


def test_labels_of_other_trajectories_or_no_labels_are_refused_by_file(server, tmp_path):
    with pytest.raises(UntrustedJudge, match=r"file mine\.csv, which does not exist"):
        inputs_of(by_hand(server), "short")
    Path("mine.csv").write_text("trajectory_id,outcome\n00000000,success\n00000001,failure\n")
    assert {ROLLOUTS, Path("mine.csv")} <= set(inputs_of(by_hand(server), "short"))
    said = opened(by_hand(server), tmp_path)["error"]
    assert f"name the trajectories that mine.csv labels, which are not in {ROLLOUTS}" in said


def test_a_model_that_always_says_the_more_frequent_label_is_refused(server, tmp_path):
    """Two successes in twenty: "failure" of each is right on 90%, and so is who finds two more."""
    labelled = [
        rules_verdict(one).model_copy(update={"outcome": Outcome.SUCCESS if number < 2 else Outcome.FAILURE})
        for number, one in enumerate(rollouts())
    ]
    write_table(LABELS, Verdict, labelled)
    said = "a judge that always gives the more frequent label agrees on 90.0%"
    server.reply = says_success_below(0)
    assert said in opened(rewarded(server), tmp_path)["error"]
    forget_answers(tmp_path)
    server.reply = says_success_below(4)
    assert said in opened(rewarded(server), tmp_path)["error"]
    forget_answers(tmp_path)
    server.reply = says_success_below(3)
    assert opened(rewarded(server), tmp_path)["judge_trust"]["accuracy"] == 0.95


def test_labels_of_one_kind_are_refused_for_measuring_a_judge(server, tmp_path):
    write_table(LABELS, Verdict, [one for one in map(rules_verdict, rollouts()) if one.outcome is Outcome.FAILURE])
    server.reply = says_success_below(0)
    assert "whose labels are all the same" in opened(rewarded(server), tmp_path)["error"]


def test_without_a_minimum_agreement_no_labels_are_needed(server, tmp_path, capsys):
    server.reply = says_success_below(10)
    params = rewarded(server, trust_min_agreement=0.0)
    ROLLOUTS.unlink()
    assert opened(params, tmp_path)["first"] is Outcome.SUCCESS
    assert capsys.readouterr().out == ""


def test_labels_are_an_input_only_if_the_judge_is_measured_by_them(server):
    assert {ROLLOUTS, LABELS} <= set(inputs_of(rewarded(server), "short"))
    for other in (rewarded(server, trust_min_agreement=0.0), recipe()):
        assert not {ROLLOUTS, LABELS} & set(inputs_of(other, "short"))


def test_a_distilled_judge_is_refused_by_its_own_agreement(tmp_path):
    path = tmp_path / "agreement.json"
    right, wrong = [Outcome.SUCCESS, Outcome.FAILURE] * 4, [Outcome.FAILURE, Outcome.SUCCESS]
    write_json(path, agreement(right, [*right[:6], *wrong]).model_dump(mode="json"))
    trust_distilled(path, recipe(judge__reward="distilled", judge__trust__min_agreement=0.75).judge)
    with pytest.raises(UntrustedJudge, match=r"75\.0%.*76\.0%"):
        trust_distilled(path, recipe(judge__reward="distilled", judge__trust__min_agreement=0.76).judge)


def test_rl_reports_the_costs_of_its_rewarding_and_its_auditing_judges(server, tmp_path, monkeypatch):
    """The training loop and what it plays in are left out; the judges that it is given are asked."""
    server.reply = says_success_below(10)
    params = rewarded(server, trust_min_agreement=0.0)
    fuzzy = [a_trajectory(task_of(ours(5)), attempt=n, answer=f"{n} minutes by car") for n in range(2)]

    class Trainer:
        def __init__(self, learners, phase, name, rollouts: RolloutSetup, *rest: object, **options: object) -> None:
            self.rollouts = rollouts
            self.limits_of_warnings = None

        async def run(self) -> str:
            assert [verdict.judge for verdict in await self.rollouts.judge(fuzzy)] == ["openwebrl"] * 2
            assert [verdict.judge for verdict in await self.rollouts.audit(fuzzy)] == ["rules"] * 2
            return "trained"

    write_table(stage.POOL, Task, [a_task()])
    monkeypatch.setattr(stage, "RLTrainer", Trainer)
    for name in ("open_pool", "training_policies"):
        monkeypatch.setattr(stage, name, lambda *_: contextlib.nullcontext())
    told: dict = {}
    run = SimpleNamespace(params=params, state=tmp_path, progress=None, result=told.update)
    learners = SimpleNamespace(run=print, local=SimpleNamespace(vlm=None, encoder=None))
    assert asyncio.run(stage._train(run, learners, "short")) == "trained"
    assert told["judge_spent"]["requests"] == len(server.asked) == 4


def test_a_distilled_judge_of_the_more_frequent_label_is_refused(tmp_path):
    path = tmp_path / "agreement.json"
    labels = [Outcome.FAILURE] * 9 + [Outcome.SUCCESS]
    write_json(path, agreement(labels, [Outcome.FAILURE] * 10).model_dump(mode="json"))
    trust_distilled(path, recipe(judge__trust__min_agreement=0.0).judge)
    with pytest.raises(UntrustedJudge, match=r"90\.0% of 10 held-out.*the more frequent label.*90\.0%"):
        trust_distilled(path, recipe(judge__reward="distilled", judge__trust__min_agreement=0.8).judge)
