"""A benchmark's trajectories to verdicts, by the protocol that it names: rules here, models behind `judge.endpoint`.

The official protocol's models vote only where that is the protocol (`vote`, BrowserAgent's two of three, who compare
the answer with the reference); elsewhere `judge.endpoint` judges alone, as the published judge did. What a rule leaves
to a model (WebArena's `fuzzy_match`) is asked of it too, and unjudged without one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from components.endpoint import ANSWERS
from components.evaluation.benchmarks import Benchmark, BenchmarkError, JudgeName
from components.judge import JudgeClients, Judgement, ModelJudge, assisted_rules, needs_judge, rules_verdict
from components.params import JudgeParams, Params
from components.records import Outcome, Trajectory, Verdict
from components.stages._run import StageRun

PROTOCOLS = frozenset(
    {"openwebrl", "webvoyager", "webvoyager_hinted", "agenttrek", "webjudge", "deepshop", "webgym_rubric"}
)


class Judged(NamedTuple):
    """Verdicts by protocol, the official first, and what they cost, earlier tries included."""

    verdicts: dict[JudgeName, list[Verdict]]
    usd: float


def require_judge(benchmark: Benchmark, params: Params) -> None:
    """Refuse a benchmark that nobody here can judge, before anything is spent on it.

    Raises:
        BenchmarkError: names what to set.
    """
    if not _can(benchmark.judge, params.judge):
        official = f" (the published numbers are {benchmark.judge_model}'s)" if benchmark.judge_model else ""
        voters = ", and two more in judge.voters" if benchmark.judge == "vote" else ""
        raise BenchmarkError(
            f"{benchmark.name} is judged by the protocol {benchmark.judge}, which asks a model{official}: name one in "
            f"judge.endpoint of the recipe{voters}"
        )


def judge(run: StageRun, params: Params, trajectories: Iterable[Trajectory], benchmark: Benchmark) -> Judged:
    """Verdicts on the trajectories that need one; beside the official protocol, those of `also` that can be had.

    Raises:
        BenchmarkError: nobody here can be asked for the official one.
        JudgeOutage, EndpointError: see `judge.ModelJudge`; what was answered is kept.
    """
    require_judge(benchmark, params)
    asked = [trajectory for trajectory in trajectories if needs_judge(trajectory)]
    names = dict.fromkeys([benchmark.judge, *(name for name in benchmark.also if _can(name, params.judge))])
    return asyncio.run(_judge(run, params.judge, asked, [*names]))


def _can(name: JudgeName, params: JudgeParams) -> bool:
    if name == "rules":
        return True
    if name == "vote":
        return params.endpoint is not None and len(params.voters) >= 2
    return name in PROTOCOLS and params.endpoint is not None


async def _judge(run: StageRun, params: JudgeParams, asked: Sequence[Trajectory], names: list[JudgeName]) -> Judged:
    verdicts: dict[JudgeName, list[Verdict]] = {}
    async with JudgeClients(params, run.state, ANSWERS) as clients:
        for name in names:
            if params.endpoint is None:
                verdicts[name] = [rules_verdict(trajectory) for trajectory in asked]
                continue
            told = {"protocol": name} if name in PROTOCOLS else {}
            told |= {} if name == "vote" else {"voters": []}
            model = ModelJudge(params.model_copy(update=told), clients)
            if name == "rules":
                verdicts[name] = await assisted_rules(asked, model)
            elif name == "vote":
                verdicts[name] = await _by_vote(asked, model)
            else:
                verdicts[name] = await model(asked, lambda done: run.progress(0, 1, f"{done} verdicts"))
        return Judged(verdicts, round(clients.spent.usd, 6))


async def _by_vote(asked: Sequence[Trajectory], model: ModelJudge) -> list[Verdict]:
    """Whether the answer says what one of the reference answers says; an error where there is none to compare with."""

    async def one(trajectory: Trajectory) -> Verdict:
        task = trajectory.task
        answers = task.evaluator.get("answers") or ([task.reference_answer] if task.reference_answer else [])
        if not answers:
            said = Judgement(Outcome.ERROR, "the task has no reference answer")
        else:
            said = await model.says_the_same(task.intent, answers, trajectory.answer or "")
            said = said._replace(rationale=f"compared with {' | '.join(answers)}: {said.rationale}")
        return said.verdict(trajectory, "vote", model.comparison_version)

    return await model.each(asked, one)
