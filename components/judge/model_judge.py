"""Judges trajectories with models behind endpoints, by one of the protocols; several models decide by majority.

A trajectory that needs no judge gets a verdict without one (OpenWebRL, appendix A.4). A refused request gives a verdict
of error, never a failure. The recipe decides about an outage (`judge.model.on_outage`): verdicts of error, which mask;
a pause until the endpoint answers again; or an error that ends the stage, which resumes from there when it is run
again. A spent budget or a wrong key always ends the stage. Answers are kept by content, so each costs money once.
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
from components.judge.protocols import (
    Ask,
    JudgeProtocol,
    Ruling,
    is_blocked,
    judge_protocol,
    results_of,
    says_the_same,
    sees_answer,
    vote,
)
from components.judge.protocols.images import SYSTEM as LOOK
from components.judge.protocols.reference import SYSTEM as COMPARE
from components.params import EndpointParams, ModelJudgeParams
from components.records import ErrorCause, Image, Outcome, ProcessReport, Trajectory, Verdict
from components.success import needs_judge

PAUSES_S = (30.0, 60.0, 120.0, 300.0, 600.0)
"""Seconds to wait for an endpoint that is down; the last value repeats."""

T = TypeVar("T")


class JudgeOutage(RuntimeError):
    """The judge does not answer, and the recipe says that the run fails (`judge.model.on_outage`)."""


class Judgement(NamedTuple):
    """The models' common outcome, and what all their answers cost: tokens, USD, seconds."""

    outcome: Outcome
    rationale: str
    tokens: int = 0
    cost_usd: float = 0.0
    latency_s: float = 0.0
    process: ProcessReport | None = None
    error_cause: ErrorCause | None = None

    @property
    def says(self) -> bool | None:
        """True for success, False for failure, None for no readable answer."""
        return {Outcome.SUCCESS: True, Outcome.FAILURE: False}.get(self.outcome)

    def verdict(self, trajectory: Trajectory, judge: str, version: str) -> Verdict:
        """This judgement as a verdict on a trajectory."""
        return Verdict(
            trajectory_id=trajectory.trajectory_id,
            outcome=self.outcome,
            error_cause=self.error_cause,
            rationale=self.rationale,
            process=self.process,
            judge=judge,
            judge_version=version,
            tokens=self.tokens,
            cost_usd=self.cost_usd,
            latency_s=self.latency_s,
        )


