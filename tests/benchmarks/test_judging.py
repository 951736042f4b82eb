"""Who judges a benchmark: its own protocol first, others beside it where they can be had."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from components import plugins
from components.benchmarks import judging
from components.benchmarks.judging import episodes_budget, judge, require_judge, require_judge_keys
from components.benchmarks.spec import Benchmark, BenchmarkError, load_benchmark
from components.endpoint import EndpointError
from components.judge.clients import ledger_of
from components.params import Params
from components.records import Outcome, Termination, Trajectory
from components.rollout import Budget
from components.store import read_json
from tests.endpoint_server import Server, text_of
from tests.samples import a_task, a_trajectory, recipe

PROTOCOLS = plugins.builtin("judge_protocols")


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Server]]:
    """Three judges; the third never agrees, the first two do if the answer has the year in it."""
    monkeypatch.setattr(judging, "ANSWERS", tmp_path / "answers.sqlite")
    running = [Server() for _ in range(3)]
    for one in running[:2]:
        one.reply = lambda asked: f"Verdict: {'SUCCESS' if 'in 1986' in str(asked) else 'NOT SUCCESS'}"
    running[2].reply = lambda asked: "Verdict: NOT SUCCESS"
    yield running
    for one in running:
        one.close()


def answered(number: int, answer: str, golden: tuple[str, ...] = ("1986",)) -> Trajectory:
    evaluator = {"type": "qa", "answers": [*golden]}
    task = a_task(number, intent="when", start_url="http://wiki/", website="wiki", evaluator=evaluator)
    return a_trajectory(task, answer=answer)


def with_models(*servers: Server) -> Params:
    endpoints = [
        {"url": one.url, "model": f"m{number}", "key_variable": None, "usd_per_million_completion": 10_000.0}
        for number, one in enumerate(servers)
    ]
    return recipe(judge__model={"endpoint": endpoints[0], "voters": endpoints[1:]})


def test_exact_match_judges_alone_or_beside_a_vote_of_three_models(servers, tmp_path):
    nq = load_benchmark("nq")
    run = SimpleNamespace(state=tmp_path, progress=lambda *_: None)
    episodes = [answered(0, "1986"), answered(1, "It was in 1986, in autumn"), answered(2, "in 1990")]

    alone = judge(run, recipe(), episodes, nq)
    assert {name: [one.outcome for one in said] for name, said in alone.verdicts.items()} == {
        "rules": [Outcome.SUCCESS, Outcome.FAILURE, Outcome.FAILURE]
    }
    assert alone.usd == 0

    both = judge(run, with_models(*servers), episodes, nq)
    assert list(both.verdicts) == ["rules", "vote"]
    assert both.verdicts["rules"] == alone.verdicts["rules"]
    # two of three see that a sentence may say what a number says, which exact match does not
    assert both.verdicts["vote"][1].outcome is Outcome.SUCCESS
    assert both.verdicts["vote"][2].outcome is Outcome.FAILURE
    assert [one.cost_usd for one in both.verdicts["vote"]] == [0.0, 3.0, 3.0]
    assert [one.tokens for one in both.verdicts["vote"]] == [0, 3300, 3300]
    assert both.verdicts["vote"][1].latency_s > 0
    assert (
        both.usd == 6.0
    )  # no judge is asked about an answer that equals the reference; two to three judges cost a dollar each


def test_a_benchmark_without_a_judge_is_refused_with_the_key_to_set(servers):
    deepshop = load_benchmark("deepshop")
    with pytest.raises(BenchmarkError, match=r"protocol deepshop.*gpt-4o\): name one in judge\.model\.endpoint"):
        require_judge(deepshop, recipe())
    require_judge(deepshop, with_models(servers[0]))
    vote = load_benchmark("nq").model_copy(update={"judge": "vote"})
    with pytest.raises(BenchmarkError, match=r"two more in judge\.model\.voters"):
        require_judge(vote, with_models(servers[0]))
    require_judge(vote, with_models(*servers))


def test_the_keys_of_the_judges_are_needed_before_the_first_episode(servers, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    models = with_models(*servers).judge.model.model_dump()
    models["voters"][0]["key_variable"] = "NO_SUCH_KEY"
    params = recipe(judge__model=models)
    benchmark = load_benchmark("nq")
    require_judge_keys(benchmark.model_copy(update={"judge": "rules", "also": []}), params)
    require_judge_keys(benchmark.model_copy(update={"judge": "webvoyager", "also": []}), params)
    for changes in ({"judge": "vote", "also": []}, {"judge": "rules", "also": ["vote"]}):
        with pytest.raises(EndpointError, match="NO_SUCH_KEY"):
            require_judge_keys(benchmark.model_copy(update=changes), params)


@pytest.mark.parametrize("name", [*PROTOCOLS, "rules", "vote"])
def test_a_benchmark_may_use_every_protocol(servers, name):
    benchmark = Benchmark.model_validate(load_benchmark("nq").model_dump() | {"judge": name})
    require_judge(benchmark, with_models(*servers))


def test_a_benchmark_with_an_unknown_judge_is_refused():
    with pytest.raises(
        ValidationError, match=r"judge_protocols has no 'webjugde'.*did you mean webjudge.*rules and vote"
    ):
        Benchmark.model_validate(load_benchmark("nq").model_dump() | {"judge": "webjugde"})


def test_one_of_two_golden_answers_is_enough_for_the_vote(servers, tmp_path):
    golden = ("1986", "the year of the comet")
    for one in servers:
        one.reply = lambda asked: f"Verdict: {'SUCCESS' if 'Any one of these' in text_of(asked) else 'NOT SUCCESS'}"
    run = SimpleNamespace(state=tmp_path, progress=lambda *_: None)
    episodes = [answered(0, "The Year of the Comet.", golden), answered(1, "In 1986.", golden)]
    both = judge(run, with_models(*servers), episodes, load_benchmark("nq"))
    assert [one.outcome for one in both.verdicts["vote"]] == [Outcome.SUCCESS] * 2
    assert [len(one.asked) for one in servers] == [1, 1, 1], "the words of one alternative need no model"
    asked = text_of(servers[0].asked[0])
    assert "Any one of these alternatives is enough:\n- 1986\n- the year of the comet\nThe agent's answer: In" in asked


def test_a_vote_needs_a_reference_and_without_a_majority_is_unparsed(servers, tmp_path):
    servers[0].reply, servers[1].reply = (lambda asked: "Verdict: SUCCESS"), (lambda asked: "I cannot say.")
    run = SimpleNamespace(state=tmp_path, progress=lambda *_: None)
    bare = a_trajectory(a_task(7, intent="when", evaluator={"type": "none"}), answer="1986")
    vote = load_benchmark("nq").model_copy(update={"judge": "vote", "also": []})
    unread, nothing = judge(run, with_models(*servers), [answered(0, "In 1986."), bare], vote).verdicts["vote"]
    assert (unread.outcome, unread.cost_usd) == (Outcome.UNPARSED, 3.0)
    assert "compared with 1986" in unread.rationale
    assert (nothing.outcome, nothing.cost_usd) == (Outcome.ERROR, 0.0)


def careful(params: Params, **endpoint: object) -> Params:
    """With an endpoint that is asked one question at a time."""
    model = params.judge.model
    one = model.model_copy(update={"endpoint": model.endpoint.model_copy(update={"max_in_flight": 1} | endpoint)})
    return params.model_copy(update={"judge": params.judge.model_copy(update={"model": one})})


TWO = {"judge": "webvoyager", "also": ["openwebrl"]}


def test_max_usd_holds_for_all_protocols_of_a_run_together(servers, tmp_path):
    two = load_benchmark("deepshop").model_copy(update=TWO)
    run = SimpleNamespace(state=tmp_path, progress=lambda *_: None)
    params = careful(with_models(servers[0]), max_usd=3.0)
    found = judge(run, params, [answered(0, "in 1986"), answered(1, "in 1990")], two)
    assert len(servers[0].asked) == 3
    assert read_json(ledger_of(params.judge.model.endpoint, tmp_path))["usd"] == found.usd == 3.0
    assert [one.outcome for one in found.verdicts["webvoyager"]] == [Outcome.SUCCESS, Outcome.FAILURE]
    assert (list(found.verdicts), found.reached, found.unfinished) == (["webvoyager"], 2, ["openwebrl"])
    assert found.stopped_by == "m0 has cost 3.00 USD, max_usd is 3.00"


def test_money_spent_at_former_prices_counts_against_the_budget(servers, tmp_path):
    one = load_benchmark("deepshop").model_copy(update={"judge": "webvoyager", "also": []})
    run = SimpleNamespace(state=tmp_path, progress=lambda *_: None)
    judge(run, careful(with_models(servers[0])), [answered(0, "in 1986")], one, max_usd=1.5)
    dearer = with_models(servers[0])
    endpoint = dearer.judge.model.endpoint.model_copy(update={"usd_per_million_prompt": 1.0})
    model = dearer.judge.model.model_copy(update={"endpoint": endpoint})
    dearer = careful(dearer.model_copy(update={"judge": dearer.judge.model_copy(update={"model": model})}))
    after = judge(run, dearer, [answered(1, "in 1990"), answered(2, "in 1986?")], one, max_usd=0.5)
    assert (len(servers[0].asked), after.usd) == (1, 1.0), "the budget was spent before"
    assert after.stopped_by == "judges have cost 1.00 USD, and their part of the budget is 0.50 USD"


def test_judges_stop_at_the_money_that_is_left_and_go_on_with_more(servers, tmp_path):
    two = load_benchmark("deepshop").model_copy(update=TWO)
    run = SimpleNamespace(state=tmp_path, progress=lambda *_: None)
    stuck = a_trajectory(a_task(9), termination=Termination.MAX_STEPS, answer=None)
    episodes = [answered(0, "in 1986"), stuck, answered(1, "in 1990"), answered(2, "in 1986?"), stuck]
    params = careful(with_models(servers[0]))

    poor = judge(run, params, episodes, two, max_usd=1.5)
    assert (len(servers[0].asked), poor.usd) == (2, 2.0), "what is under way when it is reached"
    # the third answer has no verdict: what comes after it is left out, failures that need no judge too
    assert (poor.reached, len(poor.verdicts["webvoyager"]), poor.unfinished) == (3, 2, ["openwebrl"])
    assert poor.stopped_by == "judges have cost 2.00 USD, and their part of the budget is 1.50 USD"

    rich = judge(run, params, episodes, two, max_usd=10.0)
    assert (len(servers[0].asked), rich.usd) == (6, 6.0)
    assert (rich.reached, rich.stopped_by, rich.unfinished) == (5, None, [])
    assert rich.verdicts["webvoyager"][:2] == poor.verdicts["webvoyager"]


def test_a_judge_without_a_price_is_asked_at_any_spent_budget(servers, tmp_path):
    one = load_benchmark("deepshop").model_copy(update=TWO | {"also": []})
    run = SimpleNamespace(state=tmp_path, progress=lambda *_: None)
    free = careful(with_models(servers[0]), usd_per_million_completion=0.0)
    assert judge(run, free, [answered(0, "in 1986")], one, max_usd=-0.5).reached == 1


@pytest.mark.parametrize("first", [0, 2])
def test_without_money_for_a_verdict_no_episode_counts(servers, tmp_path, first):
    """Episodes that never called `done` need no verdict. Alone they would count, all as failures."""
    run = SimpleNamespace(state=tmp_path, progress=lambda *_: None)
    unfinished = [a_trajectory(a_task(number), termination=Termination.MAX_STEPS, answer=None) for number in range(3)]
    episodes = [*unfinished[:first], answered(3, "1986"), *unfinished[first:]]
    benchmark = load_benchmark("webvoyager-595")
    judged = judge(run, with_models(servers[0]), episodes, benchmark, -0.02)
    assert (judged.reached, judged.unfinished) == (0, [])
    assert judged.stopped_by is not None
    only_failures = judge(run, with_models(servers[0]), unfinished, benchmark, -0.02)
    assert (only_failures.reached, only_failures.stopped_by) == (3, None)


@pytest.mark.parametrize(
    ("name", "judge_name", "priced", "usd"),
    [
        ("nq", "rules", True, 10.0),
        ("nq", "vote", True, 8.0),
        ("deepshop", None, True, 8.0),
        ("deepshop", None, False, 10.0),
    ],
)
def test_episodes_leave_a_fifth_of_the_money_to_a_judge_with_a_price(servers, name, judge_name, priced, usd):
    benchmark = load_benchmark(name)
    benchmark = benchmark.model_copy(update={"judge": judge_name or benchmark.judge})
    model = with_models(*servers).judge.model.model_dump()
    for endpoint in () if priced else (model["endpoint"], *model["voters"]):
        endpoint["usd_per_million_completion"] = 0.0
    budget = episodes_budget(Budget(usd=10.0, minutes=5), benchmark, recipe(judge__model=model))
    assert (budget.usd, budget.minutes) == (usd, 5)
    assert episodes_budget(Budget(minutes=5), benchmark, with_models(*servers)) == Budget(minutes=5)
