"""Who judges in a stage is the recipe's choice; a killed stage pays for no verdict twice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from components.endpoint import EndpointError
from components.judge import JudgeClients, JudgeOutage, ModelJudge, rules_verdict
from components.judge.clients import ledger_of
from components.params import Params
from components.pipeline import labels
from components.pipeline.labels import by_rules, is_audited, label, open_auditor, require_labeller
from components.records import Outcome, Trajectory, Verdict, trajectory_id
from components.store import read_json
from tests.endpoint_server import Server
from tests.judge.webarena_episodes import episode, ours, task_of
from tests.samples import a_task, a_trajectory, recipe


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(labels, "ANSWERS", tmp_path / "answers.sqlite")
    running = Server()
    running.reply = lambda asked: "Verdict: NOT SUCCESS"
    yield running
    running.close()


def a_run(params: Params, state: Path) -> SimpleNamespace:
    told: dict = {}
    return SimpleNamespace(params=params, state=state, progress=lambda *_: None, result=told.update, told=told)


def model(server: Server, **judge: object) -> Params:
    endpoint = {"url": server.url, "model": "m", "key_variable": None, "usd_per_million_completion": 10_000.0}
    return recipe(judge__model={"endpoint": endpoint}, **{f"judge__{key}": value for key, value in judge.items()})


def episodes(count: int = 3) -> list[Trajectory]:
    return [a_trajectory(a_task(number, intent=f"Task {number}."), site_reward=1.0) for number in range(count)]


def test_rules_label_by_default_and_no_model_is_asked(server, tmp_path):
    run = a_run(recipe(), tmp_path)
    assert label(run, iter(episodes())) == [rules_verdict(one) for one in episodes()]
    assert (server.asked, run.told) == ([], {})


def test_a_model_labels_if_the_recipe_says_so_and_the_result_has_its_cost(server, tmp_path):
    run = a_run(model(server, labels="model"), tmp_path)
    verdicts = label(run, iter(episodes()))
    assert [verdict.outcome for verdict in verdicts] == [Outcome.FAILURE] * 3
    assert run.told["judge_spent"]["usd"] == 3.0
    again = a_run(run.params, tmp_path)
    assert label(again, episodes()) == verdicts
    assert len(server.asked) == 3
    assert again.told["judge_spent"] == run.told["judge_spent"] | {"cached": 3}


def audited(params: Params, state: Path, trajectories: list[Trajectory]) -> list | None:
    async def main() -> list | None:
        async with JudgeClients(params.judge.model, state, state / "answers.sqlite") as clients:
            audit = await open_auditor(params, clients)
            return None if audit is None else await audit(trajectories)

    return asyncio.run(main())


def test_rules_audit_every_rollout_that_another_judge_rewards(server, tmp_path):
    for params in (recipe(judge__reward="distilled"), model(server, reward="model")):
        assert audited(params, tmp_path, episodes()) == [rules_verdict(one) for one in episodes()]


def test_rules_and_the_rewarding_judge_are_not_audited(server, tmp_path):
    assert audited(recipe(), tmp_path, episodes()) is None
    assert audited(model(server, reward="model", labels="model"), tmp_path, episodes()) is None
    assert audited(model(server, labels="model"), tmp_path, episodes()) is None


def test_a_model_audits_the_same_sample_in_each_run(server, tmp_path):
    params = model(server, reward="distilled", labels="model", trust={"audit_share": 0.3})
    many = episodes(100)
    chosen = [one.trajectory_id for one in many if is_audited(one, 0.3)]
    assert 15 <= len(chosen) <= 45
    assert [verdict.trajectory_id for verdict in audited(params, tmp_path, many)] == chosen
    assert not any(is_audited(one, 0.0) for one in many)
    assert all(is_audited(one, 1.0) for one in many)


def test_two_runs_of_one_recipe_audit_the_same_attempts():
    def attempts(policy: str) -> list[Trajectory]:
        tasks = [one.task for one in episodes(100)]
        ids = [trajectory_id(task.task_id, 0, policy, 0) for task in tasks]
        return [a_trajectory(task, policy=policy, trajectory_id=id) for task, id in zip(tasks, ids, strict=True)]

    one, other = ([is_audited(each, 0.3) for each in attempts(f"short@2:{run}")] for run in ("a158bb7e", "7d566f82"))
    assert one == other
    assert len(set(one)) == 2


def fuzzy() -> list[Trajectory]:
    """An episode that only a model can judge, between two that rules can."""
    return [
        episode(ours(5), "N/A", trajectory_id="a"),
        episode(ours(5), "13 minutes by car, 95 on foot", trajectory_id="b"),
        episode(ours(1), "Lumo Desk Lamp", trajectory_id="c"),
    ]


@pytest.mark.parametrize(
    "said, outcome", [("SUCCESS", Outcome.SUCCESS), ("NOT SUCCESS", Outcome.FAILURE), ("perhaps", Outcome.UNPARSED)]
)
def test_a_rule_that_needs_a_reader_asks_the_model_and_no_other_rule_does(server, tmp_path, said, outcome):
    server.reply = lambda asked: f"Verdict: {said}"
    run = a_run(model(server), tmp_path)
    verdicts = label(run, iter(fuzzy()))
    assert [(verdict.trajectory_id, verdict.outcome) for verdict in verdicts] == [
        ("a", Outcome.FAILURE),
        ("b", outcome),
        ("c", Outcome.SUCCESS),
    ]
    assert {verdict.judge for verdict in verdicts} == {"rules"}
    assert [(verdict.tokens, verdict.cost_usd) for verdict in verdicts] == [(0, 0.0), (1100, 1.0), (0, 0.0)]
    assert verdicts[1].latency_s > 0
    assert [verdict.judge_version.partition("+m@")[1] for verdict in verdicts] == ["", "+m@", ""], "who was asked"
    assert 1 <= len(server.asked) <= 2, "a reference at a time"
    assert run.told["judge_spent"]["requests"] == len(server.asked)


def test_rules_that_ask_no_model_need_no_key(server, tmp_path, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    endpoint = {"url": server.url, "model": "m", "key_variable": "NO_SUCH_KEY"}
    assert label(a_run(recipe(judge__model={"endpoint": endpoint}), tmp_path), episodes()) == [
        rules_verdict(t) for t in episodes()
    ]
    assert label(a_run(recipe(), tmp_path), fuzzy())[1].outcome is Outcome.ERROR


def test_a_model_that_labels_needs_its_key_before_rollouts(monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    endpoint = {"url": "http://127.0.0.1:9/v1", "model": "m", "key_variable": "NO_SUCH_KEY"}
    voter = {**endpoint, "model": "n", "key_variable": None}
    require_labeller(recipe(judge__model={"endpoint": endpoint}))
    for models in ({"endpoint": endpoint}, {"endpoint": voter, "voters": [voter | {"model": "o"}, endpoint]}):
        params = recipe(judge__labels="model", judge__model=models)
        with pytest.raises(EndpointError, match="NO_SUCH_KEY holds no key for m: set it"):
            require_labeller(params)
    monkeypatch.setenv("NO_SUCH_KEY", "k")
    require_labeller(params)


def test_an_outage_of_the_reader_masks_or_ends_the_stage_by_the_recipe(server, tmp_path):
    server.trouble = [503] * 9
    endpoint = {"url": server.url, "model": "m", "key_variable": None, "max_retries": 0}
    masked = recipe(judge__model={"endpoint": endpoint})
    assert label(a_run(masked, tmp_path), fuzzy())[1].outcome is Outcome.ERROR
    failing = recipe(judge__model={"endpoint": endpoint, "on_outage": "fail"})
    with pytest.raises(JudgeOutage):
        label(a_run(failing, tmp_path), fuzzy())


def test_rl_is_rewarded_by_rules_that_ask_the_model_too(server, tmp_path):
    server.reply = lambda asked: "Verdict: SUCCESS"
    params = model(server)

    async def main() -> list[Verdict]:
        async with JudgeClients(params.judge.model, tmp_path, tmp_path / "answers.sqlite") as clients:
            return await by_rules(params, clients)(fuzzy())

    verdicts = asyncio.run(main())
    assert [verdict.outcome for verdict in verdicts] == [Outcome.FAILURE, Outcome.SUCCESS, Outcome.SUCCESS]


def test_the_rewarding_and_the_auditing_judge_share_client_and_budget(server, tmp_path):
    server.delay_s = 0.02
    params = model(server, reward="model")
    judge = params.judge.model.model_copy(
        update={"endpoint": params.judge.model.endpoint.model_copy(update={"max_in_flight": 1})}
    )
    params = params.model_copy(update={"judge": params.judge.model_copy(update={"model": judge})})
    rollouts = [a_trajectory(task_of(ours(5)), attempt=n, answer=f"{n} minutes by car") for n in range(3)]

    async def main() -> int:
        async with JudgeClients(judge, tmp_path, tmp_path / "answers.sqlite") as clients:
            reward, audit = ModelJudge(judge, clients), await open_auditor(params, clients)
            await asyncio.gather(reward(rollouts), audit(rollouts))
            return clients.spent.requests

    assert asyncio.run(main()) == len(server.asked) == 6
    assert read_json(ledger_of(judge.endpoint, tmp_path))["requests"] == 6
    assert server.most == 1, "max_in_flight is the endpoint's, not each judge's"