class ModelJudge:
    """Judges trajectories inside of `async with` of its clients."""

    def __init__(
        self,
        params: ModelJudgeParams,
        clients: JudgeClients,
        pauses_s: tuple[float, ...] = PAUSES_S,
        named: tuple[str, JudgeProtocol] | None = None,
    ) -> None:
        """
        Args:
            clients: of the recipe's endpoints, which include those of `params`; shared with the run's other judges.
            named: a protocol with its name, in place of the one that `params` names.
        """
        self.voters = [params.endpoint, *params.voters]
        """The endpoints, each of which gives a verdict."""
        self.params = params
        name, self.protocol = named or (params.protocol, judge_protocol(params.protocol, params.screenshots))
        self.name = name if len(self.voters) == 1 else f"vote-{name}"
        models = "+".join(voter.model for voter in self.voters)
        self.version = f"{models}@{_digest(self.protocol.prompts)}"
        self.comparison_version = f"{models}@{_digest([COMPARE])}"
        """The version of verdicts by `says_the_same`, which no protocol changes."""
        self.image_version = f"{models}@{_digest([LOOK])}"
        """The version of verdicts by `sees_answer`."""
        self._clients = clients
        self._pauses_s = pauses_s

    async def connect(self) -> ModelJudge:
        """Connect now, not with the first question, so that a missing key is reported before other work starts.

        Raises:
            EndpointError: a key is not in the environment.
        """
        for voter in self.voters:
            await self._clients.to(voter)
        return self

    async def __call__(
        self, trajectories: Iterable[Trajectory], on_progress: Callable[[int], None] | None = None
    ) -> list[Verdict]:
        """One verdict per trajectory, in order. Only trajectories that are being judged are in memory.

        Args:
            on_progress: called with the number of verdicts so far.

        Raises:
            JudgeOutage: the endpoint is down and `judge.model.on_outage` is `fail`.
            BudgetSpent: `max_usd` of an endpoint or of the clients is reached.
            EndpointError: an endpoint refuses its configuration, such as the key.
        """
        return await self.each(trajectories, self.judge, on_progress)

    async def judge(self, trajectory: Trajectory) -> Verdict:
        """The verdict on one trajectory; see `__call__` for what is raised."""
        if (verdict := settled_verdict(trajectory, self.name, self.version)) is not None:
            return verdict
        judgement = await self._majority(lambda ask: self.protocol.judge(trajectory, ask))
        return judgement.verdict(trajectory, self.name, self.version)

    async def says_the_same(self, intent: str, references: Sequence[str], answer: str) -> Judgement:
        """Success if an answer means the same as one of the references; raises what `__call__` raises."""
        return await self._majority(lambda ask: says_the_same(intent, references, answer, ask))

    async def sees_answer(self, query: str, answer: str, images: Sequence[Image]) -> Judgement:
        """Success if one of the images gives the answer to a question; raises what `__call__` raises."""
        return await self._majority(lambda ask: sees_answer(query, answer, images, ask))

    async def blocked(
        self, trajectories: Iterable[Trajectory], on_progress: Callable[[int], None] | None = None
    ) -> list[tuple[bool | None, str]]:
        """Whether each episode's last page keeps automated agents out (None if the answer is unreadable), and the
        rationale; see `__call__` for `on_progress` and the errors."""

        async def is_block(trajectory: Trajectory) -> tuple[bool | None, str]:
            judgement = await self._majority(lambda ask: is_blocked(trajectory, ask))
            return judgement.says, judgement.rationale

        return await self.each(trajectories, is_block, on_progress)

    async def each(
        self,
        trajectories: Iterable[Trajectory],
        ask: Callable[[Trajectory], Awaitable[T]],
        on_progress: Callable[[int], None] | None = None,
    ) -> list[T]:
        """The result of `ask` for each trajectory, in order, with as many at once as the endpoints allow; see
        `__call__`."""
        results, limit = await self.until_spent(trajectories, ask, on_progress)
        if limit is not None:
            raise limit
        return results

    async def until_spent(
        self,
        trajectories: Iterable[Trajectory],
        ask: Callable[[Trajectory], Awaitable[T]],
        on_progress: Callable[[int], None] | None = None,
    ) -> tuple[list[T], BudgetSpent | None]:
        """`each`, but a spent budget is no error: the results for the trajectories before the first that the budget did
        not cover, and the limit that was reached. Requests in flight are awaited, since they are paid for."""
        results: dict[int, T] = {}
        limits: list[BudgetSpent] = []
        slots = asyncio.Semaphore(2 * sum(voter.max_in_flight for voter in self.voters))

        async def work(number: int, trajectory: Trajectory) -> None:
            try:
                results[number] = await ask(trajectory)
            except BudgetSpent as error:
                limits.append(error)
                return
            finally:
                slots.release()
            if on_progress is not None:
                on_progress(len(results))

        failure: BaseException | None = None
        try:
            async with asyncio.TaskGroup() as group:
                for number, trajectory in enumerate(trajectories):
                    await slots.acquire()
                    if limits:
                        break
                    group.create_task(work(number, trajectory))
        except BaseExceptionGroup as errors:
            failure = errors.exceptions[0]
        if failure is not None:
            raise failure  # in the `except` it would lose its context, and with `from None` its cause
        paid = next(number for number in itertools.count() if number not in results)
        return [results[number] for number in range(paid)], limits[0] if limits else None

    async def _majority(self, judge: Callable[[Ask], Awaitable[Ruling]]) -> Judgement:
        """The majority of the models, or the only one."""
        answers: list[Answer] = []
        rulings = await results_of(
            self._ruling(number, voter, answers, judge) for number, voter in enumerate(self.voters)
        )
        ruling = rulings[0] if len(rulings) == 1 else vote(rulings)
        return Judgement(
            ruling.outcome,
            ruling.rationale,
            tokens=sum(answer.tokens for answer in answers),
            cost_usd=sum(answer.usd for answer in answers),
            latency_s=sum(answer.latency_s for answer in answers),
            process=ruling.process,
            error_cause=ruling.error_cause,
        )

    async def _ruling(
        self, number: int, voter: EndpointParams, answers: list[Answer], judge: Callable[[Ask], Awaitable[Ruling]]
    ) -> Ruling:
        """The ruling of one model; its answers are added to `answers`. The voter's number is its seed, because the same
        model may vote several times."""
        endpoint = await self._clients.to(voter)

        async def ask(messages: list[Message], response_format: Message | None = None) -> Answer:
            answer = await self._until_up(endpoint, messages, response_format, number)
            answers.append(answer)
            return answer

        try:
            ruling = await judge(ask)
        except (RequestRefused, EndpointDown) as error:
            if isinstance(error, EndpointDown) and self.params.on_outage == "fail":
                raise JudgeOutage(f"{error} (judge.model.on_outage is fail)") from error
            return Ruling(Outcome.ERROR, str(error), error_cause=ErrorCause.ENDPOINT)
        is_error = ruling.outcome is Outcome.ERROR
        return ruling._replace(error_cause=(ruling.error_cause or ErrorCause.NO_RULE) if is_error else None)

    async def _until_up(
        self, endpoint: Endpoint, messages: list[Message], response_format: Message | None, seed: int
    ) -> Answer:
        pauses = 0
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
                pause_s = self._pauses_s[min(pauses, len(self._pauses_s) - 1)] * random.uniform(0.8, 1.2)
                pauses += 1
                print(f"the judge pauses for {pause_s:.0f} s: {error}", flush=True)
                await asyncio.sleep(pause_s)


def settled(trajectory: Trajectory) -> Ruling | None:
    """The ruling on a trajectory that needs no judge, None if only a judge can tell."""
    if not trajectory.termination.is_agents_doing:
        reason = f"the environment ended the episode: {trajectory.termination.value}"
        return Ruling(Outcome.ERROR, reason, error_cause=ErrorCause.ENVIRONMENT)
    if needs_judge(trajectory):
        return None
    reason = "not in a valid format" if not trajectory.format_ok else "without an answer"
    if trajectory.format_ok and trajectory.late_actions:
        reason = "after actions on a page that had ended its task"
    return Ruling(Outcome.FAILURE, f"ended by {trajectory.termination.value}, {reason}")


def settled_verdict(trajectory: Trajectory, judge: str, version: str) -> Verdict | None:
    """The verdict on a trajectory that needs no judge, in a judge's name; None if it must be asked."""
    ruling = settled(trajectory)
    if ruling is None:
        return None
    judgement = Judgement(ruling.outcome, ruling.rationale, error_cause=ruling.error_cause)
    return judgement.verdict(trajectory, judge, version)


def _digest(prompts: Sequence[str]) -> str:
    return hashlib.sha256("\x00".join(prompts).encode()).hexdigest()[:8]
