"""A benchmark's trajectories to verdicts, by the protocol that it names: rules here, models behind `judge.endpoint`.

The official protocol's models vote only where that is the protocol (`vote`, BrowserAgent's two of three, who compare
the answer with the reference); elsewhere `judge.endpoint` judges alone, as the published judge did. What a rule leaves
to a model (WebArena's `fuzzy_match`) is asked of it too, and unjudged without one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from components.endpoint import ANSWERS, BudgetSpent
from components.evaluation.benchmarks import Benchmark, BenchmarkError, JudgeName
from components.judge import JudgeClients, Judgement, ModelJudge, assisted_verdict, needs_judge, rules_verdict
from components.judge.protocols import PROTOCOLS
from components.params import JudgeParams, Params
from components.records import Outcome, Trajectory, Verdict
from components.stages._run import StageRun


class Judged(NamedTuple):
    """Verdicts by protocol, the official first, and what they cost, earlier tries included.

    The first `reached` trajectories have an official verdict or need none; those after them could no longer be paid
    for. `stopped_by` is the limit that was reached, and `unfinished` are protocols beside the official one that did not
    get as far: their verdicts are left out.
    """

    verdicts: dict[JudgeName, list[Verdict]]
    usd: float
    reached: int
    stopped_by: str | None
    unfinished: list[JudgeName]


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


def judge(
    run: StageRun,
    params: Params,
    trajectories: Sequence[Trajectory],
    benchmark: Benchmark,
    max_usd: float | None = None,
) -> Judged:
    """Verdicts on the trajectories that need one; beside the official protocol, those of `also` that can be had.

    Money that ends is no error: there are verdicts on the first trajectories then, which are a fair sample of tasks if
    their order is.

    Args:
        max_usd: what judges may cost, earlier tries included.

    Raises:
        BenchmarkError: nobody here can be asked for the official one.
        JudgeOutage, EndpointError: see `judge.ModelJudge`; what was answered is kept.
    """
    require_judge(benchmark, params)
    places = [place for place, trajectory in enumerate(trajectories) if needs_judge(trajectory)]
    names = dict.fromkeys([benchmark.judge, *(name for name in benchmark.also if _can(name, params.judge))])
    found = asyncio.run(_judge(run, params.judge, [trajectories[place] for place in places], [*names], max_usd))
    return found._replace(reached=[*places, len(trajectories)][found.reached])


def _can(name: JudgeName, params: JudgeParams) -> bool:
    if name == "rules":
        return True
    if name == "vote":
        return params.endpoint is not None and len(params.voters) >= 2
    return name in PROTOCOLS and params.endpoint is not None


async def _judge(
    run: StageRun, params: JudgeParams, asked: Sequence[Trajectory], names: list[JudgeName], max_usd: float | None
) -> Judged:
    """`reached` counts those of `asked`."""
    verdicts: dict[JudgeName, list[Verdict]] = {}
    limits: list[BudgetSpent] = []
    async with JudgeClients(params, run.state, ANSWERS, max_usd) as clients:
        for name in names:
            if params.endpoint is None:
                verdicts[name] = [rules_verdict(trajectory) for trajectory in asked]
                continue
            told = {"protocol": name} if name in PROTOCOLS else {}
            told |= {} if name == "vote" else {"voters": []}
            model = ModelJudge(params.model_copy(update=told), clients)
            found, limit = await model.until_spent(
                asked, _way(name, model), lambda done: run.progress(0, 1, f"{done} verdicts")
            )
            limits += [limit] if limit is not None else []
            if name == names[0]:
                asked = asked[: len(found)]
            if len(found) == len(asked):
                verdicts[name] = found
        unfinished = [name for name in names if name not in verdicts]
        stopped_by = limits[0].limit if limits else None
        return Judged(verdicts, round(clients.spent.usd, 6), len(asked), stopped_by, unfinished)


def _way(name: JudgeName, model: ModelJudge) -> Callable[[Trajectory], Awaitable[Verdict]]:
    """How a trajectory gets its verdict by this protocol."""
    match name:
        case "rules":
            return lambda trajectory: assisted_verdict(trajectory, model)
        case "vote":
            return lambda trajectory: _compared(trajectory, model)
    return model.judge


async def _compared(trajectory: Trajectory, model: ModelJudge) -> Verdict:
    """Whether the answer says what one of the reference answers says; an error where there is none to compare with."""
    task = trajectory.task
    answers = task.evaluator.get("answers") or ([task.reference_answer] if task.reference_answer else [])
    if not answers:
        said = Judgement(Outcome.ERROR, "the task has no reference answer")
    else:
        said = await model.says_the_same(task.intent, answers, trajectory.answer or "")
        said = said._replace(rationale=f"compared with {' | '.join(answers)}: {said.rationale}")
    return said.verdict(trajectory, "vote", model.comparison_version)
