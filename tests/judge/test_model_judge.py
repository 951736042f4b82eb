"""Model judges against a real HTTP server: verdicts, votes, cost, and that an outage is never a score."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import openai
import pytest

from components.endpoint import BudgetSpent, EndpointDown, EndpointError, Spent
from components.judge import JudgeClients, Judgement, JudgeOutage, ModelJudge, needs_judge, reward
from components.judge.clients import ledger_of
from components.params import EndpointParams, ModelJudgeParams, RecipeError, parse
from components.records import Outcome, Termination, Trajectory, Verdict
from tests.endpoint_server import Server, images_of, text_of
from tests.samples import raw_recipe

S, F, U, E = Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNPARSED, Outcome.ERROR
Episode = Callable[..., Trajectory]


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    running.reply = lambda asked: "Seen.\nVerdict: SUCCESS"
    yield running
    running.close()


def endpoint(server: Server, **changes: object) -> EndpointParams:
    price = {"usd_per_million_prompt": 1000.0, "usd_per_million_completion": 10_000.0}  # 1 + 1 USD a request
    fields = {"url": server.url, "model": "m", "key_variable": None, "max_retries": 0}
    return EndpointParams(**(fields | price | changes))


def params(server: Server, of: dict | None = None, **changes: object) -> ModelJudgeParams:
    return ModelJudgeParams.model_validate({"endpoint": endpoint(server, **(of or {}))} | changes)


def judged(
    judge: ModelJudgeParams, folder: Path, trajectories: list[Trajectory], pauses_s: tuple[float, ...] = (0.05,)
) -> tuple[list[Verdict], Spent]:
    async def main() -> tuple[list[Verdict], Spent]:
        async with JudgeClients(judge, folder, folder / "answers.sqlite") as clients:
            return await ModelJudge(judge, clients, pauses_s)(trajectories), clients.spent

    return asyncio.run(main())


def several(episode: Episode, count: int) -> list[Trajectory]:
    return [
        episode(["x"], intent=f"Task number {number}.").model_copy(update={"trajectory_id": f"t{number}"})
        for number in range(count)
    ]


def test_an_outage_does_not_wait_for_the_requests_in_flight(server, episode, tmp_path):
    """The first question fails at once; the others would be answered in a minute."""
    server.trouble, server.delay_s = [401], 0.0

    def reply(asked: dict) -> str:
        time.sleep(60)
        return "Verdict: SUCCESS"

    server.reply = reply
    began = time.monotonic()
    with pytest.raises(EndpointError):
        judged(params(server, {"max_in_flight": 4}), tmp_path, several(episode, 3))
    assert time.monotonic() - began < 30


def test_verdicts_come_in_order_with_judge_cost_and_time(server, episode, tmp_path):
    server.delay_s = 0.02
    server.reply = lambda asked: f"Seen.\nVerdict: {'SUCCESS' if 'number 1' in text_of(asked) else 'NOT SUCCESS'}"
    verdicts, spent = judged(params(server), tmp_path, several(episode, 3))
    assert [(v.trajectory_id, v.outcome) for v in verdicts] == [("t0", F), ("t1", S), ("t2", F)]
    one = verdicts[0]
    assert (one.judge, one.rationale, one.tokens, one.cost_usd) == ("openwebrl", "Seen.", 1100, 2.0)
    assert one.judge_version.startswith("m@")
    assert one.latency_s >= 0.02
    assert (spent.requests, spent.usd) == (3, 6.0)
    assert images_of(server.asked[0]) == 2
    assert (server.asked[0]["temperature"], server.asked[0]["max_completion_tokens"]) == (0.0, 4096)


def test_judging_again_costs_nothing_and_says_the_same(server, episode, tmp_path):
    first, _ = judged(params(server), tmp_path, several(episode, 3))
    second, spent = judged(params(server), tmp_path, several(episode, 3))
    assert second == first
    assert len(server.asked) == 3
    assert (spent.requests, spent.cached, spent.usd) == (3, 3, 6.0)


def test_the_model_is_asked_only_about_episodes_that_need_a_judge(server, episode, tmp_path):
    endings = [
        episode(["x"], termination=Termination.MAX_STEPS, answer=None),
        episode(["x"], answer=None),
        episode(["x"], parse_error="no closing tag"),
        episode(["x"], termination=Termination.BLOCKED, answer=None),
    ]
    verdicts, _ = judged(params(server), tmp_path, endings)
    assert [verdict.outcome for verdict in verdicts] == [F, F, F, E]
    assert server.asked == []
    assert [verdict.cost_usd for verdict in verdicts] == [0.0] * 4


def test_an_outage_masks_and_is_never_a_score(server, episode, tmp_path):
    server.reply = lambda asked: "Verdict: SUCCESS"
    server.trouble = [503]
    trajectories = several(episode, 1)
    (verdict,), _ = judged(params(server), tmp_path, trajectories)
    assert verdict.outcome is E
    assert "failed for good" in verdict.rationale
    assert needs_judge(trajectories[0])
    assert reward(trajectories[0], verdict).masked
    (again,), _ = judged(params(server), tmp_path, trajectories)
    assert again.outcome is S, "an outage is not kept"


def test_an_outage_pauses_until_the_endpoint_is_back(server, episode, tmp_path, capsys):
    server.trouble = [503, 429, 0]
    (verdict,), _ = judged(params(server, on_outage="pause"), tmp_path, several(episode, 1))
    assert verdict.outcome is S
    assert len(server.asked) == 4
    assert capsys.readouterr().out.count("the judge pauses") == 3


def test_a_run_failed_by_an_outage_resumes_with_the_paid_answers(server, episode, tmp_path):
    one_by_one = {"max_in_flight": 1}
    trajectories = several(episode, 4)
    server.reply = lambda asked: server.trouble.extend([503] * (len(server.asked) == 2)) or "Verdict: SUCCESS"
    with pytest.raises(JudgeOutage, match="on_outage is fail"):
        judged(params(server, one_by_one, on_outage="fail"), tmp_path, trajectories)
    verdicts, spent = judged(params(server, one_by_one, on_outage="fail"), tmp_path, trajectories)
    assert [verdict.outcome for verdict in verdicts] == [S] * 4
    assert spent.requests == 4, "four answers, none of them paid for twice"
    asked = [text_of(one) for one in server.asked]
    assert [sum(f"Task number {number}." in one for one in asked) for number in (0, 1)] == [1, 1]


def test_an_outage_that_ends_a_run_keeps_its_causes(server, episode, tmp_path):
    """Down to the response that a question about one of several pages got."""
    server.reply = lambda asked: server.trouble.extend([503] * 9) or "1. It is done."
    trajectory = episode(*[["x"]] * 3)
    with pytest.raises(JudgeOutage) as outage:
        judged(params(server, protocol="webjudge", on_outage="fail"), tmp_path, [trajectory])
    assert isinstance(outage.value.__cause__, EndpointDown)
    assert isinstance(outage.value.__cause__.__cause__, openai.InternalServerError)


def test_a_refused_request_masks_only_itself_under_any_outage_setting(server, episode, tmp_path):
    server.trouble = [400]
    verdicts, _ = judged(params(server, {"max_in_flight": 1}, on_outage="fail"), tmp_path, several(episode, 2))
    assert [verdict.outcome for verdict in verdicts] == [E, S]


@pytest.mark.parametrize(
    "protocol, refused, most",
    [
        ("webjudge", "You see one page", 3),
        ("webgym_rubric", "You see one page", 2),
        ("universal", "You read one page", 3),
        ("universal", "You decide one criterion", 13),
    ],
)
def test_the_first_refused_question_ends_those_beside_it(server, episode, tmp_path, protocol, refused, most):
    """A verdict that cannot come costs no more. The request that took the slot of the refused one may be sent."""
    server.reply = lambda asked: (
        "1. It is done."
        if "numbered list" in text_of(asked)
        else json.dumps({"criteria": [f"Part {number}." for number in range(9)], "critical_points": []})
        if "before anyone tries it" in text_of(asked)
        else json.dumps({"findings": [], "obstacle": ""})
    )
    server.refuses = lambda text: refused in text
    trajectory = episode(*[["x"]] * 9)
    (verdict,), _ = judged(params(server, {"max_in_flight": 1}, protocol=protocol), tmp_path, [trajectory])
    assert verdict.outcome is E
    assert len(server.asked) <= most


@pytest.mark.parametrize("on_outage", ["mask", "pause", "fail"])
def test_a_spent_budget_or_a_wrong_key_always_ends_the_stage(server, episode, tmp_path, on_outage):
    with pytest.raises(BudgetSpent):
        judged(params(server, {"max_usd": 3.0, "max_in_flight": 1}, on_outage=on_outage), tmp_path, several(episode, 4))
    assert len(server.asked) == 2
    server.trouble = [401] * 4
    with pytest.raises(EndpointError, match="AuthenticationError"):
        judged(params(server, {"model": "other"}, on_outage=on_outage), tmp_path, several(episode, 1))


def test_a_verdict_that_was_cut_off_is_unparsed_and_costs_all_the_same(server, episode, tmp_path):
    server.finish = "length"
    (verdict,), _ = judged(params(server), tmp_path, several(episode, 1))
    assert (verdict.outcome, verdict.cost_usd) == (U, 2.0)


@pytest.mark.parametrize(
    "says, outcome",
    [
        (["SUCCESS", "SUCCESS", "NOT SUCCESS"], S),
        (["SUCCESS", "NOT SUCCESS", "NOT SUCCESS"], F),
        (["SUCCESS", "NOT SUCCESS", "perhaps"], U),
        (["SUCCESS", "perhaps", "SUCCESS"], S),
    ],
)
def test_two_of_three_models_decide(server, episode, tmp_path, says, outcome):
    server.reply = lambda asked: f"{asked['model']}\nVerdict: {says[int(asked['model'])]}"
    voters = [endpoint(server, model=str(number)) for number in (1, 2)]
    (verdict,), spent = judged(params(server, {"model": "0"}, voters=voters), tmp_path, several(episode, 1))
    assert (verdict.outcome, verdict.judge, verdict.cost_usd) == (outcome, "vote-openwebrl", 6.0)
    assert verdict.judge_version.startswith("0+1+2@")
    assert spent.requests == 3


def test_one_model_may_vote_three_times_with_three_seeds(server, episode, tmp_path):
    judge = params(server, voters=[endpoint(server)] * 2, temperature=0.7)
    judged(judge, tmp_path, several(episode, 1))
    assert sorted(asked["seed"] for asked in server.asked) == [0, 1, 2]


def test_a_voter_that_is_down_does_not_stop_the_two_that_agree(server, episode, tmp_path):
    server.reply = lambda asked: "Verdict: SUCCESS"
    voters = [endpoint(server), endpoint(server, url="http://127.0.0.1:9/v1")]
    (verdict,), _ = judged(params(server, voters=voters, temperature=0.5), tmp_path, several(episode, 1))
    assert verdict.outcome is S


def test_costs_of_many_questions_add_up_and_one_outage_is_an_outage_of_all(server, episode, tmp_path):
    server.reply = lambda asked: (
        "1. A point"
        if "numbered list" in text_of(asked)
        else "Score: 5"
        if "`Score: `" in text_of(asked)
        else "Status: failure"
    )
    judge = params(server, {"max_in_flight": 1}, protocol="webjudge")
    (verdict,), _ = judged(judge, tmp_path, several(episode, 1))
    assert (verdict.outcome, verdict.tokens, verdict.cost_usd) == (F, 4 * 1100, 8.0)
    other = [episode(["x"], intent="Another task.")]
    server.reply, reply = (lambda asked: server.trouble.append(503) or reply(asked)), server.reply
    (verdict,), _ = judged(judge, tmp_path, other)
    assert verdict.outcome is E


def test_trajectories_are_read_only_as_fast_as_they_are_judged(server, episode, tmp_path):
    server.delay_s = 0.02
    read: list[int] = []

    def reading() -> Iterator[Trajectory]:
        for number, one in enumerate(several(episode, 30)):
            read.append(number)
            yield one

    async def main() -> int:
        judge = params(server, {"max_in_flight": 2})
        async with JudgeClients(judge, tmp_path, tmp_path / "a.sqlite") as clients:
            ahead = []
            await ModelJudge(judge, clients)(reading(), lambda done: ahead.append(len(read) - done))
            return max(ahead)

    assert asyncio.run(main()) <= 5


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"judge__labels": "model"}, r"name it in judge\.model\.endpoint"),
        ({"judge__reward": "model"}, r"name it in judge\.model\.endpoint"),
        ({"judge__model": {"voters": [{"url": "http://u", "model": "m"}] * 2}}, r"judge\.model\.endpoint: is missing"),
        (
            {
                "judge__model": {
                    "endpoint": {"url": "http://u", "model": "m"},
                    "voters": [{"url": "http://u", "model": "m"}],
                }
            },
            "an even number of voters",
        ),
    ],
)
def test_a_recipe_that_cannot_judge_is_refused_before_anything_starts(changes, said):
    with pytest.raises(RecipeError, match=said):
        parse(raw_recipe(**changes))


def test_the_judge_is_asked_whether_an_answer_agrees_with_a_reference(server, tmp_path):
    async def main(reference: str, answer: str, judge: ModelJudgeParams) -> Judgement:
        async with JudgeClients(judge, tmp_path, tmp_path / "answers.sqlite") as clients:
            return await ModelJudge(judge, clients).says_the_same("How far is it?", [reference], answer)

    def reply(asked: dict) -> str:
        text = text_of(asked)
        return f"Verdict: {'SUCCESS' if 'two km' in text else 'perhaps' if '5 km' in text else 'NOT SUCCESS'}"

    server.reply, price = reply, (1100, 2.0)
    said = [asyncio.run(main("2 km", f"It is {far}.", params(server))) for far in ("two km", "3 km", "5 km")]
    assert [(one.outcome, one.tokens, one.cost_usd) for one in said] == [(S, *price), (F, *price), (U, *price)]
    assert all(one.latency_s > 0 for one in said)
    same = asyncio.run(main("2 km", "2 KM", params(server)))
    assert (same.outcome, same.cost_usd, len(server.asked)) == (S, 0.0, 3), "the same words need no model"
    other = asyncio.run(main("2 km", "-2 km", params(server)))
    assert (other.outcome, len(server.asked)) == (F, 4), "the same words with another number are not the same"
    server.trouble = [503]
    assert asyncio.run(main("2 km", "It is far.", params(server))).outcome is E


@pytest.mark.parametrize(
    ("reference", "answer"),
    [("$5", "€5"), ("3 > 2", "3 < 2"), ("≥ 5", "> 5"), ("x = 1", "x ≠ 1"), ("5%", "5"), ("11/1", "1/11")],
)
def test_the_same_words_with_other_signs_are_a_question_to_the_model(server, tmp_path, reference, answer):
    async def main(given: str) -> Judgement:
        async with JudgeClients(params(server), tmp_path, tmp_path / "answers.sqlite") as clients:
            return await ModelJudge(params(server), clients).says_the_same("How much?", [reference], given)

    server.reply = lambda asked: "Verdict: NOT SUCCESS"
    assert (asyncio.run(main(answer)).outcome, len(server.asked)) == (F, 1)
    assert (asyncio.run(main(reference)).outcome, len(server.asked)) == (S, 1)


def test_one_model_with_three_votes_has_one_limit_and_one_budget(server, episode, tmp_path):
    one = {"max_in_flight": 1, "max_usd": 5.0}
    judge = params(server, one, voters=[endpoint(server, **one)] * 2, temperature=0.7)
    with pytest.raises(BudgetSpent):
        judged(judge, tmp_path, several(episode, 2))
    assert (len(server.asked), server.most) == (3, 1), "after 6 of 5 USD no judge asks any more"
    assert [*tmp_path.glob("spent-judge-*.json")] == [ledger_of(judge.endpoint, tmp_path)]


def test_what_another_model_has_cost_is_not_in_the_budget_of_this_one(server, episode, tmp_path):
    """`judge run` and `judge calibrate` use a folder again."""
    with pytest.raises(BudgetSpent):
        judged(params(server, {"max_usd": 1.0, "max_in_flight": 1}), tmp_path, several(episode, 2))
    asked = len(server.asked)
    judged(params(server, {"max_usd": 5.0, "model": "another"}), tmp_path, several(episode, 2))
    assert len(server.asked) == asked + 2
