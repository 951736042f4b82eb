"""Verdicts on a benchmark's trajectories by its protocol: rules in this process, models behind `judge.model`.

Several models vote only in the protocol `vote` (BrowserAgent's two of three, which compare the answer with the
reference); in other protocols `judge.model` judges alone, as the published judge did. It also decides what a rule
leaves to a model (WebArena's `fuzzy_match`), which is unjudged without a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from components.benchmarks.spec import Benchmark, BenchmarkError, JudgeName
from components.endpoint import ANSWERS, BudgetSpent, require_key
from components.judge import JudgeClients, Judgement, ModelJudge, assisted_verdict, needs_judge, rules_verdict
from components.judge.protocols.reference import references_of
from components.params import ModelJudgeParams, Params
from components.pipeline.stage_run import StageRun
from components.records import ErrorCause, Outcome, Trajectory, Verdict
from components.rollout import Budget

KEPT_FOR_JUDGES = 0.2
"""Share of the money that episodes leave to a model that judges them. Without it, episodes of a priced policy spend
every budget that stops them, and none of them gets a verdict."""


class JudgedEpisodes(NamedTuple):
    """Verdicts by protocol, the official one first, and their cost with earlier tries.

    The first `reached` trajectories have an official verdict or need none; the budget did not cover the others. It is 0
    if the budget covered no verdict: the episodes that need none are failures.
    `stopped_by` is the limit that was reached. `unfinished` are other protocols with fewer verdicts, which are left
    out.
    """

    verdicts: dict[JudgeName, list[Verdict]]
    usd: float
    reached: int
    stopped_by: str | None
    unfinished: list[JudgeName]


def require_judge(benchmark: Benchmark, params: Params) -> None:
    """Refuse a benchmark that this recipe cannot judge, before it costs anything.

    Raises:
        BenchmarkError: names the keys to set.
    """
    if not _is_available(benchmark.judge, params.judge.model):
        official = f" (the published numbers are by {benchmark.judge_model})" if benchmark.judge_model else ""
        voters = ", and two more in judge.model.voters" if benchmark.judge == "vote" else ""
        raise BenchmarkError(
            f"{benchmark.name} is judged by the protocol {benchmark.judge}, which asks a model{official}: name one in "
            f"judge.model.endpoint of the recipe{voters}"
        )


def require_judge_keys(benchmark: Benchmark, params: Params) -> None:
    """Require the keys of the models that judge every episode of a benchmark.

    Raises:
        EndpointError: a key is not in the environment.
    """
    model = params.judge.model
    names = [name for name in _protocols(benchmark, params) if name != "rules"]
    if model is not None and names:
        for endpoint in (model.endpoint, *(model.voters if "vote" in names else [])):
            require_key(endpoint)


def episodes_budget(budget: Budget, benchmark: Benchmark, params: Params) -> Budget:
    """The budget of the episodes of a priced policy: if the official judge is a model with a price, they leave it the
    share `KEPT_FOR_JUDGES` of the money."""
    model = params.judge.model
    if budget.usd is None or model is None or benchmark.judge == "rules":
        return budget
    endpoints = [model.endpoint, *(model.voters if benchmark.judge == "vote" else [])]
    if not any(endpoint.usd_per_million_prompt or endpoint.usd_per_million_completion for endpoint in endpoints):
        return budget
    return budget.model_copy(update={"usd": (1 - KEPT_FOR_JUDGES) * budget.usd})


def judge(
    run: StageRun,
    params: Params,
    trajectories: Sequence[Trajectory],
    benchmark: Benchmark,
    max_usd: float | None = None,
) -> JudgedEpisodes:
    """Verdicts on the trajectories that need one, by the official protocol and the available ones of `also`.

    A spent budget is no error: then the first trajectories have verdicts, which are a random sample of tasks if the
    order is random.

    Args:
        max_usd: the budget of the judges, with earlier tries.

    Raises:
        BenchmarkError: the official protocol is not available.
        JudgeOutage, EndpointError: see `judge.ModelJudge`; earlier answers are kept.
    """
    require_judge(benchmark, params)
    positions = [position for position, trajectory in enumerate(trajectories) if needs_judge(trajectory)]
    open_trajectories = [trajectories[position] for position in positions]
    judged = asyncio.run(_judge(run, params.judge.model, open_trajectories, _protocols(benchmark, params), max_usd))
    if positions and not judged.reached:
        return judged
    return judged._replace(reached=[*positions, len(trajectories)][judged.reached])


def _protocols(benchmark: Benchmark, params: Params) -> list[JudgeName]:
    """The official protocol, and the others that are available."""
    others = (name for name in benchmark.also if _is_available(name, params.judge.model))
    return [*dict.fromkeys([benchmark.judge, *others])]


def _is_available(name: JudgeName, params: ModelJudgeParams | None) -> bool:
    if name == "rules":
        return True
    if name == "vote":
        return params is not None and len(params.voters) >= 2
    return params is not None


async def _judge(
    run: StageRun,
    params: ModelJudgeParams | None,
    trajectories: Sequence[Trajectory],
    names: list[JudgeName],
    max_usd: float | None,
) -> JudgedEpisodes:
    """Judge trajectories that need it; `reached` counts these."""
    verdicts: dict[JudgeName, list[Verdict]] = {}
    limits: list[BudgetSpent] = []
    async with JudgeClients(params, run.state, ANSWERS, max_usd) as clients:
        for name in names:
            if params is None:
                verdicts[name] = [rules_verdict(trajectory) for trajectory in trajectories]
                continue
            changes: dict[str, object] = {} if name in ("rules", "vote") else {"protocol": name}
            changes |= {} if name == "vote" else {"voters": []}
            model = ModelJudge(params.model_copy(update=changes), clients)
            judged, limit = await model.until_spent(
                trajectories, _judge_function(name, model), lambda done: run.progress(0, 1, f"{done} verdicts")
            )
            limits += [limit] if limit is not None else []
            if name == names[0]:
                trajectories = trajectories[: len(judged)]
            if len(judged) == len(trajectories):
                verdicts[name] = judged
        unfinished = [name for name in names if name not in verdicts]
        stopped_by = limits[0].limit if limits else None
        return JudgedEpisodes(verdicts, round(clients.spent.usd, 6), len(trajectories), stopped_by, unfinished)


def _judge_function(name: JudgeName, model: ModelJudge) -> Callable[[Trajectory], Awaitable[Verdict]]:
    """The function that judges one trajectory by this protocol."""
    match name:
        case "rules":
            return lambda trajectory: assisted_verdict(trajectory, model)
        case "vote":
            return lambda trajectory: _compare_answer(trajectory, model)
    return model.judge


async def _compare_answer(trajectory: Trajectory, model: ModelJudge) -> Verdict:
    """Whether the answer means the same as one of the reference answers; an error if the task has none."""
    task = trajectory.task
    answers = references_of(task)
    if not answers:
        judgement = Judgement(Outcome.ERROR, "the task has no reference answer", error_cause=ErrorCause.NO_RULE)
    else:
        judgement = await model.says_the_same(task.intent, answers, trajectory.answer or "")
        judgement = judgement._replace(rationale=f"compared with {' | '.join(answers)}: {judgement.rationale}")
    return judgement.verdict(trajectory, "vote", model.comparison_version)
