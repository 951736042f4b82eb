"""Episodes of RL are judged as they end, and no answer of the judge is lost or mixed up."""

from __future__ import annotations

import asyncio

import pytest

from components.endpoint import BudgetSpent
from components.judge import needs_judge
from components.records import Outcome, Trajectory, Verdict
from components.training import judging
from components.training.judging import EpisodeJudging, RolloutClock
from tests.samples import a_trajectory, a_verdict
from tests.training.rl_without_pages import train

EPISODES = [a_trajectory(attempt=attempt) for attempt in range(3)]
UNFINISHED = a_trajectory(attempt=3, answer=None)


class Judge:
    """Answers each question when the test allows it."""

    def __init__(self, outcome: Outcome = Outcome.SUCCESS) -> None:
        self.asked: list[list[int]] = []
        """The attempts of each call."""
        self.ended = 0
        self.outcome = outcome
        self.may_answer = asyncio.Event()

    async def __call__(self, trajectories: list[Trajectory]) -> list[Verdict]:
        self.asked.append([trajectory.attempt for trajectory in trajectories])
        try:
            # the later an episode was begun, the sooner is its answer
            await self.may_answer.wait()
            await asyncio.sleep(0.01 * (3 - trajectories[0].attempt))
            return [a_verdict(trajectory, self.outcome) for trajectory in trajectories]
        finally:
            self.ended += 1


def test_other_questions_are_awaited_when_the_budget_is_spent():
    async def main() -> None:
        answered: list[int] = []

        async def judge(trajectories: list[Trajectory]) -> list[Verdict]:
            if trajectories[0].attempt == 1:
                raise BudgetSpent("m has cost 5.00 USD, max_usd is 5.00")
            await asyncio.sleep(0.05)
            answered.extend(trajectory.attempt for trajectory in trajectories)
            return [a_verdict(trajectory) for trajectory in trajectories]

        async with EpisodeJudging(judge, None, RolloutClock()) as questions:
            questions.begin(EPISODES[0])
            questions.begin(EPISODES[1])
            with pytest.raises(BudgetSpent, match=r"cost 5\.00 USD"):
                await questions.finish(EPISODES)
            assert sorted(answered) == [0, 2]

    asyncio.run(main())


def test_an_episode_is_judged_when_it_ends_beside_those_that_run():
    async def main() -> None:
        judge, auditor = Judge(), Judge(Outcome.FAILURE)
        async with EpisodeJudging(judge, auditor, RolloutClock()) as questions:
            questions.begin(EPISODES[1])
            questions.begin(UNFINISHED)
            await asyncio.sleep(0)
            assert judge.asked == [[1]], "the other episodes have not ended"
            judge.may_answer.set()
            auditor.may_answer.set()
            judged = await questions.finish([EPISODES[0], EPISODES[1], UNFINISHED, EPISODES[2]])
        assert judge.asked == [[1], [0, 2]], "the rest is judged together"
        ids = [trajectory.trajectory_id for trajectory in EPISODES]
        assert [*judged.verdicts] == ids
        assert {verdict.outcome for verdict in judged.verdicts.values()} == {Outcome.SUCCESS}
        assert [verdict.trajectory_id for verdict in judged.audited] == ids
        assert {verdict.outcome for verdict in judged.audited} == {Outcome.FAILURE}

    asyncio.run(main())


def test_an_error_of_the_judge_waits_until_the_episodes_have_ended():
    async def main() -> None:
        open_question = Judge()

        async def judge(trajectories: list[Trajectory]) -> list[Verdict]:
            if trajectories == [EPISODES[0]]:
                raise ConnectionError("no judge")
            return await open_question(trajectories)

        async def iteration() -> None:
            async with EpisodeJudging(judge, None, RolloutClock()) as questions:
                questions.begin(EPISODES[0])
                questions.begin(EPISODES[1])
                await asyncio.sleep(0.01)  # an episode that still runs is not disturbed
                asyncio.get_running_loop().call_later(0.05, open_question.may_answer.set)
                await questions.finish(EPISODES[:2])

        with pytest.raises(ConnectionError, match="no judge"):
            await iteration()
        assert open_question.ended == 1, "a question is still open"

    asyncio.run(main())


def test_an_error_of_an_episode_ends_open_questions():
    async def main() -> None:
        judge = Judge()

        async def iteration() -> None:
            async with EpisodeJudging(judge, None, RolloutClock()) as questions:
                questions.begin(EPISODES[0])
                await asyncio.sleep(0)
                raise RuntimeError("the policy")

        with pytest.raises(RuntimeError, match="the policy"):
            await iteration()
        assert (judge.asked, judge.ended) == ([[0]], 1)

    asyncio.run(main())


@pytest.mark.parametrize("batches", [False, True])
def test_rl_asks_once_per_episode_or_once_per_wave(monkeypatch, tmp_path, batches):
    calls: list[int] = []
    ask = EpisodeJudging._ask

    async def counted(self: EpisodeJudging, trajectories: list[Trajectory]) -> judging.Judged:
        assert all(map(needs_judge, trajectories))
        calls.append(len(trajectories))
        return await ask(self, trajectories)

    monkeypatch.setattr(EpisodeJudging, "_ask", counted)
    train(monkeypatch, tmp_path, 1, judges_batches=batches)
    assert calls == ([8] if batches else [1] * 8)
