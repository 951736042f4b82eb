"""Judges trajectories with models behind endpoints, by one of the protocols; of several models, most decide.

Who needs no judge gets a verdict without one (OpenWebRL, appendix A.4). What a model cannot be asked about is an error,
never a failure, and an outage is what the recipe says (`judge.on_outage`): verdicts of error, which mask; a pause until
the endpoint is back; or the end of the stage, which goes on from there when it is run again. A spent budget and a wrong
key always end it: waiting mends neither. Answers are kept by content, so nothing is paid for twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from components.endpoint import Answer, BudgetSpent, Endpoint, EndpointDown, Message, RequestRefused
from components.judge.clients import JudgeClients
from components.judge.protocols import Ask, Ruling, is_blocked, judge_protocol, says_the_same, vote
from components.judge.protocols.reference import SYSTEM as COMPARE
from components.judge.reward import needs_judge
from components.params import EndpointParams, JudgeParams
from components.records import Outcome, Trajectory, Verdict

PAUSES_S = (30.0, 60.0, 120.0, 300.0, 600.0)
"""How long to wait for an endpoint that is down, the last again and again."""

T = TypeVar("T")


class JudgeOutage(RuntimeError):
    """The judge does not answer, and the recipe says that the run fails then."""


class Judgement(NamedTuple):
    """What the models say together, and what all their answers took: tokens, USD, seconds."""

    outcome: Outcome
    rationale: str
    tokens: int = 0
    cost_usd: float = 0.0
    latency_s: float = 0.0

    @property
    def says(self) -> bool | None:
        """Yes, no, or None if nobody can tell."""
        return {Outcome.SUCCESS: True, Outcome.FAILURE: False}.get(self.outcome)

    def verdict(self, trajectory: Trajectory, judge: str, version: str) -> Verdict:
        """The same as a verdict on a trajectory."""
        return Verdict(
            trajectory_id=trajectory.trajectory_id,
            outcome=self.outcome,
            rationale=self.rationale,
            judge=judge,
            judge_version=version,
            tokens=self.tokens,
            cost_usd=self.cost_usd,
            latency_s=self.latency_s,
        )


class ModelJudge:
    """A function from trajectories to verdicts, inside of `async with` of its clients."""

    def __init__(self, params: JudgeParams, clients: JudgeClients, pauses_s: tuple[float, ...] = PAUSES_S) -> None:
        """
        Args:
            clients: of the recipe's endpoints, of which `params` names some; shared with the run's other judges.

        Raises:
            ValueError: the recipe names no endpoint.
        """
        if params.endpoint is None:
            raise ValueError("a model that judges needs judge.endpoint with a url and a model")
        self._seats = [params.endpoint, *params.voters]
        self.params = params
        self.protocol = judge_protocol(params.protocol, params.screenshots)
        self.name = params.protocol if len(self._seats) == 1 else f"vote-{params.protocol}"
        models = "+".join(one.model for one in self._seats)
        self.version = f"{models}@{_digest(self.protocol.prompts)}"
        self.comparison_version = f"{models}@{_digest([COMPARE])}"
        """Of what comes of `says_the_same`, whatever the protocol."""
        self._clients = clients
        self._pauses_s = pauses_s

    async def connect(self) -> ModelJudge:
        """Connect now, not with the first question, so that a missing key is told before other work.

        Raises:
            EndpointError: a key is not in the environment.
        """
        for seat in self._seats:
            await self._clients.to(seat)
        return self

    async def __call__(
        self, trajectories: Iterable[Trajectory], done: Callable[[int], None] | None = None
    ) -> list[Verdict]:
        """One verdict per trajectory, in order. No more trajectories are in memory than are asked about.

        Args:
            done: hears how many verdicts there are.

        Raises:
            JudgeOutage: the endpoint is down and `judge.on_outage` is `fail`.
            BudgetSpent: `max_usd` of an endpoint is reached, or that of the clients.
            EndpointError: an endpoint cannot be used as it is.
        """
        return await self.each(trajectories, self.judge, done)

    async def judge(self, trajectory: Trajectory) -> Verdict:
        """The verdict on one trajectory; see `__call__` for what is raised."""
        ruling = settled(trajectory)
        said = Judgement(*ruling) if ruling else await self._most(lambda ask: self.protocol.judge(trajectory, ask))
        return said.verdict(trajectory, self.name, self.version)

    async def says_the_same(self, intent: str, references: Sequence[str], answer: str) -> Judgement:
        """Success if an answer says what one of the references says; raises what `__call__` raises."""
        return await self._most(lambda ask: says_the_same(intent, references, answer, ask))

    async def blocked(
        self, trajectories: Iterable[Trajectory], done: Callable[[int], None] | None = None
    ) -> list[tuple[bool | None, str]]:
        """Whether each episode's last page kept the agent out for being a machine, None if nobody can tell, and what
        was said; see `__call__` for the rest."""

        async def one(trajectory: Trajectory) -> tuple[bool | None, str]:
            said = await self._most(lambda ask: is_blocked(trajectory, ask))
            return said.says, said.rationale

        return await self.each(trajectories, one, done)

    async def each(
        self,
        trajectories: Iterable[Trajectory],
        ask: Callable[[Trajectory], Awaitable[T]],
        done: Callable[[int], None] | None = None,
    ) -> list[T]:
        """What `ask` makes of each trajectory, in order, by as many at once as the endpoints take; see `__call__`."""
        found, spent = await self.until_spent(trajectories, ask, done)
        if spent is not None:
            raise spent
        return found

    async def until_spent(
        self,
        trajectories: Iterable[Trajectory],
        ask: Callable[[Trajectory], Awaitable[T]],
        done: Callable[[int], None] | None = None,
    ) -> tuple[list[T], BudgetSpent | None]:
        """The same as far as the money goes: of the trajectories before the first that could no longer be paid for, and
        the limit that was reached. What is under way then is waited for, since it is paid for."""
        found: dict[int, T] = {}
        limits: list[BudgetSpent] = []
        room = asyncio.Semaphore(2 * sum(seat.max_in_flight for seat in self._seats))

        async def one(number: int, trajectory: Trajectory) -> None:
            try:
                found[number] = await ask(trajectory)
            except BudgetSpent as error:
                limits.append(error)
                return
            finally:
                room.release()
            if done is not None:
                done(len(found))

        try:
            async with asyncio.TaskGroup() as group:
                for number, trajectory in enumerate(trajectories):
                    await room.acquire()
                    if limits:
                        break
                    group.create_task(one(number, trajectory))
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        paid = next(number for number in itertools.count() if number not in found)
        return [found[number] for number in range(paid)], limits[0] if limits else None

    async def _most(self, judge: Callable[[Ask], Awaitable[Ruling]]) -> Judgement:
        """What most of the models say, or the only one."""
        used: list[Answer] = []
        rulings = await asyncio.gather(
            *(self._ruling(number, seat, used, judge) for number, seat in enumerate(self._seats))
        )
        outcome, rationale = rulings[0] if len(rulings) == 1 else vote(rulings)
        return Judgement(
            outcome,
            rationale,
            tokens=sum(answer.tokens for answer in used),
            cost_usd=sum(answer.usd for answer in used),
            latency_s=sum(answer.latency_s for answer in used),
        )

    async def _ruling(
        self, number: int, seat: EndpointParams, used: list[Answer], judge: Callable[[Ask], Awaitable[Ruling]]
    ) -> Ruling:
        """What one model says; its answers are added to `used`. The seat's number is its seed: the same model may have
        several and vote."""
        endpoint = await self._clients.to(seat)

        async def ask(messages: list[Message], response_format: Message | None = None) -> Answer:
            answer = await self._until_up(endpoint, messages, response_format, number)
            used.append(answer)
            return answer

        try:
            return await judge(ask)
        except RequestRefused as error:
            return Ruling(Outcome.ERROR, str(error))
        except EndpointDown as error:
            if self.params.on_outage == "fail":
                raise JudgeOutage(f"{error} (judge.on_outage is fail)") from error
            return Ruling(Outcome.ERROR, str(error))

    async def _until_up(
        self, endpoint: Endpoint, messages: list[Message], response_format: Message | None, seed: int
    ) -> Answer:
        tried = 0
        while True:
            try:
                return await endpoint.ask(
                    messages,
                    max_tokens=self.params.max_answer_tokens,
                    temperature=self.params.temperature,
                    seed=seed,
                    response_format=response_format,
                )
            except EndpointDown as error:
                if self.params.on_outage != "pause":
                    raise
                pause_s = self._pauses_s[min(tried, len(self._pauses_s) - 1)] * random.uniform(0.8, 1.2)
                tried += 1
                print(f"the judge pauses for {pause_s:.0f} s: {error}", flush=True)
                await asyncio.sleep(pause_s)


def settled(trajectory: Trajectory) -> Ruling | None:
    """The ruling on a trajectory that needs no judge, None if only a judge can tell."""
    if not trajectory.termination.is_agents_doing:
        return Ruling(Outcome.ERROR, f"the environment ended the episode: {trajectory.termination.value}")
    if needs_judge(trajectory):
        return None
    why = "not in a valid format" if not trajectory.format_ok else "without an answer"
    return Ruling(Outcome.FAILURE, f"ended by {trajectory.termination.value}, {why}")


def _digest(prompts: Sequence[str]) -> str:
    return hashlib.sha256("\x00".join(prompts).encode()).hexdigest()[:8]
