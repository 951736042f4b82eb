"""Who judges in a stage, as the recipe says: the rules, the distilled judge, or models behind endpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import asdict

from components.endpoint import ANSWERS
from components.judge import JudgeClients, JudgeFn, ModelJudge, assisted_rules, rules_verdict
from components.params import Params
from components.records import Trajectory, Verdict
from components.stages._run import StageRun


def label(run: StageRun, trajectories: Iterable[Trajectory]) -> list[Verdict]:
    """A verdict per trajectory, from whom `judge.labels` says; what a model cost is part of the stage's result.

    Rules ask `judge.endpoint`, if there is one, where only a model can tell.

    Raises:
        JudgeOutage, EndpointError: see `judge.ModelJudge`; what was answered is kept.
    """
    judge = run.params.judge
    if judge.labels == "rules" and judge.endpoint is None:
        return [rules_verdict(trajectory) for trajectory in trajectories]

    async def ask() -> list[Verdict]:
        async with JudgeClients(judge, run.state, ANSWERS) as clients:
            model = ModelJudge(judge, clients)
            if judge.labels == "rules":
                verdicts = await assisted_rules(trajectories, model)
            else:
                verdicts = await model(trajectories, lambda done: run.progress(0, 1, f"{done} verdicts"))
            tell_spent(run, clients)
            return verdicts

    return asyncio.run(ask())


def tell_spent(run: StageRun, clients: JudgeClients) -> None:
    """Add what models cost to the stage's result, if one was asked."""
    spent = clients.spent
    if spent.requests or spent.cached:
        run.result({"judge_spent": asdict(spent)})


async def open_auditor(params: Params, clients: JudgeClients) -> JudgeFn | None:
    """Who judges RL's rollouts beside the judge that rewards them: the rules all of them, a model a share of them.

    None where nobody else could tell: the rules reward, or the labels are the same model's.

    Raises:
        EndpointError: the model that labels has no key in the environment.
    """
    judge = params.judge
    if judge.reward in ("rules", judge.labels):
        return None
    if judge.labels == "rules":
        return by_rules(params, clients)
    model = await ModelJudge(judge, clients).connect()

    async def sample(trajectories: list[Trajectory]) -> list[Verdict]:
        return await model([t for t in trajectories if is_audited(t, judge.audit_share)])

    return sample


def by_rules(params: Params, clients: JudgeClients) -> JudgeFn:
    """The rules, as RL asks a judge; where only a model can tell, `judge.endpoint` if there is one."""
    model = ModelJudge(params.judge, clients) if params.judge.endpoint is not None else None

    async def judge(trajectories: list[Trajectory]) -> list[Verdict]:
        if model is None:
            return [rules_verdict(trajectory) for trajectory in trajectories]
        return await assisted_rules(trajectories, model)

    return judge


def is_audited(trajectory: Trajectory, share: float) -> bool:
    """Whether a trajectory is in the sample of this share, the same way whenever it is asked."""
    return int(trajectory.trajectory_id[:8], 16) < share * 16**8
